"""The table of kinks against one-sided differences of the references at 50 digits, which know nothing of the kit."""

import json
from fractions import Fraction

import numpy as np
import pytest
from machine import SOAK
from reference import grid_sampler_2d, hardswish
from reference.exact import mp

from aclnn_viz.verification import kinks
from aclnn_viz.verification.by_operator import grid_sampler_2d_conventions
from aclnn_viz.verification.conventions import conventions

INTERPOLATIONS = {"bilinear": 0, "nearest": 1}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
PIXELS = [1.0, 3.0, 7.0, 15.0, 31.0]
STEP = mp.mpf(2) ** -80


@pytest.fixture(scope="module")
def table():
    return kinks.rows()


def mode_of(row):
    interpolation, padding, align = row.mode.split(", ")
    return INTERPOLATIONS[interpolation], PADDINGS[padding], align.endswith("True")


def value(row):
    """The function of the row at 50 digits, by the pixel coordinate."""
    if row.operator == "hardswish":
        return lambda x: hardswish.forward(self=np.array([x], dtype=object))["out"][0]
    interpolation, padding, align = mode_of(row)
    size = 5 if align else 4
    image = np.array(PIXELS[:size]).reshape(1, 1, 1, size)

    def sampled(u):
        x = 2 * u / (size - 1) - 1 if align else (2 * u + 1) / size - 1
        grid = np.array([x, mp.zero], dtype=object).reshape(1, 1, 1, 2)
        return grid_sampler_2d.forward(
            input=image,
            grid=grid,
            interpolationMode=interpolation,
            paddingMode=padding,
            alignCorners=align,
        )["out"][0, 0, 0, 0]

    return sampled


def one_sided(row, side):
    """From two points on the side, as the function itself may jump: linear pieces exactly, cubics to 2^-80."""
    f, at = value(row), mp.mpf(row.at)
    return side * (f(at + 2 * side * STEP) - f(at + side * STEP)) / STEP


def test_one_sided_derivatives(table):
    # Rounding at 50 digits divided by 2^-80 is about 1e-25; the second order of a cubic is 2^-80 times its curvature.
    wrong = [
        (row.mode, row.at)
        for row in table[:: 1 if SOAK else 4]
        for found, side in ((row.left, -1), (row.right, 1))
        if abs(one_sided(row, side) - found) > 1e-15
    ]
    assert wrong == []


def test_a_wrong_derivative_is_noticed(table):
    assert all(abs(one_sided(row, 1) - (row.right + 1e-9)) > 1e-15 for row in table[:10])


def test_jumps(table):
    for row in table[:: 1 if SOAK else 4]:
        f, at = value(row), mp.mpf(row.at)
        assert abs(f(at + STEP) - f(at - STEP) - row.jump) < 1e-15, (row.mode, row.at)


def test_no_kink_is_missing(table):
    """Between the rows of a bilinear mode the slope does not jump at any half pixel."""
    by_mode = {}
    for row in table:
        if row.mode.startswith("bilinear"):
            by_mode.setdefault(row.mode, []).append(row)
    for rows in [*by_mode.values()][:: 1 if SOAK else 3]:
        size, seen = 5 if mode_of(rows[0])[2] else 4, {row.at for row in rows}
        for half in range(-2 * size, 4 * size + 1):
            probe = kinks.Row(**{**vars(rows[0]), "at": half / 2})
            jumps = abs(one_sided(probe, -1) - one_sided(probe, 1)) > 1e-15
            assert jumps == (half / 2 in seen), (probe.mode, probe.at)


