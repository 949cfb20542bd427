"""The commands for whoever adds an operator: list what is there, make a new one."""

import json
import sys
from pathlib import Path

from aclnn_viz.operators import registry
from aclnn_viz.words.speech import message, tr


def operators(options) -> int:
    """List the operators and where each of their files comes from: its own, the default, or missing.

    Of an operator that an installed package announces, which is opened when its name is asked for, the package is named.
    The exit status is 1 when a required file is missing.
    """
    from aclnn_viz.operators import operators as all_operators

    rows = {op.name: {"aclnn_name": op.aclnn_name, "files": {
        kind: "own" if registry.file(kind, op.name) else "missing" if kind in registry.REQUIRED else "default"
        for kind in registry.KINDS}} for op in all_operators()}
    rows |= {name: {"announced": package, "files": {}} for name, package in registry.announced().items() if name not in rows}
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        for name, row in rows.items():
            files = row["files"]
            print(f"{name} ({row.get('aclnn_name') or row['announced']})", *(
                f"  {tr(how)}: {', '.join(found)}" for how in (message("own"), message("default"), message("missing"))
                if (found := [kind for kind, where in files.items() if where == how])), sep="\n")
    for line in registry.missing():
        print(line, file=sys.stderr)
    return 1 if registry.missing() else 0


def describe(options) -> int:
    """Describe an operator: its parameters with shapes, dtypes and defaults, its outputs, and what products take."""
    from aclnn_viz.operators import operator

    found = operator(options.operator).describe()
    print(json.dumps({"title": found.title, "about": found.about, "rows": found.rows, "products": found.products},
                     indent=1) if options.json else found)
    return 0


def new(options) -> int:
    """Write the skeleton of a new operator: page and declaration, with gaps to fill in, from C text or the vendor's document.

    Its tests, run with pytest in the new folder, list what is left to fill in, and then judge what was filled in.
    """
    from aclnn_viz.operators.skeleton import gaps, new_operator
    from aclnn_viz.storage.reading import read_file

    text = read_file(Path(options.prototype or options.doc), 1 << 20).decode("utf-8", "replace")  # in any encoding
    home = registry.ROOT / "aclnn_viz" / "operators" if options.in_repo else options.to
    folder = new_operator(options.name, text, home, options.in_repo)
    left = gaps(folder)
    print(json.dumps({"folder": str(folder), "gaps": left}) if options.json else "\n".join([tr(
        "{folder}: {n} gaps to fill in; run pytest there, it lists them", folder=folder, n=len(left)), *left * options.in_repo]))
    return 0
