"""Which kit this is: its version and the identity of its sources, so that results of an edited kit are not taken for
those of another."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from aclnn_viz import rooms

UNSEEN = ("cli", "explorers", "export", "lessons", "pictures", "samples", "verification")  # rooms that decide no number


def folders() -> tuple[Path, ...]:
    """The folders of the operators from elsewhere that are still there."""
    return tuple(folder for folder in rooms.folders() if rooms.holds_operator(folder))


def kit() -> str:
    """The kit of this process, with the operators from elsewhere, such as "0.1.0+c0ffee123456".

    The same sources give the same text on every platform.
    """
    state = hashlib.sha256(_house().encode())
    for folder in folders():  # these may be edited while a session goes on
        state.update(_sources(folder, folder.rglob("*.py")).encode())
    return f"{version('aclnn-viz')}+{state.hexdigest()[:12]}"


@cache
def _house() -> str:
    house = rooms.HOUSE / "aclnn_viz"
    return _sources(house, (path for path in house.rglob("*.py") if path.relative_to(house).parts[0] not in UNSEEN))


def _sources(root: Path, paths: Iterable[Path]) -> str:
    state = hashlib.sha256(root.name.encode())
    for place, path in sorted((path.relative_to(root).as_posix(), path) for path in paths):
        state.update(f"\n{place}\n".encode())
        state.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return state.hexdigest()