def test_kernel_values_are_those_of_the_reference(table):
    for row in table[:: 1 if SOAK else 4]:
        if row.operator == "hardswish":
            expected = hardswish.derivative(mp.mpf(row.at))
        else:
            interpolation, padding, align = mode_of(row)
            size = 5 if align else 4
            x = (
                Fraction(row.at) * 2 / (size - 1) - 1
                if align
                else (Fraction(row.at) * 2 + 1) / size - 1
            )
            expected = (
                grid_sampler_2d.backward(
                    gradOutput=np.ones((1, 1, 1, 1)),
                    input=np.array(PIXELS[:size]).reshape(1, 1, 1, size),
                    grid=np.array([float(x), 0.0]).reshape(1, 1, 1, 2),
                    interpolationMode=interpolation,
                    paddingMode=padding,
                    alignCorners=align,
                )["gridGrad"][0, 0, 0, 0]
                / 2
            )
        # float64, a few operations on numbers up to 31
        assert abs(expected - row.kernel) < 1e-12, (row.mode, row.at)


def test_all_modes_but_bicubic_are_there(table):
    assert len({row.mode for row in table}) == 1 + 12


@pytest.mark.parametrize(
    "mode,at,convention",
    [
        ("", -3, "right"),
        ("", 3, "left"),
        ("bilinear, zeros, alignCorners=True", 4, "right"),
        ("bilinear, border, alignCorners=True", 0, "left, from outside"),
        ("bilinear, border, alignCorners=False", 3, "right, from outside"),
        ("bilinear, reflection, alignCorners=True", 4, "mean"),
        ("bilinear, reflection, alignCorners=True", -2, "left"),
        ("nearest, border, alignCorners=True", 0.5, "both"),
    ],
)
def test_conventions(table, mode, at, convention):
    assert [row.convention for row in table if (row.mode, row.at) == (mode, at)] == [convention]


@pytest.mark.parametrize("value,name", [(0, "left"), (2, "right"), (1, "mean"), (3, "other")])
def test_names_of_conventions(value, name):
    assert kinks.convention(value, 0, 2) == name
    assert kinks.convention(0, 0, 0) == "both" and kinks.convention(1, 0, 0) == "other"


def test_another_kernel_shows(monkeypatch):
    monkeypatch.setattr(grid_sampler_2d_conventions, "_kernel", lambda *_: 99.0)
    rows = kinks.rows()
    assert all(row.convention == "other" for row in rows if row.operator == "grid_sampler_2d")


def test_the_table_and_the_conventions_say_the_same_of_pytorch(table):
    recorded = [row.pytorch for row in conventions("hardswish") if row.topic == "kink"]
    assert [[row.pytorch] for row in table if row.operator == "hardswish"] == recorded


def test_values_of_pytorch_are_cited_or_run(table):
    assert all("PyTorch" in row.pytorch_source or "ATen" in row.pytorch_source for row in table)


def test_pytorch_is_run_where_it_is_installed(monkeypatch):
    """Any module with the interface will do: here one whose gradient is 4 everywhere."""

    class Tensor:
        def __init__(self, values, dtype=None, requires_grad=False):
            self.grad = np.full(np.shape(values), 4.0)

        def sum(self):
            return self

        def backward(self):
            pass

    class Torch:
        __version__, float64, tensor = "2.99", None, Tensor

        class nn:  # noqa: N801 - PyTorch's name
            class functional:  # noqa: N801
                hardswish = staticmethod(lambda x: x)
                grid_sample = staticmethod(lambda image, grid, mode, padding, align: grid)

    monkeypatch.setattr(kinks, "torch_here", lambda: Torch)
    rows = kinks.rows()
    # the gradient by the grid counts half a pixel
    assert {row.pytorch for row in rows} == {4.0, 2.0}
    assert {row.pytorch_source for row in rows} == {"PyTorch 2.99, run here"}


def test_renderings(table):
    text, data = kinks.text_table(table), json.loads(json.dumps(kinks.to_json(table)))
    assert len(data) == len(table) and data[0]["at"] == -3 and data[0]["kernel"] == -0.5
    assert all(row.mode in text and row.pytorch_source in text for row in table)
    assert "bilinear, border, alignCorners=True" in text and "left, from outside" in text
