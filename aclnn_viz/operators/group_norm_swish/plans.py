"""State how device kernels of group norm + swish compute (formats, order of sums, rounding), to predict their outputs.

Source: ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h.
"""

from aclnn_viz.arrays.plan import AWAY, SEQUENTIAL, SHUFFLED, Note
from aclnn_viz.operators.products import ATLAS_A2_A3, WITH_ARCH35
from aclnn_viz.words.messages import message

from .declaration import SCALED


def preset(product, version):
    """Return the settings of the plan that differ from the general ones, and its notes."""
    regular = product in WITH_ARCH35
    settings = {
        "page": page,
        "rounding": AWAY,
        "tile": 1,
        "leading": SEQUENTIAL if regular else SHUFFLED,
        "reciprocal_mean": regular,
    }
    notes = (
        Note(
            message(
                "x-hat as x * rstd + (-mean * rstd), slope as T / e, outputs cast with ties away"
            ),
            "ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h",
            inferred=product not in ATLAS_A2_A3,
        ),
        Note(
            message(
                "samples of dgamma and dbeta in turn; the compensation of stage 2 is not modelled"
            )
            if regular
            else message("samples of dgamma and dbeta by atomic additions, in a seeded order"),
            "ops-nn norm/group_norm_swish_grad/op_kernel",
            inferred=True,
        ),
    )
    if version >= SCALED:
        return settings, notes
    return settings | {"page": unscaled_page, "intended": page}, (
        *notes,
        Note(
            message("one factor swishScale is missing"),
            message("ops-nn norm/group_norm_swish_grad/op_kernel, tags before v9.1.0"),
        ),
    )


def page(xp, dy, mean, rstd, x, gamma, beta, swishScale, scaled=True):
    """Return the gradients from x-hat = x * rstd + (-mean * rstd), which cancels if |mean| * rstd is large, with the
    swish slope as a quotient by 1 + exp.
    """
    xhat = x * rstd + -mean * rstd
    y = xhat * gamma + beta
    e = xp.exp(y * -swishScale) + 1.0
    inner = y - y / e
    dz = ((inner * swishScale if scaled else inner) + 1.0) / e * dy
    # means over positions: one number per channel
    shift, along = (xp.sum(terms, axis=3, keepdims=True) for terms in (dz, dz * xhat))
    count = x.shape[2] * x.shape[3]
    c1, c2 = (
        _divided(xp, xp.sum(gamma * sums, axis=2, keepdims=True), count) for sums in (shift, along)
    )
    return {
        "dxOut": dz * (rstd * gamma) - (xhat * (rstd * c2) + rstd * c1),
        "dgammaOut": xp.sum(along, axis=0),
        "dbetaOut": xp.sum(shift, axis=0),
    }


def unscaled_page(xp, dy, mean, rstd, x, gamma, beta, swishScale):
    """Return the gradient before CANN 9.1.0, without one factor swishScale."""
    return page(xp, dy, mean, rstd, x, gamma, beta, swishScale, scaled=False)


def _divided(xp, total, count):
    return total * (1.0 / count) if xp.plan.reciprocal_mean else total / count
