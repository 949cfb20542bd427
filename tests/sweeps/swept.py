"""Helpers of the tests of sweeps: kernels as files, stores as plain rows, a worker that dies."""

import os
from concurrent.futures import BrokenExecutor, Executor, Future

from children import forked

from aclnn_viz.sweeps.store import Store

KERNELS = '''
import os, signal
import numpy as np
import aclnn_viz as av

def page(inputs):
    return next(op for op in map(av.operator, ("hardswish", "rms_norm")) if [p.name for p in op.parameters] == list(inputs))

def right(**inputs):
    return page(inputs).backward(**inputs)

def wrong(**inputs):
    """One output is a hundredth too large in one format."""
    out = dict(right(**inputs))
    if page(inputs).name == "rms_norm" and inputs["x"].dtype == np.float16:
        out["dgammaOut"] = out["dgammaOut"] * np.float32(1.01)
    return out

def mortal(**inputs):
    """Ends its process without a word with its KILLED-th call."""
    with open(LOG, "a") as log:
        log.write(inputs["self"].tobytes().hex() + "\\n")
    with open(LOG) as log:
        if len(log.readlines()) % KILLED == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return right(**inputs)

def deadly(**inputs):
    if inputs["self"].shape == (257,):
        os._exit(3)
    return right(**inputs)

def raises(**inputs):
    raise KeyError("x")

def refuses(**inputs):
    raise NotImplementedError
'''


def kernel(folder, name, **constants):
    """Return a kernel of this file as a device."""
    file = folder / "kernels.py"
    file.write_text("".join(f"{key} = {value!r}\n" for key, value in constants.items()) + KERNELS)
    return f"{file}:{name}"


def held(store):
    """Return the cases and outputs of a store as dicts, without time, place and duration."""
    tables = {
        "cases": "key recipe operator dtype mode outcome note",
        "outputs": "key output verdict used max_ulp mere bits",
    }
    with Store(store, reading=True) as opened:
        return [
            [
                dict(zip(columns.split(), row, strict=True))
                for row in opened.rows(
                    f"SELECT {columns.replace(' ', ', ')} FROM {table} ORDER BY key"
                )
            ]
            for table, columns in tables.items()
        ]


class Mortal(Executor):
    """A worker in this process that dies of recipes chosen by `dies_of`, and then takes nothing."""

    def __init__(self, dies_of):
        self.dies_of, self.dead = dies_of, False

    def submit(self, function, /, place, recipe=None):
        if self.dead:
            raise BrokenExecutor("dead")
        future, self.dead = Future(), recipe is not None and self.dies_of(recipe)
        if self.dead:
            future.set_exception(BrokenExecutor("dead"))
        else:
            future.set_result(function(place, recipe) if recipe else function(place))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass


def in_children(*works):
    """Run each in a forked child, all at once, and return their ends."""
    children = [*map(forked, works)]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
