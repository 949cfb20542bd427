"""JAX as a device: the kit's own page, compiled by XLA."""

import os

import numpy as np

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.arrays.jax_arrays import compiled, given, precise
from aclnn_viz.devices.peers.peer import Peer, processor
from aclnn_viz.errors import problem

KEPT = 256  # compiled pages, before all are given up


class JaxPeer(Peer):
    """The page compiled for "cpu" or "gpu", whole; results are rounded once into the documented formats."""

    library = "jax"

    def __init__(self, place: str, number: int | None):
        import jax

        try:
            self._device = jax.devices(place)[number or 0]
        except (RuntimeError, IndexError) as error:
            raise DeviceUnavailable(problem(f'"jax:{place}" needs JAX with a device of that kind', str(error).partition(
                "\n")[0], 'open "jax" for the CPU, or install such as jax[cuda13]')) from None
        self._pages: dict = {}
        super().__init__(f"jax{'' if place == 'cpu' else f':{place}:{number or 0}'} ({jax.__version__})")

    def _compute(self, op, bound, arranged):
        results = arranged.results
        if not results or arranged.empty:
            return self._zeros(arranged)
        key = op.page.backward, *(f"{name}={value!r}" for name, value in bound.items() if not isinstance(value, np.ndarray))
        key += arranged.compute,
        with precise():
            if key not in self._pages:
                if len(self._pages) == KEPT:
                    self._pages.clear()
                self._pages[key] = compiled(op.page.backward, arranged.prelude, arranged.attributes, arranged.compute,
                                            tuple(results))
            arrays = {name: None if array is None else given(array, self._device)
                      for name, array in arranged.arrays.items()}
            return {name: np.asarray(value) for name, value in self._pages[key](arrays).items()}

    def _library(self) -> dict:
        import jax
        import jaxlib

        return {"library": f"jax {jax.__version__}, jaxlib {jaxlib.__version__}",
                "place": f"{self._device.platform}:{self._device.id} ({self._named()})", "threads": os.cpu_count(),
                "deterministic": self._device.platform == "cpu",
                "flags": {"XLA_FLAGS": os.environ.get("XLA_FLAGS", ""), "jit": True}}

    def _named(self) -> str:
        return processor() if self._device.platform == "cpu" else self._device.device_kind
