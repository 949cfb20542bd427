"""The scope: formats, attributes, shapes, products; unsupported calls; every form of a kernel."""

import gc
import json
import weakref

import numpy as np
import pytest
from checking.test_exchange import run_outside
from checking.wrong_kernels import RMS, fault, scaled, single, watched
from machine import sampled

import aclnn_viz as av
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.checking import load_kernel, write_suite
from aclnn_viz.checking.conditions import Traits
from aclnn_viz.checking.evidence import Coverage
from aclnn_viz.checking.judge import documented, once_per_case
from aclnn_viz.checking.scope import Ready, Scope
from aclnn_viz.devices import AclError
from aclnn_viz.operators.faults import faults

pytestmark = pytest.mark.usefixtures("unexplained")

GRID = av.operator("grid_sampler_2d")


def test_what_the_product_does_not_take_is_left_out_and_reported():
    result = av.check("rms_norm", single(RMS.backward), depth="quick")
    assert result.passed and "float64" in str(result.left_out) and "Ascend910B2" in result.scope
    assert "left out: 1 (dtype='float64'" in str(result)


def test_a_product_has_formats_of_its_own():
    refused = av.check("rms_norm", RMS.backward, soc="Ascend310P3", depth="quick").left_out
    assert any("bfloat16" in why for why in refused)


def test_formats_are_chosen_and_drawn_anew_where_the_suite_has_few():
    seen, kernel = watched(RMS)
    result = av.check("rms_norm", kernel, dtypes="float16")
    assert result.passed and result.cases >= 15
    assert {inputs["x"].dtype.name for inputs in seen} == {"float16"}


@pytest.mark.parametrize(
    "wanted",
    [
        {"interpolationMode": 0},
        {"interpolationMode": [0, 1], "paddingMode": 2},
        {"alignCorners": True},
        {"outputMask": (True, False), "interpolationMode": 1},
    ],
    ids=str,
)
@pytest.mark.sampled(1)
def test_attributes_are_chosen(wanted):
    seen, kernel = watched(GRID)
    assert av.check(GRID, kernel, where=wanted).passed and len(seen) >= 8
    assert all(
        inputs[name] in allowed if isinstance(allowed, list) else inputs[name] == allowed
        for inputs in seen
        for name, allowed in wanted.items()
    )


@pytest.mark.parametrize("given", [None, True])
def test_a_tensor_that_is_given_or_is_not_is_chosen_and_no_value_of_one(given):
    op = av.operator("cross_entropy_loss")
    seen, kernel = watched(op)
    result = av.check(op, kernel, where={"weightOptional": given})
    assert result.passed and len(seen) >= 8
    assert {inputs["weightOptional"] is None for inputs in seen} == {given is None}
    for value in (3, "nan", [None, 0], [1.0]):
        with pytest.raises(
            ValueError,
            match="weightOptional is asked for as None, left out, or True, given: got .*; pass one of them",
        ):
            av.check(op, "host", where={"weightOptional": value})


def test_shapes_and_limits_are_chosen():
    seen, kernel = watched(RMS)

    def shapes(**options):
        seen.clear()
        assert av.check("rms_norm", kernel, **options).passed and seen
        return {inputs["x"].shape for inputs in seen}

    assert shapes(shapes=[(3, 40), (2, 7)]) == {(3, 40), (2, 7)}
    assert all(len(shape) == 2 and shape[1] <= 64 for shape in shapes(limits={"x": (None, 64)}))
    assert all(np.prod(shape) <= 100 for shape in shapes(limits={"x": 100}))


