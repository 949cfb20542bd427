"""Every derivation runs line by line in numbers, and is compared with differences of the forward pass."""

import itertools

import mpmath
import numpy as np
import pytest
from machine import SOAK
from sympy import Indexed, Integer, Symbol

import derivations
from derivations import (
    cross_entropy_loss,
    evaluate,
    grid_sampler_2d,
    group_norm_swish,
    hardswish,
    rms_norm,
)
from notebooks.gallery import declared

DIGITS = 50
# central differences are then exact to about 1e-30 of these smooth functions
STEP = mpmath.mpf(10) ** -15
CLOSE = 1e-25
BAD = ("Sum(", "_b0", "_Dummy", "Indexed", "KroneckerDelta", "Dummy")
SIZES = {"m": 2, "n": 3, "N": 2, "G": 2, "D": 2, "P": 3, "C": 4, "H": 3, "W": 4, "Q": 2}
OTHER = {"m": 4, "n": 2, "N": 3, "G": 1, "D": 3, "P": 2, "C": 3, "H": 2, "W": 5, "Q": 1}


def numbers(rng, shape):
    """Return numbers with few binary digits, which enter the arithmetic exactly."""
    return np.vectorize(lambda v: mpmath.mpf(float(v)) / 128, otypes=[object])(
        rng.integers(20, 200, shape) * 2 + 1
    ) * np.where(rng.integers(0, 2, shape) == 0, 1, -1)


def length(size, sizes):
    return int(size) if size.is_Integer else sizes[size.name]


def draw(tape, given, sizes, seed):
    """Return values for the inputs of a tape, for the given adjoints and for the parameters in its equations."""
    rng = np.random.default_rng(seed)
    values = {
        **sizes,
        "epsilon": mpmath.mpf(1) / 64,
        "eps": mpmath.mpf(1) / 64,
        "ignoreIndex": 1,
        "labelSmoothing": mpmath.mpf(1) / 8,
        "lseSquareScaleForZloss": mpmath.mpf(1) / 16,
        "swishScale": mpmath.mpf(3) / 2,
        "gradLoss": mpmath.mpf(7) / 8,
        "gradZlossOptional": mpmath.mpf(3) / 8,
    }
    for node in tape.nodes.values():
        if node.definition is None:
            shape = [length(size, sizes) for size in node.indices.values()]
            limit = {"X": sizes["W"], "Y": sizes["H"]}.get(node.name, 1)
            values[node.name] = (
                rng.integers(-1, limit + 1, shape)
                if node.base.is_integer or limit > 1
                else numbers(rng, shape)
            )
    values["target"] = rng.integers(0, sizes["C"], sizes["N"])
    values["target"][0] = 0  # at least one row counts
    for name, indices in given.items():
        values[name] = numbers(rng, [length(size, sizes) for size in indices.values()])
    return values


def run(steps, values, sizes, index_lengths):
    """Evaluate the equations one after the other; each defines the array on its left."""
    values = dict(values)
    for step in steps:
        left = step.equation.lhs
        name, indices = (
            (left.base.name, left.indices) if isinstance(left, Indexed) else (left.name, ())
        )
        axes = {index: index_lengths[index] for index in indices}
        values[name] = evaluate(step.equation.rhs, values, axes, digits=DIGITS)
    return values


def index_lengths(tape, sizes):
    return {
        index: length(size, sizes)
        for node in tape.nodes.values()
        for index, size in node.indices.items()
    }


def loss(steps, values, sizes, lengths, output, given):
    total = run(steps, values, sizes, lengths)[output]
    return (total * values[given]).sum() if given else total.item()


CASES = {
    "rms_norm": (lambda: rms_norm.derive(), "y", "dy", ["x", "gamma"]),
    "group_norm_swish": (lambda: group_norm_swish.derive(), "out", "dy", ["x", "gamma", "beta"]),
    **{
        f"cross_entropy_loss {reduction}": (
            lambda reduction=reduction: cross_entropy_loss.derive(reduction),
            "L",
            "ones" if reduction == "none" else None,
            ["x"],
        )
        for reduction in ("none", "mean", "sum")
    },
    **{
        f"grid_sampler_2d {mode}": (
            lambda mode=mode: grid_sampler_2d.derive(*mode),
            "out",
            "gradOutput",
            ["input", "gx", "gy"],
        )
        for mode in [(0, 0, False), (0, 2, True), (1, 1, False), (2, 0, True)]
    },
}


@pytest.mark.parametrize(
    ("case", "sizes"),
    [
        pytest.param(case, sizes, id=f"{case}-{len(sizes)}{n}")
        for k, case in enumerate(CASES)
        for n, sizes in enumerate((SIZES, OTHER))
        if SOAK or n == k % 2
    ],
)
@pytest.mark.sampled(2)
def test_each_step_against_differences(case, sizes):
    derive, output, given, wanted = CASES[case]
    more = {}
    if "none" in case:
        more = {"ones": np.ones(sizes["N"], dtype=object)} | {
            name: numbers(np.random.default_rng(seed), sizes["N"])
            for seed, name in ((1, "gradLoss"), (2, "gradZlossOptional"))
        }
    derived = each_step_holds(derive(), output, given, sizes, more)
    assert set(wanted) <= derived or "(1, " in case


