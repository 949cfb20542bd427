"""The command that proves an operator's page."""

import json


def prove(options) -> int:
    """Prove for all sizes that what a page returns as gradients is the derivative of its forward pass, under all options.

    The exit status is 0 only when every theorem was proved; a counterexample is looked for where one was not.
    """
    from aclnn_viz.proving import prove

    result = prove(options.operator)
    print(json.dumps(result.content(), indent=1, default=str) if options.json else result)
    return 0 if result.holds else 1
