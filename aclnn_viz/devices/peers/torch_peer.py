"""PyTorch as a device: the operators that it has itself, each called by the operator's own file for it."""

import re

import numpy as np

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.devices.peers.peer import Peer
from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.operators import registry
from aclnn_viz.storage.own import as_array

MISSING = re.compile(r"not implemented for|Could not run|not supported|expected scalar type")


class TorchPeer(Peer):
    """PyTorch on "cpu", "cuda" or "npu" (torch_npu); results in the formats in which it computes them."""

    library = "torch"

    def __init__(self, place: str, number: int | None):
        import torch

        if place == "npu":
            import torch_npu  # noqa: F401 - makes the place known

        if place != "cpu" and not getattr(torch, place).is_available():
            raise DeviceUnavailable(problem(f'"torch:{place}" needs PyTorch with a device of that kind',
                                            f"PyTorch {torch.__version__}, which sees none", 'open "torch" for the CPU'))
        self._torch, self._place = torch, torch.device(place if number is None else f"{place}:{number}")
        super().__init__(f"torch{'' if place == 'cpu' else f':{self._place}'} ({torch.__version__})")

    def _compute(self, op, bound, arranged):
        function = registry.own("peer", op.name, "in_torch")
        if function is None:
            raise NotSupported(problem("PyTorch is called by the operator's own file", f"{op.name}, which has none",
                                       'open "jax", which runs the page, or add the file'))
        try:
            with self._torch.inference_mode(False), self._torch.enable_grad():  # whatever the caller has set
                found = function(self._torch, **{name: self._tensor(value) if isinstance(value, np.ndarray) else value
                                                 for name, value in bound.items()})
        except NotSupported:
            raise
        except (NotImplementedError, RuntimeError) as error:
            if not isinstance(error, NotImplementedError) and not MISSING.search(str(error)):
                raise
            raise NotSupported(problem(f"PyTorch {self._torch.__version__} computes this call of {op.name}",
                                       str(error).partition("\n")[0][:200], "give another format or mode")) from error
        return {name: as_array(value) for name, value in found.items()}

    def _tensor(self, array: np.ndarray):
        """A copy of an array, bit by bit."""
        own = np.array(array, array.dtype.newbyteorder("="), order="C")
        if own.dtype == BFLOAT16.numpy:
            return self._torch.from_numpy(own.view(np.int16)).view(self._torch.bfloat16).to(self._place)
        return self._torch.from_numpy(own).to(self._place)

    def _library(self) -> dict:
        torch = self._torch
        named = torch.backends.cpu.get_cpu_capability() if self._place.type == "cpu" else \
            getattr(torch, self._place.type).get_device_name(self._place)
        return {"library": f"torch {torch.__version__}", "place": f"{self._place} ({named})",
                "threads": torch.get_num_threads(),
                "deterministic": self._place.type == "cpu" or torch.are_deterministic_algorithms_enabled(),
                "flags": {"float32_matmul_precision": torch.get_float32_matmul_precision()}}
