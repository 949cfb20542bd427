"""A program for aclnnGroupNormSwishGrad in the form of the vendor's samples; its documentation prints none.

Two samples, four channels in two groups, three positions; mean and rstd are those of x.
"""

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
    shape, num_groups = [2, 4, 3], 2
    dy_host_data = np.arange(24, 0, -1, dtype=np.float32) / 8
    x_host_data = (np.arange(24, dtype=np.float32) % 7) - 2
    groups = x_host_data.reshape(2, num_groups, -1)
    mean_host_data = groups.mean(axis=-1)
    rstd_host_data = (1 / np.sqrt(groups.var(axis=-1) + 1e-5)).astype(np.float32)
    gamma_host_data = np.array([1, 0.5, -1, 2], np.float32)
    beta_host_data = np.array([0, 0.25, -0.5, 1], np.float32)
    data_format, swish_scale, dgamma_is_require, dbeta_is_require = "NCHW", 1.0, True, True
    created = [
        create_acl_tensor(acl, data, dims, ACL_FLOAT)
        for data, dims in (
            (dy_host_data, shape),
            (mean_host_data, [2, num_groups]),
            (rstd_host_data, [2, num_groups]),
            (x_host_data, shape),
            (gamma_host_data, [4]),
            (beta_host_data, [4]),
            (np.zeros(24, np.float32), shape),
            (np.zeros(4, np.float32), [4]),
            (np.zeros(4, np.float32), [4]),
        )
    ]
    (dy, mean, rstd, x, gamma, beta, dx_out, dgamma_out, dbeta_out), addresses = zip(*created)

    # 3. Call the two phases.
    ret, workspace_size, executor = acl.aclnnGroupNormSwishGradGetWorkspaceSize(
        dy,
        mean,
        rstd,
        x,
        gamma,
        beta,
        num_groups,
        data_format,
        swish_scale,
        dgamma_is_require,
        dbeta_is_require,
        dx_out,
        dgamma_out,
        dbeta_out,
    )
    check_ret(ret, "aclnnGroupNormSwishGradGetWorkspaceSize failed.")
    workspace_addr = malloc_workspace(acl, workspace_size)
    ret = acl.aclnnGroupNormSwishGrad(workspace_addr, workspace_size, executor, stream)
    check_ret(ret, "aclnnGroupNormSwishGrad failed.")

    # 4. Wait for the task.
    check_ret(acl.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream failed.")

    # 5. Fetch the outputs.
    print_result(acl, "dx", np.zeros(24, np.float32), addresses[6])
    print_result(acl, "dgamma", np.zeros(4, np.float32), addresses[7])
    print_result(acl, "dbeta", np.zeros(4, np.float32), addresses[8])

    # 6. and 7. Release tensors and device resources.
    release(acl, stream, device_id, [tensor for tensor, _ in created], [*addresses, workspace_addr])
