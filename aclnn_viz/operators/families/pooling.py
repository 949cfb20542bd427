"""Formulas that poolings share: the number of windows along an axis, and the places of their elements."""


def windows(letter: str, axis: int, extent: str = "kernelSize[{axis}]") -> dict[str, str]:
    """Return the formula of the number of windows along H or W."""
    sizes = f"{extent}, (stride or kernelSize)[{{axis}}], padding[{{axis}}], ceilMode".format(
        axis=axis
    )
    return {f"{letter}o": f"windows({letter}, {sizes})"}


def taps(xp, length, windows, kernel, stride, padding, dilation):
    """Yield for each k three arrays over the windows: the clipped place of element k on the axis, whether the place is
    on the axis, and whether it is before the end of the trailing padding.
    """
    for k in range(kernel):
        at = xp.arange(windows, dtype=xp.int64) * stride - padding + k * dilation
        yield xp.clip(at, 0, length - 1), (at >= 0) & (at < length), at < length + padding


def offsets(xp, shape, windows, kernelSize, stride, padding, dilation=(1,)):
    """Yield `taps` for windows of planes (planes, H, W), flattened; a one-entry array applies to both axes."""
    stride = stride or kernelSize
    rows = taps(xp, shape[1], windows[0], kernelSize[0], stride[0], padding[0], dilation[0])
    columns = list(
        taps(xp, shape[2], windows[1], kernelSize[-1], stride[-1], padding[-1], dilation[-1])
    )
    for at, *ways in rows:
        for other, *others in columns:
            both = (one[:, None] & two[None, :] for one, two in zip(ways, others))
            yield tuple(
                xp.reshape(one, (-1,)) for one in (at[:, None] * shape[2] + other[None, :], *both)
            )
