"""The hardswish explorer: state -> data -> panels.

What is varied: one input x and the gradient that arrives there; the place and the width of a window that counts in
single steps of the format; the format, and what computes the gradient; which inputs are swept, and with which
gradients. What is seen: out over x with the tangent at the chosen x; the slope with both of its jumps, and the values
that lie exactly on them; the window, in which neighbouring numbers of the format stand side by side; the error of every
number of a 16-bit format (a sample of the wider ones) on an axis that gives each number the same space; how many of them
are exact. What is understood: at -3 and 3 there is no derivative, and a convention decides about one number each;
the two versions of the operator decide differently, and one step further nothing is left of it. A gradient rounded once
is half an ulp off at most; the few that are a whole ulp off were rounded twice, and around -1.5, where the slope is 0,
a sum in the format of the inputs keeps the absolute error of its terms and loses the relative one.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aclnn_viz.dtypes import FORMATS, float_format, ordinals, round_to
from aclnn_viz.explorers import fields
from aclnn_viz.explorers.arrays import XP, double
from aclnn_viz.explorers.device import computed_by, further, gradients, host
from aclnn_viz.explorers.state import choice, fixed, real, whole
from aclnn_viz.operators import operator
from aclnn_viz.pictures.ordinal_axis import value_at

OP = operator("hardswish")
KINKS = (-3.0, 3.0)
SPECIAL = (-np.inf, np.inf, np.nan)
REACH = 6.0  # of the curves
SAMPLE = 1 << 14  # of a format whose numbers are too many
NEAR = (2.0**-10, 16.0)
STRETCHES = 384  # of a sweep
MISSES = 400  # of a sweep that are drawn


@dataclass(frozen=True)
class State:
    """What can be moved."""

    x: float = real(
        3.0, -REACH, REACH, 0.01, "self (x)", "Point", "the chosen input, rounded to the dtype"
    )
    gradOutput: float = real(
        1.0, -4.0, 4.0, 0.05, "gradOutput", "Point", "the gradient that arrives at x"
    )
    centre: float = choice(
        3.0, {-3.0: "-3, a kink", -1.5: "-1.5, slope 0", 3.0: "3, a kink"}, "window at", "Window"
    )
    steps: int = whole(8, 1, 64, "± ulp", "Window", "steps of the format on either side")
    dtype: str = choice("float16", {f.name: f.name for f in FORMATS}, "dtype", "Operator")
    reach: str = choice(
        "all",
        {"all": "all numbers", "near": "2^-10 to 16"},
        "inputs",
        "Sweep",
        "all of a 16-bit format, a sample of a wider one; by size",
    )
    arriving: str = choice(
        "random",
        {"random": "random", "chosen": "as chosen"},
        "gradOutput",
        "Sweep",
        "a normal number for each input, or the chosen gradOutput for all",
    )
    seed: int = fields.seed("Sweep")
    device: str = fields.device()
    soc: str = fields.soc()
    cann: str = fields.cann()
    plan: str = fields.plan()


@dataclass(frozen=True, eq=False)
class Swept:
    """Many inputs in increasing order (N,): their ordinals, what came out, and the truth."""

    places: np.ndarray = fixed()
    x: np.ndarray = fixed()
    out: np.ndarray
    truth: np.ndarray
    exhaustive: bool


@dataclass(frozen=True, eq=False)
class Sweep(Swept):
    """With how far each output is off; (MISSES,) arrays belong to the worst outputs that are not the nearest number."""

    errors: np.ndarray  # in ulp of the truth
    mean: np.ndarray  # (STRETCHES,) of them
    largest: np.ndarray  # (STRETCHES,)
    distances: np.ndarray  # in steps from the rounded truth: whole numbers
    counts: np.ndarray  # (5,): outputs 0, 1, 2, 3 and more steps from the rounded truth
    missed: np.ndarray  # (MISSES,): their positions, the worst first
    wrong: np.ndarray  # (MISSES,), bool: whether there are so many


@dataclass(frozen=True, eq=False)
class Data:
    """What is drawn; arrays over `window` are in the order of its offsets from its centre, -steps to steps."""

    xp: object
    state: State
    inputs: dict  # of op.backward
    computed_by: str
    x: np.ndarray  # in the format, as gradOutput
    gradOutput: np.ndarray
    value: np.ndarray  # forward of x
    slope: np.ndarray  # at x
    out: np.ndarray  # gradient at x
    truth: np.ndarray
    kinks: np.ndarray  # (2,): the gradients at -3 and 3
    special: np.ndarray  # (3,): at -inf, inf and nan
    window: np.ndarray  # (2 steps + 1,): inputs
    window_out: np.ndarray
    window_truth: np.ndarray
    sweep: Sweep
    notices: tuple[str, ...]


def inputs(state: State, xp=XP) -> dict:
    """Return the inputs of op.backward: the chosen x, both kinks, the infinities and nan, and the window."""
    window = _window(state.centre, state.steps, state.dtype)
    x = xp.concat([xp.reshape(state.x, (1,)), np.array([*KINKS, *SPECIAL]), window])
    return {
        "gradOutput": xp.round_to(xp.full(x.shape, 1.0) * state.gradOutput, state.dtype),
        "self": xp.round_to(x, state.dtype),
    }


def compute(state: State, backward=host(OP)) -> Data:
    """Return what is drawn for a state; `backward(state, inputs)` returns the outputs of op.backward, and notices.

    Raises StateError for float64 on a device, and whatever `backward` raises.
    """
    return data(XP, state, **gathered(state, backward))


def gathered(state: State, backward=host(OP), xp=XP, op=OP) -> dict:
    """Return what kernels make of a state, and their truth: the arguments of `data`."""
    given = inputs(state, xp)
    outputs, notices = gradients(op, state, given, backward)
    arriving = state.gradOutput if state.arriving == "chosen" else None
    return {
        "given": given,
        "value": op.forward(self=given["self"])["out"],
        "out": outputs["out"],
        "right": op.truth(**given)["out"],
        "swept": _swept(
            state.dtype,
            state.reach,
            arriving,
            state.seed,
            state.device,
            state.soc,
            state.cann,
            state.plan,
            host(OP) if arriving is None and xp is not XP else backward,
            *(() if arriving is None else (xp, op)),
        ),
        "notices": notices,
    }


def data(xp, state: State, given: dict, value, out, right, swept: Swept, notices=()) -> Data:
    """Return what is drawn of a state, of `given` inputs, what came `out` and what is `right`, all arrays of `xp`."""
    x, gradOutput, value, out = (
        double(xp, each) for each in (given["self"], given["gradOutput"], value, out)
    )
    return Data(
        xp=xp,
        state=state,
        inputs=given,
        computed_by=computed_by(state),
        notices=notices,
        x=x[0],
        gradOutput=gradOutput[0],
        out=out[0],
        truth=right[0],
        value=value[0],
        slope=OP.page.slope(xp, x)[0],
        kinks=out[1:3],
        special=out[3:6],
        window=x[6:],
        window_out=out[6:],
        window_truth=right[6:],
        sweep=measured(xp, state.dtype, swept),
    )


@lru_cache(8)  # everything but the sweep moves without it
def measured(xp, dtype: str, swept: Swept) -> Sweep:
    """Return how far the outputs of a sweep are from the truth."""
    distances = xp.ordinal_distance(swept.out, xp.round_to(swept.truth, dtype))
    errors = xp.abs(double(xp, swept.out) - swept.truth) / xp.ulp(swept.truth, dtype)
    counts = xp.stack([xp.sum(double(xp, xp.minimum(distances, 4.0) == k)) for k in range(5)])
    missed = xp.argsort(xp.where(distances > 0, -errors, 1.0), stable=True)[:MISSES]
    members, share = stretches(swept.x.size)
    parts = xp.reshape(xp.take(errors, members.ravel()), members.shape)
    return Sweep(
        swept.places,
        swept.x,
        double(xp, swept.out),
        swept.truth,
        swept.exhaustive,
        errors,
        xp.sum(parts * share, axis=0),
        xp.max(parts, axis=0),
        distances,
        counts,
        missed,
        np.arange(MISSES) < xp.sum(counts[1:]),
    )


@lru_cache(8)
def stretches(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of STRETCHES stretches (longest, STRETCHES) and their shares of a mean; a shorter one repeats its last."""
    starts = np.linspace(0, size, STRETCHES + 1).astype(int)
    lengths = np.diff(starts)
    at = np.arange(lengths.max())[:, np.newaxis]
    return starts[:-1] + np.minimum(at, lengths - 1), (at < lengths) / lengths


