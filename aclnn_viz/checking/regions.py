"""Where an output is wrong: names for sets of its elements, the operator's own or those of its page's axes."""

import numpy as np

from aclnn_viz.operators.faults.places import by_letter
from aclnn_viz.operators.registry import own


def regions(op, inputs: dict, output: str, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return masks of an output's shape by name; an element may lie in several.

    >>> import aclnn_viz as av
    >>> sorted(regions(av.operator("hardswish"), {"self": np.float32([-3, 1])}, "out", (2,)))
    ['-3 < x < 3', 'x < -3', 'x = -3', 'x = 3', 'x > 3']
    """
    find = own("faults", op.name, "regions")
    if find is None:
        return _by_axes(op, inputs, output, shape)
    values = {p.name: p.default for p in op.parameters} | inputs
    return {name: np.broadcast_to(mask, shape) for name, mask in find(values, output, shape).items()}


def _by_axes(op, inputs, output, shape) -> dict[str, np.ndarray]:
    arranged = op.arrange_backward(**op.bind(inputs))
    page_shape = arranged.results[output].shape
    found = by_letter((arranged.axes or op.page.AXES)[output], page_shape)
    return {name: np.broadcast_to(mask, page_shape).reshape(shape) for name, mask in found.items()}
