"""What every sample program of the CANN documentation begins with: CHECK_RET, Init and CreateAclTensor."""

from math import prod

import numpy as np

from aclnn_viz.acl import (
    ACL_FORMAT_ND,
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_SUCCESS,
)


class Failed(Exception):
    """A call returned `ret`; `main` prints what failed and returns it."""

    def __init__(self, message: str, ret: int):
        super().__init__(f"{message} ERROR: {ret}")
        self.ret = ret


def check_ret(ret: int, message: str) -> None:
    """CHECK_RET of the samples."""
    if ret != ACL_SUCCESS:
        raise Failed(message, ret)


def program(main):
    """Turn a failed check into what the C++ main does: print it and return the status."""

    def run(acl) -> int:
        try:
            main(acl)
        except Failed as failed:
            print(failed)
            return failed.ret
        return 0

    run.__doc__ = main.__doc__
    return run


def init(acl, device_id: int):
    """Initialise AscendCL, the device and a stream."""
    check_ret(acl.aclInit(None), "aclInit failed.")
    check_ret(acl.aclrtSetDevice(device_id), "aclrtSetDevice failed.")
    ret, stream = acl.aclrtCreateStream()
    check_ret(ret, "aclrtCreateStream failed.")
    return stream


def create_acl_tensor(
    acl, host_data: np.ndarray, shape, data_type: int, format: int = ACL_FORMAT_ND
):
    """Allocate device memory, copy the host data there, and create a tensor over it."""
    size = host_data.nbytes
    ret, device_addr = acl.aclrtMalloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
    check_ret(ret, "aclrtMalloc failed.")
    ret = acl.aclrtMemcpy(device_addr, size, host_data, size, ACL_MEMCPY_HOST_TO_DEVICE)
    check_ret(ret, "aclrtMemcpy failed.")
    strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
    return acl.aclCreateTensor(
        shape, data_type, strides, 0, format, shape, device_addr
    ), device_addr


def malloc_workspace(acl, workspace_size: int):
    """The workspace that phase 1 asked for; none for size 0, which aclrtMalloc refuses."""
    if workspace_size == 0:
        return None
    ret, workspace_addr = acl.aclrtMalloc(workspace_size, ACL_MEM_MALLOC_HUGE_FIRST)
    check_ret(ret, "allocate workspace failed.")
    return workspace_addr


def print_result(acl, label: str, result: np.ndarray, device_addr: int) -> None:
    """Copy a result from the device and print its elements."""
    ret = acl.aclrtMemcpy(
        result, result.nbytes, device_addr, result.nbytes, ACL_MEMCPY_DEVICE_TO_HOST
    )
    check_ret(ret, f"copy {label} from device to host failed.")
    for i, value in enumerate(result.astype(np.float32).ravel()):
        print(f"{label}[{i}] is: {value:f}")


def release(acl, stream, device_id: int, tensors, addresses) -> None:
    """Destroy the tensors, then free the device resources."""
    for tensor in tensors:
        acl.aclDestroyTensor(tensor)
    for address in addresses:
        if address is not None:
            acl.aclrtFree(address)
    acl.aclrtDestroyStream(stream)
    acl.aclrtResetDevice(device_id)
    acl.aclFinalize()
