"""`python -m standin.values ROOT FILE` in tests/: the operators on seeded inputs; FILE keeps inputs and outputs."""

import os
import sys

import ml_dtypes
import numpy as np

from standin.driver import CE, GN, GRID, HARDSWISH, RMS, Session, dtype_code

DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float64": np.float64}


class Runs(Session):
    """A session that keeps what it runs: `kept["run/name"]`, 16-bit values widened."""

    def __init__(self, root, *first):
        super().__init__(root, *first)
        self.kept = {}
        self.random = np.random.default_rng(7)

    def draw(self, *shape, dtype=np.float32, low=-4.0, high=4.0):
        return self.random.uniform(low, high, shape).astype(dtype)

    def keep(self, run, **arrays):
        for name, array in arrays.items():
            if array is not None:
                wide = array.dtype.itemsize == 2
                self.kept[f"{run}/{name}"] = np.asarray(array, np.float32) if wide else array

    def output(self, shape, dtype):
        """Return the handle and the address of an output."""
        array = np.empty(shape, dtype)
        address = self.malloc(array.nbytes)
        return self.view(address, shape, dtype_code(array)), address


def hardswish(s, run, dtype):
    """gradOutput is a transposed view, self starts at an offset, out has gaps."""
    grad, x = s.draw(5, 7, dtype=dtype), s.draw(5, 7, dtype=dtype)
    x[0, :4] = -3, 3, np.inf, -np.inf
    code = dtype_code(grad)
    shifted = s.put(np.concatenate([np.zeros(16, dtype), x.ravel()]))
    target = s.put(np.zeros(5 * 14, dtype))
    s.run(HARDSWISH, s.view(s.put(np.ascontiguousarray(grad.T)), (5, 7), code, strides=(1, 5)),
          s.view(shifted, (5, 7), code, offset=16, storage=(51,)),
          s.view(target, (5, 7), code, strides=(14, 2), storage=(70,)))
    s.keep(run, grad=grad, x=x, out=s.get(target, (5, 7, 2), dtype))


def rms_norm(s, run, dtype, gamma_dtype):
    dy, x = s.draw(3, 2, 4, 5, dtype=dtype), s.draw(3, 2, 4, 5, dtype=dtype)
    rstd, gamma = s.draw(3, 2, low=0.1, high=2), s.draw(4, 5, dtype=gamma_dtype)
    (dx, dx_at), (dgamma, dgamma_at) = s.output(x.shape, dtype), s.output(gamma.shape, np.float32)
    s.run(RMS, s.tensor(dy), s.tensor(x), s.tensor(rstd), s.tensor(gamma), dx, dgamma)
    s.keep(run, dy=dy, x=x, rstd=rstd, gamma=gamma, dx=s.get(dx_at, x.shape, dtype),
           dgamma=s.get(dgamma_at, gamma.shape, np.float32))


def cross_entropy(s, run, reduction, weighted, ignore, smoothing=0.0, dtype=np.float32):
    log_prob, target = s.draw(6, 4, dtype=dtype, high=0), s.random.integers(0, 4, 6)
    grad = s.draw(6, dtype=dtype) if reduction == "none" else s.draw(dtype=dtype)
    if ignore is None:  # all rows
        target[:], ignore = -100, -100
    target[0] = ignore
    weight = s.draw(4, low=0.1, high=2) if weighted else None
    out, at = s.output(log_prob.shape, dtype)
    s.run(CE, s.tensor(grad), s.tensor(log_prob), s.tensor(target), weighted and s.tensor(weight) or None, None, None,
          reduction.encode(), ignore, smoothing, 0.0, out)
    s.keep(run, grad=grad, log_prob=log_prob, target=target, weight=weight, ignore=np.array(ignore),
           smoothing=np.array(smoothing), out=s.get(at, log_prob.shape, dtype))


