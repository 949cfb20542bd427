"""The stand-in for CANN's libraries: it compiles and runs the vendor's samples, and reports what it should."""

import ctypes
import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from standin import statuses
from standin.build import LAYOUTS, SEEDS, build, compile_program
from standin.driver import prototypes
from standin.fixtures import roots  # noqa: F401 - a fixture
from standin.run import CASES, SWEPT

pytestmark = pytest.mark.needs("g++")

TESTS = Path(__file__).resolve().parent


def python(code, **environment):
    """Run Python code in a process of its own and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=TESTS, env=os.environ | environment, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="session")
def answers(roots):
    """What all cases answered: {(kind, name): answer}."""
    done = subprocess.run([sys.executable, "-m", "standin.run", roots()], cwd=TESTS, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return {(kind, name): answer for kind, name, answer in map(json.loads, done.stdout.splitlines())}


# ---- cases, statuses, faults

@pytest.mark.parametrize("name", CASES)
def test_case(answers, name):
    answer, case = answers["case", name], CASES[name]
    if isinstance(case["result"], str) and case["result"].startswith("SIG"):
        assert answer == case["result"]
    else:
        assert isinstance(answer, dict), answer
        assert answer["result"] == case["result"]
        recorded = [re.search(case["misuse"], text) is not None for text in answer["misuse"]] if case["misuse"] else []
        assert recorded == [True] * bool(case["misuse"]) and len(answer["misuse"]) == len(recorded), answer["misuse"]


@pytest.mark.parametrize("k", range(len(statuses.STATUSES)), ids=map(statuses.title, statuses.STATUSES))
def test_status_of_phase_1(answers, k):
    assert answers["status", k] == statuses.STATUSES[k]["expected"]


@pytest.mark.parametrize("op", SWEPT)
def test_every_call_can_fail(answers, op):
    """A failing call returns the status, or null; a failing task shows at synchronise."""
    faults = answers["faults", op]
    creators = ("aclCreateTensor", "aclCreateBoolArray")
    wanted = [[name, ["aclrtSynchronizeStream" if name.startswith("task@") else name,
                      None if name in creators else 507000]] for name, _ in faults]
    assert len(faults) > 20 and faults == wanted


# ---- the sample programs of the documentation

def printed(roots, layout, sample, tmp_path):
    root = roots(layout)
    program = compile_program(SEEDS / f"{sample}.cpp", root, tmp_path / "sample")
    report = tmp_path / "report"
    done = subprocess.run([program], text=True, capture_output=True, env=os.environ | {"STANDIN_REPORT": str(report)})
    assert done.returncode == 0
    numbers = np.array([float(line.split(": ")[1]) for line in done.stdout.splitlines()])
    return numbers, report.read_text() if report.exists() else ""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hardswish_sample(roots, layout, tmp_path):
    x = np.arange(8.0)
    numbers, report = printed(roots, layout, "aclnnHardswishBackward", tmp_path)
    np.testing.assert_allclose(numbers, x * np.where(x <= 3, x / 3 + 0.5, 1), atol=5e-7)  # six digits are printed
    assert report == ""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rms_norm_sample(roots, layout, tmp_path):
    x, gamma, rstd = np.arange(1.0, 33).reshape(2, 16), np.arange(1.0, 17), np.array([[1.0], [2.0]])
    numbers, report = printed(roots, layout, "aclnnRmsNormGrad", tmp_path)
    mean = (x * gamma * x * rstd).mean(1, keepdims=True)
    dx, dgamma = (x * gamma - x * rstd * mean) * rstd, (x * x * rstd).sum(0)
    np.testing.assert_array_equal(numbers, np.concatenate([dx.ravel(), dgamma]))  # whole numbers below 2^24
    assert report == ""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_grid_sampler_sample(roots, layout, tmp_path):
    image, grid = np.arange(1.0, 41).reshape(1, 1, 5, 8), np.array(list(product([-1, 0, 1], repeat=2)))[:, ::-1]
    dx, dgrid = np.zeros((5, 8)), []
    for x, y in grid:
        ix, iy = ((x + 1) * 8 - 1) / 2, ((y + 1) * 5 - 1) / 2
        slope_x = slope_y = 0
        for row, column in product((np.floor(iy), np.floor(iy) + 1), (np.floor(ix), np.floor(ix) + 1)):
            if 0 <= row < 5 and 0 <= column < 8:
                place = int(row), int(column)
                wx, wy = 1 - abs(ix - column), 1 - abs(iy - row)
                dx[place] += wx * wy
                slope_x += image[0, 0][place] * wy * (1 if column > ix else -1) * 4
                slope_y += image[0, 0][place] * wx * (1 if row > iy else -1) * 2.5
        dgrid += [slope_x, slope_y]
    numbers, report = printed(roots, layout, "aclnnGridSampler2DBackward", tmp_path)
    np.testing.assert_allclose(numbers, np.concatenate([dx.ravel(), dgrid]), atol=5e-7)
    assert report == ""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cross_entropy_sample(roots, layout, tmp_path):
    """float32 bytes under ACL_BF16, and a target of which only half was allocated: the second one is poison."""
    words = lambda *numbers: np.array(numbers, np.float32).view(ml_dtypes.bfloat16).astype(np.float64)  # noqa: E731
    grad, log_prob = words(0.1)[0], words(-0.2, -0.2, -0.2).reshape(2, 3)
    poison = np.frombuffer(b"\xa5" * 4, np.float32)[0].astype(np.float64)
    nll = grad / (1 + poison) * np.array([[1.0], [poison]])
    out = np.exp(log_prob) * nll - nll * np.array([[1, 0, 0], [0, 0, 0]])
    numbers, report = printed(roots, layout, "aclnnCrossEntropyLossGrad", tmp_path)
    expected = out.astype(ml_dtypes.bfloat16).ravel().view(np.float32).astype(np.float64)
    # one unit of the lower bfloat16 is 2^-16 of the float32 that the pair makes; six digits are printed
    np.testing.assert_allclose(numbers[:3], expected, rtol=2**-16, atol=5e-7)
    np.testing.assert_allclose(numbers[3:], [-0.0091, 0.0409, 0.0409], atol=5e-7)  # never written, only pre-filled
    assert "beyond its allocation of 8 bytes" in report and "target[1] =" in report and len(report.splitlines()) == 2


# ---- headers and libraries

def exported(root):
    paths = sorted((root / "lib64").glob("*.so"))
    listed = subprocess.run(["nm", "-D", "--defined-only", *paths], text=True, capture_output=True, check=True).stdout
    return set(re.findall(r" T ((?:acl|standin_)\w+)$", listed, re.MULTILINE))


@pytest.mark.parametrize("layout, libraries", [
    ("8.x", {"libascendcl.so", "libnnopbase.so", "libopapi.so"}),
    ("9.x", {"libacl_rt.so", "libnnopbase.so", "libopapi_nn.so", "libopapi_cv.so"})])
def test_layout(roots, layout, libraries):
    root = roots(layout)
    assert {path.name for path in (root / "lib64").iterdir()} == libraries
    assert exported(root) == set(prototypes(root / "include"))
    assert ("aclFinalizeReference" in exported(root)) == (layout == "9.x")


PROTOTYPE = """
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"
extern "C" aclnnStatus aclnnCrossEntropyLossGradGetWorkspaceSize(
    const aclTensor *, const aclTensor *, const aclTensor *, const aclTensor *, const aclTensor *, const aclTensor *,
    char *, int64_t, {real}, {real}, const aclTensor *, uint64_t *, aclOpExecutor **);
