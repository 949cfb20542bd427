"""Which kit this is: its version and the identity of its sources, so that results of an edited kit are not taken for
those of another."""

import hashlib
from functools import cache
from importlib.metadata import version

from aclnn_viz import rooms

UNSEEN = ("cli", "explorers", "export", "lessons", "pictures", "samples", "verification")  # rooms that decide no number


@cache
def kit_of(folders: tuple) -> str:
    """The kit with the operators in some folders beside it, the same for the same sources on every platform."""
    house = rooms.HOUSE / "aclnn_viz"
    state = hashlib.sha256()
    for root in (house, *folders):
        for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
            place = path.relative_to(root)
            if root != house or place.parts[0] not in UNSEEN:
                state.update(f"{root.name}/{place.as_posix()}\n".encode())
                state.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return f"{version('aclnn-viz')}+{state.hexdigest()[:12]}"


def kit() -> str:
    """The kit of this process, such as "0.1.0+c0ffee123456"."""
    return kit_of(rooms.folders())
