"""Verify the emulated C API: make valid and invalid calls of operators, and compare each status with the declared checks."""

import warnings
from typing import NamedTuple

import numpy as np

from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.program import AclError, Calls, Program
from aclnn_viz.cases import case
from aclnn_viz.devices import ConstraintWarning, RefusedError, open_device
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.operators import Operator, operator
from aclnn_viz.operators.codes import ACL_FLOAT, ACL_FORMAT_ND, ACL_INT8
from aclnn_viz.operators.contract import Check as Step
from aclnn_viz.operators.contract import contract
from aclnn_viz.operators.contract.calls import DTYPE_CODES, call_of
from aclnn_viz.operators.plans import predicting
from aclnn_viz.operators.products import CANN, SOC, Product, Version
from aclnn_viz.verification.check import Check
from aclnn_viz.words.messages import message

MEMORY = 1 << 26  # device memory in bytes: generated operators need a workspace of 16 MiB
NULL, INVALID = 161001, 161002
# any error status of the library; for a device, a call that the kit refuses because numbers would
# be wrong
REFUSED = "refused"


class Run(NamedTuple):
    """The statuses of the calls in order, and the outputs after them."""

    statuses: tuple[int, ...]
    outputs: dict


def status(name: str, soc: Product | str = SOC, cann: str = CANN, **replaced) -> int:
    """Return the status of phase 1. A tensor is ((shape), dtype=ACL_FLOAT, format=ND), an array, or None.

    >>> status("hardswish", out=None)
    161001
    """
    bench = Bench(name, soc, cann)
    return getattr(bench.acl, f"{bench.op.aclnn_name}GetWorkspaceSize")(*bench.arguments(replaced))[
        0
    ]


def run(
    name: str, soc: Product | str = SOC, cann: str = CANN, predict: bool = False, **arguments
) -> Run:
    """Run both phases and synchronise; arrays given for outputs are the memory before the call.

    With `predict` the numbers come from the product's kernel, otherwise from the formula.
    """
    return Bench(name, soc, cann, predict).run(arguments)


class Bench:
    """An emulated process that calls one operator with valid arguments, except for those that a test replaces."""

    def __init__(
        self, name: str, soc: Product | str = SOC, cann: str = CANN, predict: bool = False
    ):
        self.op = operator(name)
        kernels = {"backward": predicting(soc, cann)} if predict else {}
        self.acl = HostAcl(soc=soc, cann=cann, memory=MEMORY, **kernels)
        self.acl.aclInit(None)
        self.acl.aclrtSetDevice(0)
        self.program = Program(Calls(self.acl))
        self.scratch = self.program.malloc(1024)
        self.parameters = contract(name).parameters

    def arguments(self, replaced: dict) -> list:
        """Return the arguments of phase 1 in C order: valid ones, except those replaced."""
        values = good(self.op) | replaced
        return [
            self._argument(parameter.c_type, values[parameter.name])
            for parameter in self.parameters
        ]

    def run(self, given: dict) -> Run:
        """Make all calls; the result holds the outputs that were given as arrays."""
        arguments, name = self.arguments(given), self.op.aclnn_name
        try:
            self.program.queue(name, arguments)
            self.program.synchronise()
        except AclError as error:
            before = [f"{name}GetWorkspaceSize", name, "aclrtSynchronizeStream"].index(error.call)
            return Run((*[0] * before, error.code), {})
        tensors = dict(zip((parameter.name for parameter in self.parameters), arguments))
        return Run(
            (0, 0, 0),
            {
                name: self.program.fetch(tensors[name])
                for name in self.op.outputs
                if isinstance(given.get(name), np.ndarray)
            },
        )

    def _argument(self, c_type: str, value):
        if not isinstance(value, tuple):
            return self.program.argument(c_type, value)
        shape, dtype, layout = (*value, *(ACL_FLOAT, ACL_FORMAT_ND)[len(value) - 1 :])
        return self.acl.aclCreateTensor(
            list(shape), dtype, None, 0, layout, list(shape), self.scratch
        )


