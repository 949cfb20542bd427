"""Formulas that normalisations share: mean and 1 / deviation, and the gradient of centred and scaled numbers."""


def through(xp, grad, xhat, rstd, axes):
    """Return the gradient of x from that of x-hat = (x - mean) * rstd, with mean and rstd along `axes`.

    Shifting or scaling all x does not change x-hat, so the gradient is orthogonal to 1 and to x-hat.
    """
    along = xp.mean(grad, axis=axes, keepdims=True) + xhat * xp.mean(
        grad * xhat, axis=axes, keepdims=True
    )
    return (grad - along) * rstd


def moments(xp, x, eps, axes):
    """Return the mean and 1 / sqrt(variance + eps) along `axes`; the variance divides by all elements."""
    mean = xp.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    return mean, 1.0 / xp.sqrt(xp.mean(centred * centred, axis=axes, keepdims=True) + eps)
