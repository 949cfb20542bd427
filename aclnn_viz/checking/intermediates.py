"""What wrong numbers look like: a multiple of the truth, the truth elsewhere, or an intermediate of the page."""

import sys
from collections import Counter
from math import prod

import numpy as np

from aclnn_viz.words.speech import message

CLOSE = 1e-3  # 16-bit outputs included; a resemblance is a hint, not a verdict
SINGLE = 2.0**-20  # the same for float64 outputs of a kernel that computes in float32: a few of its roundings


def intermediates(op, inputs: dict) -> dict[str, np.ndarray]:
    """Return the arrays that the page names on its way to the truth, by their names.

    >>> import aclnn_viz as av
    >>> "projection" in intermediates(av.operator("rms_norm"), av.case("rms_norm").inputs)
    True
    """
    found: dict[str, np.ndarray] = {}
    file = op.page.backward.__code__.co_filename

    def watch(frame, event, value):
        if event == "return" and frame.f_code.co_filename == file:
            for name, local in [*frame.f_locals.items(), (frame.f_code.co_name, value)]:
                if isinstance(local, np.ndarray) and local.dtype.kind == "f":
                    found.setdefault(name, local)
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        op.backward(**inputs)
    finally:
        sys.setprofile(before if callable(before) else None)
        if before is not None and not callable(before):  # that of cProfile, which goes on by a method of its own
            before.enable()
    return found


def resemblance(seen) -> list[str]:
    """Return a line for each output about what its wrong values are; `seen` holds (prepared, outputs, wrong names)."""
    told: dict[str, Counter] = {}
    totals: Counter = Counter()
    for prepared, outputs, wrong in seen:
        for name in wrong & outputs.keys() & prepared.expected.keys():
            if outputs[name].shape == prepared.expected[name].truth.shape and outputs[name].size > 2:
                totals[name] += 1
                told.setdefault(name, Counter()).update(_remarks(prepared, name, outputs[name]))
    lines = []
    for name, remarks in told.items():
        for remark, count in remarks.most_common(1):
            if 2 * count > totals[name]:
                lines.append(message("{output} {remark} on {n} of {all} wrong cases", output=name, remark=remark, n=count,
                                     all=totals[name]))
    return lines


def _remarks(prepared, name, output) -> list[str]:
    truths = {other: part.truth.astype(np.float64) for other, part in prepared.expected.items()}
    actual = output.astype(np.float64)
    if output.dtype == np.float64 and _near(actual, truths[name], SINGLE):
        return [message("is right to the digits of float32")]
    if output.dtype.itemsize == 2 and _near(actual, truths[name]):
        return [message("is right to three digits (a sum or a step in 16 bits, or a small term, may be the reason)")]
    remarks = likeness(name, actual, truths, prepared.case.inputs)
    if not np.isfinite(actual).all() or not actual.any() or _near(actual, truths[name]):
        return remarks
    known = intermediates(prepared.case.operator, prepared.case.inputs)
    labels = [label for label, array in known.items()
              if array.size == actual.size and _near(actual.ravel(), array.astype(np.float64).ravel())]
    if labels:  # a local name rather than the function that returned it
        remarks.append(message("equals the intermediate {name!r} of the page", name=min(labels, key=len)))
    return remarks


def likeness(name: str, actual: np.ndarray, truths: dict[str, np.ndarray], inputs: dict) -> list[str]:
    """Return what wrong values of an output look like beside the truth of all outputs, likeliest first.

    >>> likeness("out", np.array([2.0, 4.0]), {"out": np.array([1.0, 2.0])}, {})
    ['is 2 times the truth']
    """
    truth = truths[name]
    if not np.isfinite(actual).all():
        return [message("is not finite")] * bool(np.isfinite(truth).all())
    if not actual.any():
        return [message("is 0 everywhere")]
    if _near(actual, truth):
        return [message("is right to three digits")]
    remarks = []
    if _near(np.sort(actual, axis=None), np.sort(truth, axis=None)):
        remarks.append(message("holds the right values in another order"))
    scale = float(np.vdot(truth, actual) / max(float(np.vdot(truth, truth)), 1e-300))
    if scale and _near(actual, scale * truth):
        remarks.append(message("is {factor} times the truth", factor=_factor(scale, inputs)))
    for other, values in truths.items():
        if other != name and values.size == actual.size and _near(actual.ravel(), values.ravel()):
            remarks.append(message("holds {output}", output=other))
    return remarks


def _near(a, b, share=CLOSE) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.max(np.abs(a - b), initial=0.0) <= share * np.max(np.abs(b), initial=0.0))


def _factor(scale: float, inputs: dict) -> str:
    """A factor, as the number of elements of some axes where it is one: such factors change with the shape."""
    for name, value in inputs.items():
        shape = getattr(value, "shape", ())
        for start in range(len(shape)):
            count = prod(shape[start:])
            for sign, head in ((1, ""), (-1, "-")):
                if count > 1 and abs(sign * scale - count) < CLOSE * count:
                    return f"{head}prod({name}.shape[{start}:])"
                if count > 1 and abs(sign * scale * count - 1) < CLOSE:
                    return f"{head}1 / prod({name}.shape[{start}:])"
    return f"{scale:.4g}"
