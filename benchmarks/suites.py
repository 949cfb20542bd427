"""Draw the suites of operators anew, of all or of those named, and store them: `python benchmarks/suites.py [OPERATOR ...]`."""

import json
import sys

import aclnn_viz as av
from aclnn_viz.cases.drafts import suite
from aclnn_viz.cases.suites import DRAWN, stated


def written(op) -> str:
    """The suite of an operator as its file holds it, a recipe a line."""
    recipes = ",\n".join(map(json.dumps, suite(op, tuple(stated(op)))))
    return f"[\n{recipes}\n]\n"


if __name__ == "__main__":
    for op in map(av.operator, sys.argv[1:] or av.operators()):
        (DRAWN / f"{op.name}.json").write_text(written(op), "utf-8")
        print(op.name, flush=True)
