"""Approximate instructions have the errors that their pages state, and causes of wrong numbers are told apart."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from machine import SOAK

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.cpp import cpp
from aclnn_viz.tiles.precision import DOCUMENTED, FORMULA, PRECISION

# What the pages say is missed, and the largest error of a table of so many bits of fraction.
STATED = {
    half: (Fraction(1, 1000), Fraction(1, 2**8)),
    float32: (Fraction(1, 10**4), Fraction(1, 2**12)),
}  # noqa: F405
EXACT = {half: Fraction(1, 2**10), float32: Fraction(1, 2**22)}  # noqa: F405  of two roundings


def of_root(x: Fraction) -> Fraction:
    """Return 1 / sqrt(x) to 60 digits, by whole numbers."""
    return Fraction(10**60, isqrt(x.numerator * 10**120 // x.denominator))


RIGHT = {"Rsqrt": of_root, "Reciprocal": lambda x: 1 / x}


def applied(name, x, **how):
    y = np.zeros_like(x)

    def kernel(x, y):
        ub, given, made = (
            LocalMemAllocator(),
            GlobalTensor(x.array.dtype),
            GlobalTensor(x.array.dtype),
        )  # noqa: F405
        given.SetGlobalBuffer(x), made.SetGlobalBuffer(y)
        tile = ub.Alloc(x.array.dtype, x.array.size)
        DataCopy(tile, given, x.array.size)  # noqa: F405
        PipeBarrier(PIPE_ALL)  # noqa: F405
        globals()[name](tile, tile, x.array.size)
        PipeBarrier(PIPE_ALL)  # noqa: F405
        DataCopy(made, tile, x.array.size)  # noqa: F405

    run = av.tiles.run(kernel, x, y, **how)
    assert run.hazards == () and list(run.approximate) == [name]
    return y


@pytest.mark.parametrize("dtype", STATED, ids=str)
@pytest.mark.parametrize("name", RIGHT)
def test_approximate_instructions_miss_what_their_page_says_and_no_more(name, dtype):
    x = np.random.default_rng(0).uniform(0.01, 100, 512).astype(dtype)
    documented, exact = applied(name, x), applied(name, x, precision="exact")
    assert np.array_equal(documented, applied(name, x, precision="documented", schedule=3))

    def errors(values):
        right = [RIGHT[name](Fraction(float(value))) for value in x]
        return [abs(Fraction(float(y)) / r - 1) for y, r in zip(values, right)]

    missed, most = STATED[dtype]
    assert missed < max(errors(documented)) <= most + EXACT[dtype]
    assert max(errors(exact)) <= EXACT[dtype]
    special = applied(name, np.array([np.inf, np.nan, 0, 1, 4, 16, 0.25, 64] * 2, dtype))
    by_hand = {
        "Rsqrt": [0, np.nan, np.inf, 1, 0.5, 0.25, 2, 0.125],
        "Reciprocal": [0, np.nan, np.inf, 1, 0.25, 0.0625, 4, 0.015625],
    }
    np.testing.assert_array_equal(special, np.array(by_hand[name] * 2, dtype))


def test_a_precision_that_is_unknown_is_refused():
    with pytest.raises(ValueError, match="one of documented, exact: got 'best'"):
        applied("Rsqrt", np.ones(16, np.float32), precision="best")


SOURCE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void chosen(GM_ADDR x, GM_ADDR y, int32_t which) {
    LocalMemAllocator<> ub;
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half *)x), to.SetGlobalBuffer((__gm__ half *)y);
    auto a = ub.Alloc<half>(64), b = ub.Alloc<half>(64), d = ub.Alloc<half>(64);
    DataCopy(a, from, 64);
    pipe_barrier(PIPE_ALL);
    switch (which) {
CASES
    }
    pipe_barrier(PIPE_ALL);
    DataCopy(to, d, 64);
}
"""
# Kernels with a right formula whose steps lose digits in 16 bits, and their results; a C has several values.
LOSSY = {
    "Adds(d, a, half(C), 64); Adds(d, d, half(-C), 64)": lambda x: x,
    "Muls(d, a, half(C), 64); Muls(d, d, half(C), 64); Muls(d, d, half(1.0f / C), 64); Muls(d, d, half(1.0f / C), 64)": lambda x: x,
    "Adds(d, a, half(C), 64); Mul(d, d, d, 64); Adds(b, a, half(-C), 64); Mul(b, b, b, 64); Sub(d, d, b, 64); "
    "Muls(d, d, half(0.25f / C), 64)": lambda x: x,
    "Duplicate(d, half(C), 64); for (int i = 0; i < 8; ++i) Add(d, d, a, 64); Adds(d, d, half(-C), 64)": lambda x: 8 * x,
    "Muls(d, a, half(1.0f / C), 64); Mul(d, d, d, 64); Mul(d, d, d, 64); Muls(d, d, half(C), 64); Muls(d, d, half(C), 64); "
    "Muls(d, d, half(C), 64); Muls(d, d, half(C), 64)": lambda x: x**4,
}  # fmt: skip
CONSTANTS = (1024, 4096) if SOAK else (4096,)
WRONG = "Adds(a, a, half(0.25f), 64); "  # prefix of a right formula
KERNELS = [
    (before + text.replace("C", f"{constant}.0f"), right, PRECISION if not before else FORMULA)
    for text, right in LOSSY.items()
    for constant in CONSTANTS
    for before in ("", WRONG)
]


