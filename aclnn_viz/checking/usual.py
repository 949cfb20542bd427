"""Tests as they are usually written: float32 outputs against the truth with `numpy.allclose`, in a few cases.

Inputs are random, ones, or drawn as in the vendor's case tables: every tensor on its own, saved tensors included, only
the modes of those tables.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from aclnn_viz.cases import Case, case
from aclnn_viz.operators.registry import own
from aclnn_viz.words.speech import message

TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}  # tighter ones refuse right float32 kernels on the vendor-like inputs
CASES = 5


def caught(kernel: Callable, one: Case) -> bool:
    """Whether a test with allclose fails; an error is a failure, too."""
    truth = _truth(one)
    try:
        with np.errstate(all="ignore"):
            outputs = kernel(**one.inputs)
            return any(name not in outputs or not np.allclose(outputs[name], truth[name], equal_nan=True, **TOLERANCE)
                       for name in truth)
    except Exception:  # whatever a broken kernel raises
        return True


@lru_cache(maxsize=64)
def _truth(one: Case):
    return one.operator.truth(**one.inputs)


def random_cases(op, seed: int) -> list[Case]:
    """Normal gradients and parameters in the default mode, saved tensors from the forward pass, float32."""
    options = own("faults", op.name, "random_options", lambda rng: {})(np.random.default_rng(seed))
    return [case(op, seed=seed + k, **_shape(op), **options) for k in range(CASES)]


def ones_cases(op, seed: int) -> list[Case]:
    """Every floating tensor that a caller gives is ones, and saved tensors come from the forward pass."""
    ones = own("faults", op.name, "ONES") or dict.fromkeys(case(op, **_shape(op)).floats(saved=False), 1.0)
    return [case(op, seed=seed, **_shape(op), **ones)]


def vendor_cases(op, seed: int) -> list[Case]:
    """As the vendor's tables draw them: uniform, saved tensors on their own, no reflection, no bicubic."""
    rng = np.random.default_rng(seed)

    def uniform(low, high, *lengths):
        return rng.uniform(low, high, lengths).astype(np.float32)

    def everything(uniform, number):
        made = case(op, **_shape(op))
        return {name: uniform(-5, 5, *made.inputs[name].shape) for name in made.floats()}

    options = own("faults", op.name, "vendor_options", everything)
    return [case(op, seed=seed + k, **_shape(op), **options(uniform, k)) for k in range(CASES)]


def _shape(op) -> dict:
    shape = own("faults", op.name, "USUAL_SHAPE")
    return {} if shape is None else {"shape": shape}


USUAL = {message("random"): random_cases, message("ones"): ones_cases, message("vendor-like"): vendor_cases}


@lru_cache(maxsize=8)
def usual_cases(op, seed: int) -> dict[str, list[Case]]:
    """The cases of every usual test of an operator, by its name."""
    return {label: draw(op, seed) for label, draw in USUAL.items()}


def caught_by(kernel: Callable, op, seed: int) -> dict[str, bool]:
    """Which usual tests catch a kernel."""
    return {label: any(caught(kernel, one) for one in cases) for label, cases in usual_cases(op, seed).items()}
