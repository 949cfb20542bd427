"""`device.run` on the emulator: the values of the page through the whole two-phase flow, and nothing left behind."""

import itertools
import threading
import warnings

import numpy as np
import pytest
from machine import sampled

import aclnn_viz as av
from aclnn_viz.acl import HostAcl
from aclnn_viz.devices import AclError, ConstraintWarning, DeviceClosedError, RefusedError
from aclnn_viz.devices.device import Device, answer
from aclnn_viz.operators.products import PRODUCTS, VERSIONS, Version

ALL = pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)


def same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        assert actual[name].dtype == value.dtype and np.array_equal(
            actual[name], value, equal_nan=True
        ), name


@pytest.fixture
def device():
    with av.open_device("host") as opened:
        yield opened
    assert opened.acl.misuse == [] and not opened.acl.handles


@ALL
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_values_are_those_of_the_page(device, op, dtype):
    case = av.case(op, dtype=dtype)
    same(device.run(op, **case.inputs), op.backward(**case.inputs))


def strided(array):
    return np.repeat(array[..., None], 3, -1)[..., 1] if array.ndim else array


@ALL
@pytest.mark.filterwarnings("ignore::aclnn_viz.devices.ConstraintWarning")
@pytest.mark.parametrize(
    "view",
    [
        strided,
        lambda a: a[::-1].copy()[::-1],
        lambda a: np.asfortranarray(a),
        lambda a: np.concatenate([a, a])[: len(a)] if a.ndim else a,
        lambda a: np.repeat(a[..., None], 50, -1)[..., 7] if a.ndim else a,
    ],
    ids=["strided", "reversed", "fortran", "part", "sparse"],
)
def test_views_of_inputs_give_the_same_values(device, op, view):
    inputs = av.case(op).inputs
    views = {k: view(v) if isinstance(v, np.ndarray) and v.ndim else v for k, v in inputs.items()}
    same(device.run(op, **views), op.backward(**inputs))


def test_broadcast_inputs_are_read_through_zero_strides(device):
    inputs = av.case("hardswish", shape=(3, 4)).inputs | {
        "gradOutput": np.broadcast_to(np.float32(2), (3, 4))
    }
    same(device.run("hardswish", **inputs), av.operator("hardswish").backward(**inputs))


def test_outputs_that_are_not_asked_for_are_absent(device):
    case = av.case("grid_sampler_2d", outputMask=(False, True))
    assert list(device.run("grid_sampler_2d", **case.inputs)) == ["gridGrad"]
    case = av.case("group_norm_swish", dgammaIsRequire=False)
    assert list(device.run("group_norm_swish", **case.inputs)) == ["dxOut", "dbetaOut"]


@pytest.mark.filterwarnings("ignore::aclnn_viz.devices.ConstraintWarning")
def test_empty_tensors_run(device):
    case = av.case("hardswish", shape=(0, 3))
    assert device.run("hardswish", **case.inputs)["out"].shape == (0, 3)
    case = av.case("cross_entropy_loss", shape=(0, 3))
    assert device.run("cross_entropy_loss", **case.inputs)["xGradOut"].shape == (0, 3)


def test_what_the_product_lacks_is_an_acl_error():
    double = av.case("rms_norm", dtype="float64")
    with av.open_device("host") as device, pytest.raises(AclError) as caught:
        device.run("rms_norm", **double.inputs)
    error = caught.value
    assert (error.call, error.code, error.name) == (
        "aclnnRmsNormGradGetWorkspaceSize",
        161002,
        "ACLNN_ERR_PARAM_INVALID",
    )
    assert error.message and error.message in str(error) and "; compare dtypes" in str(error)
    brain = av.case("hardswish", dtype="bfloat16")
    with (
        av.open_device("host", soc="Ascend910A") as device,
        pytest.raises(AclError, match="161002"),
    ):
        device.run("hardswish", **brain.inputs)
    cubic = av.case("grid_sampler_2d", interpolationMode=2)
    with av.open_device("host", cann="9.0") as device, pytest.raises(AclError, match="161002"):
        device.run("grid_sampler_2d", **cubic.inputs)


@pytest.mark.parametrize(
    "name,given,text",
    [
        ("cross_entropy_loss", {"labelSmoothing": 0.1}, "labelSmoothing must be 0 on this product"),
        ("cross_entropy_loss", {"lseSquareScaleForZloss": 0.1}, "lseSquareScaleForZloss must be 0"),
        ("grid_sampler_2d", {"grid_shape": (0, 3)}, "no input may be empty while an output is not"),
    ],
)
def test_silent_traps_are_refused_before_the_library_sees_them(device, name, given, text):
    case = av.case(name, **given)
    with pytest.raises(
        RefusedError, match=f"{text}.*: got a call against it .*; change the inputs"
    ):
        device.run(name, **case.inputs)


def test_swish_scale_before_9_1_is_refused():
    case = av.case("group_norm_swish", swishScale=2.0)
    with (
        av.open_device("host", cann="9.0.1") as device,
        pytest.raises(RefusedError, match="swishScale"),
    ):
        device.run("group_norm_swish", **case.inputs)


def test_what_nobody_enforces_is_a_warning(device):
    case = av.case("cross_entropy_loss", shape=(4, 3), ignoreIndex=5)
    with pytest.warns(ConstraintWarning, match="ignoreIndex < C"):
        device.run("cross_entropy_loss", **case.inputs)


