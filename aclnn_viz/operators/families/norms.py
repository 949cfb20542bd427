"""Formulas that normalisations share: mean and 1 / deviation, and the gradient of numbers that were centred and scaled by them."""


def through(xp, grad, xhat, rstd, axes):
    """The gradient of x, of that of x-hat = (x - mean) * rstd, both along `axes`.

    A shift or a scale of all x leaves x-hat as it is: the gradient has nothing along 1 and along x-hat.
    """
    along = xp.mean(grad, axis=axes, keepdims=True) + xhat * xp.mean(
        grad * xhat, axis=axes, keepdims=True
    )
    return (grad - along) * rstd


def moments(xp, x, eps, axes):
    """The mean and 1 / sqrt(variance + eps) along `axes`, of the variance that divides by all elements."""
    mean = xp.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    return mean, 1.0 / xp.sqrt(xp.mean(centred * centred, axis=axes, keepdims=True) + eps)
