"""Numbers of the interactive picture (explorer) of numeric error, to find its cause: the format, the inputs, the precision or
a bug.

Controls: the operator and its output, the dtype, the shape and the size of the values; the precision plan (the kit's, or the
one predicted for a product and a CANN version) and its parts: the formats of products and of sums, the order of sums, the
rounding of ties; and a fault, by kind. Panels: the error in ulps of every element against its value, on an axis with equal
space per number of the format, with the rigorous and the expected envelope of correct arithmetic in that plan; the number of
elements by ulps; the cause of each error; the verdict of every standard, and the used part of its allowance; and the error of
one element beside four numbers that explain it. Lesson: an error comes from the format (no output is nearer), the input
(inputs one ulp away give as much), the plan (sums and products in this precision) or a bug (no correct arithmetic of this
plan gives it). Large ulps alone distinguish none of these, and standards disagree because they do not ask.
"""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from operator import itemgetter

import numpy as np

from aclnn_viz.accuracy.envelopes import NOT_EXPLAINED, UNDECIDED, attribute_errors, envelope
from aclnn_viz.accuracy.measures import rounded_truth
from aclnn_viz.accuracy.report import Report, compare
from aclnn_viz.arrays.plan import AWAY, EVEN, HOST, ORDERS, Plan
from aclnn_viz.cases import case
from aclnn_viz.cases.default import rows_of
from aclnn_viz.devices.peers import installed
from aclnn_viz.dtypes import float_format, round_to, ulp
from aclnn_viz.explorers.fields import stated
from aclnn_viz.explorers.state import StateError
from aclnn_viz.operators import operator, operators, plans
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.operators.faults.fault import TRUNCATED, faulty_kernel
from aclnn_viz.operators.products import ASCEND_950, CANN, INFERENCE, SOC, TRAINING
from aclnn_viz.operators.registry import own
from aclnn_viz.pictures.errors import Errors, errors
from aclnn_viz.pictures.marks import record
from aclnn_viz.pictures.provenance import Provenance
from aclnn_viz.words.messages import message

CAUSES = (
    message("format"),
    message("inputs"),
    message("plan"),
    message("undecided"),
    message("not explained"),
)
FORMAT, INPUT, PLAN, OPEN, MISSED = range(5)
AS_PLANNED = "plan"  # choice that leaves a part to the base plan
SEEN = 2.0**-6  # relative error that shows in 16 bits
DRAWS = 4  # number of inputs drawn within one ulp
PLANS = {
    "kit": message("the kit's"),
    f"{TRAINING.example_soc} {CANN}": message("predicted 910A"),
    f"{INFERENCE.example_soc} {CANN}": message("predicted 310P"),
    f"{SOC} 9.0": message("predicted A2, CANN 9.0"),
    f"{SOC} {CANN}": message("predicted A2, CANN 9.1"),
    f"{ASCEND_950.example_soc} {CANN}": message("predicted 950"),
}


PIECES = {
    "compute": ("float32", "float16", "bfloat16"),
    "accumulate": ("float64", "float32", "float16", "bfloat16"),
    "order": ORDERS,
    "rounding": (EVEN, AWAY),
}


