"""Tolerances: sound for any order of sums, tight, and they pass the same wrong kernels as plain loops."""

import json
import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from checking.orders import ADDS, COMES, PLANS, attack, fused, held, kernel
from machine import SOAK

import aclnn_viz as av
from aclnn_viz.checking.tolerances import line
from aclnn_viz.cli import main
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.faults.fault import faulty_kernel

ATTACKED = [
    ("rms_norm", "float32", (3, 301)),
    ("rms_norm", "float16", (77, 5)),
    ("layer_norm", "float32", (1, 1000)),
    ("layer_norm", "bfloat16", (40, 3)),
    ("cross_entropy_loss", "float32", (9, 30)),
    ("group_norm_swish", "float32", (2, 4, 9)),
    ("log_softmax", "float16", (4, 65)),
    ("grid_sampler_2d", "float32", (1, 2, 4, 4)),
    ("hardswish", "float32", (50,)),
    ("layer_norm", "float64", (5, 40)),
]


CASES = None if SOAK else 3  # cases of an attack, out of seven


@pytest.mark.parametrize(("name", "dtype", "shape"), ATTACKED)
@pytest.mark.sampled(1)
def test_no_order_of_sums_breaks_a_tolerance_named_sound(name, dtype, shape):
    for order, used in islice(attack(av.case(name, dtype=dtype, shape=shape), 0), CASES):
        assert used <= 1.0, order


def test_in_float64_a_tolerance_allows_for_the_rounding_of_the_exact_number():
    case = av.case("tanh", dtype="float64", shape=(4, 1000), seed=293977369)
    (_, used), *_ = attack(case, 0)
    assert 0.5 < used <= 1.0


def test_the_attack_breaks_a_tolerance_that_holds_for_trees_alone():
    case = av.case(
        "rms_norm",
        shape=(4096, 2),
        dy=1.0,
        x=np.float32(1.0) + np.random.default_rng(0).random((4096, 2), np.float32),
    )
    trees, every = (
        av.tolerance("rms_norm", cases=[case], plan="pairwise"),
        av.tolerance("rms_norm", cases=[case]),
    )
    (chain,) = [kernel("rms_norm", "as they are", "one by one")(**case.inputs)]
    assert held(trees, [case], [chain]) > 1.0 >= held(every, [case], [chain])
    assert (
        held(trees, [case], [kernel("rms_norm", "as they are", "by neighbours")(**case.inputs)])
        <= 1.0
    )


@pytest.mark.parametrize(
    ("name", "plan"),
    [(name, plan) for name in ("rms_norm", "cross_entropy_loss", "embedding") for plan in PLANS],
)
@pytest.mark.sampled(1)
def test_no_order_breaks_a_tolerance_of_sums_in_16_bits(name, plan):
    assert all(
        used <= 1.0 for _, used in islice(attack(av.case(name, dtype="float16"), 1, plan), CASES)
    )


def test_the_worst_order_errs_more_than_others_and_the_compensated_sum_less():
    terms = (1.0 + np.random.default_rng(0).random((200, 5))).astype(np.float32)
    error = {
        name: float(
            np.abs(
                np.add.accumulate(come(terms, np.random.default_rng(1)), axis=0)[-1]
                - terms.sum(0, np.float64)
            ).min()
        )
        for name, come in COMES.items()
    }
    assert min(error["worst first"], error["worst first, downwards"]) > 3 * max(
        error[one] for one in ("as they are", "reversed", "shuffled")
    )
    # an ulp of 300
    assert np.abs(ADDS["compensated"](terms, None) - terms.sum(0, np.float64)).max() <= 2.0**-15


def test_a_fused_sum_rounds_each_step_once():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 30)).astype(np.float32)
    total = np.float32(np.float64(a[0]) * b[0])
    for x, y in zip(a[1:], b[1:]):
        exact = Fraction(float(total)) + Fraction(float(x)) * Fraction(float(y))
        near = np.float32(float(exact))
        total = min(
            (np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))),
            key=lambda one: abs(Fraction(float(one)) - exact),
        )
    assert fused((a.astype(np.float64) * b)[:, np.newaxis], np.float32)[0] == total


@pytest.mark.parametrize("name", ["rms_norm", "hardswish", "tanh"])
def test_a_sound_pair_lies_on_bounds_so_that_a_smaller_one_is_not_sound(name):
    found = av.tolerance(name, shape=(6, 20))
    pair = found.pairs[-1]
    assert (found.rtol, found.atol) == (
        pair.rtol,
        pair.atol,
    ) and pair.seen_atol + pair.seen_rtol <= 1.5 * (pair.atol + pair.rtol)
    assert 0 <= pair.rtol <= pair.rtol_alone


