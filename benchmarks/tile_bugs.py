"""Single bugs in the kit's tile programs, and what shows each: `python benchmarks/tile_bugs.py [COUNT]`, on one core.

Every line of a kernel's class is edited mechanically; a seed draws COUNT of the edits. Below them stand the bugs that were set by hand
into programs of the vendor's documents (tests/tiles/restated.py). The report is benchmarks/reports/tile_bugs.md.
"""

import random
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from records import REPORTS, ROOT, line

import aclnn_viz as av
from aclnn_viz.operators import registry
from aclnn_viz.operators.faults.fault import page_from

sys.path.insert(0, str(ROOT / "tests" / "tiles"))
import restated

REPORT = REPORTS / "tile_bugs.md"
SEED = 35
# Operator: cases, each with the dtype; on three cores with a small buffer, so that there are tails, cut rows and several tiles.
CASES = {
    "hardswish": [("float32", {"shape": (1900,)}), ("bfloat16", {"shape": (2611,)})],
    "rms_norm": [("float32", {"shape": (7, 45)}), ("float16", {"shape": (5, 1301)})],
    "cross_entropy_loss": [
        ("float32", {"shape": (7, 45)}),
        ("bfloat16", {"shape": (5, 1301), "labelSmoothing": 0.3}),
        ("float32", {"shape": (6, 700), "labelSmoothing": 0.1, "weightOptional": None}),
    ],
    "group_norm_swish": [
        ("float32", {"shape": (3, 4, 45), "numGroups": 2}),
        ("float32", {"shape": (1, 12, 9), "numGroups": 1, "swishScale": 3e38}),
        ("float16", {"shape": (2, 2, 701), "numGroups": 1}),
        ("float32", {"shape": (1, 140, 2), "numGroups": 4}),
    ],
    "layer_norm": [
        ("float32", {"shape": (7, 45), "normalizedShape": (45,)}),
        ("float16", {"shape": (5, 1301), "normalizedShape": (1301,)}),
    ],
}
EDITS = (
    (
        "left out",
        r"^(\s+)(?!def |if |for |else|return|from |import |\"\"\"|self\.\w+ = |pipe)\w[\w.]*\(.*\)(\s+#.*)?$",
        r"\1pass",
    ),
    ("another event", r"HardEvent\.(V|S|MTE2|MTE3)_(V|S|MTE2|MTE3)", r"HardEvent.\2_\1"),
    ("an id by hand", r"eventID\)", "0)"),
    ("another barrier", r"PIPE_V\)", "PIPE_MTE2)"),
    ("one element more", r"\bcount\)", "count + 1)"),
    ("one element fewer", r"\bcount\)", "count - 1)"),
    (
        "another operand",
        r"\((self\.\w+|\w+), (self\.\w+|\w+), (self\.\w+|\w+), count",
        r"(\1, \3, \3, count",
    ),
    (
        "result elsewhere",
        r"\((self\.\w+|\w+), (self\.\w+|\w+), (self\.\w+|\w+), count",
        r"(\2, \1, \3, count",
    ),
    ("other start", r"\[start\]", "[start + 1]"),
    ("rows from the next", r"self\.first, self\.last", "self.first + 1, self.last"),
    ("bytes for elements", r"count \* (4|self\.T\.itemsize)", "count"),
    ("one buffer", r"InitBuffer\((\w+(?:\.\w+)*), BUFFERS,", r"InitBuffer(\1, 1,"),
    ("half a buffer", r"tileLength \* 4\)", "tileLength * 2)"),
    ("one core's slot", r"GetBlockIdx\(\) \* self", "0 * self"),
    ("one core fewer", r"GetBlockNum\(\)\)", "GetBlockNum() - 1)"),
    ("no compare of whole repeats", r"-\(-count // 64\) \* 64", "count"),
)


# What is left was read, edit by edit: kinds of edits that are right programs, and why.
LEGAL = {
    "one buffer": "a queue of one block is right, and slower",
    "an id by hand": "the number is the one that FetchEventID has just named as free",
}


