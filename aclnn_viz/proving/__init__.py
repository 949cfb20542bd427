"""Proofs of pages for all sizes at once: `backward` returns the derivative of `forward`. The page itself supplies the theorems."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aclnn_viz.proving.derivation import Derivation
    from aclnn_viz.proving.proofs import Result


def prove(what, *, shapes=None, labels=None, page=None) -> "Result":
    """Prove that a backward page is the derivative of its forward page, for all sizes and options.

    Parameters
    ----------
    what : Operator, str, path or tuple of callable
        An operator, its name, its folder, or two functions (forward, backward) over `xp`.
    shapes : dict of str to tuple of str, optional
        For two functions, the lengths of each tensor as letters, such as
        {"x": ("r", "n"), "gamma": ("n",)}.
    labels : dict of str to str, optional
        The length that each integer input indexes, such as {"target": "n"}.
    page : module, optional
        A page whose backward pass replaces the operator's.

    Returns
    -------
    Result
        It has `.holds`, `.theorems`, `.assumptions`, `.reason` and `.counterexample`.

    Raises
    ------
    TypeError, ValueError
        If `what` is no operator, and for functions and shapes that do not fit.

    Notes
    -----
    A parameter keeps its default, unless that is True, False or a float.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> av.prove("rms_norm").holds
    True
    """
    from aclnn_viz.proving.proofs import prove  # imported late, because it loads SymPy

    return prove(what, shapes=shapes, labels=labels, page=page)


def derive(forward, wrt=(), saved=(), shapes=None, labels=None) -> "Derivation":
    """Derive the backward page of a forward one, with the proof that it is the derivative.

    Parameters
    ----------
    forward : callable
        A function like a page's, `forward(xp, x, gamma, epsilon)`, that returns a dict of its
        outputs.
    wrt : sequence of str
        The inputs whose gradients are wanted.
    saved : sequence of str
        The outputs that backward receives, and uses if it can.
    shapes : dict of str to tuple of str
        The lengths of each tensor as letters, such as {"x": ("r", "n"), "gamma": ("n",)}.
    labels : dict of str to str, optional
        The length that each integer input indexes, such as {"target": "n"}.

    Returns
    -------
    Derivation
        It has `.steps`, `.latex`, `.source` and `.proof`.

    Raises
    ------
    TypeError, ValueError
        For other arguments, and for a page with an unknown operation, whose line is named.

    Notes
    -----
    The first output, and each one not saved, has an upstream gradient named "d" + its name.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> def silu(xp, x):
    ...     sigmoid = 1.0 / (1.0 + xp.exp(-x))
    ...     return {"y": x * sigmoid}
    >>> found = av.derive(silu, wrt=("x",), shapes={"x": ("n",)})
    >>> found.source.splitlines()[-1].strip()
    'return {"dx": (dy + dsigmoid * (1.0 - sigmoid)) * sigmoid}'
    >>> found.proof.holds
    True
    """
    from aclnn_viz.proving.derivation import derive

    return derive(forward, wrt, saved, shapes, labels)
