"""Right kernels of any author pass in three formats: one set, with restated formulas of other libraries."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from checking import arrangements, rewritings
from checking.arrangements import kernels
from checking.rewritings import planned
from checking.wrong import ARRANGEMENTS, SLIPS, edited, kernel, loaded, source
from checking.wrong.common import asked, wide
from machine import taught

from aclnn_viz import operator
from aclnn_viz.arrays.plan import BLOCKED, PAIRWISE, SEQUENTIAL, SHUFFLED, Plan
from aclnn_viz.checking import check

FORMATS = ("float16", "bfloat16", "float32")
UNUSUAL = (
    Plan("a tree of neighbours", order=PAIRWISE),
    Plan("one over the length", order=SEQUENTIAL, reciprocal_mean=True),
    Plan("trees of sixteen", order=BLOCKED, tile=16, coordinates="float32"),
    Plan("cores that arrive in any order", order=SHUFFLED, tile=4, cores=5, seed=3),
    Plan("running sums of 64 bits", accumulate="float64"),
)
MEMORY = {}


def again(name, value):
    """Return the values in memory that a kernel keeps and reuses."""
    held = MEMORY.setdefault((name, value.shape, str(value.dtype)), value)
    held[...] = value
    return held


def within(name, value):
    """Return a view in the middle of a larger array."""
    held = np.zeros([n + 2 for n in value.shape], value.dtype)[(..., *[slice(1, -1)] * value.ndim)]
    held[...] = value
    return held


# replacements of an output by name
FORMS = {
    "memory that is used again": again,
    "a view in a larger array": within,
    "columns first": lambda name, value: np.array(value, order="F"),
    "every other element": lambda name, value: np.stack([value, value], -1)[..., 0],
    "from the end of memory": lambda name, value: np.flip(np.flip(value).copy()),
    "another order of bytes": lambda name, value: value.astype(value.dtype.newbyteorder()),
    "without a stride": lambda name, value: np.broadcast_to(value, (1, *value.shape))[0],
}


def formed(op, change, **inputs):
    return {name: change(name, value) for name, value in op.backward(**inputs).items()}


def in_order(op, kind, **inputs):
    return kind(op.backward(**inputs).values())


PLANS = (
    Plan("one after another", order=SEQUENTIAL),
    Plan(
        "tiles on three cores",
        order=BLOCKED,
        tile=8,
        cores=3,
        leading=SHUFFLED,
        scatter=SHUFFLED,
        reciprocal_mean=True,
    ),
)


def layer_norm_as_aten(
    gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask
):
    """layer_norm_kernel.cpp of PyTorch: two sums of a row, of which a and b follow, and x - mean in place of x-hat."""
    n = int(np.prod(normalizedShape))
    x, dy, w = (
        wide(input).reshape(mean.size, n),
        wide(gradOut).reshape(mean.size, n),
        1 if weightOptional is None else wide(weightOptional).reshape(n),
    )
    m, r = (wide(part).reshape(-1, 1).astype(x.dtype) for part in (mean, rstd))
    centred = x - m
    ds, db = np.sum(dy * w * centred, axis=1, keepdims=True), np.sum(dy * w, axis=1, keepdims=True)
    dx = r * (dy * w) - ds * r * r * r / max(n, 1) * centred - r * db / max(n, 1)
    kind = input.dtype if weightOptional is None else weightOptional.dtype
    outputs = {
        "gradInputOut": dx.astype(input.dtype).reshape(input.shape),
        "gradWeightOut": (dy * (centred * r)).sum(0).astype(kind).reshape(normalizedShape),
        "gradBiasOut": dy.sum(0).astype(kind).reshape(normalizedShape),
    }
    return asked(outputs, outputMask)


# the exp of Triton and flash attention
POWER = """import numpy as np


def power(x):
    return np.exp2(x * x.dtype.type(1.4426950408889634))


def sigmoid(x):
    return 1 / (1 + power(-x))


"""


def of_powers():
    for name in SLIPS:
        text = source(name).replace("np.exp(", "power(").replace("import sigmoid, ", "import ")
        if text != source(name):
            yield name, "powers of two", loaded(f"{name}_of_powers", POWER + text)


def all_right():
    """Yield (operator, arrangement, kernel) of those in NumPy alone."""
    ours = [op.name for op in taught()]
    yield from ((name, "by hand", kernel(name)) for name in SLIPS)
    yield from (
        (name, plan.name, planned(name, plan))
        for name in SLIPS
        if name not in ours
        for plan in PLANS
    )
    yield from (
        (op.name, how, kernel)
        for op in taught()
        for how, kernel in rewritings.rewritings(op.name)
        if how not in ("the kit's own", "by hand")
    )
    yield from of_powers()
    yield "layer_norm", "as aten", layer_norm_as_aten
    for name, rows in ARRANGEMENTS.items():
        op = operator(name)
        yield from ((name, how, edited(name, *edits)) for how, edits in rows.items())
        yield from ((name, how, partial(formed, op, change)) for how, change in FORMS.items())
        yield from ((name, str(kind), partial(in_order, op, kind)) for kind in (tuple, list))
        yield from ((name, plan.name, planned(name, plan)) for plan in UNUSUAL)


def of_library(library):
    text = (Path(arrangements.__file__).parent / f"{library}_kernels.py").read_text("utf-8")
    for name in re.findall(r"^def (\w+)\(\w+, ", text, re.MULTILINE):
        yield pytest.param(
            name,
            partial(lambda name: kernels(library)[name], name),
            marks=pytest.mark.needs(library),
            id=name,
        )


ALL = [*all_right()]


def test_there_are_sixty_right_kernels_and_three_arrangements_of_most_operators():
    names = [name for name, _, _ in ALL]
    assert len({(name, how) for name, how, _ in ALL}) == len(ALL) >= 60
    assert sum(names.count(name) >= 3 for name in {*names}) >= 16
    assert sum(names.count(name) >= 20 for name in {*names}) >= 10


@pytest.mark.parametrize(
    ("name", "how", "kernel"), ALL, ids=[f"{name}-{how}" for name, how, _ in ALL]
)
@pytest.mark.sampled(2)
# NumPy's warning for the suites' rows of length 0
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in:RuntimeWarning")
def test_a_right_kernel_passes(name, how, kernel):
    with np.errstate(all="ignore"):
        check(name, kernel, dtypes=FORMATS).raise_if_failed()


@pytest.mark.parametrize(("name", "kernel"), [*of_library("torch")])
def test_a_right_kernel_in_pytorch_passes(name, kernel):
    check(name, kernel(), dtypes=FORMATS).raise_if_failed()


@pytest.mark.parametrize(("name", "kernel"), [*of_library("jax")])
@pytest.mark.sampled(2)
def test_a_right_kernel_in_jax_passes(name, kernel):
    test_a_right_kernel_in_pytorch_passes(name, kernel)
