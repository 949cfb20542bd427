"""Verdicts of `check` on right, wrong and misbehaving kernels."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from checking.wrong_kernels import RMS, SWISH, fault, scaled, swish
from machine import SOAK, sampled

from aclnn_viz.cases import case
from aclnn_viz.checking import check, counterexample, scope
from aclnn_viz.checking.kernel_call import named, to_numpy

pytestmark = pytest.mark.usefixtures("unexplained")


@pytest.fixture(scope="module")
def missing():
    return check("rms_norm", fault("rms_norm", "missing 1/n"))


def test_a_right_kernel_passes_and_what_was_not_tried_is_named():
    result = check("rms_norm", RMS.backward)
    assert result.passed and result.diagnosis is None and result.counterexample is None
    assert "did not try: " in str(result)


def test_the_fault_is_named_with_its_evidence(missing):
    assert (
        not missing.passed
        and missing.diagnosis.name == "missing 1/n"
        and missing.diagnosis.confident
    )
    assert f"on all of {missing.cases} cases" in str(missing)
    assert (
        "equals the truth when n = 1" in str(missing)
        and "xp.sum(dy * gamma" in missing.diagnosis.diff
    )


def test_the_counterexample_fits_on_a_slide(missing):
    shown = missing.counterexample
    assert shown.inputs["x"].size == 2 and shown.output == "dxOut"
    assert len(str(shown).splitlines()) <= 10
    truth = RMS.truth(**shown.inputs)["dxOut"]
    assert not np.allclose(shown.actual["dxOut"], truth, rtol=0.1, atol=0.1)


@pytest.mark.usefixtures("unshrunken")
def test_the_region_and_the_mode_are_named():
    result = check(
        "grid_sampler_2d",
        fault("grid_sampler_2d", "reflection sign lost"),
        dtypes="float32",
        where={"interpolationMode": 0},
    )
    assert result.outputs.keys() == {"gridGrad"}
    assert any(
        line.startswith("paddingMode=2") and "never otherwise" in line for line in result.conditions
    )
    wrong, every = result.regions["gridGrad"]["reflected points"]
    assert wrong > 0 and result.regions["gridGrad"]["interior points"][0] == 0 and every > wrong
    shown = result.counterexample.inputs
    assert (
        not SOAK
        or shown["grid"].size == 2
        and shown["gradOutput"].size == 1
        and shown["input"].shape[:2] == (1, 1)
    )
    assert not SOAK or "array of shape" not in str(result.counterexample)


def test_axes_that_an_attribute_lists_are_cut_with_it():
    """Layer norm's axes of normalizedShape."""
    op = case("layer_norm").operator
    result = check(
        op,
        lambda **inputs: (
            op.backward(**inputs)
            | (
                {}
                if len(inputs["normalizedShape"]) < 2
                else {"gradInputOut": np.full_like(inputs["input"], 9.0)}
            )
        ),
        depth="quick",
    )
    sizes = {name: array.size for name, array in result.counterexample.case.arrays.items()}
    assert sizes["input"] == sizes.get("weightOptional", 1) == 1


def test_what_is_wrong_behind_whole_blocks_is_cut_by_blocks():
    kernel = swish(lambda out: out + (out.shape[-1] % 8 == 1 < out.shape[-1]))
    assert check("hardswish", kernel, shapes=[(2, 17)]).counterexample.inputs["self"].shape == (
        1,
        9,
    )


def test_shrinking_names_no_parameter_of_an_operator():
    names = {
        p.name for op in sampled(__name__) for p in (*op.parameters, *op.forward_parameters)
    } - {"self", "input", "x", "mean"}
    source = Path(counterexample.__file__).read_text()
    assert [name for name in sorted(names) if re.search(rf'["\']{name}[_"\']', source)] == []


def test_arrays_of_many_axes_are_printed_without_runs_of_blanks():
    assert counterexample._text(np.ones((1, 2, 1, 1), np.float32)) == "[[[[1.]], [[1.]]]] (float32)"


