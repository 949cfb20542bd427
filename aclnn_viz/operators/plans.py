"""Backward operators under a precision plan, and the plan of each operator on each product and CANN version.

The notes of a preset say what of it the vendor documents or publishes as source code, and what is inferred.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.driver import in_blocks
from aclnn_viz.arrays.plan import AWAY, BLOCKED, EVEN, SEQUENTIAL, SHUFFLED, STORAGE, Note, Plan
from aclnn_viz.arrays.planned import PlannedArrays
from aclnn_viz.dtypes import FloatFormat
from aclnn_viz.operators import device_pages, operator
from aclnn_viz.products import A2, A3, ASCEND_950, INFERENCE, Product, Version, product_of


class Traced(NamedTuple):
    """What a page returned over a namespace, and per output its format and documented shape."""

    values: dict
    results: dict[str, tuple[FloatFormat, tuple[int, ...]]]
    xp: PlannedArrays


def run(op, plan: Plan, /, **inputs) -> dict[str, np.ndarray]:
    """Return what `op.backward` returns, computed as the plan says; float64 inputs are computed in float64.

    >>> import aclnn_viz as av, numpy as np
    >>> x = np.float32([-1.5, 2049.0])
    >>> run(av.operator("hardswish"), Plan(storage="float16"), gradOutput=np.ones(2, np.float32), self=x)["out"]
    array([0., 1.], dtype=float16)
    """
    values, results, xp = trace(op, plan, PlannedArrays, plan.page, inputs)
    with np.errstate(all="ignore"):
        return {name: xp.plan.output(name, values[name].data, fmt).reshape(shape)
                for name, (fmt, shape) in results.items()}


def trace(op, plan: Plan, namespace: type, page, inputs: dict) -> Traced:
    """Evaluate `page` (None: the textbook page) over `namespace(plan, format of the inputs)`: on whole arrays, or in
    the blocks of the kit's driver if the plan says so."""
    arranged = op.arrange_backward(**op.bind(inputs))
    main = next(iter(arranged.results.values())).format
    if arranged.compute == np.float64 and plan.storage is None:
        plan = replace(plan, compute="float64", accumulate="float64", coordinates=None, atomics=None)
    xp = namespace(plan, main)
    with np.errstate(all="ignore"):
        arrays = {name: None if array is None else xp.given(array) for name, array in arranged.arrays.items()}
        if arranged.prelude is not None:
            more = arranged.prelude(op.page, xp, arrays)
            arrays |= {name: xp.astype(array, xp.compute) for name, array in more.items()}
        page, attributes = page or op.page.backward, arranged.attributes
        if any(array is not None and not array.size for array in arrays.values()):
            # As the kit does, which has no block to run the page on: sums of nothing are 0.
            values = {name: xp.zeros(result.shape, xp.compute) for name, result in arranged.results.items()}
        elif plan.blocks and not plan.storage:
            values = in_blocks(partial(page, **attributes), arranged.axes or op.page.AXES, arrays, arranged.results,
                               partial(namespace, plan, main))
        else:
            values = page(xp, **arrays, **attributes)
    results = {name: (xp.storage if result.format is main else result.format, result.documented_shape)
               for name, result in arranged.results.items()}
    return Traced(values, results, xp)


def preset(op, product: Product | str, cann: str | Version = "9.1") -> Plan:
    """Return the plan that predicts an operator on an Atlas product (or SoC name) with a CANN version.

    `plan.notes` tell what is documented and what is inferred. A product that lacks the operator gets the plan of the
    kernels that exist. Raises ValueError for unknown names and versions.

    >>> plan = preset("group_norm_swish", "Ascend910B2", "9.0")
    >>> plan.rounding
    'away'
    >>> print(plan.notes[-1])
    documented: one factor swishScale is missing (ops-nn norm/group_norm_swish_grad/op_kernel, tags before v9.1.0)
    """
    op = operator(op)
    soc = product if isinstance(product, str) else product.example_soc
    product = product_of(soc)
    version = cann if isinstance(cann, Version) else Version.parse(cann)
    cores = max(product.cores.get(soc, (0, 0))) or _CORES
    saturate = product.overflow_modes[0] == "saturate"
    base = Plan(f"{op.name} on {soc}, CANN {version}", cores=cores, saturate=saturate, division_ulps=1.0, notes=(
        Note("float32 inside; sums of a core as a binary tree", "AscendC vector API reference: reductions"),
        Note("exp and division to 1 ulp", "AscendC precision tables of Ascend 950", inferred=product is not ASCEND_950),
        *([Note("infinite results saturate, nan becomes 0", "aclrtFloatOverflowMode, CANN runtime reference")]
          if saturate else []),
    ))
    settings, notes = _PRESETS[op.name](product, version)
    return replace(base, **settings, notes=base.notes + notes)