int main() {{}}
"""


@pytest.mark.parametrize("real, float_library, compiles", [("double", False, True), ("float", False, False),
                                                           ("double", True, False), ("float", True, True)])
def test_prototype_of_cross_entropy(roots, tmp_path, real, float_library, compiles):
    """extern "C" makes a declaration that differs from the header's an error."""
    source = tmp_path / "prototype.cpp"
    source.write_text(PROTOTYPE.format(real=real))
    root = roots(float_cross_entropy=True) if float_library else roots()
    if compiles:
        compile_program(source, root, tmp_path / "program")
    else:
        with pytest.raises(RuntimeError, match="conflicting declaration"):
            compile_program(source, root, tmp_path / "program")


@pytest.mark.parametrize("float_library", [False, True])
def test_cross_entropy_attributes_arrive(roots, float_library):
    """With smoothing 0.5, C = 2 and p = 1/2: nll = 1/2, smooth = 1/4, so the first element is 1/2 - 1/2 - 1/4."""
    root = roots(float_cross_entropy=True) if float_library else roots()
    assert python(f"from standin.values import smoothed; print(smoothed({str(root)!r}))") == "[-0.25, 0.25]"


def test_missing_symbol(roots):
    assert exported(roots()) - exported(roots(missing=("aclnnRmsNormGrad",))) == {"aclnnRmsNormGrad"}


