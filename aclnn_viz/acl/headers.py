"""The installed headers of the operators: what they declare, held against the built-in prototypes.

A header's float or double wins over the built-in one; any other difference means another operator than the one known.
The headers of the generated operators exist only in an installation. Source: `tools/build/opbuild` of asc-devkit.
"""

import re
from dataclasses import replace
from pathlib import Path

from aclnn_viz.acl.protocol import Function

_REALS = {"float", "double"}
_NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|^\s*#(?:\\\n|[^\n])*|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)",
                      re.DOTALL | re.MULTILINE)


class PrototypeDiffers(Exception):
    """The header declares another function than the built-in table; the message has both."""


def declarations(text: str) -> dict[str, tuple[str, ...]]:
    """Return what a header declares: per function its return type and the types of its parameters.

    >>> declarations("aclnnStatus aclnnX(void *workspace, uint64_t size, const aclrtStream stream);")
    {'aclnnX': ('aclnnStatus', 'void*', 'uint64_t', 'aclrtStream')}
    """
    code = _NO_CODE.sub(" ", text)
    found = re.findall(r"(\w+[\s*]+)(\w+)\s*\(([^()]*)\)\s*;", code)
    return {name: (plain(result + " f"), *map(plain, _split(parameters))) for result, name, parameters in found}


def _split(parameters: str) -> list[str]:
    return [] if parameters.strip() in ("", "void") else parameters.split(",")


def plain(declaration: str) -> str:
    """Return the type of a declared parameter as the calling convention sees it: without its name and const.

    >>> plain("const aclTensor *self"), plain("double")
    ('aclTensor*', 'double')
    """
    words = [word for word in re.findall(r"\w+", declaration) if word not in ("const", "struct")]
    pointers = declaration.count("*") + declaration.count("[")
    return " ".join(words[:-1] or words) + "*" * pointers


def reconciled(function: Function, header: Path) -> Function:
    """Return the function with the header's float or double; raises PrototypeDiffers for any other difference."""
    declared = declarations(header.read_text("utf-8", "replace")).get(function.name)
    expected = (plain(function.return_type + " f"), *(plain(f"{p.c_type} {p.name}") for p in function.parameters))
    if declared is None:
        raise PrototypeDiffers(f"{header} does not declare {function.name}")
    if len(declared) != len(expected) or any(a != b and not {a, b} <= _REALS for a, b in zip(declared, expected)):
        raise PrototypeDiffers(f"{header} declares {_shown(function.name, declared)}, "
                               f"known is {_shown(function.name, expected)}")
    parameters = tuple(replace(p, c_type=real) if real in _REALS else p
                       for p, real in zip(function.parameters, declared[1:]))
    return replace(function, parameters=parameters)


def _shown(name: str, types: tuple[str, ...]) -> str:
    return f"{types[0]} {name}({', '.join(types[1:])})"
