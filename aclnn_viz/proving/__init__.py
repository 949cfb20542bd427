"""Proofs of pages for all sizes at once: what `backward` returns is the derivative of `forward`, and nobody writes the theorem."""


def prove(what, *, shapes=None, page=None):
    """Prove that the backward pass of a page is the derivative of its forward pass, for all sizes and under all options.

    `what` is an Operator, the name of one, its folder, or two functions (forward, backward) over `xp`, with `shapes`
    such as {"x": ("r", "n"), "gamma": ("n",)}. Another `page` gives its backward pass in the place of the operator's.
    Returns a `proofs.Result`; raises TypeError and ValueError for anything else.

    >>> import aclnn_viz as av
    >>> av.prove("rms_norm").holds
    True
    """
    from aclnn_viz.proving.proofs import prove  # SymPy is loaded when something is proved

    return prove(what, shapes=shapes, page=page)
