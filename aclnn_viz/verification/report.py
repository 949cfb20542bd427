"""The accuracy report: for each operator, format and output how many elements are how many ulps from truth.

Each row is measured on a case of `ELEMENTS` elements or more; the elementwise factors of the pages are swept in the
16-bit formats whole, over all 65,536 inputs.
"""

import json
import time
from itertools import product
from math import prod
from pathlib import Path

from aclnn_viz.accuracy import Sweep, measure, sweep_factor
from aclnn_viz.accuracy.measures import ULP_CLASSES
from aclnn_viz.accuracy.sweeps import factors
from aclnn_viz.cases import case
from aclnn_viz.cases.default import default_shape
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.errors import problem
from aclnn_viz.operators import Operator, operators, registry
from aclnn_viz.storage.reading import read_file
from aclnn_viz.storage.results import need_place, new_file
from aclnn_viz.verification import symbolic

ELEMENTS = 200_000
#: The files of a report, and how each begins.
BEGINNINGS = {
    "accuracy.md": b"# Accuracy report\n",
    "accuracy.json": b'{\n "report": "accuracy of aclnn-viz"',
}
HEAD = ("operator", "output", "format", "elements", *ULP_CLASSES, "max ulp", "MERE", "max abs")


def measured_rows() -> list[dict]:
    """One row for each operator, output and format."""
    rows = []
    for op, fmt in product(operators(), FORMATS):
        inputs = case(op, dtype=fmt.name, seed=1, **large(op)).inputs
        outputs, truth = op.backward(**inputs), op.truth(**inputs)
        for name, output in outputs.items():
            found = measure(output, truth[name])
            rows.append(
                {
                    "operator": op.name,
                    "output": name,
                    "format": found.dtype,
                    "elements": found.size,
                    "undecided": found.undecided,
                    "ulps": found.ulp_counts,
                    "max_ulp": found.max_ulp,
                    "mere": found.mere,
                    "max_abs": found.max_abs,
                    "worst_index": found.extremes["max_ulp"].index,
                }
            )
    return rows


def large(op: Operator) -> dict:
    """The options of a large case: the usual shape, of which the first axis is long."""
    usual = default_shape(op)
    return {**(op.shapes or ({},))[0], "shape": (-(-ELEMENTS // prod(usual[1:])), *usual[1:])}


def swept() -> dict[str, Sweep]:
    """The sweeps of every elementwise factor that a page names, in both 16-bit formats."""
    return {
        f"{factor} {fmt.name}": sweep_factor(factor, fmt)
        for fmt in FORMATS[:2]
        for factor in factors()
    }


def proof_times() -> dict[str, float]:
    """Seconds for the derivations alone, for all theorems, and for all mutants."""
    start = time.perf_counter()
    for op in operators():
        if registry.file("derivation", op.name):
            symbolic.derivation(op, {})
    derived = time.perf_counter()
    claims = symbolic.claims()
    for theorem in claims:
        theorem.prove()
    proved = time.perf_counter()
    for theorem in claims:
        for mutant in theorem.mutants:
            mutant.prove()
    return {
        "derivations": derived - start,
        "theorems": proved - derived,
        "mutants": time.perf_counter() - proved,
    }


def need_places(folder: str | Path, force: bool = False) -> None:
    """Raise FileExistsError unless the report may be written into a folder; with `force` an earlier one is replaced."""
    if Path(folder).exists() and not Path(folder).is_dir():
        raise FileExistsError(
            problem("a report needs a folder", f"{folder}, which is none", "name another place")
        )
    for name in BEGINNINGS:
        need_place(Path(folder) / name, force, _ours)


def _ours(path: Path) -> bool:
    return path.is_file() and read_file(path, 1 << 30).startswith(BEGINNINGS[path.name])


def write(folder: str | Path, force: bool = False) -> list[Path]:
    """Write accuracy.md and accuracy.json into the folder and return their paths.

    Raises FileExistsError where they are; with `force` those of an earlier report are replaced.
    """
    folder = Path(folder)
    need_places(folder, force)
    rows, sweeps, seconds = measured_rows(), swept(), proof_times()
    text = [
        "# Accuracy report",
        "",
        "Every kernel in NumPy against its own page in a wider type: what is counted is rounding. ulp is the",
        "distance in the output format from the correctly rounded truth; nothing here ran on Atlas hardware.",
        "",
        _line(HEAD),
        _line(["---"] * len(HEAD)),
    ]
    text += [
        _line(
            (
                row["operator"],
                row["output"],
                row["format"],
                row["elements"],
                *(row["ulps"][name] for name in ULP_CLASSES),
                f"{row['max_ulp']:g}",
                f"{row['mere']:.3g}",
                f"{row['max_abs']:.3g}",
            )
        )
        for row in rows
    ]
    text += ["", "## All 65,536 inputs of the 16-bit formats", ""]
    for name, found in sweeps.items():
        text += [f"### {name}", "", "```", str(found), "```", ""]
    text += ["## Proofs", "", *(f"- {name}: {value:.1f} s" for name, value in seconds.items()), ""]
    content = {
        "report": "accuracy of aclnn-viz",
        "rows": rows,
        "sweeps": {name: vars(found) for name, found in sweeps.items()},
        "seconds": seconds,
    }
    contents = "\n".join(text), json.dumps(content, indent=1, default=list)
    for name, written in zip(BEGINNINGS, contents):
        with new_file(folder / name, force, _ours) as file:
            file.write(written.encode())
    return [folder / name for name in BEGINNINGS]


def _line(cells) -> str:
    return f"| {' | '.join(map(str, cells))} |"