@pytest.mark.parametrize("seed", range(6))
def test_the_line_is_above_all_points_and_no_line_through_two_of_them_is_lower(seed):
    rng = np.random.default_rng(seed)
    sizes, bounds = rng.random(12), rng.random(12)
    if seed % 2:
        bounds *= sizes
    rtol, atol = line(sizes, bounds)
    best = math.inf
    slopes = [
        0.0,
        *(bounds / sizes),
        *((bounds[i] - bounds[j]) / (sizes[i] - sizes[j]) for i in range(12) for j in range(i)),
    ]
    for slope in slopes:
        best = (
            min(best, slope * sizes.mean() + max(0.0, (bounds - slope * sizes).max()))
            if slope >= 0
            else best
        )
    assert (bounds <= atol + rtol * sizes).all() and rtol >= 0 <= atol
    assert rtol * sizes.mean() + atol == pytest.approx(best, rel=1e-9)


def passes(op, fault, cases, rtol, atol):
    """Return whether numpy.allclose lets a wrong kernel pass, case by case."""
    wrong = faulty_kernel(op, fault)
    for case in cases:
        truth = op.truth(**case.inputs)
        try:
            with np.errstate(all="ignore"):
                outputs = wrong(**case.inputs)
        except Exception:  # a broken page may raise anything
            return False
        if not all(
            outputs[name].shape == exact.shape
            and np.allclose(outputs[name].astype(np.float64), exact, rtol, atol, equal_nan=True)
            for name, exact in truth.items()
        ):
            return False
    return True


@pytest.mark.parametrize("pair", [(0.0, 0.0), (1e-5, 1e-8), (1e-3, 1e-3), (0.1, 0.1), (10.0, 10.0)])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("rms_norm", "float16"),
        ("hardswish", "bfloat16"),
        ("cross_entropy_loss", "float32"),
        ("grid_sampler_2d", "float32"),
        ("layer_norm", "float64"),
        ("softplus", "float16"),
    ],
)
@pytest.mark.sampled(2)
def test_what_is_let_through_is_what_allclose_lets_through(name, dtype, pair):
    op, cases = av.operator(name), [av.case(name, dtype=dtype, seed=seed) for seed in range(2)]
    found = av.tolerance(name, cases=cases, let_through=pair)
    assert {one.fault for one in found.passing} == {
        fault.name for fault in faults(name) if passes(op, fault, cases, *pair)
    }
    assert len(found.passing) + len(found.caught) == len(faults(name))
    used = [one.used for one in found.passing]
    assert used == sorted(used) and all(one.used > 1 for one in found.caught)


def test_a_wrong_kernel_that_passes_is_told_from_one_that_these_inputs_do_not_show():
    found = av.tolerance("rms_norm", shape=(8, 40), dtype="float16", let_through=(1e-3, 1e-3))
    by_name = {one.fault: one for one in found.passing}
    assert by_name["strides ignored"].beyond <= 1.0 < by_name["16-bit outputs truncated"].beyond
    assert found.smallest.fault == "16-bit outputs truncated"
    assert (
        av.tolerance(
            "rms_norm", shape=(8, 40), dtype="float16", let_through=(found.rtol, 0.0)
        ).smallest
        is None
    )


def test_a_tolerance_says_what_it_does_not_hold_for():
    # between two pixels
    text = str(av.tolerance("grid_sampler_2d", shape=(1, 1, 7, 7), grid=1 / 7, interpolationMode=1))
    assert "16 elements depend on how an intermediate value is rounded" in text
    assert "no rtol is sound without atol" in str(av.tolerance("rms_norm"))


@pytest.mark.filterwarnings("error")
def test_a_sum_that_overflows_in_one_order_alone_is_left_out():
    found = av.tolerance("rms_norm", dy=np.full((8, 64), 3e38, np.float32))
    assert "may overflow" in str(found) and all(
        math.isfinite(one) for pair in found.pairs for one in (pair.seen_rtol, pair.seen_atol)
    )


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ({"let_through": (1.0, math.nan)}, "numbers from 0 on"),
        ({"cases": []}, "cases are those of rms_norm"),
        ({"cases": [av.case("tanh")]}, "cases are those of rms_norm"),
        ({"dy": math.nan, "shape": (1, 4)}, "compares finite"),
    ],
)
def test_what_no_tolerance_can_be_of_is_refused(call, part):
    with pytest.raises(ValueError, match="got") as error:
        av.tolerance("rms_norm", **call)
    assert part in str(error.value)


def test_the_command_prints_both_as_tables_and_as_json(capsys):
    asked = "tolerance rms_norm --shape 4,20 "
    assert main(f"{asked}--dtype float16 --let-through 1e-3 1e-3".split()) == 0
    text = capsys.readouterr().out
    assert "dgammaOut" in text and "16-bit outputs truncated" in text
    assert main(f"{asked}--plan pairwise --json".split()) == 0
    content = json.loads(capsys.readouterr().out)
    assert (
        content["plan"] == "pairwise"
        and content["pairs"][0]["output"] == "dxOut"
        and 0 < content["atol"] < 1
    )
