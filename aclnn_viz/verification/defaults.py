"""What is verified of an operator whose own file of verification leaves it open: it follows from the declaration.

Each function gives the value of the attribute of its name, as the operator's own file would define it.
"""

import re
from math import prod

import numpy as np

from aclnn_viz import rooms
from aclnn_viz.accuracy.envelopes import envelope
from aclnn_viz.acl.program import DTYPE_CODES, descriptor
from aclnn_viz.arrays.plan import HOST
from aclnn_viz.cases import case, default
from aclnn_viz.cases.draw import Draw
from aclnn_viz.codes import ACL_INT8
from aclnn_viz.dtypes import FLOAT32, FLOAT64, float_format
from aclnn_viz.errors import problem
from aclnn_viz.operators import Operator
from aclnn_viz.operators.contract import Call, Check, contract
from aclnn_viz.operators.parameters import bind
from aclnn_viz.products import Version
from aclnn_viz.verification import taylor
from aclnn_viz.verification.definitions import derivation
from aclnn_viz.verification.rounding import STEPS

NULL, INVALID = 161001, 161002
REFUSED = "refused"  # by whatever status
LARGE = 200_000
TRIES = 1000
TRUTH = 2.0**-53  # truth and formulas are compared as float64


# Cases

def MODES(op: Operator) -> tuple[dict, ...]:  # noqa: N802 - named like the attribute
    """The attributes worth trying, then each optional tensor left out."""
    return (*(op.modes or ({},)), *default.left_out(op))


def SHAPES(op: Operator) -> tuple[tuple[int, ...], ...]:  # noqa: N802
    """The declared ones and their variations, as far as the operator takes them."""
    def taken(shape):
        try:
            return case(op, shape=shape) is not None
        except (TypeError, ValueError):
            return False
    return tuple(shape for shape in (*(given["shape"] for given in op.shapes), *default.varied_shapes(op))
                 if taken(shape))


def draw(op: Operator):
    return lambda dtype, shape, mode, seed: case(op, dtype=dtype, shape=shape, seed=seed, **mode).inputs


def small(op: Operator):
    """A small case in float32 in which every optional tensor is given: what is absent is in no formula."""
    return lambda mode, seed: default.draw(op, Draw(FLOAT32, seed, dict(mode)), default.default_shape(op))


