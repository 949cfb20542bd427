"""Parse C prototypes from text into function names, return types and parameters."""

import re
from dataclasses import dataclass

from aclnn_viz.errors import invalid, shown
from aclnn_viz.operators.parameters import Parameter

_ENUMS = (
    "aclDataType",
    "aclFormat",
    "aclrtMemMallocPolicy",
    "aclrtMemcpyKind",
    "aclSysParamOpt",
    "aclCannAttr",
    "aclrtMemAttr",
)
#: Bits and signedness of the integer types.
INTEGERS = {
    "int32_t": (32, True),
    "uint32_t": (32, False),
    "int64_t": (64, True),
    "uint64_t": (64, False),
    "size_t": (64, False),
} | {name: (32, True) for name in _ENUMS}
#: Types that a function returns through a pointer argument.
VALUE_TYPES = {*INTEGERS, "aclrtStream", "aclrtContext"}


@dataclass(frozen=True)
class Prototype:
    """One declared function: its name, return type, and parameters in C order."""

    name: str
    return_type: str
    parameters: tuple[Parameter, ...]


def parse(text: str) -> tuple[Prototype, ...]:
    """Read C prototypes.

    >>> [(p.name, p.role) for p in parse("aclError aclrtMalloc(void **address, size_t size);")[0].parameters]
    [('address', 'out'), ('size', 'in')]
    """
    found = re.findall(r"([\w ]+?[\s*]+)(\w+)\s*\(([^)]*)\)\s*(?:;|\Z)", text)
    return tuple(
        Prototype(
            name,
            result.strip(),
            tuple(
                _parameter(one) for one in parameters.split(",") if one.strip() not in ("", "void")
            ),
        )
        for result, name, parameters in found
    )


def _parameter(declaration: str) -> Parameter:
    found = re.fullmatch(r"(.*?[\s*])([A-Za-z_]\w*)", declaration.strip(), re.DOTALL)
    if not found:
        raise invalid(
            "a parameter of a C function has a type and a name",
            shown(declaration.strip()),
            "write such as const aclTensor *self",
        )
    c_type, name = found.groups()
    c_type = " ".join(c_type.split())
    base = c_type.rstrip("* ")
    if name.endswith("_num"):
        role = "count"
    elif c_type.endswith("**") or c_type.endswith("*") and base in VALUE_TYPES:
        role = "out"
    else:
        role = "in"
    return Parameter(name, c_type, role)
