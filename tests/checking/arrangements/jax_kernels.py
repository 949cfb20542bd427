"""Right kernels in JAX, as its own rules of differentiation write them."""

import jax
import jax.numpy as jnp
import numpy as np
from checking.wrong.common import asked, wide

jax.config.update("jax_enable_x64", True)


def j(array):
    return jnp.asarray(wide(array))


def rms_norm(dy, x, rstd, gamma):
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    g, X, r, w = j(dy), j(x), j(rstd), j(gamma)
    r = r.reshape(x.shape[: x.ndim - gamma.ndim] + (1,) * gamma.ndim)
    hat = X * r
    gw = g * w
    dx = gw * r - hat * r * jnp.mean(gw * hat, axis=axes, keepdims=True)
    dgamma = jnp.sum(g.astype(r.dtype) * hat, axis=tuple(range(x.ndim - gamma.ndim)))
    return np.asarray(dx).astype(x.dtype), np.asarray(dgamma).astype(rstd.dtype)


def log_softmax(gradOutput, output, dim):
    g, y = j(gradOutput), j(output)
    total = jnp.einsum("...n->...", jnp.moveaxis(g, dim, -1))
    return np.asarray(g - jnp.exp(y) * jnp.expand_dims(total, dim)).astype(output.dtype)


def swish(gradOutput, self, betaOptional):
    x, dy = j(self), j(gradOutput)
    s = jax.nn.sigmoid(betaOptional * x)
    rest = jax.nn.sigmoid(-betaOptional * x)
    return np.asarray(dy * s + dy * x * s * rest * betaOptional).astype(self.dtype)


def mse_loss(gradOutput, self, target, reduction):
    x, y, g = j(self), j(target), j(gradOutput)
    norm = 2.0 / max(self.size, 1) if reduction == 1 else 2.0
    return np.asarray(norm * (x - y) * g).astype(self.dtype)


def group_norm(gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask):
    each = C // group
    x, dy = j(input).reshape(N, group, each, HxW), j(gradOut).reshape(N, group, each, HxW)
    m, r = (j(part).reshape(N, group, 1, 1) for part in (mean, rstd))
    hat = (x - m) * r
    w = jnp.ones((1, group, each, 1)) if gamma is None else j(gamma).reshape(1, group, each, 1)
    gw = dy * w.astype(dy.dtype)
    a = jnp.sum(gw, axis=(2, 3), keepdims=True) / (each * HxW)
    b = jnp.sum(gw * hat, axis=(2, 3), keepdims=True) / (each * HxW)
    dx = r * (gw - a - b * hat)
    kind = input.dtype if gamma is None else gamma.dtype
    outputs = {
        "gradInput": np.asarray(dx).reshape(input.shape).astype(input.dtype),
        "gradGammaOut": np.asarray(jnp.sum(dy * hat, axis=(0, 3))).reshape(C).astype(kind),
        "gradBetaOut": np.asarray(jnp.sum(dy, axis=(0, 3))).reshape(C).astype(kind),
    }
    return asked(outputs, outputMask)


def tanh(gradOutput, output):
    y, dy = j(output), j(gradOutput)
    return np.asarray(dy * (1 - y) * (1 + y)).astype(output.dtype)


def hardswish(gradOutput, self):
    x, dy = j(self), j(gradOutput)
    slope = jnp.select([x < -3, x <= 3], [jnp.zeros_like(x), (2 * x + 3) / 6], jnp.ones_like(x))
    return np.asarray(dy * slope).astype(self.dtype)
