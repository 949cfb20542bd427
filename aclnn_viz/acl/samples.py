"""The sample programs of the CANN documentation, in Python for any C API: they differ in what they pass and print alone.

CHECK_RET, CreateAclTensor and the seven steps are the vendor's.
"""

import numpy as np

from aclnn_viz.acl import (
    ACL_FORMAT_ND,
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_SUCCESS,
)
from aclnn_viz.operators.contract import contiguous_strides
from aclnn_viz.operators.contract.calling import DTYPE_CODES


class Failed(Exception):
    """A call returned `ret`; `main` prints what failed and returns it."""

    def __init__(self, message: str, ret: int):
        super().__init__(f"{message} ERROR: {ret}")
        self.ret = ret


def check_ret(ret: int, message: str) -> None:
    """CHECK_RET of the samples."""
    if ret != ACL_SUCCESS:
        raise Failed(message, ret)


def create_acl_tensor(acl, shape, host_data: np.ndarray, format: int):
    """Allocate device memory, copy the host data there, and create a tensor over it."""
    size = host_data.nbytes
    ret, device_addr = acl.aclrtMalloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
    check_ret(ret, "aclrtMalloc failed.")
    ret = acl.aclrtMemcpy(device_addr, size, host_data, size, ACL_MEMCPY_HOST_TO_DEVICE)
    check_ret(ret, "aclrtMemcpy failed.")
    data_type, strides = DTYPE_CODES[host_data.dtype], contiguous_strides(tuple(shape))
    tensor = acl.aclCreateTensor(shape, data_type, strides, 0, format, shape, device_addr)
    return tensor, device_addr


def print_tensor(acl, label: str, result: np.ndarray, address: int) -> None:
    """Fetch a tensor from the device into an array, and print it."""
    size = result.nbytes
    ret = acl.aclrtMemcpy(result, size, address, size, ACL_MEMCPY_DEVICE_TO_HOST)
    check_ret(ret, f"copy {label} from device to host failed.")
    for i, value in enumerate(result.astype(np.float32)):
        print(f"{label}[{i}] is: {value:f}")


def sample(name: str, *arguments, results, format: int = ACL_FORMAT_ND):
    """Return the `main` of a sample: the two phases of `name` with the arguments of phase 1 in C order.

    A tensor is (shape, host data), a bool array a list, all else is passed as it is. `results` are printed: (label, place
    among the arguments).
    """

    def run(acl) -> None:
        # 1. Initialise device and stream.
        check_ret(acl.aclInit(None), "aclInit failed.")
        check_ret(acl.aclrtSetDevice(0), "aclrtSetDevice failed.")
        ret, stream = acl.aclrtCreateStream()
        check_ret(ret, "aclrtCreateStream failed.")

        # 2. Construct inputs and outputs.
        passed, addresses = list(arguments), {}
        for place, argument in enumerate(arguments):
            if isinstance(argument, tuple):
                passed[place], addresses[place] = create_acl_tensor(acl, *argument, format)
            elif isinstance(argument, list):
                passed[place] = acl.aclCreateBoolArray(argument)

        # 3. Call the two phases.
        ret, workspace_size, executor = getattr(acl, f"{name}GetWorkspaceSize")(*passed)
        check_ret(ret, f"{name}GetWorkspaceSize failed.")
        workspace_addr = None
        if workspace_size > 0:
            ret, workspace_addr = acl.aclrtMalloc(workspace_size, ACL_MEM_MALLOC_HUGE_FIRST)
            check_ret(ret, "allocate workspace failed.")
        ret = getattr(acl, name)(workspace_addr, workspace_size, executor, stream)
        check_ret(ret, f"{name} failed.")

        # 4. Wait for the task.
        check_ret(acl.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream failed.")

        # 5. Fetch and print the outputs.
        for label, place in results:
            print_tensor(acl, label, np.zeros_like(arguments[place][1]), addresses[place])

        # 6. Destroy the tensors and the arrays. 7. Free the device resources.
        for argument, handle in zip(arguments, passed):
            if isinstance(argument, tuple):
                acl.aclDestroyTensor(handle)
            elif isinstance(argument, list):
                acl.aclDestroyBoolArray(handle)
        for address in addresses.values():
            acl.aclrtFree(address)
        if workspace_addr is not None:
            acl.aclrtFree(workspace_addr)
        acl.aclrtDestroyStream(stream)
        acl.aclrtResetDevice(0)
        acl.aclFinalize()

    def main(acl) -> int:
        """Run the sample on any implementation of the C API and return 0 or the status that failed."""
        try:
            run(acl)
        except Failed as failed:
            print(failed)
            return failed.ret
        return 0

    return main
