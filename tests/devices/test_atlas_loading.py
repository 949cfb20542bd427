"""Installations of every kind: incomplete, without a driver, of each layout, with other headers or custom operators."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from atlas_stand_in import tiny
from in_child import in_child, stand_in
from machine import taught

import aclnn_viz as av
from aclnn_viz.acl import CannAcl
from aclnn_viz.acl.protocol import RUNTIME
from aclnn_viz.devices import DeviceUnavailable, FunctionUnavailable, open_device

pytestmark = pytest.mark.needs("g++")


def runs(root, *names, **options):
    """Return the outputs of each operator by name, or the text of its error."""
    found = {}
    with open_device("atlas", root=root, **options) as device:
        for name in names or [op.name for op in taught()]:
            try:
                found[name] = device.run(name, **tiny(av.operator(name)))
            except FunctionUnavailable as error:
                found[name] = str(error)
    return found


def in_a_child(work, environment=None, **variant):
    root = stand_in(variant.pop("layout", "9.x"), **variant)
    return in_child(lambda: work(root), environment)


def unavailable(root, **options):
    with pytest.raises(DeviceUnavailable) as caught:
        open_device("atlas", root=root, **options)
    return str(caught.value)


# No device


def test_no_installation(tmp_path, monkeypatch):
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "ASCEND_TOOLKIT_HOME").mkdir()
    monkeypatch.setattr("aclnn_viz.acl.installation.DEFAULT_ROOTS", (str(tmp_path / "cann"),))
    with pytest.raises(DeviceUnavailable) as caught:
        open_device("atlas")
    text = str(caught.value).replace(str(tmp_path), "")
    assert text == (
        "an Atlas device needs CANN's libraries: got /ASCEND_HOME_PATH (ASCEND_HOME_PATH): no such directory, "
        "/ASCEND_TOOLKIT_HOME (ASCEND_TOOLKIT_HOME): no libacl_rt.so or libascendcl.so in its lib64, "
        "/cann (default place): no such directory; install CANN and source its set_env.sh, or name its root with "
        'root=; open_device("host") needs nothing'
    )


@pytest.mark.parametrize("layout", ["8.x", "9.x"])
@pytest.mark.sampled(1)
def test_build_time_stubs_are_no_device(layout):
    text = in_a_child(unavailable, layout=layout, stubs=True)
    assert re.match(
        r"an Atlas device must answer: got 100039 \(ACL_ERROR_COMPILING_STUB_MODE\) from aclInit of "
        r"CannAcl\(.*; the library is a build-time stub: this machine has no driver",
        text,
    )


@pytest.mark.parametrize("layout", ["8.x", "9.x"])
def test_a_missing_driver_is_no_device(layout):
    text = in_a_child(unavailable, layout=layout, missing_driver=True)
    assert re.match(
        r".*/lib64/lib(acl_rt|ascendcl)\.so must load: got libascend_hal\.so: cannot open shared object "
        r"file.*; the Ascend driver is missing: install it .*set_env\.sh",
        text,
    )


def test_a_library_that_is_none_is_no_device(tmp_path):
    root = Path(shutil.copytree(stand_in(), tmp_path / "root"))
    (root / "lib64/libnnopbase.so").write_text("INPUT(libother.so)")
    text = in_child(lambda: unavailable(root))
    assert (
        "libnnopbase.so must load: got " in text
        and "; the installation is incomplete or of another machine" in text
    )


# Incomplete installations


def test_a_missing_symbol_takes_only_its_operator_away():
    found = in_a_child(runs, missing=("aclnnRmsNormGrad",))
    assert found.pop("rms_norm") == (
        "aclnnRmsNormGradGetWorkspaceSize must be usable: got no library exports aclnnRmsNormGrad; see what `aclnn-viz "
        "device` found, and install the CANN or the operator package that has it"
    )
    assert len(found) == len(taught()) - 1 and all(
        isinstance(outputs, dict) for outputs in found.values()
    )


def test_a_runtime_without_later_functions_is_used():
    missing = (
        "aclrtCtxSetSysParamOpt",
        "aclrtDestroyStreamForce",
        "aclFinalizeReference",
        "aclrtGetVersion",
    )

    def work(root):
        found = runs(root, "hardswish")
        acl = CannAcl(root)
        with pytest.raises(FunctionUnavailable, match="no library exports aclrtGetVersion"):
            acl.aclrtGetVersion()
        with pytest.raises(TypeError, match="aclrtDestroyStreamForce takes 1 arguments"):
            acl.aclrtDestroyStreamForce()
        return found, {function.name for function in RUNTIME} & {*acl.unavailable}

    found, unavailable = in_a_child(work, missing=missing)
    assert isinstance(found["hardswish"], dict) and unavailable == set(missing)


def test_an_operator_library_that_cannot_be_loaded_is_named(tmp_path):
    root = Path(shutil.copytree(stand_in(), tmp_path / "root"))
    (root / "lib64/libopapi_cv.so").write_text("no library")
    found = in_child(lambda: runs(root, "hardswish", "grid_sampler_2d"))
    assert isinstance(found["hardswish"], dict) and re.search(
        r"got no library exports aclnnGridSampler2DBackwardGetWorkspaceSize; .*/libopapi_cv\.so: ",
        found["grid_sampler_2d"],
    )


def loaded(root, **options):
    CannAcl(root, **options)
    return {
        name
        for name in re.findall(r"/lib64/(lib\w+)\.so", Path("/proc/self/maps").read_text())
        if name.startswith(("libacl", "libascendcl", "libopapi", "libnnop"))
    }


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ({"layout": "8.x"}, {"libascendcl", "libnnopbase", "libopapi"}),
        ({"layout": "9.x"}, {"libacl_rt", "libnnopbase", "libopapi_nn", "libopapi_cv"}),
        (
            {"layout": "9.x", "all_in_one": True},
            {"libacl_rt", "libnnopbase", "libopapi_nn", "libopapi_cv"},
        ),
    ],
    ids=["8.x", "9.x", "9.x with the old whole"],
)
def test_the_libraries_of_one_generation_are_loaded(variant, expected):
    assert in_a_child(loaded, **variant) == expected


# Headers


def test_without_headers_the_built_in_prototypes_serve():
    def work(root):
        return runs(root), set(CannAcl(root).prototypes.values())

    found, prototypes = in_a_child(work, headers=False)
    assert prototypes == {"built-in table"} and all(
        isinstance(outputs, dict) for outputs in found.values()
    )


@pytest.mark.parametrize(
    ("name", "old", "new", "text"),
    [
        (
            "hardswish",
            "const aclTensor *self,",
            "",
            r"declares aclnnStatus aclnnHardswishBackwardGetWorkspaceSize\(aclTensor\*, aclTensor\*, uint64_t\*, "
            r"aclOpExecutor\*\*\), known is aclnnStatus \w+\(aclTensor\*, aclTensor\*, aclTensor\*, uint64_t\*",
        ),
        (
            "grid_sampler_2d",
            "bool alignCorners",
            "int64_t alignCorners",
            "int64_t, int64_t, int64_t, aclBoolArray.*known is",
        ),
        (
            "rms_norm",
            "aclnnRmsNormGrad(",
            "aclnnRmsNormGradV2(",
            "does not declare aclnnRmsNormGrad",
        ),
    ],
)
def test_a_header_that_differs_refuses_its_operator(name, old, new, text):
    edit = (f"aclnnop/{av.operator(name).header}", old, new)
    found = in_a_child(runs, header_edit=edit)
    assert re.search(text, found.pop(name)) and all(
        isinstance(outputs, dict) for outputs in found.values()
    )


def smoothed(root):
    """Return a gradient with label smoothing 0.5, which reaches the library in a register of floats or doubles."""
    inputs = tiny(av.operator("cross_entropy_loss"), labelSmoothing=0.5)
    with open_device("atlas", root=root) as device:
        return device.run("cross_entropy_loss", **inputs)["xGradOut"], inputs


@pytest.mark.parametrize(
    ("variant", "right"),
    [
        ({"float_cross_entropy": True}, True),
        ({}, True),
        ({"float_cross_entropy": True, "headers": False}, False),
    ],
    ids=["float", "double", "float without its header"],
)
def test_the_header_decides_between_float_and_double(variant, right):
    found, inputs = in_a_child(smoothed, {"STANDIN_SOC": "Ascend950PR_9579"}, **variant)
    expected = av.operator("cross_entropy_loss").backward(**inputs)["xGradOut"]
    assert np.allclose(found, expected, rtol=0, atol=1e-6) == right


# Custom operators

BOUNDARY = {"gradOutput": np.ones(2, np.float32), "self": np.float32([-3, 3])}


def at_the_boundary(root, custom=None):
    with open_device("atlas", root=root, custom=custom) as device:
        return (
            device.run("hardswish", **BOUNDARY)["out"].tolist(),
            device.name,
            device.acl.custom_operators,
        )


@pytest.mark.parametrize(
    "place",
    [
        "opp",
        "opp/vendors",
        "opp/vendors/customize",
        "opp/vendors/customize/op_api/lib",
        "opp/vendors/customize/op_api/lib/libcust_opapi.so",
    ],
)
def test_a_named_custom_library_comes_first(place):
    found, name, operators = in_a_child(
        lambda root: at_the_boundary(root, root / place), custom=True
    )
    assert found == [0, 1]  # the open interval, which only the custom library has
    assert name == "atlas:0 (stand-in; custom hardswish)" and operators == ["hardswish"]


def test_an_installed_custom_library_that_is_not_named_is_not_used():
    assert in_a_child(at_the_boundary, custom=True) == ([-0.5, 1.5], "atlas:0 (stand-in)", [])


def test_a_custom_library_leaves_the_other_operators_to_the_vendor():
    def work(root):
        return {
            name: str(path) for name, path in CannAcl(root, root / "opp").operator_libraries.items()
        }

    files = in_a_child(work, custom=True)
    assert files["hardswish"].endswith("libcust_opapi.so") and files["rms_norm"].endswith(
        "libopapi_nn.so"
    )


def test_half_a_custom_operator_is_refused():
    """Phase 1 of one library and phase 2 of another do not share executors."""
    half = stand_in("9.x", custom=True, missing=("aclnnHardswishBackward",)) / "opp"
    found = in_a_child(lambda root: runs(root, "hardswish", custom=half)["hardswish"])
    assert re.search(
        r"GetWorkspaceSize is in .*/libcust_opapi\.so, aclnnHardswishBackward in .*/libopapi_nn\.so",
        found,
    )


@pytest.mark.parametrize("text", ["", "no library"])
def test_a_custom_library_that_is_not_there_or_not_one_is_an_error(tmp_path, text):
    if text:
        (tmp_path / "libcust_opapi.so").write_text(text)
    expected = (
        "libcust_opapi.so must load: got"
        if text
        else "custom= must name a libcust_opapi.so or a directory"
    )
    assert expected in in_a_child(lambda root: unavailable(root, custom=tmp_path))
