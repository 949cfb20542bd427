"""Open other libraries (peers: PyTorch, JAX, numba) as devices that compute the same operators, to compare gradients.

PyTorch runs its own operators, each called by the operator's `peer.py`; JAX compiles the page; numba compiles the operator's
fused loops, or loops written from its page. Opening a peer imports its library.
"""

import math
import os
import platform
import re
import warnings
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress

import numpy as np

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.arrays import loops, page_loops
from aclnn_viz.arrays.jax_arrays import compiled, given, precise
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.devices.device import Closing, UnsupportedError
from aclnn_viz.dtypes import BFLOAT16, round_to
from aclnn_viz.errors import NotSupported, invalid, problem
from aclnn_viz.operators import operator, registry
from aclnn_viz.operators.peers import in_torch
from aclnn_viz.storage.foreign_arrays import as_array


@contextmanager
def quiet():
    """Hide warnings of a library, such as about its speed, and of overflowing numbers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Peer(Closing, ABC):
    """The base class of peers; `name` gives library, place and version, `about()` all that a replay must name.

    A peer has neither an SoC nor a CANN version: `soc` and `cann` are empty.
    """

    library: str
    soc = cann = ""

    def __init__(self, name: str):
        self.name = name

    def run(self, op, /, **inputs) -> dict[str, np.ndarray]:
        """Run an operator and return its outputs by the vendor's names, as `op.backward` does.

        Raises TypeError and ValueError as `op.backward` does, UnsupportedError (a ValueError and a NotImplementedError)
        for what the library does not compute, DeviceClosedError when the device is closed.
        """
        self.need_open()
        op = operator(op)
        bound, arranged = op.arranged(inputs)
        try:
            found = self._compute(op, bound, arranged)
        except NotSupported as refused:
            raise UnsupportedError(str(refused)) from refused
        return {name: _documented(found[name], result) for name, result in arranged.results.items()}

    def differences(self, op) -> tuple:
        """Return the documented differences between this library and an operator's page (`aclnn_viz.operators.peers`)."""
        return registry.own("peer", operator(op).name, "DIFFERENCES", {}).get(self.library, ())

    @staticmethod
    def _zeros(arranged) -> dict[str, np.ndarray]:
        """Return the outputs filled with 0: those of a call without elements, for which no page or loop runs."""
        return {
            name: np.zeros(result.shape, result.format.numpy)
            for name, result in arranged.results.items()
        }

    @abstractmethod
    def _compute(self, op, bound: dict, arranged) -> dict[str, np.ndarray]:
        """Return the outputs by name in the library's formats; raise NotSupported for what it lacks."""

    def about(self) -> dict:
        """Return what a replay must name: library and version, place, threads and flags."""
        return {"soc": self.soc, "cann": self.cann, **self._library()}

    @abstractmethod
    def _library(self) -> dict:
        """Return the library's version, place, threads and flags."""

    def __repr__(self) -> str:
        return f"Peer({self.name!r}{', closed' * self.closed})"


def _documented(array: np.ndarray, result) -> np.ndarray:
    """Return an output in its documented shape, rounded to the documented format if the library's is wider."""
    wider = (
        array.dtype is not result.format.numpy
        and array.dtype.itemsize > result.format.numpy.itemsize
    )
    return (round_to(array, result.format) if wider else array).reshape(result.documented_shape)


def processor() -> str:
    """Return the name of this machine's processor."""
    return platform.processor() or platform.machine()


MISSING = re.compile(
    r"not implemented for|Could not run|not supported|expected scalar type"
    r"|should be between"
)


