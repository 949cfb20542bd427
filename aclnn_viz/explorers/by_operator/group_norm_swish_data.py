"""The explorer of the gradient of group norm + swish: state -> data -> panels.

What is varied: samples, channels, positions and the number of groups; swishScale, the means of x, beta and dy; the
flags of both parameter gradients; the chosen element and with it its group; the format and what computes the gradient.
What is seen: dx of one sample as a map of channels and positions, with the groups drawn on the channels; swish and its
slope, with the values of the chosen group upon it; dx-hat of that group over its x-hat, with the straight line that is
taken away from it; the chosen dx as the sum of its three terms; the size of dx as groups grow, with and without the
factor 1/n; dgamma and dbeta of the channels.
What is understood: mean and rstd depend on every element of the group, and what flows back through them is a straight
line in x-hat, the regression of dx-hat on it: dx is what is left, times rstd. The line is made of means: sums without
1/n, as the documents print them, are n times too steep, and the more so the larger the group. Parameters add up over
samples and positions, dx over neither. A slope that lacks one factor swishScale, as kernels before CANN 9.1 have it, is
right for swishScale 1 only.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aclnn_viz.explorers import fields
from aclnn_viz.explorers.arrays import XP, double, element
from aclnn_viz.explorers.device import computed_by, gradients, host
from aclnn_viz.explorers.state import StateError, check_indices, flag, real, whole
from aclnn_viz.operators import operator
from aclnn_viz.operators.group_norm_swish import page
from aclnn_viz.operators.group_norm_swish.declaration import SCALED
from aclnn_viz.operators.products import Version
from aclnn_viz.words.messages import message

OP = operator("group_norm_swish")


@dataclass(frozen=True)
class State:
    """What can be moved. The chosen element names the chosen group: the one of its sample and channel."""

    numGroups: int = whole(3, 1, 48, "numGroups", "Operator", "must divide C")
    swishScale: float = real(1.5, -2.0, 8.0, 0.05, "swishScale", "Operator")
    dgammaIsRequire: bool = flag(True, "dgammaIsRequire", "Operator")
    dbetaIsRequire: bool = flag(True, "dbetaIsRequire", "Operator")
    dtype: str = fields.dtype()
    sample: int = whole(0, 0, 7, "sample", "Element", below="samples")
    channel: int = whole(
        9, 0, 47, "channel", "Element", "its group is the chosen one", below="channels"
    )
    position: int = whole(9, 0, 63, "position", "Element", below="positions")
    samples: int = whole(2, 1, 8, "N", "Tensors")
    channels: int = whole(12, 1, 48, "C", "Tensors")
    positions: int = whole(24, 1, 64, "H·W", "Tensors")
    x_mean: float = real(
        1.5, 0.0, 500.0, 0.5, "mean of x", "Tensors", "x has the standard deviation 2"
    )
    beta_mean: float = real(
        0.0, -6.0, 6.0, 0.05, "mean of beta", "Tensors", "where on the swish the values lie"
    )
    dy_mean: float = real(
        1.0, -2.0, 2.0, 0.05, "mean of dy", "Tensors", "dy has the standard deviation 1"
    )
    seed: int = fields.seed()
    device: str = fields.device()
    soc: str = fields.soc()
    cann: str = fields.cann()
    plan: str = fields.plan()

    def __post_init__(self):
        check_indices(self)
        if self.channels % self.numGroups:
            raise StateError(
                "numGroups",
                message("numGroups must divide C, {channels}", channels=self.channels),
                f"{self.numGroups}",
                message("choose {values}", values=", ".join(map(str, divisors(self.channels)))),
            )


@dataclass(frozen=True, eq=False)
class Data:
    """What is drawn; N samples, C channels, S positions, G groups. The terms are in float64, from the given inputs.

    dx = direct - shift - along: what flows straight through x-hat, and what flows back through mean and rstd.
    """

    xp: object
    state: State
    inputs: dict  # of op.backward
    computed_by: str
    xhat: np.ndarray  # (N, C, S)
    z: np.ndarray  # (N, C, S): what swish is applied to
    slope: np.ndarray  # (N, C, S): of swish there
    # (N, C, S): without one factor swishScale, as kernels before CANN 9.1 have it
    early_slope: np.ndarray
    # (4, M): z over the reach of the chosen group, swish, its slope, the early slope
    curve: np.ndarray
    dxhat: np.ndarray  # (N, C, S)
    means: np.ndarray  # (N, G, 2): of dxhat and of dxhat * xhat
    rstd: np.ndarray  # (N, G)
    dx: np.ndarray  # (N, C, S): dxOut
    dgamma: np.ndarray | None  # (C,)
    dbeta: np.ndarray | None  # (C,)
    errors: dict[str, np.ndarray]  # largest distance from the truth, by output
    sizes: np.ndarray  # (D,): n for every possible numGroups, in increasing order
    norms: np.ndarray  # (2, D): root mean square of dx, right and without 1/n
    notices: tuple[str, ...]

    @property
    def depth(self) -> int:
        """Channels in a group."""
        return self.state.channels // self.state.numGroups

    @property
    def group(self) -> int:
        return self.state.channel // self.depth

    def own(self, values):
        """Return the elements of the chosen group (n,) of an array (N, C, S) or (N, G)."""
        parts = self.xp.reshape(values, (self.state.samples, self.state.numGroups, -1))
        return element(self.xp, element(self.xp, parts, self.state.sample), self.group)

    def chosen(self, values):
        """Return the chosen element of an array (N, C, S)."""
        for place in (self.state.sample, self.state.channel, self.state.position):
            values = element(self.xp, values, place)
        return values

    @property
    def early(self) -> bool:
        """Whether the gradient is predicted for kernels that lack one factor swishScale."""
        state = self.state
        return (state.device, state.plan) == ("host", "device") and Version.parse(
            state.cann
        ) < SCALED


def divisors(number: int) -> list[int]:
    return [k for k in range(1, number + 1) if number % k == 0]


def inputs(state: State, xp=XP, op=OP) -> dict:
    """Return the inputs of op.backward that a state stands for, with the statistics that its x has."""
    drawn = vars(_tensors(state, xp))
    saved = op.forward(
        **{name: drawn[name] for name in ("x", "gamma", "beta")},
        numGroups=state.numGroups,
        swishScale=state.swishScale,
    )
    return {
        "mean": saved["mean"],
        "rstd": saved["rstd"],
        **drawn,
        "numGroups": state.numGroups,
        "swishScale": state.swishScale,
        "dgammaIsRequire": state.dgammaIsRequire,
        "dbetaIsRequire": state.dbetaIsRequire,
    }


@dataclass(frozen=True, eq=False)
class Tensors:
    """What is drawn by chance, in the format: dy and x (N, C, S), gamma and beta (C,)."""

    dy: np.ndarray
    x: np.ndarray
    gamma: np.ndarray
    beta: np.ndarray


def _tensors(state: State, xp=XP) -> Tensors:
    return _drawn(
        state.samples,
        state.channels,
        state.positions,
        state.x_mean,
        state.beta_mean,
        state.dy_mean,
        state.seed,
        state.dtype,
        xp,
    )


@lru_cache(8)
def _drawn(samples, channels, positions, x_mean, beta_mean, dy_mean, seed, dtype, xp) -> Tensors:
    rng = np.random.default_rng(seed)
    shape = samples, channels, positions
    x = x_mean + 2 * rng.standard_normal(shape)
    dy = dy_mean + rng.standard_normal(shape)
    gamma, beta = (
        1 + 0.5 * rng.standard_normal(channels),
        beta_mean + 0.5 * rng.standard_normal(channels),
    )
    return Tensors(*(xp.round_to(array, dtype) for array in (dy, x, gamma, beta)))


def compute(state: State, backward=host(OP)) -> Data:
    """Return what is drawn for a state; `backward(state, inputs)` returns the outputs of op.backward, and notices.

    Raises whatever `backward` raises: CANN before 9.1 is refused for a swishScale other than 1, unless predicted.
    """
    return data(XP, state, **gathered(state, backward))


def gathered(state: State, backward=host(OP), xp=XP, op=OP) -> dict:
    """Return what kernels make of a state, and their truth: the arguments of `data`."""
    given = inputs(state, xp, op)
    outputs, notices = gradients(op, state, given, backward)
    return {
        "given": given,
        "drawn": _tensors(state, xp),
        "outputs": outputs,
        "right": op.truth(**given),
        "notices": notices,
    }


def data(
    xp, state: State, given: dict, drawn: Tensors, outputs: dict, right: dict, notices=()
) -> Data:
    """Return what is drawn of a state, of `given` inputs, their outputs and what is `right`, all arrays of `xp`."""
    shape = state.samples, state.numGroups, state.channels // state.numGroups, state.positions
    mean, rstd = (double(xp, given[name])[:, :, None, None] for name in ("mean", "rstd"))
    gamma, beta = (
        xp.reshape(double(xp, given[name]), (*shape[1:3], 1)) for name in ("gamma", "beta")
    )
    xhat = (xp.reshape(double(xp, given["x"]), shape) - mean) * rstd
    z = xhat * gamma + beta
    slope = page.swish_slope(xp, z, state.swishScale)
    dxhat = xp.reshape(double(xp, given["dy"]), shape) * slope * gamma
    sizes, norms = growth(xp, drawn, state.swishScale)
    own = element(
        xp, element(xp, z, state.sample), state.channel * state.numGroups // state.channels
    )
    parts = {
        "xhat": xhat,
        "z": z,
        "slope": slope,
        "early_slope": early_slope(xp, z, state.swishScale),
        "dxhat": dxhat,
    }
    return Data(
        xp=xp,
        state=state,
        inputs=given,
        computed_by=computed_by(state),
        notices=notices,
        curve=_curve(xp, xp.maximum(1.05 * xp.max(xp.abs(own)), 3.0), state.swishScale),
        **{name: xp.reshape(values, given["x"].shape) for name, values in parts.items()},
        means=xp.stack(
            [xp.mean(dxhat, axis=page.GROUP), xp.mean(dxhat * xhat, axis=page.GROUP)], axis=-1
        ),
        rstd=rstd[:, :, 0, 0],
        **{
            name: double(xp, outputs[out]) if out in outputs else None
            for name, out in (("dx", "dxOut"), ("dgamma", "dgammaOut"), ("dbeta", "dbetaOut"))
        },
        errors={name: xp.max(xp.abs(double(xp, outputs[name]) - right[name])) for name in right},
        sizes=sizes,
        norms=norms,
    )


def _curve(xp, reach, scale):
    z = np.linspace(-1.0, 1.0, 121) * reach
    sigmoid, _ = page.sigmoids(xp, scale * z)
    return xp.stack([z, z * sigmoid, page.swish_slope(xp, z, scale), early_slope(xp, z, scale)])


def early_slope(xp, z, scale: float):
    """The slope of swish as kernels before CANN 9.1 compute it.

    Source: ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h, tags before v9.1.0.
    """
    sigmoid, complement = page.sigmoids(xp, scale * z)
    return sigmoid * (1.0 + z * complement)


@lru_cache(16)  # nothing of it depends on the chosen element, the groups or the device
def growth(xp, drawn: Tensors, scale):
    """Return n of every possible group, and the root mean square of dx with the factor 1/n and without."""
    dy, x, gamma, beta = (double(xp, values) for values in vars(drawn).values())
    samples, channels, positions = x.shape
    sizes, norms = [], []
    for groups in reversed(divisors(channels)):
        shape = samples, groups, channels // groups, positions
        parts = xp.reshape(x, shape)
        centred = parts - xp.mean(parts, axis=page.GROUP, keepdims=True)
        rstd = 1.0 / xp.sqrt(xp.mean(centred * centred, axis=page.GROUP, keepdims=True) + 1e-5)
        xhat = centred * rstd
        weight, bias = (xp.reshape(each, (*shape[1:3], 1)) for each in (gamma, beta))
        dxhat = xp.reshape(dy, shape) * page.swish_slope(xp, xhat * weight + bias, scale) * weight
        line = xhat * xp.mean(dxhat * xhat, axis=page.GROUP, keepdims=True) + xp.mean(
            dxhat, axis=page.GROUP, keepdims=True
        )
        n = shape[2] * positions
        sizes.append(n)
        norms.append(
            xp.stack([xp.sqrt(xp.mean(((dxhat - times * line) * rstd) ** 2)) for times in (1, n)])
        )
    return np.array(sizes), xp.stack(norms, axis=1)
