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
from aclnn_viz.explorers.device import host
from aclnn_viz.explorers.gradients import computed_by, further, gradients
from aclnn_viz.explorers.state import StateError, check_indices, choice, real, whole
from aclnn_viz.operators import operator
from aclnn_viz.operators.plans import run

OP = operator("rms_norm")
EPSILONS = 10.0 ** np.linspace(-12, 2, 43)
LENGTHS = tuple(4**k for k in range(1, 7))
ORDERS = (SEQUENTIAL, BLOCKED, PAIRWISE)
OUTPUTS = ("dxOut", "dgammaOut")


@dataclass(frozen=True)
class State:
    """What can be moved; `epsilon` and `scale` are powers of ten, `outlier` is a power of two."""

    epsilon: float = real(-6.0, -12.0, 2.0, 0.1, "epsilon 10^", "Operator", "only the forward operator takes it")
    dtype: str = fields.dtype()
    row: int = whole(2, 0, 63, "row", "Row", "the row that is drawn", below="rows")
    outlier: float = real(0.0, 0.0, 12.0, 0.25, "outlier 2^", "Row", "what one element of the row is multiplied by")
    column: int = whole(5, 0, 255, "at", "Row", "the column of the outlier", below="columns")
    rows: int = whole(8, 1, 64, "rows", "Tensors")
    columns: int = whole(32, 1, 256, "columns", "Tensors")
    scale: float = real(0.0, -5.0, 3.0, 0.1, "x 10^", "Tensors", "the standard deviation of x")
    gamma: str = choice("random", {"ones": "ones", "random": "random", "ramp": "ramp", "signs": "+1, -1"}, "gamma",
                        "Tensors")
    dy: str = choice("mixed", {"mixed": "x and random", "random": "random", "along": "along x", "ones": "ones",
                               "column": "one column"}, "dy", "Tensors", "along x: dy * gamma is x normalised")
    seed: int = fields.seed()
    output: str = choice("dgammaOut", {"dgammaOut": "dgammaOut", "dxOut": "dxOut"}, "sum of", "Sums",
                         "dgammaOut adds up rows, the mean in dxOut columns")
    accumulate: str = choice("float32", {f.name: f.name for f in FORMATS}, "in", "Sums", "the format of running sums")
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

    state: State
    inputs: dict  # of op.backward
    computed_by: str
    x: np.ndarray  # (n,)
    xhat: np.ndarray  # (n,)
    arriving: np.ndarray  # (n,): dy * gamma
    part: np.ndarray  # (n,): of it along x-hat
    kept: np.ndarray  # (n,): dx / rstd
    term: np.ndarray  # (n,): what the row adds to dgamma
    epsilon: float
    mean_square: float
    inner: tuple[float, float]  # <dx, x> with the projection and without
    plane: np.ndarray  # (2, 2)
    epsilons: np.ndarray  # (E,)
    left: np.ndarray  # (2, E)
    lengths: np.ndarray  # (L,)
    order_errors: np.ndarray  # (3, L): of ORDERS, relative to the largest dgamma, or dy * gamma * rstd
    dxOut: np.ndarray  # (rows, n)
    dgammaOut: np.ndarray  # (n,)
    errors: tuple[float, float]  # largest distance of each from the truth
    notices: tuple[str, ...]


def tensors(state: State, rows: int, columns: int) -> dict:
    """Return x, dy and gamma in the format; the outlier is where it fits."""
    rng = np.random.default_rng(state.seed)
    x = 10.0**state.scale * rng.standard_normal((rows, columns))
    if state.row < rows and state.column < columns:
        x[state.row, state.column] *= 2.0**state.outlier
    x = round_to(x, state.dtype)
    if not np.isfinite(x).all():
        raise StateError("scale", f"x must stay below {np.finfo(np.float16).max:g} in float16",
                         f"x of size 10^{state.scale:g} with an outlier 2^{state.outlier:g}", "lower x or the outlier")
    gamma = {"ones": np.ones(columns), "random": rng.uniform(0.5, 1.5, columns), "ramp": np.linspace(0.5, 2.0, columns),
             "signs": 1.0 - 2.0 * (np.arange(columns) % 2)}[state.gamma]
    gamma = round_to(gamma, state.dtype)
    dy = np.ones((rows, columns))
    if state.dy == "column":
        dy = np.eye(columns)[np.full(rows, state.column % columns)]
    elif state.dy != "ones":
        wide = x.astype(np.float64)
        along = wide / np.sqrt(np.mean(wide * wide, axis=1, keepdims=True)) / gamma.astype(np.float64)
        dy = (state.dy != "random") * along + (state.dy != "along") * rng.standard_normal((rows, columns))
    return {"dy": round_to(dy, state.dtype), "x": x, "gamma": gamma}


