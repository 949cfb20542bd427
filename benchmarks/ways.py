"""How far one goes to follow a call: `python benchmarks/ways.py [OPERATOR ...]`, of check, backward, explore and verify.

Each call is made twice, and of the second the functions of the project are written down as they are first entered, in
every thread: how many these *places* are, how often the next one is in the file of another package (*stretches*), and how
often in one of a higher package (*climbs*). A file of an operator's folder counts as one of the package that opens it. The kernel
of `check` gives outputs that were computed before.

For rms_norm, at commit 0337fff -> now:

| call | places | stretches | climbs |
| --- | ---: | ---: | ---: |
| check | 139 -> 58 | 43 -> 14 | 20 -> 7 |
| backward | 64 -> 59 | 12 -> 10 | 5 -> 4 |
| explore | 374 -> 245 | 91 -> 58 | 42 -> 28 |
| verify | 377 -> 532 | 97 -> 125 | 63 -> 54 |

`explore` asks the contract what the product answers, and runs no emulated device for numbers that the page gives. `verify`
tries what follows from the declaration for every operator, where there was a file for each of five, and takes its bounds
from envelopes: that is what came to it.
"""

import contextlib
import io
import re
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.operators import registry

ROOT = Path(__file__).resolve().parents[1]
ORDER = re.findall(r"^\| `(\w+)` \|", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.MULTILINE)  # from the top


def walk(call: Callable) -> list[Path]:
    """The file of each function that a call enters, in the order in which they are entered first."""
    entered = {}

    def enter(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name[0] != "<" and code.co_filename.startswith((f"{ROOT}/aclnn_viz/", f"{ROOT}/derivations/")):
            entered.setdefault(code, Path(code.co_filename).relative_to(ROOT))
    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(entered.values())


def package(file: Path) -> int:
    """The place in the order of the package that a file counts as a file of."""
    name = Path(file.parts[file.parts[0] == "aclnn_viz"]).stem
    if name == "operators" and len(file.parts) == 4:
        name = registry.KINDS.get(file.stem, name)
    return ORDER.index(name)


def measured(call: Callable) -> tuple[int, int, int]:
    """Places, stretches and climbs of the second of two calls."""
    call()
    order = [package(file) for file in walk(call)]
    return len(order), 1 + sum(a != b for a, b in pairwise(order)), sum(a < b for a, b in pairwise(order))


def ways(name: str) -> dict[str, Callable]:
    op, case = av.operator(name), av.case(name)
    known = {}

    def kernel(**inputs):  # whose own way is not counted: the second time it only gives what it gave
        key = str([(value.dtype, value.tobytes()) if hasattr(value, "tobytes") else value for value in inputs.values()])
        if key not in known:
            known[key] = op.backward(**inputs)
        return {output: values.copy() for output, values in known[key].items()}

    def verify():
        with contextlib.redirect_stdout(io.StringIO()):
            cli.main(["verify", name])
    return {"check": lambda: av.check(name, kernel), "backward": lambda: op.backward(**case.inputs),
            "explore": lambda: av.explore(name).close(), "verify": verify}


def main(names: list[str]) -> None:
    for name in names:
        for label, call in ways(name).items():
            places, stretches, climbs = measured(call)
            print(f"{name:<20} {label:<9} {places:4d} places {stretches:4d} stretches {climbs:4d} climbs", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["rms_norm"])