def test_the_format_is_named():
    result = check("hardswish", fault("hardswish", "computed in 16 bits"), depth="quick")
    assert {line.split(":")[0] for line in result.conditions} >= {
        "dtype='float16'",
        "dtype='bfloat16'",
    }


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (swish(lambda out: out[:-1] if out.ndim else out), "has shape"),
        (swish(lambda out: out.astype(np.float32)), "instead of float16"),
        (lambda **inputs: {}, "out is missing"),
        (
            swish(lambda out: np.full(out.shape, 0x7F800001, np.uint32).view(np.float32)),
            "is nan instead of",
        ),
        (
            lambda **inputs: {"out": SWISH.backward(**inputs)["out"], "more": np.ones(1)},
            "not asked for",
        ),
        (lambda **inputs: {f"n{n}": np.ones(1) for n in range(1200)}, "1200 outputs instead of 1"),
    ],
    ids=["shape", "dtype", "missing", "a nan that signals", "surplus", "a thousand"],
)
def test_wrong_outputs_are_reported(kernel, words):
    result = check("hardswish", kernel, depth="quick")
    assert not result.passed and (
        words in str(result) or any(words in text for text in result.counterexample.problems)
    )


def raising(**inputs):
    raise ZeroDivisionError("no such tile")


def forgetful(gradOutput, self):
    pass


def steering(**inputs):
    """Raise a text with half of a character, as in a file name that is not UTF-8, and codes that clear a terminal."""
    raise OSError("no such file: \x1b[2J\udcff")


class Unreadable(dict):
    def __iter__(self):
        raise RuntimeError("no names")

    items = keys = __iter__


def modifying(gradOutput, self):
    out = SWISH.backward(gradOutput=gradOutput, self=self)
    gradOutput *= 0
    return out


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (raising, "raises ZeroDivisionError: no such tile"),
        (forgetful, "returns None"),
        (modifying, "modifies its input gradOutput"),
        (lambda **inputs: (np.ones(1), np.ones(1)), "returns 2 outputs"),
        (lambda **inputs: "text", "returns str"),
        (
            lambda **inputs: Unreadable(out=1),
            "returns something that cannot be read: RuntimeError: no names",
        ),
        (steering, r"raises OSError: no such file: \x1b[2J\udcff"),
    ],
    ids=["raises", "none", "modifies", "too many", "text", "unreadable", "steering"],
)
def test_misbehaviour_is_reported(kernel, words):
    result = check("hardswish", kernel, depth="quick")
    assert not result.passed and any(words in what for what in result.misbehaviour), (
        result.misbehaviour
    )
    assert words.encode() in str(result).encode()


def test_a_kernel_that_is_not_deterministic_is_reported():
    calls = iter(range(10**6))

    def kernel(**inputs):
        out = SWISH.backward(**inputs)["out"]
        return (
            np.nextafter(out, np.inf).astype(out.dtype)
            if next(calls) % 2 and out.dtype == np.float32
            else out
        )

    result = check("hardswish", kernel)
    assert any("not deterministic" in what for what in result.misbehaviour)


def test_a_result_that_is_kept_for_another_gradient_is_reported():
    kept = {}

    def kernel(gradOutput, self):
        if (start := self.tobytes()[:64]) not in kept:
            kept.clear()
        return kept.setdefault(start, SWISH.backward(gradOutput=gradOutput, self=self)["out"])

    (said,) = check("hardswish", kernel, depth="quick").misbehaviour
    assert said == "keeps a result: out stays as it was when half of gradOutput changes its sign"


def test_padding_bytes_are_no_difference_between_two_calls():
    result = check("hardswish", swish(lambda out: out.astype(np.longdouble)), depth="quick")
    assert not result.passed and not result.misbehaviour and "dtype" in str(result.counterexample)


def test_a_kernel_may_return_the_same_array_again_and_again():
    kept = {}

    def kernel(**inputs):
        found = wrong(**inputs)
        for name, value in found.items():
            found[name] = kept.setdefault((name, value.shape, value.dtype), value)
            found[name][...] = value
        return found

    wrong = fault("rms_norm", "missing 1/n")
    assert check("rms_norm", kernel, depth="quick").diagnosis.name == "missing 1/n"


