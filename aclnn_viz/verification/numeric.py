"""The numeric verification: every operator over modes, formats, shapes, products; rates; status codes."""

import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from aclnn_viz import rooms
from aclnn_viz.cases import case
from aclnn_viz.devices import AclError, ConstraintWarning, RefusedError, open_device
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.operators import Operator, operators
from aclnn_viz.products import A2, A3, ASCEND_950, INFERENCE, TRAINING
from aclnn_viz.verification import contract, derived, peers, rounding, taylor
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.subjects import Subject
from aclnn_viz.words.speech import message

DIRECTIONS = 3


def strided(array: np.ndarray) -> np.ndarray:
    return np.repeat(array[..., np.newaxis], 2, axis=-1)[..., 1] if array.ndim else array


def rounding_check(op: Operator, dtype: str) -> Check:
    file = Subject(op)

    def run():
        for number, mode in enumerate(file.MODES):
            # Every mode with two shapes, and every shape with some mode; one of the two is not contiguous.
            for turn in range(max(2, -(-len(file.SHAPES) // len(file.MODES)))):
                shape = file.SHAPES[(number + turn * max(1, len(file.MODES))) % len(file.SHAPES)]
                inputs = file.draw(dtype, shape, mode, seed=number + turn)
                if turn % 2:
                    inputs = {k: strided(v) if isinstance(v, np.ndarray) else v for k, v in inputs.items()}
                value, failure = rounding.judge(op, inputs, file.magnitudes)
                yield value, failure and message("{failure}; shape {shape}, {mode}", failure=failure, shape=shape, mode=mode)
    return Check(op.name, message("kernel against truth"), dtype, "u S", run)


def rate_check(op: Operator, name: str = message("truth against forward"), forward=None, modes=None,
               directions=DIRECTIONS) -> Check:
    """The gradient of the page against a forward pass: its own, or the definition that the symbols start from."""
    file = Subject(op)

    def run():
        for number, mode in enumerate(modes or file.MODES):
            rng = np.random.default_rng(number)
            point, loss, gradient = file.smooth(rng, mode, forward or op.forward)
            for _ in range(directions):
                direction = {name: rng.standard_normal(point[name].shape) for name in gradient}
                scale = max(np.max(np.abs(v)) for v in direction.values())
                found = taylor.rate(loss, point, gradient, direction, Subject(op).STEP / scale)
                yield abs(found - taylor.SMOOTH), taylor.failure(found, message("for {mode}", mode=mode))
    return Check(op.name, name, message("Taylor rate"), message("from 2"), run)


def kink_check(op: Operator) -> Check:
    def run():
        for where, point, loss, gradient, direction in Subject(op).kinks():
            found = taylor.rate(loss, point, gradient, direction, taylor.STEP)
            yield abs(found - taylor.SMOOTH), taylor.failure(found, where)
    return Check(op.name, message("one-sided at kinks"), message("Taylor rate"), message("from 2"), run)


def expected_status(op: Operator, fmt, product, cann: str, inputs: dict) -> int | str:
    """The status of a call in one format on a product, as written down by hand, or else as its contract has it."""
    subject = Subject(op)
    if subject.SUPPORTED is None:
        return subject.answer(product, cann, inputs)
    return 0 if fmt in subject.SUPPORTED.get(product, ()) else subject.refusal(fmt, product)


def device_check(op: Operator, product, cann: str) -> Check:
    """Through both phases on the emulator: the bits of the page, or the status that the product documents."""
    def run():
        with open_device("host", soc=product.example_soc, cann=cann) as device:
            for number, fmt in enumerate(FORMATS):
                inputs = case(op, dtype=fmt.name, seed=number, **Subject(op).plain(fmt)).inputs
                expected = expected_status(op, fmt, product, cann, inputs)
                status, same = 0, True
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", ConstraintWarning)
                        out = device.run(op, **inputs)
                    page = op.backward(**inputs)
                    same = all(np.array_equal(out[name], page[name], equal_nan=True) for name in page)
                except AclError as error:
                    status = error.code
                except RefusedError:
                    status = "refused"
                wrong = message("status {status} instead of {expected}", status=status, expected=expected) if status != expected else None
                yield 0.0, wrong or (None if same else message("other values than the page for {format}", format=fmt.name))
            if device.acl.misuse:
                yield 1.0, device.acl.misuse[0]
    return Check(op.name, message("emulated device"), f"{product.tag} {cann}", "", run)


def checks(ops: Iterable[Operator] | None = None) -> Iterator[Check]:
    """All checks of the numeric part, of all operators or of some, in the order of the report."""
    for op in operators() if ops is None else ops:
        yield from (rounding_check(op, fmt.name) for fmt in FORMATS)
        yield rate_check(op)
        if rooms.own("verification", op.name, "kinks"):
            yield kink_check(op)
        for product, cann in ((A2, "9.1"), (A2, "8.1"), (A3, "9.1"), (ASCEND_950, "9.1"), (INFERENCE, "9.1"),
                              (TRAINING, "9.1")):
            yield device_check(op, product, cann)
        yield contract.check(op)
        yield from peers.peer_checks(op)
        yield from derived.derived_checks(op)
