"""Batch norm in PyTorch: one function of ATen, which takes the saved mean and deviation."""

OUTPUTS = "gradInput", "gradWeight", "gradBias"


def in_torch(
    torch,
    gradOut,
    input,
    weight,
    runningMean,
    runningVar,
    saveMean,
    saveInvstd,
    training,
    eps,
    outputMask,
):
    if input.numel():
        found = torch.ops.aten.native_batch_norm_backward(
            gradOut,
            input,
            weight,
            runningMean,
            runningVar,
            saveMean,
            saveInvstd,
            training,
            eps,
            [True, True, True],
        )
    else:  # on which ATen divides by 0
        found = (
            torch.zeros_like(input),
            input.new_zeros(input.shape[1]),
            input.new_zeros(input.shape[1]),
        )
    return {name: grad for name, grad, asked in zip(OUTPUTS, found, outputMask) if asked}


DUMPED = {
    "batch_norm": "input, running_mean: runningMean, running_var: runningVar, weight, bias, training, momentum, eps"
}