def test_missing_driver(roots):
    with pytest.raises(OSError, match="libascend_hal.so"):
        ctypes.CDLL(str(roots(missing_driver=True) / "lib64/libacl_rt.so"))


def test_stubs(roots):
    code = f"""
from standin.driver import Library
stub = Library({str(roots(stubs=True))!r})
print([stub.aclInit(None), stub.aclrtSetDevice(0), stub.aclrtGetSocName(), stub.aclDestroyTensor(None),
       stub.aclnnRmsNormGrad(None, 0, None, None), stub.aclrtFree(None)])
"""
    assert python(code) == "[100039, 100039, None, 100039, 100039, 100039]"


def test_altered_header(roots):
    edit = ("aclnnop/aclnn_rms_norm_grad.h", "const aclTensor *rstd,", "")
    altered = prototypes(roots(header_edit=edit) / "include")
    name = "aclnnRmsNormGradGetWorkspaceSize"
    assert len(altered[name][1]) == len(prototypes(roots() / "include")[name][1]) - 1


def test_runtime_image_without_headers(roots):
    assert not list((roots(headers=False) / "include").iterdir())


def test_deprecated_library_beside_the_split_ones(roots):
    assert (roots(all_in_one=True) / "lib64/libopapi.so").exists()


def test_custom_operator(roots):
    """The custom library has its own hardswish, open at -3 and 3, and finds the rest of the root by itself."""
    root = roots(custom=True)
    assert python(f"from standin.values import boundary; print(boundary({str(root)!r}))") == "[-0.5, 1.5]"
    custom = root / "opp/vendors/customize/op_api/lib/libcust_opapi.so"
    code = f"from standin.values import boundary; print(boundary({str(root)!r}, {str(custom)!r}))"
    assert python(code) == "[0.0, 1.0]"


def test_report_of_what_is_left(roots, tmp_path):
    code = f"from standin.driver import Session; s = Session({str(roots())!r}); s.malloc(64); s.standin_live_text()"
    python(code, STANDIN_REPORT=str(tmp_path / "report"))
    assert (tmp_path / "report").read_text() == "left: 1 device memory, 1 stream\n"


def test_faults_that_cannot_be_read(roots):
    code = f"from standin.driver import Library; l = Library({str(roots())!r}); l.aclInit(None); print(l.misuse())"
    assert "name:k:code, not aclrtMalloc" in python(code, STANDIN_FAIL="aclrtMalloc")


def test_unavailable_compiler_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr("standin.build.OBJECTS", tmp_path)
    monkeypatch.setattr("standin.build.COMPILER", "false")
    with pytest.raises(RuntimeError, match="false -std"):
        build(tmp_path / "root")
