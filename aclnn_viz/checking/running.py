"""Run a kernel of somebody else: with a time limit, on copies of its inputs, whatever kind of arrays it returns."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.dtypes import BFLOAT16


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one call did: its outputs as NumPy arrays, or what it did wrong in place of returning them.

    `fatal`: there is no use in calling the kernel again. `refused`: a device said that it does not compute this case.
    """

    outputs: dict[str, np.ndarray] | None
    misbehaviour: str = ""
    fatal: bool = False
    refused: bool = False


def run(kernel: Callable, case: Case, names: Sequence[str], seconds: float | None,
        refusals: tuple[type, ...] = ()) -> Outcome:
    """Call `kernel(**case.inputs)`; `names` are the expected outputs in the vendor's order.

    Without a limit the call stays in this thread, as devices want it; `refusals` are the errors by which they refuse.
    """
    copies = {name: _copied(value) for name, value in case.inputs.items()}
    returned, error, finished = _limited(lambda: kernel(**copies), seconds)
    if not finished:
        return Outcome(None, f"does not return within {seconds:g} s", fatal=True)
    if isinstance(error, refusals):
        return Outcome(None, refused=True)
    if error is not None:
        return Outcome(None, f"raises {type(error).__name__}: {str(error)[:200]}")
    try:
        outputs = named(returned, names)
    except (TypeError, ValueError) as problem:
        return Outcome(None, str(problem))
    changed = [name for name, value in case.inputs.items()
               if isinstance(value, np.ndarray) and copies[name].tobytes() != value.tobytes()]
    return Outcome(outputs, f"modifies its input {', '.join(changed)}" if changed else "")


def repeats(kernel: Callable, case: Case, names: Sequence[str], first: Mapping, seconds: float | None) -> str:
    """Return how a second call differs from the first, or an empty text."""
    again = run(kernel, case, names, seconds).outputs
    if again is None:
        return "is not deterministic: the second call with the same inputs fails"
    differing = [name for name in first if name not in again or first[name].tobytes() != again[name].tobytes()]
    return f"is not deterministic: {', '.join(differing)} differs between two calls" if differing else ""


def named(returned, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return outputs by name from a dict, or from an array or sequence in the vendor's order.

    >>> named(np.float32([1]), ["out"])
    {'out': array([1.], dtype=float32)}
    """
    if isinstance(returned, Mapping):
        return {str(name): to_numpy(value) for name, value in returned.items()}
    if not isinstance(returned, (tuple, list)):
        returned = (returned,)
    if len(returned) == 1 and returned[0] is None:
        raise TypeError("returns None where an array is expected")
    if len(returned) != len(names):
        raise ValueError(f"returns {len(returned)} outputs instead of {len(names)}: {', '.join(names)}")
    return {name: to_numpy(value) for name, value in zip(names, returned)}


def to_numpy(value) -> np.ndarray:
    """Return an array of any library on the host: NumPy, torch (bfloat16 too), or whatever speaks DLPack."""
    if value is None:
        raise TypeError("returns None where an array is expected")
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            return value.contiguous().view(sys.modules["torch"].int16).numpy().view(BFLOAT16.numpy)
        return value.numpy()
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biufV":
        raise TypeError(f"returns {type(value).__name__} where an array is expected")
    return array


def _copied(value):
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 1 and value.strides[0] != value.itemsize:
        return np.repeat(value, 2)[::2]
    return value.copy(order="K")


def _limited(call: Callable, seconds: float | None):
    """Call in a thread that is left behind when it takes too long: Python cannot stop it."""
    box: dict = {}

    def work():
        try:
            with np.errstate(all="ignore"):
                box["returned"] = call()
        except BaseException as error:  # a kernel may raise anything, SystemExit included
            box["error"] = error
    if seconds is None:
        work()
        return box.get("returned"), box.get("error"), True
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return box.get("returned"), box.get("error"), not thread.is_alive()
