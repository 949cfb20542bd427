"""The sample program of aclnnGridSampler2DBackward, CANN documentation, in Python for any C API."""

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
    interpolation_mode, padding_mode, align_corners = 0, 0, False
    grad_output_host_data = np.ones(9, np.float32)
    input_host_data = np.arange(1, 41, dtype=np.float32)
    grid_host_data = np.array(
        [-1, -1, 0, -1, 1, -1, -1, 0, 0, 0, 1, 0, -1, 1, 0, 1, 1, 1], np.float32
    )
    input_grad_host_data = np.zeros(40, np.float32)
    grid_grad_host_data = np.zeros(18, np.float32)
    output_mask = acl.aclCreateBoolArray([True, True])
    created = [
        create_acl_tensor(acl, data, shape, ACL_FLOAT)
        for data, shape in (
            (grad_output_host_data, [1, 1, 3, 3]),
            (input_host_data, [1, 1, 5, 8]),
            (grid_host_data, [1, 3, 3, 2]),
            (input_grad_host_data, [1, 1, 5, 8]),
            (grid_grad_host_data, [1, 3, 3, 2]),
        )
    ]
    (grad_output, input_, grid, input_grad, grid_grad), addresses = zip(*created)

    # 3. Call the two phases.
    ret, workspace_size, executor = acl.aclnnGridSampler2DBackwardGetWorkspaceSize(
        grad_output,
        input_,
        grid,
        interpolation_mode,
        padding_mode,
        align_corners,
        output_mask,
        input_grad,
        grid_grad,
    )
    check_ret(ret, "aclnnGridSampler2DBackwardGetWorkspaceSize failed.")
    workspace_addr = malloc_workspace(acl, workspace_size)
    ret = acl.aclnnGridSampler2DBackward(workspace_addr, workspace_size, executor, stream)
    check_ret(ret, "aclnnGridSampler2DBackward failed.")

    # 4. Wait for the task.
    check_ret(acl.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream failed.")

    # 5. Fetch the outputs.
    print_result(acl, "inputGradResultData", np.zeros(40, np.float32), addresses[3])
    print_result(acl, "gridGradResultData", np.zeros(18, np.float32), addresses[4])

    # 6. and 7. Release tensors, the bool array and device resources.
    acl.aclDestroyBoolArray(output_mask)
    release(acl, stream, device_id, [tensor for tensor, _ in created], [*addresses, workspace_addr])
