"""One function of ATen, which adds up in 16 bits."""

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.operators.peers import Difference, narrow

from .page import windows

SOURCE = "ATen native/cpu/AdaptiveAvgPoolKernel.cpp"


def at_once(xp, gradOutput, self):
    """The page with one sum over the places of both axes, each gradient divided before."""
    (_, height, width), (_, rows, columns) = self.shape, gradOutput.shape
    down = xp.astype(windows(xp, height, rows), self.dtype)[:, None, :, None]
    across = xp.astype(windows(xp, width, columns), self.dtype)[None, :, None, :]
    flat = xp.reshape(gradOutput[:, None, None] * (down * across), (*self.shape, rows * columns))
    return {"out": xp.sum(flat, axis=3)}


ORDER = Plan("sums over both axes at once", order=SEQUENTIAL, division_ulps=1.0, page=at_once)
DIFFERENCES = {
    "torch": (
        narrow(
            "every step is rounded to 16 bits",
            SOURCE,
            "adaptive average pooling in 16 bits",
            accumulate="storage",
        ),
        Difference("rows are not added up before columns", SOURCE, ORDER, dtypes=("float32",)),
    )
}
REFUSED = ("PyTorch pools planes that have elements",)


def in_torch(torch, gradOutput, self):
    if not gradOutput.numel() or not self.numel():  # it ends the process for some of these
        raise NotSupported(problem(REFUSED[0], "an empty tensor", "leave such cases out"))
    return torch.ops.aten._adaptive_avg_pool2d_backward(gradOutput, self)
