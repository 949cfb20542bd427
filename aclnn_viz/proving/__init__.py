"""Proofs of pages for all sizes at once: what `backward` returns is the derivative of `forward`, and nobody writes the theorem."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aclnn_viz.proving.deriving import Derivation
    from aclnn_viz.proving.proofs import Result


def prove(what, *, shapes=None, labels=None, page=None) -> "Result":
    """Prove that the backward pass of a page is the derivative of its forward pass, for all sizes and under all options.

    `what` is an Operator, the name of one, its folder, or two functions (forward, backward) over `xp`, with `shapes`
    such as {"x": ("r", "n"), "gamma": ("n",)}; `labels`, such as {"target": "n"}, says of inputs of whole numbers of which
    length they are places. A parameter with a default keeps it, unless that is True, False or a number with a point.
    Another `page` gives its backward pass in the place of the operator's.
    Returns a `proofs.Result`; raises TypeError and ValueError for anything else.

    >>> import aclnn_viz as av
    >>> av.prove("rms_norm").holds
    True
    """
    from aclnn_viz.proving.proofs import prove  # SymPy is loaded when something is proved

    return prove(what, shapes=shapes, labels=labels, page=page)


def derive(forward, wrt=(), saved=(), shapes=None, labels=None) -> "Derivation":
    """Derive the backward page of a forward one: its steps, its text, and the proof that it is the derivative.

    `forward(xp, x, gamma, epsilon)` is a function as in a page, which returns a dict of its outputs; `shapes` and `labels` are as in
    `prove`. `wrt` names the inputs whose gradients are wanted, `saved` the outputs that backward is given and uses where it
    can. The first output, and each that is not saved, has an upstream gradient, called d and its name. Returns a
    `deriving.Derivation` with `.steps`, `.latex`, `.source` and `.proof`; raises TypeError and ValueError for anything
    else, and where the page does what is not known, with the line.

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
    from aclnn_viz.proving.deriving import derive

    return derive(forward, wrt, saved, shapes, labels)
