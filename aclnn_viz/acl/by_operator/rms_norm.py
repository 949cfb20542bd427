"""The sample program of aclnnRmsNormGrad, CANN documentation, in Python for any C API.

It passes an rstd that was not computed from its x. The outputs follow from the formula, but they are not a gradient.
"""

import numpy as np

from aclnn_viz.acl import ACL_FLOAT, ACL_FORMAT_NCDHW
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

    # 2. Construct inputs and outputs; the format NCDHW at ranks 3 and 1 is the sample's, and is taken as ND.
    x_shape, rstd_shape, gamma_shape = [2, 1, 16], [2], [16]
    grad_input_host_data = np.arange(1, 33, dtype=np.float32)
    x_input_host_data = np.arange(1, 33, dtype=np.float32)
    rstd_input_host_data = np.array([1, 2], np.float32)
    gamma_input_host_data = np.arange(1, 17, dtype=np.float32)
    dx_out_host_data = np.arange(1, 33, dtype=np.float32)
    dgamma_out_host_data = np.arange(1, 17, dtype=np.float32)
    created = [
        create_acl_tensor(acl, data, shape, ACL_FLOAT, ACL_FORMAT_NCDHW)
        for data, shape in (
            (grad_input_host_data, x_shape),
            (x_input_host_data, x_shape),
            (rstd_input_host_data, rstd_shape),
            (gamma_input_host_data, gamma_shape),
            (dx_out_host_data, x_shape),
            (dgamma_out_host_data, gamma_shape),
        )
    ]
    (grad_input, x_input, rstd_input, gamma_input, dx_out, dgamma_out), addresses = zip(*created)

    # 3. Call the two phases.
    ret, workspace_size, executor = acl.aclnnRmsNormGradGetWorkspaceSize(
        grad_input, x_input, rstd_input, gamma_input, dx_out, dgamma_out
    )
    check_ret(ret, "aclnnRmsNormGradGetWorkspaceSize failed.")
    workspace_addr = malloc_workspace(acl, workspace_size)
    ret = acl.aclnnRmsNormGrad(workspace_addr, workspace_size, executor, stream)
    check_ret(ret, "aclnnRmsNormGrad failed.")

    # 4. Wait for the task.
    check_ret(acl.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream failed.")

    # 5. Fetch the outputs.
    print_result(acl, "result", np.zeros(32, np.float32), addresses[4])
    print_result(acl, "result", np.zeros(16, np.float32), addresses[5])

    # 6. and 7. Release tensors and device resources.
    release(acl, stream, device_id, [tensor for tensor, _ in created], [*addresses, workspace_addr])
