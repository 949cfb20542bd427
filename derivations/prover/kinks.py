"""The kinks of the operators: where a derivative jumps, and which value is returned there, as exact data."""

from dataclasses import dataclass

from sympy import Expr, S, expand


@dataclass(frozen=True)
class Kink:
    """
    One kink: `at` is the coordinate, `left` and `right` the one-sided derivatives, `documented` the value of the
    document, `pytorch` the value of PyTorch by the cited `source`. `jump` is the jump of the function itself.
    """

    operator: str
    mode: str
    at: Expr
    left: Expr
    right: Expr
    documented: Expr
    pytorch: Expr
    source: str
    jump: Expr = S.Zero

    @property
    def convention(self):
        """Which derivative the document returns: "left", "right", "mean", "both" (they are equal), or "other"."""
        return convention(self.documented, self.left, self.right)


def convention(value, left, right):
    """
    The name of the one-sided derivative, or mean, that `value` is.

    >>> convention(S(1), S(0), S(2))
    'mean'
    """
    candidates = {"left": left, "right": right, "mean": (left + right) / 2}
    names = [name for name, candidate in candidates.items() if expand(value - candidate) == 0]
    if names:
        return names[0] if len(names) == 1 else "both"
    return "other"