class TorchPeer(Peer):
    """PyTorch on "cpu", "cuda" or "npu" (torch_npu); results in the formats in which it computes them."""

    library = "torch"

    def __init__(self, place: str, number: int | None):
        import torch

        if place == "npu":
            import torch_npu  # noqa: F401 - makes the place known

        if place != "cpu" and not getattr(torch, place).is_available():
            raise DeviceUnavailable(
                problem(
                    f'"torch:{place}" needs PyTorch with a device of that kind',
                    f"PyTorch {torch.__version__}, which sees none",
                    'open "torch" for the CPU',
                )
            )
        self._torch, self._place = (
            torch,
            torch.device(place if number is None else f"{place}:{number}"),
        )
        super().__init__(
            f"torch{'' if place == 'cpu' else f':{self._place}'} ({torch.__version__})"
        )

    @quiet()
    def _compute(self, op, bound, arranged):
        function = in_torch(op)
        if function is None:
            raise NotSupported(
                problem(
                    "PyTorch is called by the operator's own file",
                    f"{op.name}, which has none",
                    'open "jax", which runs the page, or add the file',
                )
            )
        try:
            # the caller may have disabled gradients
            with self._torch.inference_mode(False), self._torch.enable_grad():
                found = function(self._torch, **self._tensors(bound))
        except NotSupported:
            raise
        except (NotImplementedError, RuntimeError) as error:
            if not isinstance(error, NotImplementedError) and not MISSING.search(str(error)):
                raise
            raise NotSupported(
                problem(
                    f"PyTorch {self._torch.__version__} computes this call of {op.name}",
                    str(error).partition("\n")[0][:200],
                    "give another format or mode",
                )
            ) from error
        return {name: as_array(value) for name, value in found.items()}

    def _tensors(self, values: dict) -> dict:
        """Return the values with tensors instead of arrays."""
        return {
            name: self._tensor(value) if isinstance(value, np.ndarray) else value
            for name, value in values.items()
        }

    def _tensor(self, array: np.ndarray):
        """Return a bitwise copy of an array as a tensor."""
        own = np.array(array, array.dtype.newbyteorder("="), order="C")
        if own.dtype == BFLOAT16.numpy:
            return (
                self._torch.from_numpy(own.view(np.int16))
                .view(self._torch.bfloat16)
                .to(self._place)
            )
        return self._torch.from_numpy(own).to(self._place)

    def _library(self) -> dict:
        torch = self._torch
        named = (
            torch.backends.cpu.get_cpu_capability()
            if self._place.type == "cpu"
            else getattr(torch, self._place.type).get_device_name(self._place)
        )
        return {
            "library": f"torch {torch.__version__}",
            "place": f"{self._place} ({named})",
            "threads": torch.get_num_threads(),
            "deterministic": self._place.type == "cpu"
            or torch.are_deterministic_algorithms_enabled(),
            "flags": {"float32_matmul_precision": torch.get_float32_matmul_precision()},
        }


PAGES = 256  # compiled pages that are kept before all are dropped


class JaxPeer(Peer):
    """JAX on "cpu" or "gpu": the whole page is compiled, and its results are rounded once to the documented formats."""

    library = "jax"

    def __init__(self, place: str, number: int | None):
        import jax

        try:
            self._device = jax.devices(place)[number or 0]
        except (RuntimeError, IndexError) as error:
            raise DeviceUnavailable(
                problem(
                    f'"jax:{place}" needs JAX with a device of that kind',
                    str(error).partition("\n")[0],
                    'open "jax" for the CPU, or install such as jax[cuda13]',
                )
            ) from None
        self._pages: dict = {}
        super().__init__(
            f"jax{'' if place == 'cpu' else f':{place}:{number or 0}'} ({jax.__version__})"
        )

    @quiet()
    def _compute(self, op, bound, arranged):
        results = arranged.results
        if not results or arranged.empty:
            return self._zeros(arranged)
        key = (
            op.page.backward,
            *(
                f"{name}={value!r}"
                for name, value in (bound | arranged.attributes).items()
                if not isinstance(value, np.ndarray)
            ),
        )
        key += (arranged.compute,)
        with precise():
            if key not in self._pages:
                if len(self._pages) == PAGES:
                    self._pages.clear()
                self._pages[key] = compiled(
                    op.page.backward,
                    arranged.prelude,
                    arranged.attributes,
                    arranged.compute,
                    tuple(results),
                )
            arrays = {
                name: None if array is None else given(array, self._device)
                for name, array in arranged.arrays.items()
            }
            return {name: np.asarray(value) for name, value in self._pages[key](arrays).items()}

    def _library(self) -> dict:
        import jax
        import jaxlib

        return {
            "library": f"jax {jax.__version__}, jaxlib {jaxlib.__version__}",
            "place": f"{self._device.platform}:{self._device.id} ({self._named()})",
            "threads": os.cpu_count(),
            "deterministic": self._device.platform == "cpu",
            "flags": {"XLA_FLAGS": os.environ.get("XLA_FLAGS", ""), "jit": True},
        }

    def _named(self) -> str:
        return processor() if self._device.platform == "cpu" else self._device.device_kind


