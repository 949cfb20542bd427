"""PyTorch's gradient of batch norm, to compare ours with: one function of ATen, which takes the saved mean and deviation."""


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
        return torch.ops.aten.native_batch_norm_backward(
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
    # ATen divides by 0 for an empty input
    return torch.zeros_like(input), *(input.new_zeros(input.shape[1]) for _ in range(2))


DUMPED = {
    "batch_norm": "input, running_mean: runningMean, running_var: runningVar, weight, bias, training, momentum, eps"
}
