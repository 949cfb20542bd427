"""The commands for whoever compares the kit with what others publish: its conventions, its words."""

import json
from dataclasses import asdict


def conventions(options) -> int:
    """Show what each operator does at kinks, ties, for empty and special inputs, and what others say and do there.

    Every row is executed; the exit status is 0 only if the kernels do what is written down.
    """
    from aclnn_viz.operators import operator
    from aclnn_viz.verification import conventions

    rows = conventions.recompute([operator(options.operator)] if options.operator else None)
    content = conventions.to_json(rows)
    print(json.dumps(content, indent=1) if options.json else conventions.text_table(rows))
    return 0 if content["passed"] else 1


def glossary(options) -> int:
    """Show the terms of the field in English and in the vendor's Chinese, each with a sentence and with its source.

    The exit status is 2 when no term holds what was asked for.
    """
    from aclnn_viz.words import glossary

    found = glossary(options.term or "")
    print(json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False) if options.json else found)
    return 0