def predicting(product: Product | str, cann: str | Version = "9.1") -> Callable[[str, dict], dict[str, np.ndarray]]:
    """Return the `backward(name, inputs)` with which an emulated device predicts what the product prints.

    >>> from aclnn_viz.acl import HostAcl
    >>> acl = HostAcl(soc="Ascend910B2", cann="9.1", backward=predicting("Ascend910B2", "9.1"))
    """
    return lambda name, inputs: run(operator(name), preset(name, product, cann), **inputs)


_CORES = 40  # of an SoC whose number of cores is not known


def _hardswish(product, version):
    if product is ASCEND_950:
        return {"page": device_pages.hardswish}, (
            Note("x times a rounded 1/3, closed interval, nan has slope 1",
                 "ops-nn activation/hard_swish_grad/op_kernel/arch35/hard_swish_grad.h"),)
    return {"page": device_pages.hardswish_tbe}, (
        Note("x times 0.33333334; nan in self gives 1 in float32 and bfloat16, nan in float16",
             "hard_swish_grad.py among the TBE kernels of CANN 8.1"),
        Note("the TBE kernel is unchanged in later versions", "no newer source is published", inferred=True))


def _rms_norm(product, version):
    regular = product is ASCEND_950
    return {"reciprocal_mean": True, "leading": BLOCKED if regular else SHUFFLED, "tile": 1}, (
        Note("x * rstd first, row mean as a tree times a rounded 1/n, output to nearest even",
             "ops-nn norm/rms_norm_grad/op_kernel/rms_norm_grad_split_n_high_precision.h",
             inferred=product not in (A2, A3, INFERENCE)),
        Note("dgamma: rows in turn in a core, " + ("cores in a fixed order" if regular else "then atomic additions"),
             "ops-nn norm/rms_norm_grad/op_kernel; determinism table of docs/zh/op_api_list.md"),
        Note("rows are dealt to the cores in equal spans", "no source; the tiling may differ", inferred=True))


def _grid_sampler_2d(product, version):
    if product is ASCEND_950:
        return {"page": device_pages.grid_sampler_2d_simt, "leading": SEQUENTIAL, "atomics": STORAGE,
                "scatter": SHUFFLED}, (
            Note("coordinates, multipliers and weights rounded to the format of the inputs; inputGrad by atomic "
                 "additions in that format",
                 "ops-cv image/grid_sampler2_d_grad/op_kernel/arch35/grid_sampler2_d_grad_simt.h"),
            Note("the seeded order of the atomic additions", "the real order varies from run to run", inferred=True))
    early = () if version >= Version(8, 5) else (
        Note("reflection ran on the AI CPU before CANN 8.5; it is taken to round as the later kernel does",
             "the AI CPU kernel is not published", inferred=True),)
    return {"page": device_pages.grid_sampler_2d_vector, "rounding": {"inputGrad": AWAY, "gridGrad": EVEN},
            "scatter": {"float32": SHUFFLED}}, (
        Note("float32 coordinates; mirrors counted by a reciprocal; inputGrad atomic in float32, for 16-bit formats "
             "in a float32 workspace and cast with ties away; gridGrad to nearest even",
             "ops-cv image/grid_sampler2_d_grad/op_kernel/grid_sampler2_d_grad.h",
             inferred=product not in (A2, A3)),
        Note("order of the factors of a product, and of bicubic sums", "conclusion from the order of the loops",
             inferred=True), *early)


def _cross_entropy_loss(product, version):
    return {"order": BLOCKED, "tile": 2048}, (
        Note("float32 inside, output to nearest even, W summed per core and then over the cores",
             "ops-nn loss/cross_entropy_loss_grad/op_kernel/cross_entropy_loss_grad_base.h",
             inferred=product not in (A2, A3)),
        Note("order of the factors of a product; tiles of 2048 rows", "conclusion from the documented formula",
             inferred=True))


def _group_norm_swish(product, version):
    regular = product is ASCEND_950
    settings = {"page": device_pages.group_norm_swish, "rounding": AWAY, "tile": 1,
                "leading": SEQUENTIAL if regular else SHUFFLED, "reciprocal_mean": regular}
    notes = (
        Note("x-hat as x * rstd + (-mean * rstd), slope as T / e, outputs cast with ties away",
             "ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h",
             inferred=product not in (A2, A3)),
        Note("samples of dgamma and dbeta " + ("in turn; the compensation of stage 2 is not modelled" if regular else
                                               "by atomic additions, in a seeded order"),
             "ops-nn norm/group_norm_swish_grad/op_kernel", inferred=True))
    if version >= Version.parse("9.1.0.pre"):
        return settings, notes
    return settings | {"page": device_pages.group_norm_swish_unscaled, "intended": device_pages.group_norm_swish}, (
        *notes, Note("one factor swishScale is missing",
                     "ops-nn norm/group_norm_swish_grad/op_kernel, tags before v9.1.0"))


_PRESETS = {"hardswish": _hardswish, "rms_norm": _rms_norm, "grid_sampler_2d": _grid_sampler_2d,
            "cross_entropy_loss": _cross_entropy_loss, "group_norm_swish": _group_norm_swish}
