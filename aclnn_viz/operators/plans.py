"""Run an operator with a given kernel's arithmetic (formats, order of sums, rounding), and choose settings that predict a
product and CANN version.

The notes of a preset mark its parts as documented, published in source code, or inferred.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.driver import in_blocks
from aclnn_viz.arrays.plan import HOST, Note, Plan
from aclnn_viz.arrays.plan_arrays import PlannedArrays
from aclnn_viz.dtypes import FloatFormat, float_format
from aclnn_viz.errors import invalid, need
from aclnn_viz.operators import operator, registry
from aclnn_viz.operators.products import (
    CANN,
    READ,
    WITH_ARCH35,
    Product,
    Version,
    product_of,
    soc_of,
    version_of,
)
from aclnn_viz.words.messages import message


class Traced(NamedTuple):
    """A page's result over a namespace, and the format and documented shape of each output."""

    values: dict
    results: dict[str, tuple[FloatFormat, tuple[int, ...]]]
    xp: PlannedArrays


def run(op, plan: Plan, /, **inputs) -> dict[str, np.ndarray]:
    """Return the result of `op.backward`, computed by a plan (see `plan_of`); float64 inputs stay float64.

    >>> import aclnn_viz as av, numpy as np
    >>> x = np.float32([-1.5, 2049.0])
    >>> run(av.operator("hardswish"), Plan(storage="float16"), gradOutput=np.ones(2, np.float32), self=x)["out"]
    array([0., 1.], dtype=float16)
    """
    op = operator(op)
    plan = plan_of(op, plan)
    values, results, xp = trace(op, plan, PlannedArrays, plan.page, inputs)
    with np.errstate(all="ignore"):
        return {
            name: xp.plan.output(name, values[name].data, fmt).reshape(shape)
            for name, (fmt, shape) in results.items()
        }


def trace(op, plan: Plan, namespace: type, page, inputs: dict) -> Traced:
    """Evaluate `page` (None: the textbook page) over `namespace(plan, format of the inputs)`: on whole arrays, or in
    the blocks of the kit's driver if the plan says so."""
    arranged = op.arranged(inputs)[1]
    main = next(
        (result.format for result in arranged.results.values()), float_format(arranged.compute)
    )
    if arranged.compute == np.float64 and plan.storage is None:
        plan = replace(
            plan, compute="float64", accumulate="float64", coordinates=None, atomics=None
        )
    xp = namespace(plan, main)
    if not arranged.results:  # a mask may request no result
        return Traced({}, {}, xp)
    with np.errstate(all="ignore"):
        arrays = {
            name: None if array is None else xp.given(array)
            for name, array in arranged.arrays.items()
        }
        if arranged.prelude is not None:
            more = arranged.prelude(xp, arrays)
            arrays |= {name: xp.astype(array, xp.compute) for name, array in more.items()}
        page, attributes = page or op.page.backward, arranged.attributes
        if arranged.empty:
            values = {
                name: xp.zeros(result.shape, xp.compute)
                for name, result in arranged.results.items()
            }
        elif plan.blocks and not plan.storage:
            values = in_blocks(
                partial(page, **attributes),
                arranged.axes,
                arrays,
                arranged.results,
                partial(namespace, plan, main),
            )
        else:
            values = page(xp, **arrays, **attributes)
    results = {
        name: (xp.storage if result.format is main else result.format, result.documented_shape)
        for name, result in arranged.results.items()
    }
    return Traced(values, results, xp)


def preset(op, product: Product | str, cann: str | Version = CANN) -> Plan:
    """Return the plan that predicts an operator on an Atlas product (or SoC name) with a CANN version.

    `plan.notes` mark documented and inferred parts. A product without the operator gets the plan of the existing kernels.
    Raise ValueError for unknown names and versions.

    >>> plan = preset("group_norm_swish", "Ascend910B2", "9.0")
    >>> plan.rounding
    'away'
    >>> print(plan.notes[-1])
    documented: one factor swishScale is missing (ops-nn norm/group_norm_swish_grad/op_kernel, tags before v9.1.0)
    """
    op, soc, version = operator(op), soc_of(product), version_of(cann)
    product = product_of(soc)
    if product not in READ:
        raise invalid(
            "a plan predicts kernels that were read",
            f"{soc}, NPU architecture {product.npu_arch}",
            "use a product of an older architecture, or a Plan of your own",
        )
    cores = max(product.cores.get(soc, (0, 0))) or _CORES
    saturate = product.overflow_modes[0] == "saturate"
    base = Plan(
        message("{operator} on {soc}, CANN {cann}", operator=op.name, soc=soc, cann=version),
        cores=cores,
        saturate=saturate,
        division_ulps=1.0,
        notes=(
            Note(
                message("float32 inside; sums of a core as a binary tree"),
                message("AscendC vector API reference, on sums"),
            ),
            Note(
                message("exp and division to 1 ulp"),
                message("AscendC precision tables of Ascend 950"),
                inferred=product not in WITH_ARCH35,
            ),
            *(
                [
                    Note(
                        message("infinite results saturate, nan becomes 0"),
                        message("aclrtFloatOverflowMode, CANN runtime reference"),
                    )
                ]
                if saturate
                else []
            ),
        ),
    )
    settings, notes = registry.own("plans", op.name, "preset", _unknown)(product, version)
    return replace(base, **settings, notes=base.notes + notes)


def plan_of(op, plan: "Plan | Product | str | None") -> Plan:
    """Return a plan: itself, the kit's own for None or "host", or the preset of a product, SoC or alias for CANN 9.1.

    Another version follows the product's name. Raise TypeError for another kind, ValueError for an unknown name.

    >>> plan_of("hardswish", "A2, CANN 9.0").name
    'hardswish on Ascend910B2, CANN 9.0.0'
    """
    asked, fix = (
        "plan is a Plan, the name of a product, or None",
        'pass Plan(...), "A2" or "A2, CANN 9.0"',
    )
    need(plan, (Plan, Product, str, type(None)), asked, fix)
    if isinstance(plan, Plan):
        return plan
    if plan is None or plan == HOST.name:
        return HOST
    if isinstance(plan, Product):
        return preset(op, plan)
    product, comma, cann = plan.partition(",")
    try:
        soc_of(product.strip())
    except ValueError:
        raise invalid(asked, f"{plan!r:.60}", fix) from None
    return preset(op, product.strip(), cann.strip().removeprefix("CANN").strip() if comma else CANN)


def predicting(
    product: Product | str, cann: str | Version = CANN
) -> Callable[[str, dict], dict[str, np.ndarray]]:
    """Return a `backward(name, inputs)` with which an emulated device predicts the product's outputs.

    >>> from aclnn_viz.acl import HostAcl
    >>> acl = HostAcl(soc="Ascend910B2", cann="9.1", backward=predicting("Ascend910B2", "9.1"))
    """
    soc, version = soc_of(product), version_of(cann)
    return lambda name, inputs: run(operator(name), preset(name, soc, version), **inputs)


def _unknown(product, version):
    """Return the plan for an undescribed kernel: the textbook page in float32, sums as trees."""
    return {"tile": 1}, (
        Note(
            message("the order of operations is that of the textbook page"),
            message("no source"),
            inferred=True,
        ),
    )


_CORES = 40  # number of cores of an unknown SoC
