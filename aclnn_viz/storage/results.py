"""Write files and folders completely or not at all, and never over files that this package did not make.

A result is written under a temporary name beside its place, flushed to the disk, and renamed in one step. The next process
that writes there removes remains of a killed process; a lock shows whether a writer is alive.
"""

import math
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from aclnn_viz.errors import flag, place_of, problem

UNFINISHED = ".aclnn-viz-unfinished"


def need_place(
    path, force: bool = False, ours: Callable[[Path], bool] = lambda path: False
) -> None:
    """Raise FileExistsError unless a path is free or its content may be replaced.

    With `force` a file that the kit made, `ours(path)`, may be replaced. An empty folder counts as free. Remains of a killed
    process beside the path are removed first.
    """
    path = place_of(path)
    flag("force", force)
    sweep(path)
    if (
        not os.path.lexists(path)
        or path.is_dir()
        and not path.is_symlink()
        and not any(path.iterdir())
    ):
        return
    if path.is_symlink() or not (path.is_file() or path.is_dir()) or not ours(path):
        raise FileExistsError(
            problem(
                "a result needs a place of its own",
                f"{path}, which this kit did not make",
                "name another place, or move what is there",
            )
        )
    if not force:
        raise FileExistsError(
            problem(
                "a result needs a place of its own",
                f"{path}, which exists",
                "name another place, or ask for its replacement (--force, force=True)",
            )
        )


@contextmanager
def new_file(
    path, force: bool = False, ours: Callable[[Path], bool] = lambda path: False
) -> Iterator[BinaryIO]:
    """Yield a file to write; after a block without error it is completely at `path`, else nothing is.

    Raise FileExistsError as `need_place` does, also if the place is taken meanwhile.
    """
    path = place_of(path)
    if path.is_dir():
        raise FileExistsError(
            problem("this result is a file", f"{path}, a folder", "name a file in it")
        )
    need_place(path, force, ours)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _named(path), _unfinished(path, _open_new_file) as (own, handle):
        with os.fdopen(os.dup(handle), "w+b") as file:
            yield file
            file.flush()
            os.fsync(handle)
        if force:
            os.replace(own, path)
        else:
            _take(own, path)
    _settle(path.parent)


def _open_new_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the file's name to a write error: errors of a full disk and a size limit name no file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


@contextmanager
def new_folder(
    path, force: bool = False, ours: Callable[[Path], bool] = lambda path: False
) -> Iterator[Path]:
    """Yield a folder to fill with `add`; after a block without error it is at `path`, else the old content stays.

    Raise FileExistsError as `need_place` does.
    """
    path = place_of(path)
    need_place(path, force, ours)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _unfinished(path, _open_new_folder) as (own, _):
        yield own
        for folder, _, _ in os.walk(own):
            _settle(Path(folder))
        need_place(path, force, ours)
        if os.path.lexists(path) and any(path.iterdir()):
            with _unfinished(path, _open_new_folder) as (old, _):
                os.rename(path, old)
                os.rename(own, path)
        else:
            os.rename(own, path)
    _settle(path.parent)


def _open_new_folder(path: Path) -> int:
    path.mkdir()
    return os.open(path, os.O_RDONLY)


def add(path: Path, content: bytes) -> None:
    """Write a file of a folder in the making: completely or not at all, and onto the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(path.name + UNFINISHED)
    # a killed process left this file; no other process writes in this folder
    own.unlink(missing_ok=True)
    with _named(path):
        with open(own, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(own, path)


@contextmanager
def _unfinished(path: Path, make: Callable[[Path], int]) -> Iterator[tuple[Path, int]]:
    """Create a file or folder under a temporary name, locked while in use; remove it unless it was moved."""
    own = path.with_name(f".{path.name}.{secrets.token_hex(8)}{UNFINISHED}")
    handle = make(own)
    try:
        _locked(handle)
        yield own, handle
    finally:
        os.close(handle)
        if own.is_dir():
            shutil.rmtree(own)
        else:
            own.unlink(missing_ok=True)


def _take(own: Path, path: Path) -> None:
    """Move a file to a free place, in one step if the file system can."""
    try:
        os.link(own, path)
    except FileExistsError:
        raise FileExistsError(
            problem(
                "a result needs a place of its own",
                f"{path}, which somebody made meanwhile",
                "name another place",
            )
        ) from None
    except OSError:  # the file system cannot make links
        os.replace(own, path)


def sweep(path: Path) -> None:
    """Remove unfinished files and folders that killed processes left beside `path`."""
    unfinished = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}{re.escape(UNFINISHED)}")
    if not path.parent.is_dir():
        return
    for left in path.parent.iterdir():
        if (
            not unfinished.fullmatch(left.name)
            or left.is_symlink()
            or not (left.is_file() or left.is_dir())
        ):
            continue
        handle = os.open(left, os.O_RDONLY)
        try:
            if _locked(handle):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        finally:
            os.close(handle)


def _locked(handle: int) -> bool:
    """Return whether this process now holds the lock of an open file; False if another does, or locks do not exist."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _settle(folder: Path) -> None:
    """Write a folder's list of files from the system's cache to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # some file systems cannot flush a folder
    finally:
        os.close(handle)


def strict(value):
    """Return a value for JSON: infinities, nans and objects of other types become texts."""
    if isinstance(value, dict):
        return {name: strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)
