"""The RMS norm explorer: state -> data -> panels.

What is varied: epsilon against the size of x; one element of one row, scaled to an outlier; shape, gamma, the gradients
that arrive; the format, and what computes the gradients; the format and the tile of the sums. What is seen: one row of
dy * gamma, its part along x-hat, and what dx keeps of it; the same three as arrows in the plane that they span; the
share of the part along x that is left, over epsilon; the error of sums in three orders over their length; dx of all
rows, and dgamma beside the term of one row. What is understood: dx is dy * gamma * rstd without its part along x, for
a longer x gives the same y; epsilon leaves epsilon / (mean(x^2) + epsilon) of that part, and rounding a floor; an
outlier takes the whole row's scale and gradient; dgamma is a sum over rows; long sums need an order or a wide format.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aclnn_viz.arrays.plan import BLOCKED, PAIRWISE, SEQUENTIAL, Plan
from aclnn_viz.dtypes import FORMATS, round_to
from aclnn_viz.explorers import fields
from aclnn_viz.explorers.arrays import XP, double, element
from aclnn_viz.explorers.device import computed_by, further, gradients, host
from aclnn_viz.explorers.state import StateError, check_indices, choice, real, whole
from aclnn_viz.operators import operator
from aclnn_viz.operators.plans import run
from aclnn_viz.words.messages import message

OP = operator("rms_norm")
EPSILONS = 10.0 ** np.linspace(-12, 2, 43)
LENGTHS = tuple(4**k for k in range(1, 7))
ORDERS = (SEQUENTIAL, BLOCKED, PAIRWISE)
OUTPUTS = ("dxOut", "dgammaOut")


@dataclass(frozen=True)
class State:
    """What can be moved; `epsilon` and `scale` are powers of ten, `outlier` is a power of two."""

    epsilon: float = real(
        -6.0, -12.0, 2.0, 0.1, "epsilon 10^", "Operator", "only the forward operator takes it"
    )
    dtype: str = fields.dtype()
    row: int = whole(2, 0, 63, "row", "Row", "the row that is drawn", below="rows")
    outlier: float = real(
        0.0, 0.0, 12.0, 0.25, "outlier 2^", "Row", "what one element of the row is multiplied by"
    )
    column: int = whole(5, 0, 255, "at", "Row", "the column of the outlier", below="columns")
    rows: int = whole(8, 1, 64, "rows", "Tensors")
    columns: int = whole(32, 1, 256, "columns", "Tensors")
    scale: float = real(0.0, -5.0, 3.0, 0.1, "x 10^", "Tensors", "the standard deviation of x")
    gamma: str = choice(
        "random",
        {"ones": "ones", "random": "random", "ramp": "ramp", "signs": "+1, -1"},
        "gamma",
        "Tensors",
    )
    dy: str = choice(
        "mixed",
        {
            "mixed": "x and random",
            "random": "random",
            "along": "along x",
            "ones": "ones",
            "column": "one column",
        },
        "dy",
        "Tensors",
        "along x: dy * gamma is x normalised",
    )
    seed: int = fields.seed()
    output: str = choice(
        "dgammaOut",
        {"dgammaOut": "dgammaOut", "dxOut": "dxOut"},
        "sum of",
        "Sums",
        "dgammaOut adds up rows, the mean in dxOut columns",
    )
    accumulate: str = choice(
        "float32", {f.name: f.name for f in FORMATS}, "in", "Sums", "the format of running sums"
    )
    tile: int = whole(64, 1, 4096, "tile", "Sums", "terms of a tree in the blocked order")
    device: str = fields.device()
    soc: str = fields.soc()
    cann: str = fields.cann()
    plan: str = fields.plan()

    def __post_init__(self):
        check_indices(self)


@dataclass(frozen=True, eq=False)
class Data:
    """What is drawn. (n,) arrays belong to the chosen row; all numbers are float64.

    `plane` holds (along x, across it) of dy * gamma and of dx / rstd; `left` the share of the part along x that dx
    keeps, measured and as epsilon / (mean(x^2) + epsilon) says, for EPSILONS and, last, for the state's epsilon.
    """

    xp: object
    state: State
    inputs: dict  # of op.backward
    computed_by: str
    x: np.ndarray  # (n,)
    xhat: np.ndarray  # (n,)
    arriving: np.ndarray  # (n,): dy * gamma
    part: np.ndarray  # (n,): of it along x-hat
    kept: np.ndarray  # (n,): dx / rstd
    term: np.ndarray  # (n,): what the row adds to dgamma
    epsilon: np.ndarray
    mean_square: np.ndarray
    inner: tuple[np.ndarray, np.ndarray]  # <dx, x> with the projection and without
    plane: np.ndarray  # (2, 2)
    epsilons: np.ndarray  # (E,)
    left: np.ndarray  # (2, E)
    lengths: np.ndarray  # (L,)
    # (3, L): of ORDERS, relative to the largest dgamma, or dy * gamma * rstd
    order_errors: np.ndarray
    dxOut: np.ndarray  # (rows, n)
    dgammaOut: np.ndarray  # (n,)
    errors: tuple[np.ndarray, np.ndarray]  # largest distance of each from the truth
    notices: tuple[str, ...]


def tensors(state: State, rows: int, columns: int, xp=XP) -> dict:
    """Return x, dy and gamma in the format; the outlier is where it fits."""
    rng = np.random.default_rng(state.seed)
    x = 10.0**state.scale * rng.standard_normal((rows, columns))
    chosen = (np.arange(rows)[:, np.newaxis] == state.row) & (np.arange(columns) == state.column)
    x = xp.round_to(xp.where(chosen, x * 2.0**state.outlier, x), state.dtype)
    if xp is XP and not np.isfinite(x).all():
        raise StateError(
            "scale",
            message(
                "x must stay below {largest:g} in float16", largest=float(np.finfo(np.float16).max)
            ),
            message(
                "x of size 10^{scale:g} with an outlier 2^{outlier:g}",
                scale=state.scale,
                outlier=state.outlier,
            ),
            message("lower x or the outlier"),
        )
    gamma = {
        "ones": np.ones(columns),
        "random": rng.uniform(0.5, 1.5, columns),
        "ramp": np.linspace(0.5, 2.0, columns),
        "signs": 1.0 - 2.0 * (np.arange(columns) % 2),
    }[state.gamma]
    gamma = round_to(gamma, state.dtype)
    dy = np.ones((rows, columns))
    if state.dy == "column":
        dy = xp.where(np.arange(columns) == state.column % columns, dy, 0.0)
    elif state.dy != "ones":
        wide = double(xp, x)
        along = (
            wide / xp.sqrt(xp.mean(wide * wide, axis=1, keepdims=True)) / gamma.astype(np.float64)
        )
        dy = (state.dy != "random") * along + (state.dy != "along") * rng.standard_normal(
            (rows, columns)
        )
    return {"dy": xp.round_to(dy, state.dtype), "x": x, "gamma": gamma}


def inputs(state: State, xp=XP, op=OP) -> dict:
    """Return the inputs of op.backward that a state stands for; rstd is what the forward operator saves."""
    given = tensors(state, state.rows, state.columns, xp)
    rstd = op.forward(x=given["x"], gamma=given["gamma"], epsilon=10.0**state.epsilon)["rstd"]
    return {"dy": given["dy"], "x": given["x"], "rstd": rstd, "gamma": given["gamma"]}


def compute(state: State, backward=host(OP)) -> Data:
    """Return what is drawn for a state; `backward(state, inputs)` returns the outputs of op.backward, and notices.

    Raises StateError for x beyond its format and for float64 on a device, and whatever `backward` raises.
    """
    with np.errstate(invalid="ignore"):  # dx of a tiny row overflows float16
        return data(XP, state, **gathered(state, backward))


def gathered(state: State, backward=host(OP), xp=XP, op=OP) -> dict:
    """Return what kernels make of a state, and their truth: the arguments of `data`."""
    given = inputs(state, xp, op)
    outputs, notices = gradients(op, state, given, backward)
    return {
        "given": given,
        "outputs": outputs,
        "right": op.truth(**given),
        "notices": notices,
        "dx": further(op, state, over_epsilon(xp, state, given), backward)["dxOut"],
    }


def data(xp, state: State, given: dict, outputs: dict, right: dict, dx, notices=()) -> Data:
    """Return what is drawn of a state, of `given` inputs, their outputs and what is `right`, all arrays of `xp`.

    `dx` (E, n) is what comes out for `over_epsilon`.
    """
    wide = {name: double(xp, value) for name, value in (given | outputs).items()}
    x, dy, rstd, kept = (
        element(xp, wide[name], state.row) for name in ("x", "dy", "rstd", "dxOut")
    )
    arriving, xhat = dy * wide["gamma"], x * rstd
    mean_square, epsilons = xp.mean(x * x), _epsilons(xp, state)
    inner = xp.sum(kept * x), xp.sum(arriving * x) * rstd[0]
    return Data(
        xp=xp,
        state=state,
        inputs=given,
        computed_by=computed_by(state),
        notices=notices,
        x=x,
        xhat=xhat,
        arriving=arriving,
        part=xhat * xp.mean(arriving * xhat),
        kept=kept / rstd,
        term=dy * xhat,
        epsilon=10.0**state.epsilon,
        mean_square=mean_square,
        inner=inner,
        plane=_plane(xp, x, arriving, kept / rstd),
        epsilons=epsilons,
        lengths=np.array(LENGTHS),
        dxOut=wide["dxOut"],
        dgammaOut=wide["dgammaOut"],
        left=xp.stack([_left(xp, state, given, dx), epsilons / (mean_square + epsilons)]),
        order_errors=_order_errors(
            state.output,
            state.accumulate,
            state.tile,
            state.dtype,
            state.gamma,
            state.dy,
            state.seed,
        ),
        errors=tuple(xp.max(xp.abs(wide[name] - right[name])) for name in OUTPUTS),
    )


def _epsilons(xp, state):
    return xp.concat([EPSILONS, xp.reshape(10.0**state.epsilon, (1,))])


def _length(xp, vector):
    """The length of a vector; 1 for one without."""
    length = xp.sqrt(xp.sum(vector * vector))
    return xp.where(length == 0.0, 1.0, length)


def _plane(xp, x, arriving, kept):
    """Both vectors along x and across it, in the plane of x and `arriving`."""
    along, across = x / _length(xp, x), arriving
    for _ in range(2):  # what is left of a vector along x is noise, in which x must not come back
        across = across - along * xp.sum(across * along)
        across = across / _length(xp, across)
    return xp.stack(
        [xp.stack([xp.sum(vector * along), xp.sum(vector * across)]) for vector in (arriving, kept)]
    )


def over_epsilon(xp, state: State, given: dict) -> dict:
    """Return inputs of op.backward that hold the chosen row once for each of EPSILONS and, last, for the state's."""
    x, dy = (
        xp.stack([element(xp, given[name], state.row)] * (EPSILONS.size + 1))
        for name in ("x", "dy")
    )
    wide = double(xp, x)
    rstd = 1.0 / xp.sqrt(
        xp.mean(wide * wide, axis=-1, keepdims=True) + _epsilons(xp, state)[:, np.newaxis]
    )
    return {"dy": dy, "x": x, "rstd": xp.astype(rstd, given["rstd"].dtype), "gamma": given["gamma"]}