def each_step_holds(derivation, output, given, sizes, more=()):
    """Compare each adjoint, and each conclusion, with differences; return the names of the nodes with adjoints."""
    tape, steps = derivation.tape, derivation.steps
    with mpmath.workdps(DIGITS):
        lengths = index_lengths(tape, sizes)
        values = draw(
            tape, {given: tape.nodes[output].indices} if given else {}, sizes, seed=5
        ) | dict(more)
        forward = list(itertools.takewhile(lambda s: not s.title.startswith("Adjoint"), steps))
        result = run(steps, values, sizes, lengths)
        nodes = {
            s.title.removeprefix("Adjoint of ") for s in steps if s.title.startswith("Adjoint of ")
        }
        for node in nodes:
            check_against_differences(node, result, forward, values, sizes, lengths, output, given)
        for concluded, adjoint in tape.conclusions.items():
            expected = result.get(adjoint, np.zeros_like(result[concluded]))
            assert np.all(np.abs(result[concluded] - expected) < CLOSE)
    return nodes


def check_against_differences(node, result, forward, values, sizes, lengths, output, given):
    """Move each of a few entries of a node and compare the change of the loss with the node's adjoint."""
    after = (
        list(itertools.dropwhile(lambda s: name_of(s) != node, forward))[1:]
        if node in map(name_of, forward)
        else forward
    )
    base = {**result, **{k: v for k, v in values.items()}}
    array = np.array(base[node], dtype=object)
    entries = list(np.ndindex(array.shape))
    for entry in entries[:: max(1, len(entries) // (3 if SOAK else 2))]:
        moved = []
        for side in (1, -1):
            changed = array.copy()
            changed[entry] = changed[entry] + side * STEP
            moved.append(loss(after, {**base, node: changed}, sizes, lengths, output, given))
        slope = (moved[0] - moved[1]) / (2 * STEP)
        assert abs(slope - np.array(result[f"{node}bar"], dtype=object)[entry]) < CLOSE, (
            node,
            entry,
        )


def name_of(step):
    left = step.equation.lhs
    return left.base.name if isinstance(left, Indexed) else left.name


def all_steps():
    yield from hardswish.derive().steps
    for name, (derive, *_) in CASES.items():
        # its sixteen taps take longer than all others
        if SOAK or name != "grid_sampler_2d (2, 0, True)":
            yield from derive().steps


def test_steps_render_as_latex_with_names_as_in_print():
    text = ""
    for step in all_steps():
        text += f" {(latex := step.latex)}"  # computed at each access
        assert latex and step.title and step.why and not any(bad in latex for bad in BAD), step
        assert latex.count("{") == latex.count("}")
    names = (r"\hat{x}", r"\rho", r"\mu", r"\bar{\rho}", r"\bar{\hat{x}}", r"\gamma", r"\delta")
    assert all(name in text for name in names)


def test_every_step_of_every_mode_is_collected_for_translation():
    said = {text for step in all_steps() for text in step.texts}
    assert said <= {*declared.steps()} and {"Divisor", "Pad x", "Adjoint of {name}"} <= said
    assert not said <= {text for step in grid_sampler_2d.derive().steps for text in step.texts}


def test_hardswish_steps_are_the_slopes_of_the_forward_definition():
    x = Symbol("x", real=True)
    steps = hardswish.derive().steps
    forward = steps[0].equation.rhs
    for step, at in zip(steps[1:4], (-5, 1, 4)):
        slope = (forward.subs(x, at + Integer(1) / 64) - forward.subs(x, at - Integer(1) / 64)) * 32
        assert slope == step.equation.rhs.subs(x, at)
    for step, (at, side) in zip(steps[4:], ((-3, -1), (-3, 1), (3, -1), (3, 1))):
        h = side * Integer(1) / 2**40
        assert abs((forward.subs(x, at + h) - forward.subs(x, at)) / h - step.equation.rhs) < 1e-9


def test_a_wrong_adjoint_is_noticed():
    derivation = rms_norm.derive()
    with mpmath.workdps(DIGITS):
        lengths = index_lengths(derivation.tape, SIZES)
        values = draw(derivation.tape, {"dy": derivation.tape.nodes["y"].indices}, SIZES, seed=5)
        result = run(derivation.steps, values, SIZES, lengths)
        result["xbar"] = result["xbar"] * (1 + mpmath.mpf(10) ** -20)
        with pytest.raises(AssertionError):
            check_against_differences(
                "x", result, list(derivation.steps[:3]), values, SIZES, lengths, "y", "dy"
            )


def test_operators_are_reachable_from_the_package():
    for chapter in derivations.chapters():
        assert getattr(derivations, chapter.__name__.rpartition(".")[2]).book.theorems


def test_a_notebook_shows_every_step_with_its_reason():
    derivation = hardswish.derive()
    shown = derivation._repr_markdown_()
    assert all(
        f"**{step.title}.** {step.why}\n\n$${step.latex}$$" in shown for step in derivation.steps
    )