def inputs(state: State) -> dict:
    """Return the inputs of op.backward that a state stands for; rstd is what the forward operator saves."""
    given = tensors(state, state.rows, state.columns)
    rstd = OP.forward(x=given["x"], gamma=given["gamma"], epsilon=10.0**state.epsilon)["rstd"]
    return {"dy": given["dy"], "x": given["x"], "rstd": rstd, "gamma": given["gamma"]}


def compute(state: State, backward=host(OP)) -> Data:
    """Return what is drawn for a state; `backward(state, inputs)` returns the outputs of op.backward, and notices.

    Raises StateError for x beyond its format and for float64 on a device, and whatever `backward` raises.
    """
    given = inputs(state)
    outputs, notices = gradients(OP, state, given, backward)
    with np.errstate(invalid="ignore"):  # dx of a tiny row overflows float16
        return _data(state, given, outputs, notices, backward)


def _data(state, given, outputs, notices, backward) -> Data:
    truth = OP.truth(**given)
    wide = {name: np.asarray(value, np.float64) for name, value in (given | outputs).items()}
    x, dy, dx = (wide[name][state.row] for name in ("x", "dy", "dxOut"))
    rstd = float(wide["rstd"][state.row, 0])
    arriving, xhat = dy * wide["gamma"], x * rstd
    mean_square, epsilon = float(np.mean(x * x)), 10.0**state.epsilon
    epsilons = np.append(EPSILONS, epsilon)
    return Data(
        state=state, inputs=given, computed_by=computed_by(state), notices=notices,
        x=x, xhat=xhat, arriving=arriving, part=xhat * np.mean(arriving * xhat), kept=dx / rstd, term=dy * xhat,
        epsilon=epsilon, mean_square=mean_square, inner=(float(dx @ x), float(arriving @ x) * rstd),
        plane=_plane(x, arriving, dx / rstd), epsilons=epsilons,
        left=np.stack([_left(state, given, epsilons, backward), epsilons / (mean_square + epsilons)]),
        lengths=np.array(LENGTHS),
        order_errors=_order_errors(state.output, state.accumulate, state.tile, state.dtype, state.gamma, state.dy,
                                   state.seed),
        dxOut=wide["dxOut"], dgammaOut=wide["dgammaOut"],
        errors=tuple(float(np.max(np.abs(wide[name] - truth[name]))) for name in OUTPUTS))


def _plane(x, arriving, kept) -> np.ndarray:
    """Both vectors along x and across it, in the plane of x and `arriving`."""
    along = x / (np.linalg.norm(x) or 1.0)
    across = arriving
    for _ in range(2):  # what is left of a vector along x is noise, in which x must not come back
        across = across - along * (across @ along)
        across /= np.linalg.norm(across) or 1.0
    return np.array([[vector @ along, vector @ across] for vector in (arriving, kept)])


def _left(state: State, given: dict, epsilons: np.ndarray, backward) -> np.ndarray:
    """|<dx, x>| with the projection over that without it, for each epsilon: the chosen row once for each of them."""
    count = epsilons.size
    x, dy = (np.repeat(given[name][state.row:state.row + 1], count, axis=0) for name in ("x", "dy"))
    wide = x[0].astype(np.float64)
    rstd = (1.0 / np.sqrt(np.mean(wide * wide) + epsilons))[:, np.newaxis].astype(given["rstd"].dtype)
    outputs = further(OP, state, {"dy": dy, "x": x, "rstd": rstd, "gamma": given["gamma"]}, backward)
    whole_part = rstd[:, 0] * float(dy[0].astype(np.float64) * given["gamma"].astype(np.float64) @ wide)
    return np.abs(np.asarray(outputs["dxOut"], np.float64) @ wide) / np.maximum(np.abs(whole_part), 1e-300)


@lru_cache(16)  # most movements leave it as it is
def _order_errors(output, accumulate, tile, dtype, gamma, dy, seed) -> np.ndarray:
    state = State(dtype=dtype, gamma=gamma, dy=dy, seed=seed)
    found = np.empty((len(ORDERS), len(LENGTHS)))
    for column, length in enumerate(LENGTHS):
        given = tensors(state, *((length, 4) if output == "dgammaOut" else (4, length)))
        given["rstd"] = OP.forward(x=given["x"], gamma=given["gamma"], epsilon=1e-6)["rstd"]
        truth = OP.truth(**given)[output]
        # dx may cancel to nothing; what it cancels from does not.
        size = np.max(np.abs(truth if output == "dgammaOut" else
                             np.float64(given["dy"]) * np.float64(given["gamma"]) * given["rstd"]))
        for row, order in enumerate(ORDERS):
            plan = Plan(storage=dtype, compute="float64" if dtype == "float64" else "float32", accumulate=accumulate,
                        order=order, tile=tile)
            values = np.asarray(run(OP, plan, **given)[output], np.float64)
            found[row, column] = np.max(np.abs(values - truth)) / size
    return found
