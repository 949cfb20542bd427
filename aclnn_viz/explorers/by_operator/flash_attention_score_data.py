"""State and numbers of the interactive picture (explorer) of one attention head's gradient: what a user may move, and what is
computed from that.

What is varied: the sparse mode, the numbers of queries and keys, the block, the scale, the format, a query and a key. What is seen:
the weights P and the gradients of the scores dS, cut into tiles, and which tiles the mask hides, cuts or leaves whole; of one query the
scores with the running maximum, the running sum and by how much a larger maximum rescales it, and P, dP and D. What is understood:
a tile needs its own rows of Q, K, V and dy, and of each query three numbers, max, sum and D; dS = P (dP - D) sums to 0 along a row.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.explorers import fields
from aclnn_viz.explorers.arrays import XP, double, element
from aclnn_viz.explorers.device import computed_by, gradients, host
from aclnn_viz.explorers.state import check_indices, choice, real, vendors, whole
from aclnn_viz.operators import operator
from aclnn_viz.operators.flash_attention_score import page
from aclnn_viz.words.messages import message

OP, SIZE = operator("flash_attention_score"), 8
MODES = {
    0: message("0: no mask"),
    1: message("1: any mask"),
    2: message("2: causal from the upper left"),
    3: message("3: causal to the lower right"),
    4: message("4: a window"),
    6: message("6: causal behind a prefix"),
}
# What the mask follows from, and what the formulas are computed from in double precision.
MASKED_BY = (
    "attenMaskOptional",
    "prefixOptional",
    "preTokens",
    "nextTokens",
    "sparseMode",
)
WIDENED = (
    "query",
    "keyIn",
    "value",
    "dy",
    "attentionInOptional",
    "softmaxMaxOptional",
    "softmaxSumOptional",
)


@dataclass(frozen=True)
class State:
    """What can be moved."""

    sparseMode: int = vendors(choice(3, MODES, "sparseMode", "Operator", "what the mask hides"))
    dtype: str = fields.dtype()
    scaleValue: float = vendors(real(0.5, -2.0, 2.0, 0.05, "scaleValue", "Operator"))
    row: int = whole(6, 0, 31, "query", "Cell", below="queries")
    column: int = whole(5, 0, 31, "key", "Cell", below="keys")
    queries: int = whole(10, 1, 32, "queries", "Tensors")
    keys: int = whole(14, 1, 32, "keys", "Tensors")
    block: int = whole(4, 1, 32, "block", "Tensors", "queries, and keys, of a tile")
    seed: int = fields.seed()
    device: str = fields.device()
    soc: str = fields.soc()
    cann: str = fields.cann()
    plan: str = fields.plan()

    def __post_init__(self):
        check_indices(self)


@dataclass(frozen=True, eq=False)
class Data:
    """What is drawn; (Sq, Skv) arrays are of all queries and keys, (Skv,) ones and D of the chosen query, (blocks,) ones of its tiles."""

    xp: object
    state: State
    inputs: dict  # of op.backward
    computed_by: str
    seen: np.ndarray  # (Sq, Skv), bool
    kinds: np.ndarray  # (blocks of queries, blocks of keys): 0 hidden, 1 cut by the mask, 2 whole
    P: np.ndarray  # (Sq, Skv)
    dS: np.ndarray  # (Sq, Skv)
    dP: np.ndarray  # (Skv,)
    D: np.ndarray  # ()
    scores: np.ndarray  # (Skv,)
    tops: np.ndarray  # (blocks,): the largest score up to this tile, nan where none was seen
    sums: np.ndarray  # (blocks,): of exp(score - top) up to this tile
    factors: np.ndarray  # (blocks,): what a larger maximum makes of the sum before
    errors: tuple  # of each output, the largest distance from the truth
    notices: tuple[str, ...]


@lru_cache(32)
def drawn(mode, queries, keys, dtype, seed) -> dict:
    """The inputs for a scale of 1."""
    return case(
        OP,
        shape=(1, 1, queries, SIZE),
        keyIn_shape=(keys,),
        sparseMode=mode,
        dtype=dtype,
        seed=seed,
        pseShiftOptional=None,
        **{} if mode else {"attenMaskOptional": None},
    ).inputs


def inputs(state: State, xp=XP, op=OP) -> dict:
    """Return the inputs of op.backward that a state stands for, with what forward saves."""
    given = drawn(state.sparseMode, state.queries, state.keys, state.dtype, state.seed) | {
        "scaleValue": state.scaleValue
    }
    saved = op.forward(**{p.name: given[p.name] for p in OP.forward_parameters})
    return given | {name: saved[output] for name, output in OP.saved.items()}


def compute(state: State, backward=host(OP)) -> Data:
    """Return what is drawn for a state; `backward(state, inputs)` returns the outputs of op.backward, and notices."""
    with np.errstate(all="ignore"):
        return data(XP, state, **gathered(state, backward))


def gathered(state: State, backward=host(OP), xp=XP, op=OP) -> dict:
    """Return what kernels make of a state, and their truth: the arguments of `data`."""
    given = inputs(state, xp, op)
    outputs, notices = gradients(op, state, given, backward)
    return {"given": given, "outputs": outputs, "right": op.truth(**given), "notices": notices}


def _online(xp, row, starts, block: int):
    """The maximum, the sum and the factor of what came before, after each block of a row of scores; nan and 1 before any is seen."""
    before, count, tops, sums, factors = -np.inf, 0.0, [], [], []
    for j in starts:
        part = row[j : j + block]
        after = xp.maximum(xp.max(part), before)
        some = after > -np.inf
        factors.append(xp.where(some, xp.exp(before - after), 1.0))
        count = xp.where(some, count * factors[-1] + xp.sum(xp.exp(part - after)), 0.0)
        tops.append(xp.where(some, after, np.nan))
        sums.append(count)
        before = after
    return map(xp.stack, (tops, sums, factors))


def data(xp, state: State, given: dict, outputs: dict, right: dict, notices=()) -> Data:
    """Return what is drawn of a state, of `given` inputs, their outputs and the truth, all arrays of `xp` but the mask."""
    hidden = page.hides(
        np,
        *(given[name] for name in MASKED_BY),
        state.queries,
        state.keys,
    )
    seen = ~np.broadcast_to(
        False if hidden is None else np.reshape(hidden, np.shape(hidden)[-2:]) != 0,
        (state.queries, state.keys),
    )
    q, k, v, dy, y, top, total = (double(xp, given[name])[0, 0] for name in WIDENED)
    scores = state.scaleValue * xp.sum(q[:, np.newaxis] * k, axis=2)
    P = xp.where(seen, xp.exp(scores - top[:, :1]) / total[:, :1], 0.0)
    dP, D = xp.sum(dy[:, np.newaxis] * v, axis=2), xp.sum(dy * y, axis=1, keepdims=True)
    starts = range(0, state.keys, state.block)
    shown = np.stack(
        [
            np.stack([seen[i : i + state.block, j : j + state.block].mean() for j in starts])
            for i in range(0, state.queries, state.block)
        ]
    )
    row, visible = element(xp, scores, state.row), element(xp, seen, state.row)
    tops, sums, factors = _online(xp, xp.where(visible, row, -np.inf), starts, state.block)
    return Data(
        xp=xp,
        state=state,
        inputs=given,
        computed_by=computed_by(state),
        seen=seen,
        kinds=np.ceil(shown) + (shown == 1),
        P=P,
        dS=P * (dP - D),
        dP=element(xp, dP, state.row),
        D=element(xp, D, state.row)[0],
        scores=xp.where(visible, row, np.nan),
        tops=tops,
        sums=sums,
        factors=factors,
        errors=tuple(
            xp.max(xp.abs(double(xp, outputs[name]) - right[name])) for name in OP.outputs[:3]
        ),
        notices=notices,
    )
