"""Formulas of layer normalisation of rows of input, forward and backward, as array code to run and prove:
x-hat = (x - mean) * rstd, out = weight * x-hat + bias.

Source: aclnnLayerNormBackward, CANN operator documentation.
"""

AXES = {
    "input": "r.",
    "weightOptional": ".",
    "biasOptional": ".",
    "out": "r.",
    "meanOut": "r.",
    "rstdOut": "r.",
    "gradOut": "r.",
    "mean": "r.",
    "rstd": "r.",
    "gradInputOut": "r.",
    "gradWeightOut": ".",
    "gradBiasOut": ".",
}


def forward(xp, input, weightOptional, biasOptional, eps):
    mean = row_mean(xp, input)
    centred = input - mean
    rstd = 1.0 / xp.sqrt(row_mean(xp, centred * centred) + eps)
    scaled = centred * rstd if weightOptional is None else centred * rstd * weightOptional
    return {
        "out": scaled if biasOptional is None else scaled + biasOptional,
        "meanOut": mean,
        "rstdOut": rstd,
    }


def row_mean(xp, x):
    return xp.mean(x, axis=-1, keepdims=True)


def normalised(input, mean, rstd):
    """Return x-hat. The saved mean and rstd (rows, 1) are used, never recomputed."""
    return (input - mean) * rstd


def backward(xp, gradOut, input, mean, rstd, weightOptional, biasOptional):
    xhat = normalised(input, mean, rstd)
    grad = gradOut if weightOptional is None else gradOut * weightOptional
    # Shifting and scaling a row does not change x-hat, so the gradient is orthogonal to 1 and to x-hat.
    along = row_mean(xp, grad) + xhat * row_mean(xp, grad * xhat)
    return {
        "gradInputOut": (grad - along) * rstd,
        "gradWeightOut": xp.sum(gradOut * xhat, axis=0),
        "gradBiasOut": xp.sum(gradOut, axis=0),
    }