def outcome(call):
    """Return a call's warnings, or its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConstraintWarning)
        try:
            found = call()
        except (AclError, RefusedError) as error:
            return type(error), str(error)
    return [str(one.message.args[0]) for one in caught] or list(
        map(str, found if isinstance(found, tuple) else ())
    )


@ALL
@pytest.mark.sampled(2)
def test_the_answer_without_a_run_is_that_of_a_run(op):
    """Errors, refusals and warnings, on each product and version, in each format, with reversed views, predicted or not."""
    seen = set()
    for k, (product, cann) in enumerate(itertools.product(PRODUCTS, VERSIONS)):
        with av.open_device(
            "host", soc=product.example_soc, cann=cann, plan="device" if k % 2 else None
        ) as device:
            for seed, dtype in enumerate(("float16", "bfloat16", "float32")):
                given = av.case(op, dtype=dtype, seed=seed).inputs
                if (k + seed) % 3 == 0:
                    given = {
                        name: v[::-1] if isinstance(v, np.ndarray) and v.ndim else v
                        for name, v in given.items()
                    }
                found = outcome(
                    lambda: answer(op, given, product, Version.parse(cann), bool(k % 2))
                )
                assert found == outcome(lambda: device.run(op, **given)), (
                    product.name,
                    cann,
                    dtype,
                )
                seen.add(found[0] if isinstance(found, tuple) else bool(found))
    assert len(seen) > 1  # both running and refused calls


def test_bad_input_is_what_the_page_says(device):
    with pytest.raises(TypeError, match="hardswish needs self"):
        device.run("hardswish", gradOutput=np.ones(3, np.float32))
    with pytest.raises(ValueError, match="no such operator"):
        device.run("no_operator")


def test_unknown_device():
    with pytest.raises(ValueError, match="no such device: got 'cuda'; open"):
        av.open_device("cuda")


@pytest.mark.parametrize("name", [None, 0, b"host"])
def test_a_device_is_named_by_a_text(name):
    with pytest.raises(TypeError, match="a device is named by a text or a path: got .*; open"):
        av.open_device(name)


def test_an_empty_soc_is_no_soc():
    with pytest.raises(ValueError, match="soc must be the SoC name"):
        av.open_device("host", soc="")


def test_a_closed_device_says_so():
    device = av.open_device("host")
    device.close()
    device.close()
    with pytest.raises(
        DeviceClosedError, match="the device must be open: got a closed device; open it again"
    ):
        device.run("hardswish", **av.case("hardswish").inputs)


def test_other_threads_are_refused(device):
    caught = []

    def use():
        try:
            device.run("hardswish", **av.case("hardswish").inputs)
        except DeviceClosedError as error:
            caught.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert caught == [
        "a device belongs to the thread that opened it: got another thread; open a device in each thread"
    ]


def test_a_device_describes_itself(device):
    assert repr(device) == "Device('host', soc='Ascend910B2', cann='9.1.0')"


class Failing:
    """An ACL whose k-th call fails like the real library: with a status, or a null handle."""

    def __init__(self, acl, k):
        self._acl, self._left, self.failed, self.calls = acl, k, None, 0

    def __getattr__(self, name):
        found = getattr(self._acl, name)
        if not name.startswith("acl") or name == "aclGetRecentErrMsg":
            return found

        def call(*arguments):
            self.calls += 1
            self._left -= 1
            if self._left:
                return found(*arguments)
            self.failed = name
            if name == "aclrtSynchronizeStream":  # the work has run, and the failure is reported
                found(*arguments)
                return 507015
            if name.startswith(
                ("aclDestroy", "aclrtDestroy", "aclrtFree", "aclrtReset", "aclFinalize")
            ):
                found(*arguments)  # released, though the status says otherwise
                return 500000
            if name.startswith("aclCreate") or name == "aclrtGetSocName":
                return None
            if name.endswith("GetWorkspaceSize"):
                return 561103, 0, None
            if name == "aclrtMalloc" or name == "aclrtCreateStream":
                return 207001, None
            if name.startswith("aclnn"):
                # a failed phase 2 has consumed the executor
                self._acl.aclDestroyAclOpExecutor(arguments[2])
            return 500000

        return call


def test_a_product_without_a_name_is_reported_as_such():
    acl = HostAcl()
    acl.aclrtGetSocName = lambda: None
    with pytest.raises(
        AclError,
        match="aclrtGetSocName must succeed: got no name of a product; the driver does not name "
        "the product: `npu-smi info` must list the device",
    ) as caught:
        Device("nameless", acl)
    assert caught.value.code is None and acl.misuse == []


def attempt(op, k):
    """Open, run and close with the k-th C call failing; return the ACL and the error."""
    acl = Failing(av.acl.HostAcl(), k)
    case = av.case(op, shape={"grid_sampler_2d": (1, 1, 2, 2)}.get(op.name))
    try:
        with Device("host", acl) as device:
            device.run(op, **case.inputs)
    except AclError as error:
        return acl, error
    return acl, None


@ALL
@pytest.mark.sampled(4)
def test_every_failing_call_is_reported_and_leaves_nothing(op):
    whole, error = attempt(op, -1)
    assert error is None and whole.calls > 20
    for k in range(1, whole.calls + 1):
        acl, error = attempt(op, k)
        assert error is not None and error.call == acl.failed, f"call {k}, {acl.failed}: {error!r}"
        assert acl.misuse == [] and not acl.handles, (
            f"call {k}, {acl.failed}: {acl.misuse} {list(acl.handles)}"
        )


@pytest.mark.soak
def test_a_thousand_runs_leave_nothing(device):
    case = av.case("hardswish", shape=(4,))
    for _ in range(1000):
        device.run("hardswish", **case.inputs)
    assert len(device.acl.handles) < 10
