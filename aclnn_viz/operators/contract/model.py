"""Data classes for phase 1 of an operator (GetWorkspaceSize): a call, the checks on it, and the status that it gets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from aclnn_viz.operators.codes import (
    ACLNN_ERR_PARAM_INVALID,
    ACLNN_ERR_PARAM_NULLPTR,
    ACLNN_SUCCESS,
    data_type_name,
)
from aclnn_viz.operators.operator import Operator
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.products import Product, Version


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of a dense row-major array.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True)
class TensorDescriptor:
    """A tensor as passed to `aclCreateTensor`: a view (shape, strides, offset in elements) over a storage."""

    shape: tuple[int, ...]
    dtype: int  # the vendor's aclDataType number
    strides: tuple[int, ...]
    offset: int
    format: int  # the vendor's aclFormat number
    storage_shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        dense = contiguous_strides(self.shape)
        return all(a == b for n, a, b in zip(self.shape, self.strides, dense) if n != 1)


@dataclass(frozen=True)
class Call:
    """One call of phase 1: every argument by the vendor's name, on one product with one CANN version.

    Tensors are TensorDescriptor or None (the null pointer), bool arrays tuples or None, strings str or None.
    `workspace_pointer` and `executor_pointer` are False for null out-pointers.
    """

    product: Product
    cann: Version
    arguments: dict[str, object] = field(default_factory=dict)
    workspace_pointer: bool = True
    executor_pointer: bool = True

    def __getitem__(self, name: str):
        return self.arguments[name]


@dataclass(frozen=True)
class Outcome:
    """The answer of phase 1: its status, the text for `aclGetRecentErrMsg`, and the behaviour of phase 2.

    `runs` is False when phase 2 has nothing to do. `launch_status` is the status of phase 2: not 0 if a bad call passes phase
    1 and fails at launch. A `message` with status 0 is a report of a library that continues; `reason` describes the mistake
    without the call. `fills` names the outputs that phase 2 fills with one
    number instead of computing them,
    `untouched` those that it does not write.
    """

    status: int
    message: str | None = None
    runs: bool = True
    workspace_size: int = 0
    launch_status: int = 0
    fills: dict[str, float] = field(default_factory=dict)
    untouched: tuple[str, ...] = ()
    reason: str = ""


class KernelFault(Exception):
    """A stop of the kernel on the device; the message gives the cause."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The validity of a rule: from CANN version `since` on, before `until`, and on `products`; None means everywhere."""

    since: Version | None = None
    until: Version | None = None
    products: tuple[Product, ...] | None = None

    def applies(self, call: Call) -> bool:
        return (
            (self.since is None or call.cann >= self.since)
            and (self.until is None or call.cann < self.until)
            and (self.products is None or call.product in self.products)
        )


@dataclass(frozen=True)
class DtypeRow(Scope):
    """One row of a dtype table: an aclDataType for each tensor. A row that no document lists has `documented` False."""

    dtypes: Mapping[str, int]
    documented: bool = True

    def matches(self, call: Call, names: tuple[str, ...] | None = None) -> bool:
        """Return whether the tensors of the call, or only those named, have this row's dtypes; null tensors match."""
        return self.applies(call) and all(
            call[name] is None or call[name].dtype == dtype
            for name, dtype in self.dtypes.items()
            if names is None or name in names
        )


@dataclass(frozen=True)
class Check(Scope):
    """One check of phase 1: when `fails(call)`, phase 1 answers `status`.

    `about` names the parameters that the message shows; `text` is None if the library gives no explanation.
    A check of status 0 is reported but discarded by the library, and phase 2 then answers `launch_status`.
    `inferred` marks a check concluded from the library's source that no document states.
    """

    name: str
    fails: Callable[[Call], bool]
    status: int
    text: str | Callable[[Call], str] | None
    source: str
    about: tuple[str, ...] = ()
    launch_status: int = ACLNN_SUCCESS
    inferred: bool = False


@dataclass(frozen=True)
class EarlySuccess(Scope):
    """A case in which phase 1 answers success on the spot, with no workspace, and phase 2 has nothing to do."""

    name: str
    holds: Callable[[Call], bool]
    source: str
    inferred: bool = False


@dataclass(frozen=True)
class Constraint(Scope):
    """A rule without a status code: its text, its enforcer, and the condition of a violation.

    `enforced_by` is "library" (it fails, but says something else or says it elsewhere), "device.run" (refused in
    Python because the library would go wrong in silence) or "nobody" (`device.run` warns). `violated(call, arrays)`
    gets the values of the tensors by name where they are known, else an empty mapping. With `predicted`, an emulated device
    that predicts numbers computes the wrong result. `workaround` is another way to compute it.
    """

    name: str
    text: str
    enforced_by: str
    violated: Callable[[Call, Mapping], bool]
    source: str
    workaround: str = ""
    predicted: bool = False


@dataclass(frozen=True)
class LaunchCheck:
    """One check of phase 2: `fails(workspace_given, workspace_size, executor_given, required_size)`."""

    name: str
    fails: Callable[[bool, int, bool, int], bool]
    status: int
    text: str
    generated_only: bool = False


