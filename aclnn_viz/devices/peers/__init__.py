"""Peers: other libraries that compute the same operators, as devices.

PyTorch runs its own operators, JAX the page, numba the operator's fused loops.
"""

import re
from importlib import import_module, metadata

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.devices.peers.peer import Peer
from aclnn_viz.errors import problem
from aclnn_viz.operators import registry

#: Library: its class, the kinds of devices that it is opened on, the first by default, and what it needs of an operator.
PEERS = {"torch": ("torch_peer.TorchPeer", ("cpu", "cuda", "npu"), "peer"),
         "jax": ("jax_peer.JaxPeer", ("cpu", "gpu"), "page"),
         "numba": ("numba_peer.NumbaPeer", ("cpu",), "loops")}
NAMES = re.compile(rf"({'|'.join(PEERS)})(?::([a-z]+)(?::(\d+))?)?")


def installed() -> dict[str, str]:
    """The versions of the peers that are installed, by name; nothing is imported."""
    found = {}
    for name in PEERS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


def computed_by(library: str, op) -> bool:
    """Whether an operator has what a peer needs of it."""
    return registry.file(PEERS[library][2], registry.name_of(op)) is not None


def is_peer(name) -> bool:
    """Whether a text names a peer, installed or not.

    >>> is_peer("torch:cuda"), is_peer("torch.py:kernel")
    (True, False)
    """
    return isinstance(name, str) and NAMES.fullmatch(name) is not None


def open_peer(name: str) -> Peer:
    """Open "torch", "torch:cuda:1", "jax:gpu"; ValueError for another kind, DeviceUnavailable for what is not there."""
    library, place, number = NAMES.fullmatch(name).groups()
    called, places, _ = PEERS[library]
    place = place or places[0]
    if place not in places:
        raise ValueError(problem(f"{library} is opened on {', '.join(places)}", repr(name), f'open such as "{library}"'))
    module, _, kind = called.partition(".")
    try:
        found = getattr(import_module(f"{__name__}.{module}"), kind)
        return found(place, None if number is None else int(number))
    except ImportError as error:
        needed = error.name if error.name not in (None, library) else f"aclnn-viz[{library}]"
        raise DeviceUnavailable(problem(f'the device "{name}" needs {library} in this environment', str(error),
                                        f"pip install '{needed}', or open \"host\"")) from error
