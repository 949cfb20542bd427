"""Right kernels in other words: NumPy in another order of summation, precision plans, the order of the device kernels."""

import numpy as np

from aclnn_viz import operator
from aclnn_viz.arrays.plan import BLOCKED, PAIRWISE, SEQUENTIAL, SHUFFLED, Plan
from aclnn_viz.operators import plans


def wide(array):
    """float32 for 16-bit formats, and what it is otherwise."""
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def hardswish(gradOutput, self):
    x, dy = wide(self), wide(gradOutput)
    slope = np.ones_like(x)
    middle = (x >= -3) & (x <= 3)
    slope[middle] = (x[middle] + x[middle] + 3) / 6
    slope[x < -3] = 0
    return (dy * slope).astype(self.dtype)


def rms_norm(dy, x, rstd, gamma):
    rows, n = rstd.size, gamma.size
    g, xs, dys, r = wide(gamma).reshape(n), wide(x).reshape(rows, n), wide(dy).reshape(rows, n), rstd.reshape(rows, 1)
    dx = np.zeros_like(xs)
    dgamma = np.zeros(n, r.dtype)
    for row in range(rows):  # one row after another, and the dot product before its factors
        dot = np.sum(dys[row] * g * xs[row], dtype=r.dtype)
        dx[row] = r[row] * dys[row] * g - xs[row] * r[row] * (dot * r[row] / n) * r[row]
        dgamma += dys[row] * (xs[row] * r[row])
    return dx.reshape(x.shape).astype(x.dtype), dgamma.reshape(gamma.shape)


def cross_entropy_loss(gradLoss, logProb, target, weightOptional, gradZlossOptional, lseForZlossOptional, reduction,
                       ignoreIndex, labelSmoothing, lseSquareScaleForZloss):
    p, (rows, classes) = np.exp(wide(logProb)), logProb.shape
    weight = np.ones(classes, p.dtype) if weightOptional is None else wide(weightOptional).astype(p.dtype)
    counted = [row for row in range(rows) if target[row] != ignoreIndex]
    out = np.zeros_like(p)
    total, count = sum(float(weight[target[row]]) for row in counted), len(counted)
    if reduction == "mean" and not counted:
        return np.full_like(logProb, np.nan)
    for row in counted:
        grad = wide(np.asarray(gradLoss)).reshape(-1)[row if reduction == "none" else 0]
        share = grad / p.dtype.type(total) if reduction == "mean" else grad
        desired = np.full(classes, labelSmoothing / classes, p.dtype) * weight
        desired[target[row]] += (1 - labelSmoothing) * weight[target[row]]
        out[row] = share * (p[row] * np.sum(desired) - desired)
        if lseForZlossOptional is not None:
            if gradZlossOptional is not None:
                grad = grad + wide(np.asarray(gradZlossOptional)).reshape(-1)[row if reduction == "none" else 0]
            each = grad / count if reduction == "mean" else grad
            out[row] += p[row] * (each * lseSquareScaleForZloss * 2 * wide(lseForZlossOptional)[row])
    return {"xGradOut": out.astype(logProb.dtype)}


def group_norm_swish(dy, mean, rstd, x, gamma, beta, numGroups, dataFormatOptional, swishScale, dgammaIsRequire,
                     dbetaIsRequire):
    n, c = x.shape[:2]
    shape = (n, c, int(np.prod(x.shape[2:])))
    xs, dys, g, b = wide(x).reshape(shape), wide(dy).reshape(shape), wide(gamma), wide(beta)
    g, b = (part.astype(xs.dtype)[:, None] for part in (g, b))
    each = c // numGroups
    r, m = (np.repeat(wide(part).astype(xs.dtype), each, axis=1)[..., None] for part in (rstd, mean))
    xhat = (xs - m) * r
    z = g * xhat + b
    with np.errstate(over="ignore"):
        gate = 1 / (1 + np.exp(-swishScale * z))
    dz = dys * (gate + np.where(gate > 0, swishScale * z * gate * (1 - gate), 0))
    count = each * shape[2]

    def over_groups(a):
        sums = a.reshape(n, numGroups, each, shape[2]).sum(axis=3).sum(axis=2)
        return np.repeat(sums, each, axis=1)[..., None] / max(count, 1)
    dx = r * (dz * g) - r * (over_groups(dz * g) + xhat * over_groups(dz * g * xhat))
    outputs = {"dxOut": dx.reshape(x.shape).astype(x.dtype)}
    if dgammaIsRequire:
        outputs["dgammaOut"] = (dz * xhat).sum(axis=2)[::-1].sum(axis=0).astype(gamma.dtype)
    if dbetaIsRequire:
        outputs["dbetaOut"] = dz.sum(axis=2)[::-1].sum(axis=0).astype(gamma.dtype)
    return outputs


def planned(name, plan):
    def kernel(**inputs):
        if any(isinstance(value, np.ndarray) and value.size == 0 for value in inputs.values()):
            return operator(name).backward(**inputs)  # plans are for tensors that have elements
        return plans.run(operator(name), plan, **inputs)
    return kernel


PLANS = {
    "one after another": Plan(coordinates="float32", order=SEQUENTIAL, division_ulps=1.0),
    "binary tree": Plan(coordinates="float64", order=PAIRWISE),
    "tiles of 16 on four cores": Plan(coordinates="float32", order=BLOCKED, tile=16, cores=4),
    "atomic additions": Plan(order=SHUFFLED, scatter=SHUFFLED, tile=8, cores=3, seed=1, coordinates="float32"),
}


def rewritings(name):
    """Right kernels of an operator, by what is different about them."""
    yield "the kit's own", operator(name).backward
    if name != "grid_sampler_2d":
        yield "NumPy in another order", globals()[name]
    for label, plan in PLANS.items():
        yield label, planned(name, plan)
    yield "as on Atlas A2", planned(name, plans.preset(name, "Ascend910B2", "9.1"))
    if name != "grid_sampler_2d":  # there Ascend 950 rounds coordinates to 16 bits
        yield "as on Ascend 950", planned(name, plans.preset(name, "Ascend950PR_9589", "9.1"))