#: The checks of phase 2, in order. Sources: op_executor.cpp and individual_op_api.cpp of nnopbase.
LAUNCH_CHECKS = (
    LaunchCheck(
        "executor",
        lambda workspace, size, executor, required: not executor,
        ACLNN_ERR_PARAM_NULLPTR,
        "executor is a null pointer",
    ),
    LaunchCheck(
        "workspace",
        lambda workspace, size, executor, required: size > 0 and not workspace,
        ACLNN_ERR_PARAM_NULLPTR,
        "workspace is a null pointer although workspaceSize is not 0",
    ),
    LaunchCheck(
        "workspace size",
        lambda workspace, size, executor, required: size < required,
        ACLNN_ERR_PARAM_INVALID,
        "workspaceSize is smaller than phase 1 asked for",
        generated_only=True,
    ),
)


def describe(call: Call, names: tuple[str, ...]) -> str:
    """Return the named arguments as text for a message: dtype and shape of tensors, else the value."""
    shown = []
    for name in names:
        value = call[name]
        if isinstance(value, TensorDescriptor):
            value = f"{data_type_name(value.dtype)} {list(value.shape)}"
        shown.append(f"{name} = {'null' if value is None else value}")
    return ", ".join(shown)


@dataclass(frozen=True)
class Contract:
    """The vendor's promises for one operator, and the answers of phase 1 of its library.

    `steps` are the checks and early successes in the order of the library. `generated` marks a C API that the vendor's
    generator made from the operator definition. `workspace_size`, `fills` and `untouched` describe a call
    that passed all steps. `kernel_inputs(launch, call, arrays, attributes, outputs)` returns the formula's inputs for a call
    that passes phase 1 but that the kernel reads differently; it may raise KernelFault.
    `kernel_outputs(call, results)` returns the outputs as the kernel lays them out.
    """

    operator: Operator
    generated: bool
    dtype_rows: tuple[DtypeRow, ...]
    steps: tuple[Check | EarlySuccess, ...]
    constraints: tuple[Constraint, ...]
    workspace_size: Callable[[Call], int]
    fills: Callable[[Call], dict[str, float]] = field(default=lambda call: {})
    # finds outputs that a call leaves unwritten; None: those that the declaration lists as not
    # requested
    untouched: Callable[[Call], tuple[str, ...]] | None = None
    kernel_inputs: Callable = field(
        default=lambda launch, call, arrays, attributes, outputs: arrays | attributes
    )
    kernel_outputs: Callable = field(default=lambda call, results: results)

    @property
    def name(self) -> str:
        return self.operator.name

    @property
    def aclnn_name(self) -> str:
        return self.operator.aclnn_name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.operator.c_parameters

    def offers(self, product: Product, cann: Version) -> bool:
        """Return whether a product has the operator in a CANN version."""
        return any(row.applies(Call(product, cann)) for row in self.dtype_rows)

    def evaluate(self, call: Call) -> Outcome:
        """Answer one call of phase 1 as the library does: the first step that decides wins."""
        for step in self.steps:
            if not step.applies(call):
                continue
            if isinstance(step, EarlySuccess):
                if step.holds(call):
                    return Outcome(ACLNN_SUCCESS, runs=False)
            elif step.fails(call):
                text = step.text(call) if callable(step.text) else step.text
                shown = describe(call, step.about)
                said = text and f"{self.aclnn_name}GetWorkspaceSize: {text}" + (
                    f"; got {shown}" if shown else ""
                )
                return Outcome(
                    step.status,
                    said,
                    runs=step.status == ACLNN_SUCCESS,
                    launch_status=step.launch_status,
                    reason=text or "",
                )
        return Outcome(
            ACLNN_SUCCESS,
            workspace_size=self.workspace_size(call),
            fills=self.fills(call),
            untouched=self.untouched(call) if self.untouched else self.unasked(call),
        )

    def unasked(self, call: Call) -> tuple[str, ...]:
        """Return the outputs that the flags and masks of a call do not request."""
        op = self.operator
        return tuple(name for name in op.outputs if not op.asks_for(name, call.arguments))

    def evaluate_launch(
        self, *, workspace: bool, workspace_size: int, executor: bool, required: int
    ) -> tuple[int, str | None]:
        """Answer the argument checks of phase 2 with a status and a message (None on success)."""
        for check in LAUNCH_CHECKS:
            if check.generated_only and not self.generated:
                continue
            if check.fails(workspace, workspace_size, executor, required):
                return check.status, f"{self.aclnn_name}: {check.text}"
        return ACLNN_SUCCESS, None

    def violations(self, call: Call, arrays: Mapping | None = None) -> list[Constraint]:
        """Return the constraints that the call violates; constraints on values need `arrays`, by parameter name."""
        return [
            constraint
            for constraint in self.constraints
            if constraint.applies(call) and constraint.violated(call, arrays or {})
        ]
