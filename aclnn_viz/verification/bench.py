"""A test bench: one emulated process in which an operator is called with good arguments, some of them replaced."""

from typing import NamedTuple

import numpy as np

from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.calls import AclError, Calls
from aclnn_viz.acl.program import Program
from aclnn_viz.codes import ACL_FLOAT, ACL_FORMAT_ND
from aclnn_viz.operators import operator
from aclnn_viz.operators.contract import contract
from aclnn_viz.operators.plans import predicting
from aclnn_viz.verification.subjects import Subject

A2, ASCEND_950, INFERENCE, INFERENCE_A2, TRAINING = (
    "Ascend910B2", "Ascend950PR_9579", "Ascend310P3", "Ascend310B1", "Ascend910A")
MEMORY = 1 << 26  # generated operators ask for a workspace of 16 MiB


class Run(NamedTuple):
    """The statuses of the calls, in order, and what the outputs hold afterwards."""

    statuses: tuple[int, ...]
    outputs: dict


def status(name: str, soc: str = A2, cann: str = "9.1", **replaced) -> int:
    """The status of phase 1. A tensor is ((shape), dtype=ACL_FLOAT, format=ND), an array, or None.

    >>> status("hardswish", out=None)
    161001
    """
    bench = Bench(name, soc, cann)
    return getattr(bench.acl, f"{bench.op.aclnn_name}GetWorkspaceSize")(*bench.arguments(replaced))[0]


def run(name: str, soc: str = A2, cann: str = "9.1", predict: bool = False, **arguments) -> Run:
    """Both phases and a synchronise, for arrays; those of the outputs are what is in memory before the call.

    With `predict` the numbers are those of the product's kernel, otherwise those of the formula.
    """
    return Bench(name, soc, cann, predict).run(arguments)


class Bench:
    def __init__(self, name: str, soc: str = A2, cann: str = "9.1", predict: bool = False):
        self.op = operator(name)
        kernels = {"backward": predicting(soc, cann)} if predict else {}
        self.acl = HostAcl(soc=soc, cann=cann, memory=MEMORY, **kernels)
        self.acl.aclInit(None)
        self.acl.aclrtSetDevice(0)
        self.program = Program(Calls(self.acl))
        self.scratch = self.program.malloc(1024)

    def arguments(self, replaced: dict) -> list:
        """The arguments of phase 1 in C order, good ones but for those replaced."""
        values = Subject(self.op).GOOD | replaced
        return [self._argument(parameter.c_type, values[parameter.name])
                for parameter in contract(self.op.name).parameters]

    def run(self, given: dict) -> Run:
        """Make all calls; what the outputs hold afterwards is read of those that are given as arrays."""
        arguments = self.arguments(given)
        names = [parameter.name for parameter in contract(self.op.name).parameters]
        done = [0, 0, 0]
        try:
            self.program.queue(self.op.aclnn_name, arguments)
            self.program.synchronise()
        except AclError as error:
            calls = [f"{self.op.aclnn_name}GetWorkspaceSize", self.op.aclnn_name, "aclrtSynchronizeStream"]
            at = calls.index(error.call)
            return Run((*done[:at], error.code), {})
        tensors = dict(zip(names, arguments))
        return Run(tuple(done), {name: self.program.fetch(tensors[name]) for name in self.op.outputs
                                 if isinstance(given.get(name), np.ndarray)})

    def _argument(self, c_type: str, value):
        if not isinstance(value, tuple):
            return self.program.argument(c_type, value)
        shape, dtype, layout = (*value, *(ACL_FLOAT, ACL_FORMAT_ND)[len(value) - 1:])
        return self.acl.aclCreateTensor(list(shape), dtype, None, 0, layout, list(shape), self.scratch)
