"""Which kit this is: its version and the identity of its sources, so that results of an edited kit are not taken for
those of another."""

import hashlib
from functools import cache
from importlib.metadata import version

from aclnn_viz.operators import registry

UNSEEN = {"cli", "explorers", "lessons", "pictures", "verification"}  # packages that no result of a sweep depends on: an edit there keeps results valid


def kit() -> str:
    """The kit of this process, with the operators from elsewhere, such as "0.1.0+c0ffee123456".

    The same sources give the same text on every platform.
    """
    state = hashlib.sha256(_kit().encode())
    for name in registry.outside():  # these may be edited while a session goes on
        state.update(registry.sources(name).encode())
    return f"{version('aclnn-viz')}+{state.hexdigest()[:12]}"


@cache
def _kit() -> str:
    package = registry.ROOT / "aclnn_viz"
    return registry.hashed(package, (path for path in package.rglob("*.py")
                                     if path.relative_to(package).parts[0] not in UNSEEN
                                     and registry.KINDS.get(path.stem) not in UNSEEN))