def test_a_shrunken_case_stays_in_scope():
    found = av.check(
        GRID,
        scaled(GRID, 2),
        where={"interpolationMode": 1, "paddingMode": 1},
        dtypes="float32",
        depth="quick",
    ).counterexample
    assert (
        found.inputs["interpolationMode"] == found.inputs["paddingMode"] == 1
        and found.inputs["input"].dtype == np.float32
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"where": {"mode": 0}}, "where names"),
        ({"where": {"x": 0}}, "where names"),
        ({"limits": {"eps": 3}}, "limits names"),
        ({"dtypes": "int8"}, "int8"),
        ({"soc": "TPU"}, "SoC"),
        ({"dtypes": ["float64"]}, "some case must remain"),
        ({"limits": {"x": (1,), "dy": (2, 2)}}, "some case must remain"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        av.check("rms_norm", RMS.backward, **options)
    with pytest.raises(ValueError, match="plan is a Plan"):
        av.check("rms_norm", RMS.backward, plan="fast")


def test_a_precision_of_the_kernels_own_is_the_measure():
    from aclnn_viz.operators import plans

    half = Plan("half", compute="float16", accumulate="float16")

    def kernel(**inputs):
        return plans.run(RMS, half, **inputs)

    assert not av.check("rms_norm", kernel, dtypes="float16", depth="quick").passed
    assert av.check("rms_norm", kernel, dtypes="float16", plan=half, depth="quick").passed
    assert not av.check(
        "rms_norm", fault("rms_norm", "missing 1/n"), dtypes="float16", plan=half, depth="quick"
    ).passed
    options = {"plan": "device", "soc": "Ascend950PR_9579", "depth": "quick"}
    assert av.check("rms_norm", RMS.backward, **options).passed


# Unsupported calls.


def bilinear(**inputs):
    if inputs["interpolationMode"] != 0:
        raise av.NotSupported("only bilinear")
    return GRID.backward(**inputs)


def test_what_is_not_supported_is_counted_apart_and_described():
    result = av.check(GRID, bilinear, dtypes="float32", depth="quick")
    assert not result.passed and result.failed == 0 and result.misbehaviour == {}
    assert len(result.unsupported) >= 5 and "interpolationMode other than 0" in str(
        result.unsupported
    )
    assert json.loads(result.to_json())["unsupported"]["common"] == result.unsupported.common


@pytest.mark.parametrize("allowed", [False, True])
def test_the_first_line_says_on_which_part_a_kernel_was_judged(allowed):
    def part(**inputs):
        if inputs["alignCorners"]:
            raise NotImplementedError
        return bilinear(**inputs)

    options = {"allow_unsupported": allowed, "dtypes": "float32", "depth": "quick"}
    head, rest = str(av.check(GRID, part, **options)).split("\n", 1)
    assert "cases: only interpolationMode=0, alignCorners=False (seed" in head
    assert ("pass with allow_unsupported" in rest) != allowed and "did not try" in rest

    def wrong(**inputs):
        return {name: value * 2 for name, value in part(**inputs).items()}

    assert "WRONG in " in str(av.check(GRID, wrong, **options)).split("\n")[0]


def test_what_is_right_is_found_out_for_supported_cases_alone(monkeypatch):
    asked, prepare = [], Ready.prepare
    monkeypatch.setattr(Ready, "prepare", lambda one: asked.append(one) or prepare(one))

    def half(**inputs):
        if inputs["x"].dtype != np.float16:
            raise NotImplementedError("float16 alone")
        return RMS.backward(**inputs)

    result = av.check("rms_norm", half, allow_unsupported=True)
    assert (
        result.passed and len(asked) == result.cases > 0 and len(result.unsupported) > result.cases
    )


def test_a_kernel_that_supports_nothing_does_not_pass():
    def nothing(**inputs):
        raise NotImplementedError

    assert not av.check("rms_norm", nothing, allow_unsupported=True, depth="quick").passed


def test_an_error_keeps_its_lines():
    def tile(n):
        raise RuntimeError("boom")

    def kernel(**inputs):
        return tile(inputs["x"].shape)

    result = av.check("rms_norm", kernel, depth="quick")
    assert __file__ in str(result) and 'in tile: raise RuntimeError("boom")' in str(result)
    assert (
        "in kernel: return tile"
        in json.loads(result.to_json())["traces"]["raises RuntimeError: boom"]
    )


@pytest.mark.parametrize(
    ("cann", "unknown"),
    [("8.0", True), ("8.1.RC1", False), ("9.1.0-beta.2", False), ("9.1.3", False), ("99.7", True)],
)
def test_of_a_version_that_nobody_read_the_text_says_so(cann, unknown):
    assert ("is not known" in str(Scope.of("rms_norm", cann=cann).text)) == unknown


# Every form of a kernel.


# the documents do not name inputs with rows only, but the library takes them
@pytest.mark.filterwarnings("ignore::aclnn_viz.devices.ConstraintWarning")
def test_a_device_its_name_and_what_calls_it_are_kernels():
    with av.open_device("host", soc="Ascend310P3", cann="8.1") as device:
        result = av.check("rms_norm", device, depth="quick")
        assert result.passed and "Ascend310P3" in result.scope
        assert av.check(
            "rms_norm",
            lambda **inputs: device.run("rms_norm", **inputs),
            soc="Ascend310P3",
            depth="quick",
        ).passed
    named = av.check("rms_norm", "host", soc="Ascend310P3", cann="8.1", depth="quick")
    assert named.passed and named.cases == result.cases


class Refusing:
    """A device that answers some calls with an error code."""

    def __init__(self, device, refuses):
        self.device, self.refuses, self.soc, self.cann, self.name = (
            device,
            refuses,
            device.soc,
            device.cann,
            "refusing",
        )

    def run(self, op, /, **inputs):
        if self.refuses(inputs):
            raise AclError(f"{op.aclnn_name}GetWorkspaceSize", 161002, "no")
        return self.device.run(op, **inputs)


def test_an_error_code_is_an_excuse_only_where_the_product_does_not_take_the_case():
    half = np.dtype(np.float16)
    with av.open_device("host") as device:
        refusing = Refusing(device, lambda inputs: inputs["x"].dtype == half)
        for kernel in (refusing, lambda **inputs: refusing.run(RMS, **inputs)):
            result = av.check(RMS, kernel, allow_unsupported=True, depth="quick")
            assert (
                not result.passed
                and result.failed == 0
                and result.refused == 0
                and not result.unsupported.cases
            )
            assert "raises" in str(result) and "161002" in str(result) and "float16" in str(result)
        only_double = av.check(RMS, device, beyond=True, limits={"x": 100})
        assert only_double.passed and only_double.refused > 0


@pytest.mark.parametrize(
    "name", ["mine.py", "no_such_module:f", "math:no_such_function", "math:pi", "no/file.py:f"]
)
def test_a_name_that_leads_nowhere_is_refused(name):
    with pytest.raises(ValueError, match="FILE.py:FUNCTION"):
        load_kernel(name)


def test_a_folder_of_outputs_is_a_kernel(tmp_path):
    run_outside(write_suite("rms_norm", tmp_path / "cases", shapes=[(4, 6)]), RMS.backward)
    assert av.check("rms_norm", tmp_path / "cases").passed


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
@pytest.mark.sampled(4)
def test_every_operator_keeps_enough_cases_by_default(op):
    assert len(Scope.of(op).cases(0)) >= (15 if op.chapter else 12) and len(faults(op.name)) >= (
        15 if op.chapter else 8
    )


def test_what_is_found_out_about_a_case_is_kept_once_and_goes_with_the_case():
    calls, made = [], av.case("rms_norm", dtype="float16")
    counted = once_per_case(lambda made, more: calls.append(more) or more)
    assert [counted(made, more) for more in (1, 1, 2)] == [1, 1, 2] and calls == [1, 2]
    assert (
        Scope.of("rms_norm").takes(made)
        and documented(made)
        and Traits.of(made).lengths
        and Coverage().add(made) is None
    )
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None
