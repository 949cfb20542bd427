"""Formulas that poolings share: how many windows there are along an axis, and where their elements lie."""


def windows(letter: str, axis: int, extent: str = "kernelSize[{axis}]") -> dict[str, str]:
    """The formula of how many windows there are along H or W."""
    sizes = f"{extent}, (stride or kernelSize)[{{axis}}], padding[{{axis}}], ceilMode".format(
        axis=axis
    )
    return {f"{letter}o": f"windows({letter}, {sizes})"}


def taps(xp, length, windows, kernel, stride, padding, dilation):
    """Of element k of every window along an axis, k from 0 to kernel - 1: its place, and whether that is on the axis, or before the

    end of the padding behind it; places beside the axis are clipped.
    """
    for k in range(kernel):
        at = xp.arange(windows, dtype=xp.int64) * stride - padding + k * dilation
        yield xp.clip(at, 0, length - 1), (at >= 0) & (at < length), at < length + padding


def offsets(xp, shape, windows, kernelSize, stride, padding, dilation=(1,)):
    """The same of every window of planes (planes, H, W), flattened; one entry of an array stands for both axes."""
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
