"""Generate test cases of cross entropy: log-probabilities of a real softmax, different
weights, some ignored rows.
"""

import numpy as np

from aclnn_viz.cases.default import Draw
from aclnn_viz.errors import invalid
from aclnn_viz.operators import operator

SHAPE = (16, 10)
OPTIONS = ("input",)


def draw(source: Draw, shape) -> dict:
    if len(shape) != 2:
        raise invalid("shape must be that of logProb, (N, C)", repr(shape), "give two lengths")
    rows, classes = shape
    # Older kernels use an ignored target as an index, even a negative one: by default, ignoreIndex
    # is the last class instead of -100.
    spare = classes > 1 and not {"ignoreIndex", "target"} & source.given.keys()
    attributes = {
        name: source.attribute(name, default)
        for name, default in (
            ("reduction", "mean"),
            ("ignoreIndex", classes - 1 if spare else -100),
            ("labelSmoothing", 0.0),
            ("lseSquareScaleForZloss", 0.0),
        )
    }
    drawn = source.rng.integers(0, max(classes - spare, 1), rows)
    if spare or "ignoreIndex" in source.given:
        drawn[3::8] = attributes["ignoreIndex"]
    target = np.asarray(source.attribute("target", drawn))
    target = target if target.ndim else np.full(rows, target)
    loss_shape = (rows,) if attributes["reduction"] == "none" else ()
    logits = source.normal("input", shape, 2.0)
    weight = source.tensor(
        "weightOptional", (classes,), lambda rng: rng.uniform(0.25, 2, classes), source.wide
    )
    grad = source.normal("gradLoss", loss_shape)
    zloss = attributes["lseSquareScaleForZloss"] != 0.0
    grad_z = (
        source.normal("gradZlossOptional", loss_shape)
        if zloss or "gradZlossOptional" in source.given
        else None
    )
    saved = operator("cross_entropy_loss").forward(
        input=logits, target=target, weightOptional=weight, **attributes
    )
    return {
        "gradLoss": grad,
        "logProb": source.saved("logProb", saved["logProb"]),
        "target": target,
        "weightOptional": weight,
        "gradZlossOptional": grad_z,
        "lseForZlossOptional": source.saved("lseForZlossOptional", saved["lseForZloss"])
        if zloss
        else source.attribute("lseForZlossOptional", None),
        **attributes,
    }
