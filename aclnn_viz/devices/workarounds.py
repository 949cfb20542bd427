"""What can be computed by other means where an operator of an older CANN goes wrong in silence.

Source: ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h, before and after CANN 9.1.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Workaround(NamedTuple):
    """`text` says what is done; `apply(inputs)` gives the inputs to run with and what makes the outputs of theirs."""

    text: str
    holds: Callable[[dict], bool]
    apply: Callable[[dict], tuple[dict, Callable[[dict], dict]]]


def _scaled(array: np.ndarray, scale: float) -> np.ndarray:
    """The array times a number, rounded once to its own format."""
    return (array.astype(np.float64) * scale).astype(array.dtype)


def _swish_scale(inputs: dict) -> float:
    return float(np.float32(inputs["swishScale"]))  # as the library narrows it


def _scales(inputs: dict) -> bool:
    scale = _swish_scale(inputs)
    return bool(np.isfinite(scale)) and scale != 0


def _rescaled_swish(inputs: dict):
    """z sigmoid(s z) = z' sigmoid(z') / s with z' = s z = x_hat (s gamma) + s beta, so that swishScale may be 1."""
    scale = _swish_scale(inputs)
    given = inputs | {"dy": _scaled(inputs["dy"], 1 / scale), "gamma": _scaled(inputs["gamma"], scale),
                      "beta": _scaled(inputs["beta"], scale), "swishScale": 1.0}

    def finish(outputs: dict) -> dict:
        return {name: value if name == "dxOut" else _scaled(value, scale) for name, value in outputs.items()}

    return given, finish


#: By operator and the name of the constraint that it overcomes.
WORKAROUNDS = {
    ("group_norm_swish", "swishScale before 9.1"): Workaround(
        "with s = swishScale, run on dy/s, s*gamma, s*beta and swishScale=1, and multiply dgammaOut and dbetaOut by s",
        _scales, _rescaled_swish),
}
