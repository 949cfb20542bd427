"""The sample program of aclnnHardswishBackward, CANN documentation, in Python for any C API."""

import numpy as np

from aclnn_viz.acl import ACL_FLOAT
from aclnn_viz.acl.samples import (
    check_ret,
    create_acl_tensor,
    init,
    malloc_workspace,
    print_result,
    program,
    release,
)


@program
def main(acl):
    """Run the sample on any implementation of the C API and return 0 or the status that failed."""
    # 1. Initialise device and stream.
    device_id = 0
    stream = init(acl, device_id)

    # 2. Construct inputs and outputs.
    shape = [4, 2]
    self_host_data = np.arange(8, dtype=np.float32)
    grad_out_host_data = np.arange(8, dtype=np.float32)
    out_host_data = np.zeros(8, np.float32)
    self_, self_addr = create_acl_tensor(acl, self_host_data, shape, ACL_FLOAT)
    grad_out, grad_out_addr = create_acl_tensor(acl, grad_out_host_data, shape, ACL_FLOAT)
    out, out_addr = create_acl_tensor(acl, out_host_data, shape, ACL_FLOAT)

    # 3. Call the two phases.
    ret, workspace_size, executor = acl.aclnnHardswishBackwardGetWorkspaceSize(grad_out, self_, out)
    check_ret(ret, "aclnnHardswishBackwardGetWorkspaceSize failed.")
    workspace_addr = malloc_workspace(acl, workspace_size)
    ret = acl.aclnnHardswishBackward(workspace_addr, workspace_size, executor, stream)
    check_ret(ret, "aclnnHardswishBackward failed.")

    # 4. Wait for the task.
    check_ret(acl.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream failed.")

    # 5. Fetch the output.
    print_result(acl, "result", np.zeros(8, np.float32), out_addr)

    # 6. and 7. Release tensors and device resources.
    release(
        acl,
        stream,
        device_id,
        [self_, grad_out, out],
        [self_addr, grad_out_addr, out_addr, workspace_addr],
    )