@pytest.mark.needs("g++")
def test_sixteen_bit_kernels_are_told_apart_by_precision_and_formula(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rsqrt = "Rsqrt(d, a, 64)", lambda x: x**-0.5, DOCUMENTED
    rooted = "Sqrt(d, a, 64); Duplicate(b, half(1), 64); Div(d, b, d, 64)", lambda x: x**-0.5, None
    kernels = [*KERNELS, rsqrt, rooted, (WRONG + rsqrt[0], rsqrt[1], FORMULA)]
    assert 2 * sum(said is FORMULA for *_, said in KERNELS) == len(KERNELS) >= 10
    cases = "\n".join(f"    case {k}: {{ {text}; break; }}" for k, (text, *_) in enumerate(kernels))
    (tmp_path / "chosen.cpp").write_text(SOURCE.replace("CASES", cases), "utf-8")
    x = np.random.default_rng(1).uniform(0.6, 3, 64).astype(np.float16)
    np.save("x.npy", x)
    for which, (text, right, said) in enumerate(kernels):
        np.save("golden.npy", right(x.astype(np.float64)).astype(np.float16))
        words = "cpp check chosen.cpp --input x.npy --golden golden.npy --rtol 0.001 --set"
        status = cli.main([*words.split(), f"which={which}"])
        out = capsys.readouterr().out
        assert status == (said is not None), text
        for one in (PRECISION, FORMULA):
            assert (one[:] in out) == (one is said), (text, out)
        assert ("right with an exact Rsqrt (line" in out) == (said is DOCUMENTED), text
    y = np.zeros(64, np.float16)
    run = av.tiles.run(cpp(tmp_path / "chosen.cpp")["chosen"], x, y, 0, precise=True)
    assert run.hazards == () and np.array_equal(x, y)


def sigmoid_of(step):
    """Return a tile program of sigmoid's backward pass that first takes `output` through a step."""

    def kernel(gradOutput, output, gradInput, workspace, tiling):
        n = gradOutput.array.size
        ub, form = LocalMemAllocator(), gradOutput.array.dtype  # noqa: F405
        tensors = [GlobalTensor(form) for _ in range(3)]  # noqa: F405
        for tensor, memory in zip(tensors, (gradOutput, output, gradInput)):
            tensor.SetGlobalBuffer(memory)
        a, b, c, d = (ub.Alloc(form, max(n, 64)) for _ in range(4))
        row, pad = DataCopyExtParams(1, n * form.itemsize, 0, 0, 0), DataCopyPadExtParams()  # noqa: F405
        DataCopyPad(a, tensors[0], row, pad), DataCopyPad(b, tensors[1], row, pad)  # noqa: F405
        PipeBarrier(PIPE_ALL)  # noqa: F405
        Duplicate(d, 1.0, n)  # noqa: F405
        step(b, c, d, n)
        Sub(d, d, b, n), Mul(c, b, d, n), Mul(a, a, c, n)  # noqa: F405
        PipeBarrier(PIPE_ALL)  # noqa: F405
        DataCopyPad(tensors[2], a, row)  # noqa: F405

    return av.tiles.Program("sigmoid", "own", lambda platform, **_: av.tiles.Tiling(1), kernel)


def inverted_twice(b, c, d, n):
    Div(c, d, b, n), Reciprocal(b, c, n)  # noqa: F405


def halved(b, c, d, n):
    Muls(b, b, 0.5, n)  # noqa: F405


def nothing(b, c, d, n):
    pass


@pytest.mark.parametrize(
    "step, dtype, said",
    [
        (nothing, "float32", None),
        (inverted_twice, "float32", "right with an exact Reciprocal (line"),
        (halved, "float32", None),
        (halved, "float16", FORMULA[:]),
    ],
)
def test_the_verdict_on_a_tile_program_names_what_it_comes_from(step, dtype, said):
    cases = [av.case("sigmoid", shape=(n,), dtype=dtype, seed=n) for n in (33, 64)]
    result = av.check("sigmoid", sigmoid_of(step), cases=cases, depth="quick")
    assert result.passed == (step is nothing)
    told = [note for note in result.notes if "exact" in note or "every format" in note]
    assert len(told) == bool(said) and all(said in one for one in told)
