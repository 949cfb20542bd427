"""Numbers of the interactive picture (explorer) of CANN's two-phase call: a program with at most one mistake runs on the
emulator, call by call.

Controls: the operator, its dtype and its shape; the mistake; the product and the CANN version; the memory layout of one
tensor, an input or an output. Panels: the calls in order with their status codes, the first failing call, the objects that
each keeps alive and until when; the emulator's records without a status code; the places of the view's elements in the
storage; whether the result is right.
Lesson: phase 1 checks and plans everything, and fails with a code; phase 2 only queues, so that a kernel's fault shows at
synchronise; and the library misses mistakes that it does not check: all codes are 0, and the result is wrong, or right by
chance. Strides and offset define the elements of a view, but some operators ignore them.
"""

from dataclasses import field, replace
from functools import lru_cache
from math import prod

import numpy as np

from aclnn_viz.acl import HostAcl
from aclnn_viz.cases import case
from aclnn_viz.cases.default import matrix_shape
from aclnn_viz.explorers.fields import stated
from aclnn_viz.explorers.two_phase_program import Call, Layout, Program, Tensor
from aclnn_viz.operators import operator
from aclnn_viz.operators.contract import contiguous_strides
from aclnn_viz.operators.registry import own
from aclnn_viz.pictures.marks import record


@stated("two_phase")
class State:
    """The values that a reader can move in the two-phase explorer."""

    seed = 0  # seed of the numbers, which do not change the picture


@record
class Data:
    """The data that the two-phase explorer draws."""

    state: State
    inputs: dict  # inputs of op.backward
    calls: list[Call]
    misuse: list[str]
    workspace: int | None  # bytes that phase 1 requested; None if it failed or was skipped
    chosen: Tensor  # the tensor with the drawn layout
    name: str  # name of the main output
    fetched: np.ndarray | None  # the main output as copied back; None without a copy
    expected: np.ndarray  # right result, from op.backward
    # whether each copied output is right
    right: dict[str, bool] = field(default_factory=dict)
    tensors: list[Tensor] = field(default_factory=list)
    other: "Data | None" = None  # data of the program without its mistake; of a right one, with one
    xp: object = None

    @property
    def failing(self) -> int | None:
        """Return the position of the first call that returned a status."""
        return next((k for k, call in enumerate(self.calls) if call.status), None)


def operator_of(state):
    return operator(state.operator)


def layout_of(shape: tuple[int, ...], kind: str) -> Layout:
    """Return the layout `kind` of `shape`, which places its last two axes in the storage."""
    *leading, rows, columns = shape
    row, column, offset, storage = {
        "dense": (columns, 1, 0, (rows, columns)),
        "transposed": (1, rows, 0, (columns, rows)),
        "columns": (2 * columns, 2, 0, (rows, 2 * columns)),
        "window": (columns + 2, 1, columns + 3, (rows + 2, columns + 2)),
        "row": (0, 1, 0, (1, columns)),
    }[kind]
    return Layout(
        shape, (prod(storage),) * len(leading) + (row, column), offset, (*leading, *storage)
    )


def inputs(state) -> dict:
    """Return the inputs of op.backward for a state."""
    op = operator_of(state)
    given = {"shape": matrix_shape(op, state.rows, state.columns)} | own(
        "cases", op.name, "FEW_POINTS", {}
    )
    drawn = case(state.operator, state.dtype, state.seed, **given).inputs
    if state.layout == "row" and state.tensor == "input":
        main = op.like
        same = np.broadcast_to(drawn[main][..., :1, :], drawn[main].shape)
        drawn = case(state.operator, state.dtype, state.seed, **given, **{main: same}).inputs
    return drawn


def program(state, acl) -> Program:
    """Return the program of a state over an implementation of the C API, with its host memory filled."""
    op, given = operator_of(state), inputs(state)
    bound = op.bind(given)
    results = op.arrange_backward(**bound | op.all_outputs).results
    arrays = {name: value for name, value in bound.items() if isinstance(value, np.ndarray)}
    arrays |= {
        name: np.empty(result.documented_shape, result.format.numpy)
        for name, result in results.items()
    }
    chosen = op.main if state.tensor == "output" else op.like
    tensors, host = [], {}
    for name, array in arrays.items():
        layout = (
            layout_of(array.shape, state.layout)
            if name == chosen
            else Layout(array.shape, contiguous_strides(array.shape), 0, array.shape)
        )
        tensors.append(Tensor(name, layout, array.dtype, name in results))
        host[name] = _unwritten(prod(layout.storage), array.dtype)
        if name not in results:
            layout.view(host[name])[...] = array
    attributes = {name: value for name, value in bound.items() if name not in arrays}
    # host variables of the scalars
    host |= {
        name: np.array(value, np.float64)
        for name, value in attributes.items()
        if isinstance(value, float)
    }
    return Program(acl, op, tensors, op.like, attributes, host, state.mistake)


def _unwritten(size: int, dtype) -> np.ndarray:
    """Return memory of nan, which shows unwritten places and gaps between a view's elements."""
    return np.full(size, np.nan if dtype.kind in "fV" else 0, dtype)


def ran(state, mended: bool | None = None) -> Data:
    """Return the emulator's run of a state's program, with its mistake or without."""
    mended = state.mended if mended is None else mended
    mistake = "none" if mended else state.mistake
    return _ran(replace(state, mistake=mistake, mended=False, call=0))


@lru_cache(32)
def _ran(state) -> Data:
    acl = HostAcl(soc=state.soc, cann=state.cann)
    run = program(state, acl)
    calls, given, op = run.run(), inputs(state), operator_of(state)
    expected = op.backward(**given | op.all_outputs)
    copied = {
        call.arguments[0] for call in calls if call.function == "aclrtMemcpy" and call.status == 0
    }
    fetched = {
        tensor.name: tensor.layout.view(run.host[tensor.name])
        for tensor in run.tensors
        if tensor.output and f'host["{tensor.name}"]' in copied
    }
    output = op.main
    planned = [
        call for call in calls if call.function.endswith("GetWorkspaceSize") and call.status == 0
    ]
    right = {
        name: bool(np.array_equal(expected[name], array, equal_nan=True))
        for name, array in fetched.items()
    }
    return Data(
        state,
        given,
        calls,
        list(acl.misuse),
        run.values["size"] if planned else None,
        next(t for t in run.tensors if t.name == (output if state.tensor == "output" else op.like)),
        output,
        fetched.get(output),
        expected[output],
        right,
        run.tensors,
    )