def _left(xp, state: State, given: dict, dx):
    """|<dx, x>| with the projection over that without it, for each epsilon."""
    rows = {name: double(xp, value) for name, value in over_epsilon(xp, state, given).items()}
    whole_part = xp.sum(rows["dy"] * rows["gamma"] * rows["x"], axis=-1) * rows["rstd"][:, 0]
    return xp.abs(xp.sum(double(xp, dx) * rows["x"], axis=-1)) / xp.maximum(
        xp.abs(whole_part), 1e-300
    )


@lru_cache(16)  # most movements leave it as it is
def _order_errors(output, accumulate, tile, dtype, gamma, dy, seed) -> np.ndarray:
    state = State(dtype=dtype, gamma=gamma, dy=dy, seed=seed)
    found = np.empty((len(ORDERS), len(LENGTHS)))
    for column, length in enumerate(LENGTHS):
        given = tensors(state, *((length, 4) if output == "dgammaOut" else (4, length)))
        given["rstd"] = OP.forward(x=given["x"], gamma=given["gamma"], epsilon=1e-6)["rstd"]
        truth = OP.truth(**given)[output]
        # dx may cancel to nothing; what it cancels from does not.
        size = np.max(
            np.abs(
                truth
                if output == "dgammaOut"
                else np.float64(given["dy"]) * np.float64(given["gamma"]) * given["rstd"]
            )
        )
        for row, order in enumerate(ORDERS):
            plan = Plan(
                storage=dtype,
                compute="float64" if dtype == "float64" else "float32",
                accumulate=accumulate,
                order=order,
                tile=tile,
            )
            values = np.asarray(run(OP, plan, **given)[output], np.float64)
            found[row, column] = np.max(np.abs(values - truth)) / size
    return found
