"""Run an operator's formulas on JAX, compiled by XLA, and differentiate the forward ones by JAX, to compare gradients."""

from collections.abc import Callable, Mapping

import numpy as np

from aclnn_viz.arrays.functions import Guards


class JaxArrays(Guards):
    """`jax.numpy` with `scatter_add`, which works on rows because XLA is slow along the last axis."""

    def __init__(self):
        import jax.numpy

        self._jnp = jax.numpy

    def __getattr__(self, name):
        if name in ("erf", "erfc"):
            import jax.scipy.special

            return getattr(jax.scipy.special, name)
        return getattr(self._jnp, name)

    def take(self, x, index, /, *, axis=0):
        jnp = self._jnp
        return (
            jnp.take(x.T, index, axis=0).T
            if (x.ndim, axis) == (2, 1)
            else jnp.take(x, index, axis=axis)
        )

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,); equal columns add up."""
        return target.T.at[index].add(values.T).T


def evaluated(
    page: Callable, prelude: Callable | None, arrays: Mapping, attributes: Mapping, compute
) -> dict:
    """Run a page on whole arrays, with floating ones widened to `compute`, within `precise()`."""
    xp = JaxArrays()
    more = {} if prelude is None else prelude(xp, arrays)
    widened = {
        name: array if array is None or array.dtype.kind in "iub" else array.astype(compute)
        for name, array in {**arrays, **more}.items()
    }
    return page(xp, **widened, **attributes)


def compiled(
    page: Callable, prelude: Callable | None, attributes: Mapping, compute, outputs: tuple
) -> Callable:
    """Return the function arrays -> {output: array} of a page, compiled by XLA for each set of shapes."""
    import jax

    def run(arrays):
        found = evaluated(page, prelude, arrays, attributes, compute)
        return {name: found[name] for name in outputs}

    return jax.jit(run)


def derived(loss: Callable, point: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the float64 gradient of the number `loss(arrays by name)` by each array."""
    import jax

    with precise():
        found = jax.grad(loss)(
            {name: jax.numpy.asarray(array, np.float64) for name, array in point.items()}
        )
        return {name: np.asarray(array) for name, array in found.items()}


def precise():
    """Return a context in which JAX has 64 bits: coordinates are float64."""
    import jax

    return jax.enable_x64(True)


def given(array: np.ndarray, device):
    """Return an array on a JAX device."""
    import jax

    return jax.device_put(np.asarray(array, array.dtype.newbyteorder("=")), device)
