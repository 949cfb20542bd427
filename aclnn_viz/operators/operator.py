"""An operator: its names and parameters, and its numbers in the format of the inputs or as truth."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.driver import Result, evaluate
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.dtypes import FLOAT64
from aclnn_viz.operators.parameters import Parameter, bind


class Arranged(NamedTuple):
    """The inputs of a page: arrays in its shapes, attributes, and what its outputs become."""

    arrays: dict[str, np.ndarray | None]
    attributes: dict
    results: dict[str, Result]
    compute: np.dtype
    axes: dict[str, str] | None = None  # where they differ from those of the page
    prelude: Callable | None = None  # (page, xp, arrays) -> more arrays, from whole inputs


class Truth(dict):
    """The outputs in float64, and in `computed_in` the type in which they were computed before one last rounding."""

    def __init__(self, outputs, computed_in: str):
        super().__init__(outputs)
        self.computed_in = computed_in


@dataclass(frozen=True, eq=False)
class Operator:
    """One aclnn backward operator; its parameters and outputs carry the vendor's names, in the vendor's order.

    `backward`, `forward` and `truth` take the parameters as keywords. They raise TypeError for a wrong name, kind or
    dtype and ValueError for a wrong shape or value.
    """

    name: str
    aclnn_name: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[str, ...]
    forward_parameters: tuple[Parameter, ...]
    page: ModuleType
    arrange_backward: Callable[..., Arranged]
    arrange_forward: Callable[..., Arranged]
    all_outputs: dict = field(default_factory=dict)  # the attributes that ask for every output

    def backward(self, /, **inputs) -> dict[str, np.ndarray]:
        """Return the gradients by the vendor's output names, each in its documented shape and dtype.

        16-bit inputs are computed in float32 and rounded once, to nearest even; float64 gives float64. An output that
        is masked out or whose flag is off is absent.

        >>> import numpy as np, aclnn_viz as av
        >>> op = av.operator("hardswish")
        >>> op.backward(gradOutput=np.ones(3, np.float32), self=np.float32([-3, 0, 3]))["out"].tolist()
        [-0.5, 0.5, 1.5]
        """
        return self._evaluate(self.page.backward, self.arrange_backward(**self.bind(inputs)))

    def forward(self, /, **inputs) -> dict[str, np.ndarray]:
        """Return the outputs of the forward operator and the tensors that it saves for backward.

        >>> import numpy as np, aclnn_viz as av
        >>> av.operator("rms_norm").forward(x=np.float32([[3, 4]]), gamma=np.ones(2, np.float32), epsilon=0.0)["rstd"]
        array([[0.28284273]], dtype=float32)
        """
        bound = bind(f"{self.name} forward", self.forward_parameters, inputs)
        return self._evaluate(self.page.forward, self.arrange_forward(**bound))

    def truth(self, /, **inputs) -> Truth:
        """Return the outputs of `backward` in float64, from the same page with every input widened exactly.

        It measures rounding, not the formula. For float64 inputs the page runs in NumPy's longdouble, and
        `computed_in` tells how wide that is here.
        """
        arranged = self.arrange_backward(**self.bind(inputs))
        wide = np.dtype(np.float64 if arranged.compute == np.float32 else np.longdouble)
        results = {name: result._replace(format=FLOAT64) for name, result in arranged.results.items()}
        outputs = self._evaluate(self.page.backward, arranged._replace(results=results, compute=wide))
        name = "float64" if wide == np.float64 else "longdouble"
        return Truth(outputs, f"{name} ({np.finfo(wide).nmant + 1}-bit significand)")

    def bind(self, inputs: dict) -> dict:
        """Return every parameter by name with defaults filled in; TypeError for names and kinds that do not fit."""
        return bind(self.name, self.parameters, inputs)

    def _evaluate(self, page, arranged: Arranged):
        # A wider truth must not come down to float64 for its coordinates.
        wide = np.promote_types(arranged.compute, np.float64)
        namespace = NumPyArrays(wide)
        arrays = arranged.arrays
        if arranged.prelude is not None:
            with np.errstate(all="ignore"):
                arrays = arrays | arranged.prelude(self.page, namespace, arrays)
        return evaluate(page, arranged.axes or self.page.AXES, arrays, arranged.attributes, arranged.results,
                        namespace, arranged.compute)

    def __repr__(self) -> str:
        return f"Operator({self.name!r}, {self.aclnn_name!r})"