def _window(centre: float, steps: int, dtype: str) -> np.ndarray:
    fmt = float_format(dtype)
    return value_at(ordinals(np.array(centre), fmt) + np.arange(-steps, steps + 1), fmt)


@lru_cache(len(FORMATS))
def curve(dtype: str):
    """Return (inputs, what forward makes of them) of the whole range that is drawn."""
    x = round_to(np.linspace(-REACH, REACH, 241), dtype)
    return x.astype(np.float64), OP.forward(self=x)["out"].astype(np.float64)


def ends(dtype: str, reach: str) -> np.ndarray:
    """The smallest and the largest |x| of a sweep, of either sign; a sweep over "all" numbers has 0 besides."""
    fmt = float_format(dtype)
    return np.array([fmt.smallest_subnormal, fmt.largest] if reach == "all" else NEAR)


@lru_cache(8)
def places(dtype: str, reach: str, seed: int):
    """Return the swept inputs, their ordinals before them: all of a 16-bit format, else one of each stretch of equally many numbers."""
    fmt = float_format(dtype)
    low, high = (int(place) for place in ordinals(ends(dtype, reach), fmt))
    if fmt.bits == 16:
        positive = np.arange(low, high + 1)
    else:
        stride = (high - low) // (SAMPLE // 2)
        positive = low + stride * np.arange(SAMPLE // 2, dtype=np.int64)
        positive += np.random.default_rng(seed).integers(0, stride, positive.size)
    found = np.concatenate([-positive[::-1], [0] if reach == "all" else [], positive]).astype(
        np.int64
    )
    return found, value_at(found, fmt)


@lru_cache(8)
def _swept(dtype, reach, arriving, seed, device, soc, cann, plan, backward, xp=XP, op=OP) -> Swept:
    state = State(dtype=dtype, reach=reach, seed=seed, device=device, soc=soc, cann=cann, plan=plan)
    at, x = places(dtype, reach, seed)
    random = np.random.default_rng(seed + 1).standard_normal(x.size)
    upstream = random if arriving is None else np.ones(x.size) * arriving
    given = {"gradOutput": xp.round_to(upstream, dtype), "self": round_to(x, dtype)}
    outputs = further(op, state, given, backward)
    return Swept(at, x, outputs["out"], op.truth(**given)["out"], float_format(dtype).bits == 16)
