"""The accuracy report: for each operator, format and output how many elements are how many ulps from truth.

Each row is measured on a case of `ELEMENTS` elements or more; the 16-bit formats of hardswish and of the swish factor
are swept whole, over all 65,536 inputs.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from aclnn_viz.accuracy import measure, sweep, sweep_factor
from aclnn_viz.accuracy.measures import ULP_CLASSES
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.operators import operator, operators
from aclnn_viz.verification.numeric import file_of

ELEMENTS = 200_000
#: A shape of ELEMENTS elements for each operator, and what else its case is given.
CASES = {
    "hardswish": ((500, 400), {}),
    "rms_norm": ((400, 500), {}),
    "grid_sampler_2d": ((2, 10, 100, 100), {"grid_shape": (100, 100), "paddingMode": 2}),
    "cross_entropy_loss": ((400, 500), {"labelSmoothing": 0.1}),
    "group_norm_swish": ((4, 50, 25, 40), {"numGroups": 10}),
}
HEAD = ("operator", "output", "format", "elements", *ULP_CLASSES, "max ulp", "MERE", "max abs")


def measured_rows() -> list[dict]:
    """One row for each operator, output and format."""
    rows = []
    for op in operators():
        for fmt in FORMATS:
            shape, mode = CASES[op.name]
            inputs = file_of(op).draw(fmt.name, shape, mode, seed=1)
            outputs, truth = op.backward(**inputs), op.truth(**inputs)
            for name, output in outputs.items():
                found = measure(output, truth[name])
                rows.append({"operator": op.name, "output": name, "format": found.dtype, "elements": found.size,
                             "ulps": found.ulp_counts, "max_ulp": found.max_ulp, "mere": found.mere,
                             "max_abs": found.max_abs, "worst_index": found.extremes["max_ulp"].index})
    return rows


def swept() -> dict[str, dict]:
    """The exhaustive sweeps: `hardswish` with gradient 1, and the factor of swish with scale 1."""
    def hardswish(function: Callable):
        return lambda x: function(gradOutput=np.ones_like(x), self=x)["out"]

    op = operator("hardswish")
    found = {}
    for fmt in FORMATS[:2]:
        found[f"hardswish {fmt.name}"] = sweep(hardswish(op.backward), hardswish(op.truth), fmt)
        found[f"swish factor {fmt.name}"] = sweep_factor("swish", fmt)
    return found


def proof_times() -> dict[str, float]:
    """Seconds for the derivations alone, for all theorems, and for all mutants."""
    from derivations import cross_entropy_loss, grid_sampler_2d, group_norm_swish, hardswish, rms_norm, theorems

    start = time.perf_counter()
    for chapter in (hardswish, rms_norm, grid_sampler_2d, cross_entropy_loss, group_norm_swish):
        chapter.derive()
    derived = time.perf_counter()
    told = list(theorems())
    for theorem in told:
        theorem.prove()
    proved = time.perf_counter()
    for theorem in told:
        for mutant in theorem.mutants:
            mutant.prove()
    return {"derivations": derived - start, "theorems": proved - derived, "mutants": time.perf_counter() - proved}


def write(folder: str | Path) -> list[Path]:
    """Write accuracy.md and accuracy.json into the folder and return their paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows, sweeps, seconds = measured_rows(), swept(), proof_times()
    text = ["# Accuracy report", "",
            "Every kernel in NumPy against its own page in a wider type: what is counted is rounding. ulp is the",
            "distance in the output format from the correctly rounded truth; nothing here ran on Atlas hardware.", "",
            "| " + " | ".join(HEAD) + " |", "| " + " | ".join(["---"] * len(HEAD)) + " |"]
    for row in rows:
        cells = [row["operator"], row["output"], row["format"], str(row["elements"]),
                 *(str(row["ulps"][name]) for name in ULP_CLASSES), f"{row['max_ulp']:g}", f"{row['mere']:.3g}",
                 f"{row['max_abs']:.3g}"]
        text.append("| " + " | ".join(cells) + " |")
    text += ["", "## All 65,536 inputs of the 16-bit formats", ""]
    for name, found in sweeps.items():
        text += [f"### {name}", "", "```", str(found), "```", ""]
    text += ["## Proofs", "", *(f"- {name}: {value:.1f} s" for name, value in seconds.items()), ""]
    markdown, data = folder / "accuracy.md", folder / "accuracy.json"
    markdown.write_text("\n".join(text), encoding="utf-8")
    content = {"rows": rows, "sweeps": {name: vars(found) for name, found in sweeps.items()}, "seconds": seconds}
    data.write_text(json.dumps(content, indent=1, default=list), encoding="utf-8")
    return [markdown, data]
