"""ELU in PyTorch: one function of ATen."""


def in_torch(torch, gradOutput, selfOrResult, alpha, scale, inputScale, isResult):
    return {
        "gradInput": torch.ops.aten.elu_backward(
            gradOutput, alpha, scale, inputScale, isResult, selfOrResult
        )
    }


DUMPED = {"elu": "input: x, alpha, inplace"}
