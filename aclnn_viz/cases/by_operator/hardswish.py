"""Generate test cases of hardswish: values around the bend, and the kinks at +-3
themselves.
"""

from aclnn_viz.cases.default import Draw, sprinkle

SHAPE = (8, 16)
OPTIONS = ()
SPECIAL = (-3.0, 3.0, -1.5, 0.0)  # the kinks, the zero of the slope, the origin


def draw(source: Draw, shape) -> dict:
    x = source.tensor(
        "self", shape, lambda rng: sprinkle(rng, 3 * rng.standard_normal(shape), SPECIAL)
    )
    return {"gradOutput": source.normal("gradOutput", shape), "self": x}