def group_norm(s, run, scale, cann, dtype=np.float32):
    os.environ["STANDIN_CANN"] = cann
    x, dy = s.draw(2, 6, 3, 2, dtype=dtype), s.draw(2, 6, 3, 2, dtype=dtype)
    mean, rstd = s.draw(2, 3, dtype=dtype), s.draw(2, 3, dtype=dtype, low=0.1, high=2)
    gamma, beta = s.draw(6, dtype=dtype), s.draw(6, dtype=dtype)
    outputs = [s.output(x.shape, dtype), s.output((6,), dtype), s.output((6,), dtype)]
    tensors = [s.tensor(array) for array in (dy, mean, rstd, x, gamma, beta)]
    s.run(GN, *tensors, 3, None, scale, True, True, *(tensor for tensor, _ in outputs))
    results = [s.get(at, shape, dtype) for (_, at), shape in zip(outputs, (x.shape, 6, 6))]
    s.keep(run, dy=dy, mean=mean, rstd=rstd, x=x, gamma=gamma, beta=beta, scale=np.array(scale),
           **dict(zip(("dx", "dgamma", "dbeta"), results)))


def grid_sampler(s, run, mode, padding, align, dtype=np.float64, grid=None):
    os.environ["STANDIN_CANN"] = "9.1.0"
    image, grad = s.draw(2, 3, 4, 5, dtype=dtype), s.draw(2, 3, 3, 2, dtype=dtype)
    grid = s.draw(2, 3, 2, 2, dtype=dtype, low=-1.8, high=1.8) if grid is None else grid
    (dx, dx_at), (dgrid, dgrid_at) = s.output(image.shape, dtype), s.output(grid.shape, dtype)
    mask = s.bools((True, True))
    s.run(GRID, s.tensor(grad), s.tensor(image), s.tensor(grid), mode, padding, align, mask, dx, dgrid)
    s.ok("aclDestroyBoolArray", mask)
    s.keep(run, grad=grad, image=image, grid=grid, dx=s.get(dx_at, image.shape, dtype),
           dgrid=s.get(dgrid_at, grid.shape, dtype))


def run(root, file):
    s = Runs(root)
    for name in ("float32", "float16", "bfloat16"):
        hardswish(s, f"hardswish {name}", DTYPES[name])
    rms_norm(s, "rms_norm float32", np.float32, np.float32)
    rms_norm(s, "rms_norm bfloat16", ml_dtypes.bfloat16, np.float32)
    for reduction in ("none", "mean", "sum"):
        for weighted in (False, True):
            cross_entropy(s, f"cross_entropy {reduction} {weighted}", reduction, weighted, 2)
    cross_entropy(s, "cross_entropy float16", "mean", True, -100, dtype=np.float16)
    cross_entropy(s, "all ignored", "mean", True, None)
    os.environ["STANDIN_SOC"], os.environ["STANDIN_CANN"] = "Ascend950PR_9579", "9.1.0"
    cross_entropy(s, "cross_entropy smoothed", "mean", True, 1, smoothing=0.25)
    os.environ["STANDIN_SOC"] = "Ascend910B2"
    group_norm(s, "group_norm 9.1", 1.7, "9.1.0")
    group_norm(s, "group_norm 9.0", 1.7, "9.0.1")
    group_norm(s, "group_norm bfloat16", 1.0, "9.0.1", ml_dtypes.bfloat16)
    for mode in range(3):
        for padding in range(3):
            for align in (False, True):
                grid_sampler(s, f"grid {mode} {padding} {align}", mode, padding, align)
    strange = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.3, 0.3, 0.3] * 3).reshape(2, 3, 2, 2)
    grid_sampler(s, "grid strange", 0, 0, False, np.float32, strange.astype(np.float32))
    s.close()
    np.savez(file, misuse=np.array(s.misuse(), dtype=str), **s.kept)


def boundary(root, *first):
    """What hardswish makes of -3 and 3 in the library that exports it first."""
    s = Runs(root, *first)
    out, at = s.output((2,), np.float32)
    s.run(HARDSWISH, s.tensor(np.ones(2, np.float32)), s.tensor(np.array([-3, 3], np.float32)), out)
    return s.get(at, 2, np.float32).tolist()


def smoothed(root):
    """The first element of a smoothed cross entropy gradient, which shows what value arrived."""
    os.environ["STANDIN_SOC"] = "Ascend950PR_9579"
    s = Runs(root)
    out, at = s.output((1, 2), np.float32)
    s.run(CE, s.tensor(np.float32(1)), s.tensor(np.log(np.full((1, 2), 0.5, np.float32))), s.tensor(np.array([0])),
          None, None, None, b"sum", -100, 0.5, 0.0, out)
    return s.get(at, 2, np.float32).tolist()


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