@stated(
    "numeric_error",
    plan={"start": f"{SOC} {CANN}", "options": PLANS},
    output={"named": {op.name: op.outputs for op in operators()}},
    device={"options": {name: name for name in ("host", "atlas", *installed())}},
    **{
        name: {"options": {AS_PLANNED: "as in the plan"} | {v: v for v in values}}
        for name, values in PIECES.items()
    },
)
class State:
    """The movable values. The parts of the precision override the plan."""

    def __post_init__(self):
        outputs = operator(self.operator).outputs
        if self.output > len(outputs):
            raise StateError(
                "output",
                message(
                    "the outputs of {operator} are {names}",
                    operator=self.operator,
                    names=", ".join(outputs),
                ),
                str(self.output),
                message("choose {values}", values=f"{'1 to ' * (len(outputs) > 1)}{len(outputs)}"),
            )
        if self.fault == "truncated" and float_format(self.dtype).bits != 16:
            raise StateError(
                "fault",
                message("only an output of 16 bits can lose its lower half"),
                self.dtype,
                message("choose float16 or bfloat16, or another fault"),
            )
        for piece in ("compute", "accumulate"):
            if self.dtype == "float64" and getattr(self, piece) not in (AS_PLANNED, "float64"):
                raise StateError(
                    piece,
                    message("float64 inputs are computed in float64"),
                    getattr(self, piece),
                    message("choose as in the plan, or another dtype"),
                )
        if self.device != "host" and self.fault != "none":
            raise StateError(
                "fault",
                message("an Atlas runs its own kernel, without a fault"),
                self.fault,
                message("choose none"),
            )

    @property
    def pieces(self) -> dict[str, str]:
        """Return the parts of the plan chosen by hand."""
        return {name: value for name in PIECES if (value := getattr(self, name)) != AS_PLANNED}


@record
class Data:
    """The drawn data. Arrays are flat over the elements of the output; errors are in ulps of the truth."""

    state: State
    inputs: dict  # inputs of op.backward
    output: str
    plan: Plan
    fault: Fault | None
    errors: Errors  # errors and their envelopes
    report: Report
    rounding: np.ndarray  # error of the correctly rounded truth
    spread: np.ndarray  # effect on the truth of input changes within one ulp
    cause: np.ndarray  # index in CAUSES of the cause of each error
    focus: int | None
    notices: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        return dict(zip(CAUSES, np.bincount(self.cause, minlength=len(CAUSES)).tolist()))


def operator_of(state):
    return operator(state.operator)


def plan_of(state) -> Plan:
    """Return the plan of a state: the kit's or the predicted one, with the chosen parts."""
    base = HOST if state.plan == "kit" else plans.preset(state.operator, *state.plan.split())
    pieces = dict(state.pieces)
    # float64 is computed in float64, whatever the plan for other formats
    if state.dtype == "float64":
        pieces |= {
            "compute": "float64",
            "accumulate": "float64",
            "coordinates": None,
            "atomics": None,
        }
    if "order" in pieces:  # the order applies to all sums; small tiles show it with few terms
        pieces |= {"leading": None, "tile": 8, "cores": 4, "seed": state.seed}
    return replace(base, **pieces)


def fault_of(state) -> Fault | None:
    if state.fault == "none":
        return None
    if state.fault == "truncated":
        return TRUNCATED
    name = own("faults", state.operator, "KINDS", {}).get(state.fault)
    known = (fault for fault in faults(state.operator) if fault.name == name)
    return next(known, None) or _telling(state.operator, state.output)[state.fault]


@cache
def _telling(name: str, output: int) -> dict[str, Fault]:
    """Return for each kind the fault that is shown if the operator names none: the one that changes most elements of an output,
    the one that changes them least, and the one that changes fewest.
    """
    op, found = operator(name), []
    given = inputs(State(operator=name, fault="none", dtype="float32", rows=6, n=32))

    def computed(fault):
        return _computed(op, HOST, fault, given)[op.outputs[output - 1]]

    right = computed(None)
    for fault in faults(name):
        # a wrong page may raise anything
        with suppress(Exception), np.errstate(all="ignore"):
            error = np.abs(computed(fault) / right - 1.0)
            seen = error > SEEN
            if seen.any():
                found.append((seen.mean(), np.median(error[seen]), fault))
    found = found or [(0, 0, TRUNCATED)]  # no edit shows
    by_share, slight = sorted(found, key=itemgetter(0)), min(found, key=itemgetter(1))
    return {"formula": by_share[-1][-1], "slight": slight[-1], "seldom": by_share[0][-1]}