class NumbaPeer(Peer):
    """The operator's fused loops, or loops written from its page, run by threads; their number does not affect results."""

    library = "numba"

    def __init__(self, place: str, number: int | None):
        import numba

        super().__init__(f"numba ({numba.__version__})")

    def _compute(self, op, bound, arranged):
        function = registry.own("loops", op.name, "backward")
        arrays, outputs = arranged.arrays, self._zeros(arranged)
        if arranged.empty:
            return outputs
        if arranged.prelude is not None and not registry.own("loops", op.name, "WHOLE"):
            with np.errstate(all="ignore"):
                arrays = arrays | arranged.prelude(NumPyArrays(), arrays)
        arrays = {name: array if array is None else _given(array) for name, array in arrays.items()}
        if function is None:
            parts, loop, numbers, shapes = _one_loop(op, arranged)
            every = arrays | outputs
            loops.over(
                parts,
                loop,
                *numbers,
                *[_wide(every[name], shape).reshape(-1) for name, shape in shapes.items()],
            )
        else:
            function(outputs, **arrays, **arranged.attributes)
        return outputs

    def _library(self) -> dict:
        import llvmlite
        import numba

        return {
            "library": f"numba {numba.__version__}, llvmlite {llvmlite.__version__}",
            "place": f"cpu ({processor()})",
            "threads": numba.config.NUMBA_NUM_THREADS,
            "deterministic": True,
            "flags": {"fastmath": False, "nogil": True},
        }


def _one_loop(op, arranged) -> tuple:
    """Return (parts, loop, numbers, shapes): how threads share the elements, the operator's own loop or one written
    from its page, its numbers, and the shape of each of its arrays.
    """
    if (loop := registry.own("loops", op.name, "elements")) is None:
        return page_loops.written(op, arranged)
    whole = arranged.results[op.main].shape
    return (
        loops.cuts(*[math.prod(whole)] * 2),
        loop,
        (),
        dict.fromkeys(loop.__code__.co_varnames[3 : loop.__code__.co_argcount], whole),
    )


def _given(array: np.ndarray) -> np.ndarray:
    """Return an array in the form that loops are compiled for: contiguous, in native byte order."""
    flags = array.flags
    return (
        array
        if flags.c_contiguous and flags.aligned and array.dtype.isnative
        else np.require(array, array.dtype.newbyteorder("="), "CA")
    )


def _wide(array: np.ndarray, shape: tuple) -> np.ndarray:
    """Return an array in the shape that a loop takes; the check avoids a slower broadcast."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


#: For each library: its class, its kinds of devices (default first), and the file that an
#: operator needs.
PEERS = {
    "torch": (TorchPeer, ("cpu", "cuda", "npu"), "peer"),
    "jax": (JaxPeer, ("cpu", "gpu"), "page"),
    "numba": (NumbaPeer, ("cpu",), "loops"),
}
NAMES = re.compile(rf"({'|'.join(PEERS)})(?::([a-z]+)(?::(\d+))?)?")


def installed() -> dict[str, str]:
    """Return the versions of the installed peers by name, without importing them."""
    from importlib import metadata

    found = {}
    for name in PEERS:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def computed_by(library: str, op) -> bool:
    """Return whether an operator has the file that a peer needs."""
    return registry.file(PEERS[library][2], registry.name_of(op)) is not None


def is_peer(name) -> bool:
    """Return whether a text names a peer, installed or not.

    >>> is_peer("torch:cuda"), is_peer("torch.py:kernel")
    (True, False)
    """
    return isinstance(name, str) and NAMES.fullmatch(name) is not None


def open_peer(name: str) -> Peer:
    """Open "torch", "torch:cuda:1", "jax:gpu"; raise ValueError for another kind, DeviceUnavailable for a missing one."""
    library, place, number = NAMES.fullmatch(name).groups()
    kind, places, _ = PEERS[library]
    place = place or places[0]
    if place not in places:
        raise invalid(
            f"{library} is opened on {', '.join(places)}", repr(name), f'open such as "{library}"'
        )
    try:
        return kind(place, None if number is None else int(number))
    except ImportError as error:
        needed = error.name if error.name not in (None, library) else f"aclnn-viz[{library}]"
        raise DeviceUnavailable(
            problem(
                f'the device "{name}" needs {library} in this environment',
                str(error),
                f"pip install '{needed}', or open \"host\"",
            )
        ) from error
