"""How the devices of one process share ACL: who initialises it, who finalises it, who resets a device.

CANN counts aclInit against aclFinalizeReference and aclrtSetDevice against aclrtResetDevice, from the version on that
has aclFinalizeReference. Before, aclInit is allowed once in a process and one reset undoes every set, so ACL stays up
until the process ends, and the last device that leaves resets. ACL that another library had initialised is neither
finalised nor is its device reset.

Source: "Initialization and deinitialization", CANN runtime reference; `acl/acl_rt.h`.
"""

import os
import threading
from collections import Counter
from weakref import WeakKeyDictionary

from aclnn_viz.devices.errors import DeviceClosedError
from aclnn_viz.errors import problem
from aclnn_viz.operators.codes import ACL_ERROR_REPEAT_INITIALIZE


class Process:
    """The ACL of this process as this kit's devices use it."""

    def __init__(self, acl):
        self.counted = "aclFinalizeReference" not in acl.unavailable
        self.pid = os.getpid()
        self.initialised = 0  # by our calls of aclInit that are not undone
        self.sets = Counter()  # of each device, by us
        self.foreign = False
        self.lock = threading.Lock()

    def need_own(self) -> None:
        """Raise DeviceClosedError in a forked child of the process that used ACL."""
        if os.getpid() != self.pid:
            raise DeviceClosedError(problem("ACL must be initialised in the process that uses it", "a forked child of "
                                            "the process that initialised it", "start children with spawn"))

    def enter(self, session) -> str | None:
        """Initialise ACL if needed, and return the call that undoes it; None when nothing is to be undone."""
        if not self.counted and self.initialised:
            return None
        status = session.acl.aclInit(None)
        if status != ACL_ERROR_REPEAT_INITIALIZE:
            session.check("aclInit", status)
        self.foreign = status == ACL_ERROR_REPEAT_INITIALIZE and not self.initialised
        if self.foreign:
            return None
        self.initialised += 1
        return "aclFinalizeReference" if self.counted else None

    def leave(self, device_id: int) -> bool:
        """Tell whether the device that is left is to be reset."""
        self.sets[device_id] -= 1
        return not self.foreign and (self.counted or not self.sets[device_id])


_PROCESSES: WeakKeyDictionary[object, Process] = WeakKeyDictionary()


def process_of(acl) -> Process:
    """The process that an implementation of the C API drives: that of the loaded libraries, or an emulated one."""
    return _PROCESSES.setdefault(acl.process, Process(acl))
