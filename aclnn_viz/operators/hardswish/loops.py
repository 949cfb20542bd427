"""Hardswish as one loop over the elements."""

from aclnn_viz.arrays.loops import cuts, over, read, real, write
from aclnn_viz.arrays.plan import Plan

PLAN = Plan("one loop")


def slopes(part, first, last, gradOutput, self, out):
    grad, xs, results = gradOutput[first:last], self[first:last], out[first:last]
    three, half, zero, one = real(out, 3.0), real(out, 0.5), real(out, 0.0), real(out, 1.0)
    for i in range(results.size):
        x = read(xs, i)
        inside = x / three + half
        # Both comparisons fail for a nan, which has the slope 1. Selections instead of branches run on whole vectors.
        slope = zero if x < -three else (inside if x <= three else one)
        write(results, i, read(grad, i) * slope)


def backward(outputs, gradOutput, self):
    size = self.size
    over(cuts(size, size), slopes, gradOutput.reshape(-1), self.reshape(-1), outputs["out"].reshape(-1))
