"""One process a card: whoever opens an Atlas for a sweep claims it first, on this machine and for as long as it lives.

A claim is a lock on a file, which the operating system gives back whatever ends the process.
"""

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from aclnn_viz.devices import open_device
from aclnn_viz.errors import problem
from aclnn_viz.operators.codes import ACL_ERROR_RT_INVALID_DEVICEID

FOLDER = Path(tempfile.gettempdir()) / "aclnn-viz-cards"


def claimed(number: int) -> BinaryIO | None:
    """Return the open claim of the card that the runtime calls `number`, None where another process holds it."""
    import fcntl  # drivers for an Atlas are there on Linux alone
    listed = os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "").split(",")
    card = listed[number].strip() if number < len(listed) and listed[number].strip() else str(number)
    FOLDER.mkdir(exist_ok=True)
    if FOLDER.stat().st_uid == os.getuid():
        FOLDER.chmod(0o777)  # whoever else sweeps on this machine claims here, too
    handle = os.open(FOLDER / f"{card}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    file = os.fdopen(handle, "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def open_card(name: str, **options) -> tuple:
    """Open "atlas:N", or of "atlas" the first card that is free, and return the device with its claim.

    Raises RuntimeError where another process uses it, or all of them, and whatever opening a device raises.
    """
    asked, number = name.partition(":")[2], 0
    while True:
        held = claimed(int(asked) if asked else number)
        if held is None and asked:
            raise RuntimeError(problem("a card is used by one process at a time", f"{name}, which another one uses",
                                       "name another card, or wait for that sweep"))
        if held is not None:
            try:
                return open_device(name if asked else f"atlas:{number}", **options), held
            except BaseException as error:
                held.close()
                if asked or not number or getattr(error, "code", None) != ACL_ERROR_RT_INVALID_DEVICEID:
                    raise
                raise RuntimeError(problem("each card is used by one process at a time",
                                           f"one worker more than the free ones of {number} cards",
                                           f"start at most {number} workers, or wait for who uses them")) from error
        number += 1
