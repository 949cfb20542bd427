"""The sample program of aclnnCrossEntropyLossGrad, CANN documentation, in Python for any C API, with its faults mended.

The printed program stores float32 bytes under ACL_BF16, copies 8 bytes into a target of two int64, fills the output
with the expected answer before the call, and reads bfloat16 results as float. Here the data are made in the types that
the tensors declare, and the output starts as zeros. Its logProb is no log-softmax: the numbers are the formula's.
"""

import ml_dtypes
import numpy as np

from aclnn_viz.acl import ACL_BF16, ACL_FLOAT, ACL_INT64
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
    grad_loss_host_data = np.array([0.1], ml_dtypes.bfloat16)
    log_prob_host_data = np.full(6, -0.2, ml_dtypes.bfloat16)
    target_host_data = np.array([0, 0], np.int64)
    weight_host_data = np.ones(3, np.float32)
    x_grad_out_host_data = np.zeros(6, ml_dtypes.bfloat16)
    ignore_index, label_smoothing, lse_square_scale_for_zloss = -100, 0.0, 0.0
    created = [
        create_acl_tensor(acl, data, shape, data_type)
        for data, shape, data_type in (
            (grad_loss_host_data, [], ACL_BF16),
            (log_prob_host_data, [2, 3], ACL_BF16),
            (target_host_data, [2], ACL_INT64),
            (weight_host_data, [3], ACL_FLOAT),
            (x_grad_out_host_data, [2, 3], ACL_BF16),
        )
    ]
    (grad_loss, log_prob, target, weight, x_grad_out), addresses = zip(*created)
    grad_zloss = lse_for_zloss = None

    # 3. Call the two phases.
    ret, workspace_size, executor = acl.aclnnCrossEntropyLossGradGetWorkspaceSize(
        grad_loss,
        log_prob,
        target,
        weight,
        grad_zloss,
        lse_for_zloss,
        "mean",
        ignore_index,
        label_smoothing,
        lse_square_scale_for_zloss,
        x_grad_out,
    )
    check_ret(ret, "aclnnCrossEntropyLossGradGetWorkspaceSize failed.")
    workspace_addr = malloc_workspace(acl, workspace_size)
    ret = acl.aclnnCrossEntropyLossGrad(workspace_addr, workspace_size, executor, stream)
    check_ret(ret, "aclnnCrossEntropyLossGrad failed.")

    # 4. Wait for the task.
    check_ret(acl.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream failed.")

    # 5. Fetch the output.
    print_result(acl, "result", np.zeros(6, ml_dtypes.bfloat16), addresses[4])

    # 6. and 7. Release tensors and device resources.
    release(acl, stream, device_id, [tensor for tensor, _ in created], [*addresses, workspace_addr])
