"""Adaptive average pooling of planes (planes, H, W): each output is the mean of a window whose ends are rounded outwards."""

AXES = {"self": "n..", "y": "n..", "gradOutput": "n..", "out": "n.."}


def windows(xp, length, places):
    """Which elements (length, places) of an axis lie in the window of each place, as parts of its mean."""
    place, at = xp.arange(places, dtype=xp.int64), xp.arange(length, dtype=xp.int64)[:, None]
    first, last = place * length // places, -(-(place + 1) * length // places)
    return xp.astype((at >= first) & (at < last), xp.float64) / (last - first)


def forward(xp, self, outputSize):
    rows = xp.astype(windows(xp, self.shape[1], outputSize[0]), self.dtype)
    columns = xp.astype(windows(xp, self.shape[2], outputSize[1]), self.dtype)
    by_rows = xp.sum(self[:, :, None, :] * rows[None, :, :, None], axis=1)
    return {"y": xp.sum(by_rows[:, :, :, None] * columns[None, None], axis=2)}


def backward(xp, gradOutput, self):
    rows = xp.astype(windows(xp, self.shape[1], gradOutput.shape[1]), self.dtype)
    columns = xp.astype(windows(xp, self.shape[2], gradOutput.shape[2]), self.dtype)
    by_rows = xp.sum(gradOutput[:, None] * rows[None, :, :, None], axis=2)
    return {"out": xp.sum(by_rows[:, :, None] * columns[None, None], axis=3)}
