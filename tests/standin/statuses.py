"""What phase 1 answers to valid and invalid arguments, on several products and versions of CANN."""

import numpy as np

from standin.driver import (
    CE, GN, GRID, HARDSWISH, RMS, Session, bf16, ce_arguments, gn_arguments, grid_arguments, hardswish_arguments, ones,
    rms_arguments,
)

STATUSES = []


def status(expected, op, build, *build_arguments, soc="Ascend910B2", cann="9.1.0", **replace):
    STATUSES.append({"expected": expected, "op": op, "build": build, "arguments": build_arguments, "replace": replace,
                     "environment": {"STANDIN_SOC": soc, "STANDIN_CANN": cann}})


def define_statuses():
    hs = hardswish_arguments
    for name in ("gradOutput", "self", "out"):
        status(161001, HARDSWISH, hs, **{name: None})
        status(161002, HARDSWISH, hs, **{name: ones(2, 3, dtype=np.int32)})
        status(161002, HARDSWISH, hs, **{name: ones(2, 3, dtype=np.float16)})
        status(161002, HARDSWISH, hs, **{name: ones(3, 2)})
    status(161002, HARDSWISH, hs, (1,) * 9)
    status(0, HARDSWISH, hs, (1,) * 8)
    status(0, HARDSWISH, hs, ())
    status(0, HARDSWISH, hs, (0, 3))
    status(161002, HARDSWISH, hs, dtype=np.float64)
    both = {name: bf16(2, 3) for name in ("gradOutput", "self", "out")}
    for soc, expected in (("Ascend910B2", 0), ("Ascend910_9391", 0), ("Ascend950PR_9579", 0), ("Ascend910B", 161002),
                          ("Ascend910A", 161002)):
        status(expected, HARDSWISH, hs, soc=soc, **both)
    status(561103, HARDSWISH, hs, soc="Ascend310P3")
    status(0, HARDSWISH, hs, soc="Ascend310B1")

    grid = grid_arguments
    for name in ("gradOutput", "input", "grid", "inputGrad", "gridGrad"):
        status(161001, GRID, grid, **{name: None})
        status(161002, GRID, grid, **{name: ones(1, 1, 1, 1, dtype=np.float16)})
    for replace in ({"gradOutput": ones(2, 1, 2, 2)}, {"gradOutput": ones(1, 2, 2, 2)}, {"grid": ones(1, 2, 3, 2)},
                    {"grid": ones(1, 2, 2, 3)}, {"grid": ones(2, 2, 2, 2)}, {"input": ones(1, 1, 0, 3)},
                    {"inputGrad": ones(1, 1, 3, 4)}, {"gridGrad": ones(1, 2, 2, 1)}, {"input": ones(1, 3, 3)},
                    {"mode": 3}, {"mode": -1}, {"padding": 3}, {"mask": (True,)}, {"mask": (True,) * 3}):
        status(161002, GRID, grid, **replace)
    status(0, GRID, grid, dtype=np.float64)
    status(161002, GRID, grid, dtype=np.int32)
    for cann, expected in (("8.5.0", 161002), ("9.1.0-beta.1", 161002), ("9.1.0-beta.2", 0), ("9.1.0", 0)):
        status(expected, GRID, grid, mode=2, cann=cann)
    # before 9.1.0-beta.1 a mask of two false ended the checks before they began
    for cann, expected in (("9.0.1", 0), ("9.1.0-beta.1", 161002)):
        status(expected, GRID, grid, mode=7, mask=(False, False), cann=cann)
    status(0, GRID, grid, mask=(False, False))
    status(0, GRID, grid, gradOutput=ones(1, 1, 0, 2), grid=ones(1, 0, 2, 2), gridGrad=ones(1, 0, 2, 2))

    rms = rms_arguments
    for name in ("dy", "x", "rstd", "gamma", "dxOut", "dgammaOut"):
        status(161001, RMS, rms, **{name: None})
        status(161002, RMS, rms, **{name: ones(4, 8, dtype=np.float64)})
    for replace in ({"dy": ones(4, 9)}, {"rstd": ones(3)}, {"rstd": ones(4, 2)}, {"gamma": ones(9)},
                    {"gamma": ones(1, 4, 8)}, {"dgammaOut": ones(4)}, {"dxOut": ones(8, 4)}, {"dxOut": ones(4, 8, 1)}):
        status(561002, RMS, rms, **replace)
    status(0, RMS, rms, rstd=ones(4, 1))
    status(0, RMS, rms, (4, 0))
    for soc, expected in (("Ascend910B2", 561002), ("Ascend950PR_9579", 0)):
        status(expected, RMS, rms, (0, 8), soc=soc)
    for shape, expected in (((4, 8), 561002), ((4, 64), 0)):
        status(expected, RMS, rms, shape, soc="Ascend910A")
    for cann, expected in (("8.1.0", 561003), ("9.0.0", 161002)):
        status(expected, RMS, rms, soc="Ascend310B1", cann=cann)
    half = dict.fromkeys(("dy", "x", "dxOut"), ones(4, 8, dtype=np.float16))
    for soc, expected in (("Ascend910B2", 0), ("Ascend310P3", 161002)):
        status(expected, RMS, rms, soc=soc, **half)

    ce = ce_arguments
    status(0, CE, ce)
    status(0, CE, ce, reduction=None)
    status(161002, CE, ce, target_dtype=np.int32)
    status(0, CE, ce, target_dtype=np.int32, soc="Ascend950PR_9579")
    status(161002, CE, ce, gradLoss=np.float16(1))
    status(561002, CE, ce, target=(0, 1, 2))
    status(561002, CE, ce, weight=ones(2))
    status(0, CE, ce, smoothing=2.0)
    status(561002, CE, ce, smoothing=2.0, soc="Ascend950PR_9579")
    status(0, CE, ce, reduction=b"average")
    status(561002, CE, ce, reduction=b"average", soc="Ascend950PR_9579")
    status(561002, CE, ce, gradLoss=ones(2), soc="Ascend950PR_9579")
    status(0, CE, ce, logProb=ones(0, 3), target=())
    for soc in ("Ascend910A", "Ascend310P3"):
        status(161002, CE, ce, soc=soc)
        status(561003, CE, ce, soc=soc, cann="8.5.0")

    gn = gn_arguments
    status(0, GN, gn)
    for name in ("dy", "mean", "rstd", "x", "gamma", "beta", "dx", "dgamma", "dbeta"):
        status(161001, GN, gn, **{name: None})
        status(161002, GN, gn, **{name: ones(4, dtype=np.float16)})
    status(0, GN, gn, (1, 4000, 1), 1)
    status(0, GN, gn, mean=ones(2, 4))  # the tiling drops its verdict
    status(161002, GN, gn, soc="Ascend310P3")
    status(0, GN, gn, (0, 0, 3), 1)


define_statuses()


def answers(root, entries):
    """The statuses of entries with one environment, in one process."""
    s = Session(root)
    return [s.phase1(entry["op"], *entry["build"](s, *entry["arguments"], **entry["replace"]))[0] for entry in entries]


def title(entry):
    """Name an entry of the table as a test: operator, what was replaced, SoC, version."""
    replaced = [f"{name}={getattr(value, 'shape', value)}" for name, value in entry["replace"].items()]
    where = [value for value in entry["environment"].values() if value not in ("Ascend910B2", "9.1.0")]
    return "-".join([entry["op"][5:], *map(str, entry["arguments"]), *replaced, *where])
