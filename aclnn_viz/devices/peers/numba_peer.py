"""numba as a device: the kit's own fused loops, compiled for the processor of this machine."""

import numpy as np

from aclnn_viz.arrays.loops import threads
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.devices.peers.peer import Peer, processor
from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.operators import registry


class NumbaPeer(Peer):
    """The fused loops of each operator that has them, run by threads; results do not depend on their number."""

    library = "numba"

    def __init__(self, place: str, number: int | None):
        import numba

        super().__init__(f"numba ({numba.__version__})")

    def _compute(self, op, bound, arranged):
        function = registry.own("loops", op.name, "backward")
        if function is None:
            raise NotSupported(problem("fused loops are an operator's own file", f"{op.name}, which has none",
                                       'open "jax", which runs the page, or add the file'))
        arrays = arranged.arrays
        if arranged.empty:
            return self._zeros(arranged)
        if arranged.prelude is not None:
            arrays = arrays | arranged.prelude(NumPyArrays(), arrays)
        outputs = {name: np.empty(result.shape, result.format.numpy) for name, result in arranged.results.items()}
        function(outputs, **{name: array if array is None else _given(array) for name, array in arrays.items()},
                 **arranged.attributes)
        return outputs

    def _library(self) -> dict:
        import llvmlite
        import numba

        return {"library": f"numba {numba.__version__}, llvmlite {llvmlite.__version__}", "place": f"cpu ({processor()})",
                "threads": threads(), "deterministic": True, "flags": {"fastmath": False, "nogil": True}}


def _given(array: np.ndarray) -> np.ndarray:
    """An array as loops are compiled for: in order, in the byte order of the machine, not to be written."""
    array = np.require(array, array.dtype.newbyteorder("="), "CA").view()
    array.flags.writeable = False
    return array
