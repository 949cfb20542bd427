"""The commands to look things up and to make operators: `operators`, `describe`, `new`, `prove`, `conventions`, `why`,
`museum`, `glossary`.
"""

import os
import sys
from dataclasses import asdict
from pathlib import Path

from aclnn_viz.cli.checks import show
from aclnn_viz.errors import place_of
from aclnn_viz.words.messages import enumerated, message, tr


def operators(options) -> int:
    """List the operators and where each of their files comes from: its own, the default, or missing.

    The exit status is 1 when a required file is missing.
    """
    from aclnn_viz.operators import operators as all_operators
    from aclnn_viz.operators import registry

    rows = {
        op.name: {
            "aclnn_name": op.aclnn_name,
            "files": {
                kind: "own"
                if registry.file(kind, op.name)
                else "missing"
                if kind in registry.REQUIRED
                else "default"
                for kind in registry.KINDS
            },
        }
        for op in all_operators()
    }
    text = []
    for name, row in rows.items():
        text.append(f"{name} ({row['aclnn_name']})")
        for how in (message("own"), message("default"), message("missing")):
            if files := [kind for kind, where in row["files"].items() if where == how]:
                text.append("  " + tr("{name}: {what}", name=how, what=enumerated(files)))
    show(options, rows, "\n".join(text))
    for line in registry.missing():
        print(line, file=sys.stderr)
    return 1 if registry.missing() else 0


def describe(options) -> int:
    """Describe an operator: its parameters with shapes, dtypes and defaults, its outputs, and what products take."""
    from aclnn_viz.operators import operator

    found = operator(options.operator).describe()
    show(
        options,
        {
            "title": found.title,
            "about": found.about,
            "rows": found.rows,
            "products": found.products,
        },
        found,
    )
    return 0


def new(options) -> int:
    """Write a new operator's page and declaration: from C text with gaps to fill in, from a forward page without gaps.

    From a forward page the backward page is derived; the exit status is 1 where it is not proved. Its tests, run with pytest in the new folder, list what is left to fill in, and then judge what was filled in.
    """
    from aclnn_viz.operators.skeleton import gaps, new_operator
    from aclnn_viz.storage.readers import need_text

    if options.forward:
        from aclnn_viz.proving.new_operator import from_forward

        folder, found = from_forward(options.name, options.forward, options.to)
        show(
            options,
            {"folder": str(folder), "gaps": [], "proof": found.proof.content()},
            f"{folder}\n{found.proof}",
        )
        return 0 if found.proof.holds else 1
    # the header may be in any encoding
    text = need_text(place_of(options.prototype), 1 << 20).read_text("utf-8", "replace")
    folder = new_operator(options.name, text, options.to)
    left = gaps(folder)
    show(
        options,
        {"folder": str(folder), "gaps": left},
        tr(
            "{folder}: {n} gaps to fill in; run pytest there, it lists them",
            folder=folder,
            n=len(left),
        ),
    )
    return 0


def prove(options) -> int:
    """Prove for all sizes that what a page returns as gradients is the derivative of its forward pass, under all options.

    The exit status is 0 only when every theorem was proved; a counterexample is looked for where one was not.
    """
    from aclnn_viz.proving import prove

    result = prove(options.operator)
    show(options, result.content(), result, default=str)
    return 0 if result.holds else 1


def conventions(options) -> int:
    """Show what each operator does at kinks, ties, for empty and special inputs, and what others say and do there.

    Every row is executed on the kit's kernel, and on PyTorch where that is installed; else its column shows what PyTorch gave when
    it was recorded. The exit status is 0 only if the kernels do what is written down.
    """
    from aclnn_viz.operators import operator
    from aclnn_viz.verification import conventions

    rows = conventions.recompute([operator(options.operator)] if options.operator else None)
    content = conventions.to_json(rows)
    show(options, content, conventions.text_table(rows))
    return 0 if content["passed"] else 1


def why(options) -> int:
    """Explain a status code or a log: what failed first, which errors only follow, what to try, and which check of the call fails.

    The exit status is 1 when nothing of it is known.
    """
    from aclnn_viz.acl.why import why

    text = sys.stdin.read() if options.what in (None, "-") else options.what
    found = why(
        Path(text).read_text("utf-8", "replace") if os.path.isfile(text) else text,
        options.soc,
        options.cann,
    )
    show(options, found.to_json(), found, ensure_ascii=False)
    return 0 if found.meanings else 1


def museum(options) -> int:
    """Show mistakes of published kernels, each with its public thread, replayed by a test that misses it and one that does not.

    The exit status is 2 when there is none of that name.
    """
    from aclnn_viz.checking import museum

    found = museum(options.name)
    show(
        options,
        [one.to_json() for one in found],
        "\n\n".join(map(str, found)) if options.name else found,
    )
    return 0


def glossary(options) -> int:
    """Show the terms of the field in English and in the vendor's Chinese, each with a sentence and with its source.

    The exit status is 2 when no term holds what was asked for.
    """
    from aclnn_viz.words import glossary

    found = glossary(options.term or "")
    show(options, [asdict(one) for one in found], found, ensure_ascii=False)
    return 0
