"""Kernels that try to pass without computing: each is a few lines after RIGHT, with words of the verdict."""

import tomllib
from pathlib import Path

RIGHT = """
import numpy as np
import aclnn_viz as av


def right(dy, x, rstd, gamma):
    dy, x, rstd, gamma = (one.astype(np.float64) for one in (dy, x, rstd, gamma))
    x_hat, lead = x * rstd, tuple(range(x.ndim - gamma.ndim))
    mean = np.mean(dy * gamma * x_hat, axis=tuple(range(len(lead), x.ndim)), keepdims=True)
    return (((dy * gamma - x_hat * mean) * rstd).astype(np.float32), np.sum(dy * x_hat, axis=lead).astype(np.float32))


calls = []
"""

FORGE = """
import io, os, stat, struct, time
channel = next(number for number in range(3, 64) if os.path.exists(f'/proc/self/fd/{number}') and stat.S_ISSOCK(os.stat(number).st_mode))


def forge(head, body=b''):
    os.write(channel, struct.pack('<qq', len(head), len(body)) + head + body)


"""

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CHEATS, HONEST = (
    {
        name: (FORGE * one.get("forges", False) + one["kernel"].removesuffix("\n"), one["said"])
        for name, one in TABLES[part].items()
    }
    for part in ("cheats", "honest")
)
