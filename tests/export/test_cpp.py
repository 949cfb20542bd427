"""`cpp_sample` on the stand-in: the program compiles without a warning and prints the numbers of `device.run`."""

import re
import subprocess
import warnings
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from in_child import in_child, stand_in
from machine import SOAK, taught
from standin.build import compile_program

import aclnn_viz as av
from aclnn_viz.devices import open_device
from aclnn_viz.devices.cpp import cpp_sample
from aclnn_viz.operators.operator import Attribute

compiled = pytest.mark.needs("g++")
SMALL = {
    "hardswish": (3, 4),
    "rms_norm": (3, 4),
    "grid_sampler_2d": (1, 2, 3, 4),
    "cross_entropy_loss": (3, 4),
    "group_norm_swish": (2, 4, 3),
}
GIVEN = {"cross_entropy_loss": {"weightOptional": None}}


def case_of(name, **given):
    small = {"shape": SMALL[name]} if name in SMALL else {}
    return av.case(name, **small | GIVEN.get(name, {}) | given)


def printed(text, folder, layout="9.x", environment=None):
    """Compile a program against the stand-in and run it; return exit status, output, and the stand-in's notes."""
    root = stand_in(layout)
    source, program = folder / "sample.cpp", folder / "sample"
    source.write_text(text)
    compile_program(source, root, program, "-Wall", "-Wextra", "-Werror")
    notes = folder / "notes"
    done = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        env={"STANDIN_REPORT": str(notes)} | (environment or {}),
    )
    return done.returncode, done.stdout, notes.read_text() if notes.exists() else ""


def outputs_in(text, like):
    """Return the printed numbers as arrays in the shapes and dtypes of `like`; every line must be one of them."""
    found = {name: np.full(value.size, np.nan) for name, value in like.items()}
    lines = text.splitlines()
    for line in lines:
        name, k, number = re.fullmatch(r"(\w+)\[(\d+)\] = (\S+)", line).groups()
        found[name][int(k)] = float(number)
    assert len(lines) == sum(value.size for value in like.values())
    return {
        name: value.reshape(like[name].shape).astype(like[name].dtype)
        for name, value in found.items()
    }


def on_device(case, layout, environment):
    def work():
        warnings.simplefilter("ignore")  # about constraints that nobody enforces
        with open_device("atlas", root=root) as device:
            return device.run(case.operator, **case.inputs)

    root = stand_in(layout)
    return in_child(work, environment)


def assert_prints_what_the_device_computes(case, folder, layout="9.x", environment=None):
    expected = on_device(case, layout, environment)
    status, text, notes = printed(cpp_sample(case.operator, case), folder, layout, environment)
    assert (status, notes) == (0, ""), text  # no misuse, and nothing left
    for name, value in outputs_in(text, expected).items():
        assert np.array_equal(value, expected[name], equal_nan=True), name


@compiled
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (op.name, dtype)
        for k, op in enumerate(taught())
        for n, dtype in enumerate(("float32", "float16", "bfloat16"))
        if SOAK or n == k % 3
    ],
)
@pytest.mark.sampled(1)
def test_the_program_prints_the_numbers_of_the_device(tmp_path, name, dtype):
    assert_prints_what_the_device_computes(case_of(name, dtype=dtype), tmp_path)


@compiled
@pytest.mark.parametrize(
    ("name", "given", "environment"),
    [
        ("hardswish", {"shape": (0, 3)}, {}),
        ("hardswish", {"shape": (), "dtype": "float16"}, {}),
        (
            "grid_sampler_2d",
            {
                "outputMask": (False, True),
                "interpolationMode": 1,
                "paddingMode": 2,
                "alignCorners": True,
            },
            {},
        ),
        ("grid_sampler_2d", {"dtype": "float64"}, {}),
        (
            "cross_entropy_loss",
            {"reduction": "none", "weightOptional": np.float32([1, 2, 3, 4]), "ignoreIndex": 1},
            {},
        ),
        ("cross_entropy_loss", {"labelSmoothing": 0.3}, {"STANDIN_SOC": "Ascend950PR_9579"}),
        ("group_norm_swish", {"swishScale": 1.7, "dbetaIsRequire": False}, {}),
        ("swish", {"betaOptional": 0.3}, {}),
    ],
    ids="empty scalar masked double weighted smoothed scaled aclScalar".split(),
)
@pytest.mark.sampled(1)
def test_attributes_and_shapes_are_the_cases(tmp_path, name, given, environment):
    assert_prints_what_the_device_computes(
        case_of(name, **given), tmp_path, environment=environment
    )


@compiled
def test_the_program_builds_with_cann_8(tmp_path):
    assert_prints_what_the_device_computes(case_of("rms_norm"), tmp_path, layout="8.x")


