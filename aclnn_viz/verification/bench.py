"""A test bench: one emulated process in which an operator is called with good arguments, some of them replaced."""

from typing import NamedTuple

import numpy as np

from aclnn_viz.acl import HostAcl
from aclnn_viz.codes import (
    ACL_FLOAT, ACL_FORMAT_ND, ACL_INT32, ACL_INT64, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE,
)
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.operators import operator
from aclnn_viz.operators.plans import predicting
from aclnn_viz.verification.subjects import Subject

CODES = {fmt.numpy: fmt.acl_code for fmt in FORMATS} | {
    np.dtype(np.int64): ACL_INT64, np.dtype(np.int32): ACL_INT32}
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
    return Bench(name, soc, cann).phase_1(replaced)[0]


def run(name: str, soc: str = A2, cann: str = "9.1", predict: bool = False, **arguments) -> Run:
    """Both phases and a synchronise, for arrays; those of the outputs are what is in memory before the call.

    With `predict` the numbers are those of the product's kernel, otherwise those of the formula.
    """
    return Bench(name, soc, cann, predict).run(arguments)


class Bench:
    def __init__(self, name: str, soc: str, cann: str, predict: bool = False):
        self.op = operator(name)
        kernels = {"backward": predicting(soc, cann)} if predict else {}
        self.acl = HostAcl(soc=soc, cann=cann, memory=MEMORY, **kernels)
        self.acl.aclInit(None)
        self.acl.aclrtSetDevice(0)
        self.scratch = self.acl.aclrtMalloc(1024, 0)[1]
        self.addresses = {}

    def phase_1(self, replaced: dict) -> tuple:
        good = Subject(self.op).GOOD
        arguments = [self._argument(name, value) for name, value in (good | replaced).items()]
        return getattr(self.acl, f"{self.op.aclnn_name}GetWorkspaceSize")(*arguments)

    def run(self, arguments: dict) -> Run:
        return self.execute(arguments, {name: arguments[name] for name in self.op.outputs if name in arguments})

    def execute(self, arguments: dict, outputs: dict) -> Run:
        """Make all calls; `outputs` has an array like each output that is to be read afterwards."""
        first, size, executor = self.phase_1(arguments)
        if first:
            return Run((first,), {})
        workspace = self.acl.aclrtMalloc(size, 0)[1] if size else None
        second = getattr(self.acl, self.op.aclnn_name)(workspace, size, executor, None)
        if second:
            return Run((first, second), {})
        third = self.acl.aclrtSynchronizeStream(None)
        results = {name: np.empty_like(like) for name, like in outputs.items() if not third}
        for name, result in results.items():
            self.acl.aclrtMemcpy(result, result.nbytes, self.addresses[name], result.nbytes, ACL_MEMCPY_DEVICE_TO_HOST)
        return Run((first, second, third), results)

    def _argument(self, name: str, value):
        if isinstance(value, list):
            return self.acl.aclCreateBoolArray(value)
        if isinstance(value, np.ndarray):
            return self.tensor(name, value)
        if not isinstance(value, tuple):
            return value
        shape, dtype, layout = (*value, *(ACL_FLOAT, ACL_FORMAT_ND)[len(value) - 1:])
        return self.acl.aclCreateTensor(list(shape), dtype, None, 0, layout, list(shape), self.scratch)

    def tensor(self, name: str, array: np.ndarray):
        """Copy an array to the device and return a dense tensor over it; its address is kept by name."""
        address = self.addresses[name] = self.acl.aclrtMalloc(max(array.nbytes, 32), 0)[1]
        self.acl.aclrtMemcpy(address, array.nbytes, np.ascontiguousarray(array), array.nbytes,
                             ACL_MEMCPY_HOST_TO_DEVICE)
        shape = list(array.shape)
        return self.acl.aclCreateTensor(shape, CODES[array.dtype], None, 0, ACL_FORMAT_ND, shape, address)
