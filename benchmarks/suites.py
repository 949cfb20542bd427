"""Draw the suites of all or of named operators again, and store them: `python benchmarks/suites.py [OPERATOR ...]`."""

import json
import sys

import aclnn_viz as av
from aclnn_viz.cases.drafts import suite
from aclnn_viz.cases.suites import DRAWN, stated


def written(op) -> str:
    """Return the suite of an operator as in its file, one recipe per line."""
    recipes = ",\n".join(map(json.dumps, suite(op, tuple(stated(op)))))
    return f"[\n{recipes}\n]\n"


if __name__ == "__main__":
    for op in map(av.operator, sys.argv[1:] or av.operators()):
        (DRAWN / f"{op.name}.json").write_text(written(op), "utf-8")
        print(op.name, flush=True)
