"""A run of a tile program, judged: no hazard, and every output within the envelope of the program's plan."""

from functools import lru_cache

import numpy as np

import aclnn_viz as av
from aclnn_viz.accuracy.envelopes import envelope, explain

DTYPES = ("float32", "float16", "bfloat16")
SCHEDULES = ("eager", "late", 0, 1)


def judged(program, case, **how):
    """Launch a program and assert; return the run."""
    run = av.tiles.launch(program, traced=False, **how, **case.inputs)
    text = f"{program.name} on {case} with {how}"
    assert not run.hazards, f"{text}: {[str(hazard) for hazard in run.hazards]}"
    assert not unexplained(program, case, run.outputs), text
    return run


def unexplained(program, case, outputs):
    """Return the outputs that the rounding of the program's plan does not explain, with reasons."""
    truth, bounds = bounded(program.plan, case)
    assert outputs.keys() == truth.keys()
    found = {name: explain(actual, truth[name], bounds[name]) for name, actual in outputs.items()}
    return {name: result for name, result in found.items() if result.not_explained}


@lru_cache(maxsize=64)
def bounded(plan, case):
    """Return truth and envelope, cached for the next runs of the case."""
    return case.operator.truth(**case.inputs), envelope(case.operator, plan, **case.inputs)


def same_bits(a, b):
    return a.keys() == b.keys() and all(
        np.asarray(a[name]).tobytes() == np.asarray(b[name]).tobytes() for name in a
    )


def random_case(op, rng):
    """Return a case of a random shape, format and seed, and its number of cores."""
    options = SHAPES[op](rng)
    case = av.case(op, seed=int(rng.integers(1 << 30)), dtype=DTYPES[rng.integers(3)], **options)
    return case, {"cores": int(rng.integers(1, 49))}


def _size(rng, most):
    return int(np.exp(rng.uniform(0, np.log(most + 1))))


def _hardswish(rng):
    return {"shape": (_size(rng, 20000),)}


def _rms_norm(rng):
    return {"shape": (_size(rng, 100), _size(rng, 200) if rng.random() < 0.9 else _size(rng, 9000))}


def _cross_entropy_loss(rng):
    given = {} if rng.random() < 0.5 else {"weightOptional": None}
    return {
        "shape": (_size(rng, 100), _size(rng, 300)),
        "reduction": ("mean", "sum", "none")[rng.integers(3)],
        "labelSmoothing": float(rng.choice([0.0, 0.3])),
        "lseSquareScaleForZloss": float(rng.choice([0.0, 0.2])),
        **given,
    }


def _group_norm_swish(rng):
    groups, per = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    return {
        "shape": (int(rng.integers(1, 5)), groups * per, _size(rng, 200)),
        "numGroups": groups,
        "swishScale": float(rng.uniform(-2, 2)),
    }


def _layer_norm(rng):
    columns = _size(rng, 200)
    return {"shape": (_size(rng, 60), columns), "normalizedShape": (columns,)}


def _grid_sampler_2d(rng):
    n, c, h, w, hg, wg = (int(k) for k in rng.integers(1, [4, 5, 7, 7, 5, 5]))
    return {
        "shape": (n, c, h, w),
        "grid_shape": (hg, wg),
        "interpolationMode": int(rng.integers(3)),
        "paddingMode": int(rng.integers(3)),
        "alignCorners": bool(rng.integers(2)),
    }


def _grid_sampler_3d(rng):
    n, c, d, h, w, *points = (int(k) for k in rng.integers(1, [4, 5, 5, 5, 5, 4, 4, 3]))
    return {
        "shape": (n, c, d, h, w),
        "grid_shape": tuple(points),
        "interpolationMode": int(rng.integers(2)),
        "paddingMode": int(rng.integers(3)),
        "alignCorners": bool(rng.integers(2)),
    }


def _attention(rng):
    batch, kept, group, rows, columns, size = (int(k) for k in rng.integers(1, [3, 3, 3, 9, 9, 20]))
    given = {} if rng.random() < 0.5 else {"pseShiftOptional": None}
    return {
        "shape": (batch, kept * group, rows, size),
        "keyIn_shape": (batch, kept, columns, size),
        "sparseMode": int(rng.integers(5)),
        "value_shape": (batch, kept, columns, int(rng.integers(1, size + 1))),
        "keepProb": float(rng.choice([1.0, 0.75])),
        "scaleValue": 0.5,
        **given,
    }


SHAPES = {
    "hardswish": _hardswish,
    "flash_attention_score": _attention,
    "rms_norm": _rms_norm,
    "cross_entropy_loss": _cross_entropy_loss,
    "group_norm_swish": _group_norm_swish,
    "layer_norm": _layer_norm,
    "grid_sampler_2d": _grid_sampler_2d,
    "grid_sampler_3d": _grid_sampler_3d,
}