@compiled
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.sampled(1)
def test_every_kind_of_number_arrives_as_it_is(tmp_path, dtype):
    """The gradient at self > 3 is gradOutput itself."""
    fmt = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    info = ml_dtypes.finfo(fmt)
    numbers = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        info.max,
        -info.tiny,
        info.smallest_subnormal,
        -3 * float(info.smallest_subnormal),
        1 / 3,
        -65503.0,
        1 + float(info.eps),
    ]
    grad = np.array(numbers).astype(fmt)
    case = {"gradOutput": grad, "self": np.full(grad.shape, 4, fmt)}
    status, text, notes = printed(cpp_sample("hardswish", case), tmp_path)
    found = outputs_in(text, {"out": grad})["out"]
    assert (status, notes) == (0, "") and np.array_equal(found, grad, equal_nan=True)
    assert np.array_equal(np.signbit(found.astype(float))[:4], np.signbit(grad.astype(float))[:4])


@compiled
def test_a_failure_is_printed_with_its_call_code_and_text(tmp_path):
    status, text, notes = printed(
        cpp_sample("hardswish", case_of("hardswish", dtype="float64")), tmp_path
    )
    assert status == 161002 % 256 and notes.startswith("left: ")  # objects that the process held
    assert re.match(
        r"aclnnHardswishBackwardGetWorkspaceSize\( gradOutput\.handle, self\.handle, out\.handle, "
        r"&workspaceSize, &executor\) failed with 161002 aclnnHardswishBackwardGetWorkspaceSize: ",
        text,
    )


def test_the_first_lines_tell_the_case():
    text = cpp_sample(
        "cross_entropy_loss", case_of("cross_entropy_loss", reduction="sum", ignoreIndex=-100)
    )
    assert text.partition("\n//\n")[0].replace("\n//", "") == (
        "// aclnnCrossEntropyLossGrad in both phases: gradLoss float32 [], logProb float32 [3, 4], target int64 [3]; "
        'weightOptional null, gradZlossOptional null, lseForZlossOptional null, reduction "sum", ignoreIndex -100, '
        "labelSmoothing 0.0, lseSquareScaleForZloss 0.0."
    )
    assert 'char reduction[] = "sum";' in text


def test_arrays_of_every_kind_are_made_and_given_back():
    """An invented operator; the arrays stand in the C order of its prototype."""
    one = av.operator("hardswish")
    invented = replace(
        one,
        name="invented",
        prototype=one.prototype.replace(
            "aclTensor *out",
            "const aclIntArray *dims, const aclFloatArray *scales, const aclBoolArray *mask, "
            "aclTensor *out",
        ),
        attributes={
            "dims": Attribute("const aclIntArray *"),
            "scales": Attribute("const aclFloatArray *"),
            "mask": Attribute("const aclBoolArray *", (True, False)),
        },
    )
    made = case_of("hardswish").inputs | {"dims": (2, -1), "scales": (0.5, 3.0)}
    text = cpp_sample(invented, made)
    for line in (
        "const int64_t dimsValues[] = {2, -1};",
        "aclIntArray *dims = aclCreateIntArray(dimsValues, 2);",
        "const float scalesValues[] = {0.5, 3.0};",
        "aclFloatArray *scales = aclCreateFloatArray(scalesValues, 2);",
        "const bool maskValues[] = {true, false};",
        "aclBoolArray *mask = aclCreateBoolArray(maskValues, 2);",
        "CHECK(aclDestroyIntArray(dims));",
        "CHECK(aclDestroyFloatArray(scales));",
        "CHECK(aclDestroyBoolArray(mask));",
    ):
        assert text.count(line) == 1, line
    assert re.search(r"self\.handle,\s+dims,\s+scales,\s+mask,\s+out\.handle", text)


def test_strings_are_written_so_that_c_reads_them():
    text = cpp_sample("group_norm_swish", case_of("group_norm_swish", dataFormatOptional='N"\\é?'))
    assert r'char dataFormatOptional[] = "N\042\134\303\251\077";' in text


def test_the_inputs_alone_will_do():
    case = case_of("rms_norm")
    assert cpp_sample("rms_norm", case.inputs) == cpp_sample(av.operator("rms_norm"), case)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (
            lambda: case_of("hardswish"),
            "the case must be one of rms_norm: got one of hardswish; draw it with",
        ),
        (
            lambda: case_of("rms_norm", shape=(1024, 256)),
            r"a C\+\+ sample holds at most 262144 numbers: got 525568 in ",
        ),
    ],
)
def test_what_cannot_be_exported_is_an_error(case, text):
    with pytest.raises(ValueError, match=text):
        cpp_sample("rms_norm", case())


def test_the_reader_of_the_output_rejects_other_lines_and_missing_ones():
    like = {"out": np.zeros(2, np.float32)}
    assert outputs_in("out[0] = 1\nout[1] = -nan", like)["out"][0] == 1
    for wrong in ("out[0] = 1", "out[0] = 1\nfailed"):
        with pytest.raises((AssertionError, AttributeError)):
            outputs_in(wrong, like)
