"""Sweep an elementwise function over all 65,536 inputs of a 16-bit format, and count the errors in ulps, to find the worst input.

A sample can miss the worst input; a sweep cannot. Inputs that are infinite or nan are *special*: they are counted
apart, and either agree with the truth (nan with nan, the same infinity, the same number) or are listed. `FACTORS` are the
elementwise parts of the backward operators.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy.measures import ULP_CLASSES, measure, rounded_truth, same
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.plan import HOST, Plan
from aclnn_viz.arrays.plan_arrays import PlannedArrays
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import function, invalid, mistyped, need
from aclnn_viz.operators import operators
from aclnn_viz.tables import columns as width
from aclnn_viz.words.messages import tr


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep: `ulp_counts` over the finite inputs, the worst input, and the special inputs apart.

    `worst_input`, `worst_output` and `worst_truth` belong to `max_ulp`, at the first input that attains it.
    `special_misses` lists (input, output, truth) of the special inputs whose outputs differ, one per kind of input:
    the nans are thousands of bit patterns.
    """

    dtype: str
    size: int
    ulp_counts: dict[str, int]
    max_ulp: float
    worst_input: float
    worst_output: float
    worst_truth: float
    special_size: int
    special_differing: int
    special_misses: tuple[tuple[float, float, float], ...]

    def __str__(self) -> str:
        columns = "".join(" " * (9 - width(tr(name))) + tr(name) for name in ULP_CLASSES)
        counts = "".join(f"{self.ulp_counts[name]:>9}" for name in ULP_CLASSES)
        lines = [
            tr(
                "{dtype}, all {n} finite inputs, ulps from the rounded truth",
                dtype=self.dtype,
                n=self.size,
            ),
            columns,
            counts,
            tr(
                "worst: {size:g} ulp at {input!r}: {output!r}, truth {truth!r}",
                size=self.max_ulp,
                input=self.worst_input,
                output=self.worst_output,
                truth=self.worst_truth,
            ),
            tr(
                "special inputs (infinite or nan): {n}, {differing} differ",
                n=self.special_size,
                differing=self.special_differing,
            ),
        ]
        lines += [
            tr("  {input!r}: {output!r}, truth {truth!r}", input=given, output=got, truth=right)
            for given, got, right in self.special_misses
        ]
        return "\n".join(lines)


def sweep(f: Callable, truth: Callable, dtype) -> Sweep:
    """Count the ulps of `f` against `truth` over every input of float16 or bfloat16.

    `f` takes an array of shape (65536,) in the format and returns its outputs in the format; `truth` takes the same
    inputs as float64 and returns float64. Raises ValueError for another format or a wrong output shape,
    TypeError for a wrong output dtype.

    >>> sweep(lambda x: x * x, lambda x: x * x, "float16").max_ulp
    0.0
    """
    fmt, f, truth = float_format(dtype), function("f", f), function("truth", truth)
    if fmt.bits != 16:
        raise invalid(
            "a sweep runs over all inputs of a 16-bit format",
            fmt.name,
            "use float16 or bfloat16; sample wider formats",
        )
    inputs = np.arange(1 << 16, dtype=np.uint16).view(fmt.numpy)
    with np.errstate(all="ignore"):  # overflow and nan are among the inputs and outputs
        wide = inputs.astype(np.float64)
        outputs, right = np.asarray(f(inputs)), np.asarray(truth(wide))
        _check(outputs, "the outputs of f", (fmt.numpy,), inputs.shape)
        _check(right, "the outputs of truth", (np.float64,), inputs.shape)
        ordinary = np.isfinite(wide)
        usual = measure(outputs[ordinary], right[ordinary], inputs={"x": wide[ordinary]})
        got = outputs.astype(np.float64)
        missed = np.flatnonzero(
            ~ordinary & ~same(got, rounded_truth(right, fmt).astype(np.float64))
        )
    worst = usual.extremes["max_ulp"]
    kinds = {
        repr(float(wide[at])): (float(wide[at]), float(got[at]), float(right[at]))
        for at in missed[::-1]
    }
    return Sweep(
        dtype=fmt.name,
        size=usual.size,
        ulp_counts=usual.ulp_counts,
        max_ulp=usual.max_ulp,
        worst_input=worst.inputs["x"],
        worst_output=worst.actual,
        worst_truth=worst.truth,
        special_size=int((~ordinary).sum()),
        special_differing=missed.size,
        special_misses=tuple(kinds.values()),
    )


def _check(outputs: np.ndarray, name: str, dtypes: tuple, shape: tuple[int, ...]) -> None:
    if outputs.dtype not in dtypes:
        raise mistyped(
            f"{name} must be {np.dtype(dtypes[0]).name}",
            outputs.dtype.name,
            "round them once, for example with aclnn_viz.dtypes.round_to",
        )
    if outputs.shape != shape:
        raise invalid(
            f"{name} must have the shape of the inputs, {shape}",
            str(outputs.shape),
            "pass an elementwise function",
        )


def factors() -> dict:
    """Return the elementwise factors of all pages by name; each is a function of the namespace, values and attributes."""
    return {
        name: function
        for op in operators()
        for name, function in getattr(op.page, "FACTORS", {}).items()
    }


def sweep_factor(factor: str, dtype, plan: Plan = HOST, **attributes) -> Sweep:
    """Sweep an elementwise factor of a page under a plan; `factor` is a name in FACTORS, such as "hardswish".

    `attributes` go to the factor. The truth is the same page in float64. Raises ValueError for another factor or a
    wider format.

    >>> sweep_factor("hardswish", "bfloat16").ulp_counts["exact"]
    65280
    """
    known = factors()
    if not isinstance(factor, str) or factor not in known:
        raise invalid(f"factor must be one of {', '.join(known)}", repr(factor), "choose one")
    need(plan, Plan, "plan is a Plan", "pass such as Plan(compute='float16')")
    fmt, slope = float_format(dtype), known[factor]

    def planned(x: np.ndarray) -> np.ndarray:
        xp = PlannedArrays(plan, fmt)
        return plan.output("out", slope(xp, xp.given(x), **attributes).data, fmt)

    return sweep(planned, lambda x: slope(NumPyArrays(), x, **attributes), fmt)