def inputs(state) -> dict:
    """Return the inputs of op.backward for a state; saved tensors follow from the scaled values."""
    op = operator_of(state)
    given = rows_of(op, state.rows, state.n, state.seed, state.dtype)
    drawn = case(op, state.dtype, state.seed, **given).inputs
    upstream, values = next(iter(op.upstream)), op.gradient_of[op.main]
    if values not in drawn:  # backward does not take this input of forward
        shape = given["shape"] if values == op.first and "shape" in given else drawn[op.like].shape
        drawn |= {values: 2 * np.random.default_rng(state.seed).standard_normal(shape)}
    with np.errstate(over="ignore"):  # scaling may overflow the format
        scaled = {
            key: round_to(drawn[key].astype(np.float64) * 10.0**power, state.dtype)
            for key, power in ((upstream, state.gradient), (values, state.values))
        }
        return case(op, state.dtype, state.seed, **given, **scaled).inputs


def compute(
    state, backward=lambda state, given: (operator_of(state).backward(**given), ())
) -> Data:
    """Return the data of a state; `backward(state, inputs)` runs only if an Atlas runs the kernel."""
    op, given, plan, fault = operator_of(state), inputs(state), plan_of(state), fault_of(state)
    if fault:  # a fault changes the textbook page on any device
        plan = replace(plan, page=None, intended=None)
    output, notices = op.outputs[state.output - 1], ()
    if state.device == "host":
        outputs = _computed(op, plan, fault, given)
    else:
        outputs, notices = backward(state, given)
    actual, truth = outputs[output], op.truth(**given)[output]
    report = compare(actual, truth, baseline=op.backward(**given)[output])
    band = envelope(op, plan, **given)[output]
    label = (
        message("prediction") if state.plan != "kit" and state.device == "host" else state.device
    )
    # An input that has the output's shape by chance, but other axes, says nothing about an
    # element.
    beside = {
        name: value
        for name, value in given.items()
        if name not in op.tensors
        or np.shape(value) != actual.shape
        or op.tensors[name].shape == op.tensors[output].shape
    }
    found = errors(
        actual, truth, Provenance(output, label, seed=state.seed), envelope=band, inputs=beside
    )
    moved = attribute_errors(
        actual, lambda **near: op.truth(**near)[output], given, samples=DRAWS, seed=state.seed
    )
    with np.errstate(all="ignore"):
        spacing = ulp(truth.astype(np.float64), actual.dtype)
        rounded = np.abs(rounded_truth(truth, found.format).astype(np.float64) - truth) / spacing
        spread = (moved.spread / spacing).reshape(-1).astype(np.float64)
    return Data(
        state,
        given,
        output,
        plan,
        fault,
        found,
        report,
        rounded.reshape(-1).astype(np.float64),
        spread,
        _causes(found, moved),
        _focus(found),
        tuple(notices),
    )


def _computed(op, plan, fault, given) -> dict:
    if fault is None:
        return plans.run(op, plan, **given)
    # the fault changes the plan, a cast or the way an input is read
    if fault.plan or fault.cast or fault.alters:
        return faulty_kernel(op, fault)(**given)
    wrong = replace(op, page=fault.page(op.page))
    return plans.run(wrong, replace(plan, page=wrong.page.backward), **given)


def _causes(found, moved) -> np.ndarray:
    """Return for each element the first cause that holds: outside the envelope, undecided, as near as the format
    allows, within the effect of rounded inputs; else the plan.
    """
    return np.select(
        [
            found.verdict == NOT_EXPLAINED,
            found.verdict == UNDECIDED,
            moved.cause.reshape(-1) == "format",
            moved.cause.reshape(-1) == "input",
        ],
        [MISSED, OPEN, FORMAT, INPUT],
        PLAN,
    ).astype(np.intp)


def _focus(found) -> int | None:
    """Return the element to show: the middle one of those beyond the bound, or else that with the largest error."""
    missed = np.flatnonzero(found.verdict == NOT_EXPLAINED)
    if not missed.size:
        return found.worst if found.size else None
    with np.errstate(all="ignore"):
        used = np.nan_to_num(found.ulps[missed] / found.bound[missed], nan=np.inf)
    return int(missed[np.argsort(used, kind="stable")[missed.size // 2]])