def edits(op: str):
    """(kind, number of the line, its text, the changed line), for each line of the kernel's class and each edit that fits it."""
    lines = Path(registry.module("tiles", op).__file__).read_text("utf-8").splitlines()
    first = next(k for k, text in enumerate(lines) if text.startswith("class "))
    last = next(k for k, text in enumerate(lines) if text.startswith("def kernel"))
    for k in (k for k in range(first, last) if "def " not in lines[k]):
        for kind, pattern, new in EDITS:
            changed = re.sub(pattern, new, lines[k], count=1)
            if changed != lines[k]:
                yield kind, k, lines[k], changed


def broken(op: str, number: int, changed: str):
    right = registry.module("tiles", op)
    lines = Path(right.__file__).read_text("utf-8").splitlines()
    lines[number] = changed
    return page_from(
        "\n".join(lines) + "\n", right, f"{right.__name__}_{number}_{abs(hash(changed))}"
    ).PROGRAMS[0]


def shown(op: str, program, right) -> str:
    """What shows an edit: the first hazard, an error, wrong numbers, or nothing in eager, late and three random orders."""
    for dtype, options in CASES[op]:
        case = av.case(op, dtype=dtype, **options)
        how = {"cores": 3, "unified_buffer": 24576 if op == "hardswish" else 16384} | case.inputs
        want = av.tiles.launch(right, **how)
        for schedule in ("eager", "late", *range(3)):
            try:
                run = av.tiles.launch(program, schedule=schedule, **how)
            except Exception as error:
                return f"raises {type(error).__name__}"
            if run.hazards:
                return f"hazard: {run.hazards[0].kind}"
            if any(
                np.asarray(run.outputs[name]).tobytes() != np.asarray(want.outputs[name]).tobytes()
                for name in want.outputs
            ):
                return "other numbers"
    return "nothing"


def by_hand():
    """(program, what, verdict) of each bug that was set by hand."""
    for name, what, old, new in restated.BUGS:
        verdict = restated.shown(
            restated.edited(name, old, new), *restated.RIGHT[name][1:], ("eager", "late", *range(3))
        )
        yield (
            name,
            what,
            verdict or (f"legal: {restated.LEGAL[what]}" if what in restated.LEGAL else "silent"),
        )


def totals(rows) -> str:
    counted = Counter(re.sub(r"^(hazard|raises|legal).*", r"\1", row[-1]) for row in rows)
    return ", ".join(f"{name} {n}" for name, n in sorted(counted.items()))


def main(count: int):
    every = [(op, *edit) for op in CASES for edit in edits(op)]
    drawn = sorted(random.Random(SEED).sample(every, min(count, len(every))))
    rows = []
    for op, kind, number, old, changed in drawn:
        verdict = shown(op, broken(op, number, changed), registry.module("tiles", op).PROGRAMS[0])
        if verdict == "nothing":
            verdict = f"legal: {LEGAL[kind]}" if kind in LEGAL else "silent"
        rows.append((op, number + 1, kind, f"`{old.strip()}`".replace("|", "\\|"), verdict))
        print(*rows[-1], sep=" | ", flush=True)
    hand = list(by_hand())
    REPORT.write_text(
        f"# Single bugs in tile programs\n\n{len(drawn)} of {len(every)} mechanical edits of the lines of five programs, drawn by seed "
        f"{SEED}; each ran on three cores\nwith 16 KiB of Unified Buffer (hardswish 24) under eager, late and three random orders. "
        f"{totals(rows)}.\n\n"
        "*legal*: no hazard, the same bits as the right program in all orders, and read by a person. *silent* would be neither.\n"
        "Written by `python benchmarks/tile_bugs.py`.\n\n| program | line | edit | of | shown by |\n| --- | ---: | --- | --- | --- |\n"
        + "".join(line(*row) for row in rows)
        + f"\n## Set by hand\n\n{len(hand)} bugs in {len(restated.RIGHT)} programs that restate the vendor's documents (`tests/tiles/restated.py`), "
        f"written before\nthe rules of the machine were read. {totals(hand)}. The programs without a bug have no hazard\nunder eager, late and 20 "
        "random orders.\n\n| program | bug | shown by |\n| --- | --- | --- |\n"
        + "".join(line(*row) for row in hand),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 160)
