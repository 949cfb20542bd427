"""The derivations behind the operators, and their forward definitions with every intermediate inserted."""

from functools import cache
from inspect import signature

from aclnn_viz import rooms


def derivation(operator: str, mode: dict):
    """Return the derivation of an operator for a mode, of which it takes the attributes that change its formulas."""
    derive = rooms.module("derivation", operator).derive
    return derive(**{name: mode[name] for name in signature(derive).parameters if name in mode})


@cache
def inlined(operator: str, name: str, *mode):
    """Return (node, expression) of an intermediate by its name, for one mode of an operator's derivation.

    To insert everything takes longer than to evaluate it.
    """
    tape = rooms.module("derivation", operator).derive(*mode).tape
    node = tape.nodes[name]
    return node, tape.inline(node.entry)
