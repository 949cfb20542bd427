"""A witness that shares nothing with a page's backward: JAX differentiates the page's forward.

Every mode is drawn in float64, away from kinks by chance, and the gradients must agree to `DIGITS` bits of the largest
terms that they are made of.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from aclnn_viz.arrays.jax_arrays import derived, evaluated
from aclnn_viz.devices.peers import installed
from aclnn_viz.operators import Operator
from aclnn_viz.operators.parameters import bind
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.defaults import drawn
from aclnn_viz.verification.subjects import Subject
from aclnn_viz.words.speech import message

DIGITS = 45  # of 53: sums of thousands of terms, in other orders, and rstd computed anew
UNIT = 2.0**-DIGITS


def derived_checks(op: Operator) -> Iterator[Check]:
    """The check, where JAX is installed."""
    if "jax" in installed():
        yield Check(op.name, message("jax.grad of forward"), "float64", message("of 2^-{digits} S", digits=DIGITS), partial(found, op))


def found(op: Operator, backward=None) -> Iterator[tuple[float, str | None]]:
    """Of each mode and output: the largest difference in units of what is allowed, and what is wrong, if anything."""
    subject = Subject(op)
    for number, mode in enumerate(subject.MODES):
        taken, upstream, given = _drawn(op, number, mode, (None, *subject.SHAPES))
        outputs, sizes = (backward or op.backward)(**given), subject.magnitudes(**given)
        for of, by_jax in gradients(op, taken, upstream).items():
            name = next(name for name, tensor in op.gradient_of.items() if tensor == of)
            allowed = UNIT * np.where(np.isfinite(sizes[name]), sizes[name], np.inf).reshape(by_jax.shape) + 1e-300
            with np.errstate(invalid="ignore"):
                off = np.abs(outputs[name] - by_jax) / allowed
            worst = float(np.max(off, initial=0.0))
            yield worst, None if worst <= 1.0 else message("{name} is {error} off for {mode}", name=name, mode=mode,
                                                           error=f"{np.max(np.abs(outputs[name] - by_jax)):.3g}")


def _drawn(op: Operator, seed: int, mode: dict, shapes) -> tuple[dict, dict, dict]:
    """A draw with the first shape that the mode fits."""
    for shape in shapes:
        try:
            return drawn(op, np.random.default_rng(seed), mode, shape)
        except ValueError as error:
            refused = error
    raise refused


def gradients(op: Operator, taken: dict, upstream: dict) -> dict[str, np.ndarray]:
    """JAX's gradient, by each input of the forward operator that has one, of the sum of upstream times outputs."""
    arranged = op.arrange_forward(**bind(f"{op.name} forward", op.forward_parameters, taken))
    weights = {of: upstream[name].reshape(arranged.results[of].shape) for name, of in op.upstream.items()}
    wanted = {of: arranged.arrays[of] for of in op.gradient_of.values() if taken.get(of) is not None}

    def loss(point):
        there = evaluated(op.page.forward, arranged.prelude, arranged.arrays | point, arranged.attributes, np.float64)
        return sum((weight * there[of].reshape(weight.shape)).sum() for of, weight in weights.items())

    return {of: array.reshape(taken[of].shape) for of, array in derived(loss, wanted).items()}