def test_an_interrupt_stops_the_check_of_a_device(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("aclnn_viz.devices.device.Device.run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        check("hardswish", "host")


def test_a_kernel_that_hangs_is_given_up():
    start = time.monotonic()
    result = check("hardswish", lambda **inputs: time.sleep(30), call_limit=0.2)
    assert "does not return within 0.2 s" in str(result) and time.monotonic() - start < 25


def test_the_time_limit_stops_the_suite():
    result = check(
        "hardswish", lambda **inputs: time.sleep(0.02) or SWISH.backward(**inputs), time_limit=0.05
    )
    assert result.stopped and result.cases < 10 and "time limit" in str(result)
    # beside the verdict, not folded away
    assert result._repr_html_().partition("<details")[0].count("time limit") == 1


@pytest.mark.usefixtures("unshrunken")
def test_results_render_as_text_html_and_json(missing):
    assert str(missing).startswith("rms_norm: WRONG in")
    assert all(
        part in missing._repr_html_()
        for part in ("✘", "<pre>", "likeliest mistake", "smallest case")
    )
    content = json.loads(missing.to_json())
    assert (
        content["diagnosis"]["name"] == "missing 1/n" and content["counterexample"]["inputs"]["x"]
    )
    with_nans = check("hardswish", scaled(SWISH, np.nan), depth="quick")
    assert json.loads(with_nans.to_json())["passed"] is False


def test_progress_sees_every_case():
    seen = []
    check(
        "hardswish",
        SWISH.backward,
        progress=lambda cases, total: (seen.append(one) or one for one in cases),
        depth="quick",
    )
    assert len(seen) == check("hardswish", SWISH.backward, depth="quick").cases


def test_a_seed_of_numpy_renders_as_json():
    result = check("hardswish", SWISH.backward, np.int64(2), depth="quick")
    assert json.loads(result.to_json())["seed"] == 2


@pytest.mark.parametrize(
    "wrap",
    [
        lambda a: a,
        lambda a: [a],
        lambda a: {"out": a},
        lambda a: list(a),
        lambda a: a.tolist(),
        lambda a: a.astype(">f4"),
        lambda a: [a.astype(">f4")],
    ],
    ids=[
        "array",
        "list",
        "dict",
        "list of numbers",
        "list of Python's numbers",
        "big-endian",
        "big-endian list",
    ],
)
def test_arrays_of_any_kind_are_taken(wrap):
    array = np.arange(3, dtype=np.float32)
    found = named(wrap(array), ["out"])["out"]
    np.testing.assert_array_equal(found, array)
    assert found.dtype.isnative


@pytest.mark.parametrize("returned", [(np.ones(2), None), {"dxOut": np.ones(2), "dgammaOut": None}])
def test_the_output_that_is_none_is_named(returned):
    with pytest.raises(
        TypeError, match="None for dgammaOut; leave an output that is not asked for out"
    ):
        named(returned, ["dxOut", "dgammaOut"])


@pytest.mark.needs("torch")
def test_torch_tensors_are_taken():
    import torch

    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        assert to_numpy(torch.tensor([1.5, -2.0], dtype=dtype)).astype(np.float32).tolist() == [
            1.5,
            -2.0,
        ]


def test_a_slow_kernel_that_is_wrong_is_not_run_on_all_cases_and_a_right_one_is(
    monkeypatch, unexplained, unshrunken
):
    monkeypatch.setitem(scope.DEPTHS, "normal", replace(scope.DEPTHS["normal"], enough=0.0))
    wrong, right = (
        check("rms_norm", scaled(RMS, 2)),
        check("rms_norm", RMS.backward),
    )
    assert right.passed and right.cases > wrong.cases and not wrong.passed
    assert f"{right.cases - wrong.cases} of {right.cases} cases were not run" in str(wrong)
