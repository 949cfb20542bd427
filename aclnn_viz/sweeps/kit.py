"""Which kit this is: its version and the identity of its sources, so that results of an edited kit are not taken for
those of another."""

import hashlib
from functools import cache
from importlib.metadata import version

from aclnn_viz import rooms

UNSEEN = ("cli", "explorers", "export", "lessons", "pictures", "samples", "verification")  # rooms that decide no number


def kit() -> str:
    """The kit of this process, with the operators from elsewhere, such as "0.1.0+c0ffee123456".

    The same sources give the same text on every platform.
    """
    state = hashlib.sha256(_house().encode())
    for name in rooms.outside():  # these may be edited while a session goes on
        state.update(rooms.sources(name).encode())
    return f"{version('aclnn-viz')}+{state.hexdigest()[:12]}"


@cache
def _house() -> str:
    house = rooms.HOUSE / "aclnn_viz"
    return rooms.hashed(house, (path for path in house.rglob("*.py") if path.relative_to(house).parts[0] not in UNSEEN))