def good(op: Operator) -> dict:
    """Return valid arguments of phase 1 from a default case; tensors are (shape, dtype)."""
    bound = op.bind(case(op, **(op.shapes or ({},))[0]).inputs)
    described = {
        name: (value.shape, DTYPE_CODES[value.dtype])
        if isinstance(value, np.ndarray)
        else list(value)
        if isinstance(value, tuple)
        else value
        for name, value in bound.items()
    }
    results = op.arrange_backward(**bound | op.all_outputs).results
    return described | {
        name: (result.documented_shape, DTYPE_CODES[np.dtype(result.format.numpy)])
        for name, result in results.items()
    }


def clauses(op: Operator) -> list[tuple[dict, int | str]]:
    """Return (replaced arguments, expected status) for null pointers, a wrong dtype, and checked shapes."""
    passes = good(op)
    required = [p.name for p in op.c_parameters if p.required and p.kind == "tensor"]
    longer = {
        name: (*shape[:-1], shape[-1] + 1)
        for name in _shape_checked(op)
        if (shape := passes[name][0])
    }
    return [
        ({}, 0),
        *(({name: None}, NULL) for name in required),
        ({op.like: (passes[op.like][0], ACL_INT8)}, INVALID),
        *(({name: (shape, passes[name][1])}, REFUSED) for name, shape in longer.items()),
    ]


def _shape_checked(op: Operator) -> list[str]:
    """Return the tensors whose shape a check on every product names; "all outputs" follow from the declaration."""
    steps = [
        step
        for step in contract(op.name).steps
        if isinstance(step, Step)
        and step.status
        and (step.since, step.until, step.products) == (None,) * 3
    ]
    if any(step.name == "declaration" for step in steps):
        return list(op.outputs)
    return [
        p.name
        for p in op.c_parameters
        if p.kind == "tensor"
        and any(
            step.name.startswith(p.name + " ") and "shape" in step.name.split()[1:5]
            for step in steps
        )
    ]


def status_check(op: Operator) -> Check:
    """Return a check of invalid calls on an Atlas A2; the tests of the contracts try every documented status."""

    def run():
        for spoiled, expected in clauses(op):
            found = status(op.name, **spoiled)
            as_expected = found != 0 if expected == REFUSED else found == expected
            yield (
                0.0,
                None
                if as_expected
                else message(
                    "status {found} instead of {expected} for {spoiled}",
                    found=found,
                    expected=expected,
                    spoiled=spoiled,
                ),
            )

    return Check(op.name, message("status codes"), "910b 9.1", run)


def expected_status(op: Operator, product, cann: str, inputs: dict) -> int | str:
    """Return the expected answer of a device: a status, or "refused" if the kit refuses because the result would be wrong."""
    promise, call, arrays, *_ = call_of(op, op.bind(inputs), product, Version.parse(cann))
    if any(found.enforced_by == "device.run" for found in promise.violations(call, arrays)):
        return REFUSED
    outcome = promise.evaluate(call)
    return outcome.status or outcome.launch_status


def device_check(op: Operator, product, cann: str) -> Check:
    """Return a check of both phases on the emulator: the page's bits, or the status that the contract gives for the product."""

    def run():
        with open_device("host", soc=product.example_soc, cann=cann) as device:
            for number, fmt in enumerate(FORMATS):
                inputs = case(op, dtype=fmt.name, seed=number).inputs
                expected = expected_status(op, product, cann, inputs)
                found, same = 0, True
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", ConstraintWarning)
                        out = device.run(op, **inputs)
                    page = op.backward(**inputs)
                    same = all(
                        np.array_equal(out[name], page[name], equal_nan=True) for name in page
                    )
                except AclError as error:
                    found = error.code
                except RefusedError:
                    found = REFUSED
                yield (
                    0.0,
                    message(
                        "status {status} instead of {expected}", status=found, expected=expected
                    )
                    if found != expected
                    else None
                    if same
                    else message(
                        "values for {format} that differ from those of the page", format=fmt.name
                    ),
                )
            if device.acl.misuse:
                yield 1.0, device.acl.misuse[0]

    return Check(op.name, message("emulated device"), f"{product.tag} {cann}", run)
