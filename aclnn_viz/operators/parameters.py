"""The parameters of an operator, and the binding of keywords to them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aclnn_viz.errors import problem

REQUIRED = object()

_KINDS = {
    "int": (int, np.integer), "bool": (bool, np.bool_), "float": (int, float, np.integer, np.floating), "str": (str,),
}


@dataclass(frozen=True)
class Parameter:
    """One parameter by the vendor's name: `kind` is tensor, int, bool, float, str or mask (two bools)."""

    name: str
    kind: str = "tensor"
    default: object = REQUIRED

    @property
    def optional(self) -> bool:
        return self.default is not REQUIRED

    def checked(self, value):
        """Return the value in its plain form; TypeError when it has another kind."""
        if self.kind == "tensor":
            if value is None and self.optional:
                return None
            if isinstance(value, (np.ndarray, np.generic)):
                value = np.asarray(value)
                return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
            raise TypeError(problem(f"{self.name} is a tensor", _described(value), "pass a NumPy array"))
        if self.kind == "mask":
            if isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value) == 1 and len(value) == 2 \
                    and all(isinstance(v, _KINDS["bool"]) for v in value):
                return tuple(bool(v) for v in value)
            raise TypeError(problem(f"{self.name} is a pair of bools", _described(value), "pass such as (True, False)"))
        wrong_bool = self.kind in ("int", "float") and isinstance(value, _KINDS["bool"])
        if wrong_bool or not isinstance(value, _KINDS[self.kind]):
            raise TypeError(problem(f"{self.name} is of type {self.kind}", _described(value), f"pass one {self.kind}"))
        too_large = self.kind == "int" and not -2**63 <= value < 2**63
        too_large |= self.kind == "float" and sys.float_info.max < abs(value) != float("inf")
        if too_large:
            raise ValueError(problem(f"{self.name} must fit the C type, int64_t or double", _described(value), "mend it"))
        return {"int": int, "bool": bool, "float": float, "str": str}[self.kind](value)


def _described(value) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) < 60 else text[:57] + '...'}"


def bind(what: str, parameters: Sequence[Parameter], inputs: dict) -> dict:
    """Return every parameter's value in the vendor's order, defaults filled in.

    Raises TypeError for a name that the operator has not, for a missing one, and for a value of another kind.
    """
    names = [p.name for p in parameters]
    for name in inputs:
        if name not in names:
            raise TypeError(problem(f"{what} takes {', '.join(names)}", f"{name!r}", "use the vendor's names"))
    missing = [p.name for p in parameters if not p.optional and p.name not in inputs]
    if missing:
        given = ", ".join(inputs) or "nothing"
        raise TypeError(problem(f"{what} needs {', '.join(missing)}", f"only {given}", "pass them by keyword"))
    return {p.name: p.checked(inputs[p.name]) if p.name in inputs else p.default for p in parameters}
