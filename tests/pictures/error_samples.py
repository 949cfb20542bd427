"""Outputs with artificial errors, so that pictures change only with the drawing, and their pictures."""

from dataclasses import replace

import numpy as np

from aclnn_viz.accuracy.envelopes import Envelope
from aclnn_viz.pictures.error_plot import error_plot, error_runs
from aclnn_viz.pictures.errors import errors
from aclnn_viz.pictures.provenance import Provenance

ATLAS = Provenance("dxOut of aclnnRmsNormGrad", "atlas:0", "Ascend910B2", "9.1.0", 7)
STAND_IN = replace(ATLAS, device="atlas:0 (stand-in)")


def few(actual, truth, **more):
    return errors(np.float16(actual), np.float64(truth), ATLAS, **more)


def sample(seed=0, shape=(2, 3, 12, 16), widen=1.0, source=ATLAS):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(shape)
    noise = widen * 2e-4 * rng.standard_normal(shape)
    noise.reshape(-1)[:24] = 0
    noise.reshape(-1)[137] = 0.02
    actual = (truth.astype(np.float16).astype(np.float64) + noise).astype(np.float16)
    undecided = np.zeros(shape, bool)
    undecided.reshape(-1)[200:206] = True
    bound = 8e-4 + 5e-4 * np.abs(truth)
    return errors(
        actual,
        truth,
        source,
        envelope=Envelope(actual, bound, bound / 3, undecided),
        inputs={"x": np.round(truth, 2), "rstd": np.full((*shape[:-1], 1), 0.5)},
    )


def runs():
    return {"device": sample(source=STAND_IN), "host": sample(widen=0.2), "plan": sample(widen=3.0)}


PICTURES = {
    "error_plot": lambda: error_plot(sample()),
    "error_runs": lambda: error_runs(runs()),
    "nothing": lambda: error_plot(few([0, 0], [0, 0])),
}
