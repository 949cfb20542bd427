"""The forward definitions of the derivations with every intermediate inserted, which takes longer than evaluating."""

from functools import cache
from importlib import import_module


@cache
def inlined(operator: str, name: str, *mode):
    """Return (node, expression) of an intermediate by its name, for one mode of an operator's derivation."""
    tape = import_module(f"derivations.{operator}").derive(*mode).tape
    node = tape.nodes[name]
    return node, tape.inline(node.entry)