def REPORTED(op: Operator) -> tuple[tuple[int, ...], dict]:  # noqa: N802
    """A large case for the accuracy report: the usual shape, of which the first axis is long."""
    usual = default.default_shape(op)
    return (-(-LARGE // prod(usual[1:])), *usual[1:]), {}


# Rounding

def magnitudes(op: Operator):
    """S such that the checks allow the rounding bound of the kit's own arithmetic; inf where that is undecided."""
    def sizes(**inputs):
        fmt = float_format(inputs[op.like])
        unit = (FLOAT64 if fmt is FLOAT64 else FLOAT32).unit_roundoff
        return {name: np.where(found.undecided, np.inf, found.bound + np.abs(found.value.astype(np.float64)) * TRUTH)
                / (STEPS * unit) for name, found in envelope(op, HOST, **inputs).items()}
    return sizes


# Rates

def STEP(op: Operator) -> float:  # noqa: N802
    """The first Taylor step: shorter where no file of its own knows how to stay away from kinks."""
    return taylor.STEP if rooms.own("verification", op.name, "smooth") else 2.0**-10


def smooth(op: Operator):
    """A point, its loss by the given forward pass, and the gradient there.

    The loss is the sum of each upstream gradient times the output that it belongs to. A point with a kink within the
    first step tells nothing and is drawn again; the gradient has no part in that.
    """
    def at(rng, mode, forward=op.forward):
        for _ in range(TRIES):
            taken, upstream, given = drawn(op, rng, mode)

            def loss(point, forward=forward, taken=taken, upstream=upstream):
                there = forward(**taken | point)
                return float(sum(np.sum(upstream[name] * there[of]) for name, of in op.upstream.items()))

            wanted = {of: name for name, of in op.gradient_of.items() if taken[of] is not None}
            point = {of: taken[of] for of in wanted}
            signs = {of: rng.choice([-1.0, 1.0], taken[of].shape) for of in wanted}
            if taylor.bends_smoothly(loss, point, signs, STEP(op)):
                found = op.backward(**given)
                return point, loss, {of: found[name] for of, name in wanted.items()}
        raise ValueError(problem(f"a point of {op.name} without a kink nearby", f"none in {TRIES} draws",
                                 "define smooth(rng, mode, forward) in its file of verification"))
    return at


def drawn(op: Operator, rng, mode: dict, shape=None) -> tuple[dict, dict, dict]:
    """The inputs of the forward pass in float64, upstream gradients, and the inputs of backward that belong to them."""
    source = Draw(FLOAT64, int(rng.integers(2**31)), dict(mode))
    taken, _, attributes = default.draw_forward(op, source, shape or default.default_shape(op))
    outputs = op.forward(**taken)
    upstream = {name: np.asarray(rng.standard_normal(outputs[of].shape)) for name, of in op.upstream.items()}
    bound = {p.name: taken.get(p.name, attributes.get(p.name)) for p in op.parameters}
    saved = {name: outputs[of] for name, of in op.saved.items()}
    return taken, upstream, bound | upstream | saved | op.all_outputs


# Formulas

def symbols(op: Operator):
    """The sizes of the derived formulas, and the inputs in their shapes, which are those of the page."""
    def sizes_and_arrays(inputs):
        arranged = op.arrange_backward(**op.bind(inputs))
        mode = {name: value for name, value in inputs.items() if name in op.attributes}
        found, shaped = {}, {}
        for formula in derivation(op.name, mode).formulas().values():
            for name, lengths in formula.leaves.items():
                given = inputs[name]
                array = given if given.ndim == len(lengths) else arranged.arrays[name]
                shaped[name] = matched(array, lengths, found)
        return found, inputs | shaped
    return sizes_and_arrays


def matched(array: np.ndarray, lengths, found: dict) -> np.ndarray:
    """The array with as many axes as there are lengths, and in `found` what each symbol among them stands for."""
    if array.ndim != len(lengths):
        spare = array.ndim - len(lengths)
        at = tuple(axis for axis, n in enumerate(array.shape) if n == 1)[-spare:] if spare > 0 else ()
        array = np.squeeze(array, at)
    for length, n in zip(lengths, array.shape, strict=True):
        if getattr(length, "is_Symbol", False):
            found.setdefault(length, n)
    return array


def symbolic_forward(op: Operator):
    """The definition that the gradients were derived from; None where it needs more than the forward operator takes."""
    from derivations import evaluate

    first = derivation(op.name, MODES(op)[0]).tape
    inputs = () if first is None else (node.name for node in first.nodes.values() if node.definition is None)
    if first is None or len(op.upstream) > 1 or not set(inputs) <= set(op.takes):
        return None
    (output,) = op.upstream.values()

    def definition(**inputs):
        arranged = op.arrange_forward(**bind(op.name, op.forward_parameters, inputs))
        tape = derivation(op.name, inputs).tape
        node = tape.nodes[next(iter(tape.adjoints))]  # from which the derivation went back
        values, sizes = {key: value for key, value in inputs.items() if isinstance(value, int | float)}, {}
        for leaf in tape.nodes.values():
            if leaf.definition is None and leaf.name in arranged.arrays:
                values[leaf.name] = matched(arranged.arrays[leaf.name], leaf.indices.values(), sizes)
        lengths = {index: int(length.subs(sizes)) for index, length in node.indices.items()}
        found = evaluate(tape.inline(node.entry), values | {str(symbol): n for symbol, n in sizes.items()}, lengths)
        return {output: found.reshape(arranged.results[output].documented_shape)}
    return definition


# Status codes

def SUPPORTED(op: Operator) -> None:  # noqa: N802
    """The formats that a call may have, by product; None where nobody wrote down what the documents say of them."""


def answer(op: Operator):
    """What the contract lets a device answer to a call: a status, or "refused" by the kit, for it would go wrong."""
    def status(product, cann, inputs) -> int | str:
        bound, promise = op.bind(inputs), contract(op.name)
        results = op.arrange_backward(**bound | op.all_outputs).results
        arrays = {name: value for name, value in bound.items() if isinstance(value, np.ndarray)}
        outputs = {name: np.empty(result.documented_shape, result.format.numpy) for name, result in results.items()}
        described = {name: descriptor(array) for name, array in (arrays | outputs).items()}
        given = bound | described
        call = Call(product, Version.parse(cann), {p.name: given.get(p.name) for p in promise.parameters})
        if any(found.enforced_by == "device.run" for found in promise.violations(call, arrays | outputs)):
            return "refused"
        outcome = promise.evaluate(call)
        return outcome.status or outcome.launch_status
    return status


def plain(op: Operator):
    """What a case in a format must be given so that no rule beside the format refuses it on any product."""
    return lambda fmt: {}


def refusal(op: Operator):
    """The status with which a product refuses a format."""
    return lambda fmt, product: INVALID


def GOOD(op: Operator) -> dict:  # noqa: N802
    """Arguments of phase 1 that pass: (shape, dtype) of tensors."""
    bound = op.bind(case(op, **(op.shapes[0] if op.shapes else {})).inputs)
    described = {name: (value.shape, DTYPE_CODES[value.dtype]) if isinstance(value, np.ndarray) else
                 list(value) if isinstance(value, tuple) else value for name, value in bound.items()}
    results = op.arrange_backward(**bound | op.all_outputs).results
    return described | {name: (result.documented_shape, DTYPE_CODES[np.dtype(result.format.numpy)])
                        for name, result in results.items()}


def CLAUSES(op: Operator) -> list:  # noqa: N802
    """(what is spoiled, the status): required pointers null, a wrong data type, and the shapes that a check looks at."""
    good = GOOD(op)
    required = [p.name for p in op.c_parameters if p.required and p.kind == "tensor"]
    longer = {name: (*shape[:-1], shape[-1] + 1) for name in _shape_checked(op) if (shape := good[name][0])}
    return [({}, 0), *(({name: None}, NULL) for name in required),
            ({op.like: (good[op.like][0], ACL_INT8)}, INVALID),
            *(({name: (shape, good[name][1])}, REFUSED) for name, shape in longer.items())]


def _shape_checked(op: Operator) -> list[str]:
    """The tensors of which a check says that their shape matters, on every product: all outputs by the declaration."""
    steps = [step for step in contract(op.name).steps
             if isinstance(step, Check) and step.status and (step.since, step.until, step.products) == (None,) * 3]
    if any(step.name == "declaration" for step in steps):
        return list(op.outputs)
    return [p.name for p in op.c_parameters if p.kind == "tensor"
            and any(re.match(rf"{p.name} (must have the )?shape", step.name) for step in steps)]
