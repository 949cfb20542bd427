"""A tile program as a sketch in Ascend C: the same names, the same lines, the numbers of one launch.

The translation is mechanical, from the syntax tree of the Python program: what it does not know stays as a comment. It
is a sketch: nobody compiled it.
"""

import ast
import inspect
import textwrap

import numpy as np

from aclnn_viz.errors import need
from aclnn_viz.operators import operator
from aclnn_viz.tiles.formats import c_name, fitting
from aclnn_viz.tiles.launching import DEFAULT_SOC, Program
from aclnn_viz.tiles.lift_lines import Lines
from aclnn_viz.tiles.platforms import Platform

_HEAD = """\
// A sketch in Ascend C of the tile program {name} ({aclnn}), with the numbers of one launch on {soc}.
// Made line by line from Python; not compiled here. Types written as auto or int64_t may need yours.
#include "kernel_operator.h"
using namespace AscendC;
"""
_CEIL = "__aicore__ inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }\n"


def sketch(program: Program, /, soc: str = DEFAULT_SOC, cores: int | None = None, unified_buffer: int | None = None,
           **inputs) -> str:
    """Return an Ascend C sketch of a program: tiling struct with its numbers, kernel class, entry function.

    >>> import aclnn_viz as av
    >>> text = sketch(av.tiles.programs("hardswish")[0], **av.case("hardswish").inputs)
    >>> "PipeBarrier<PIPE_V>();" in text, "self." in text
    (True, False)
    """
    need(program, Program, "a tile program is a Program", "pass av.tiles.programs(op)[0]")
    op, platform = operator(program.operator), Platform.of(soc, cores, unified_buffer)
    tiling = program.tiling(platform, **fitting(op, inputs)[0])
    module = inspect.getmodule(program.kernel)
    tree = ast.parse(inspect.getsource(module))
    classes = [getattr(module, node.name) for node in tree.body if isinstance(node, ast.ClassDef)]
    modules = dict.fromkeys(inspect.getmodule(one) for cls in classes for one in _above(cls)) or [module]
    lines = Lines()
    parts = [_HEAD.format(name=program.name, aclnn=op.aclnn_name, soc=soc), *_types(tiling), _struct(tiling),
             f"// On the host: blockDim = {tiling.blockDim}, user workspace = {tiling.workspace} bytes.\n",
             *(line for one in modules for line in _constants(ast.parse(inspect.getsource(one)), lines)), _CEIL,
             *(lines.kernel_class(_as_one(cls)) for cls in classes)]
    entry = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "kernel")
    return "\n".join([*parts, _entry(entry, program, lines)])


def _above(cls) -> list[type]:
    """The classes that a class extends, and itself last."""
    return cls.__mro__[-2::-1]


def _as_one(cls) -> ast.ClassDef:
    """One class in place of a class and those it extends, whose methods it may replace: nothing virtual on a core."""
    methods = {}
    for one in _above(cls):
        node = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        methods.update((part.name, part) for part in node.body if isinstance(part, ast.FunctionDef))
    node.body = list(methods.values())
    return node


def _types(tiling) -> list[str]:
    """The formats of the launch; C++ has them as template arguments chosen by the tiling key."""
    return [f"using {name} = {c_name(value)};" for name, value in tiling.numbers.items()
            if isinstance(value, np.dtype)] + [""]


def _struct(tiling) -> str:
    fields = []
    for name, value in {"blockDim": tiling.blockDim, **tiling.numbers}.items():
        if isinstance(value, bool):
            fields.append(f"bool {name} = {str(value).lower()};")
        elif isinstance(value, float):
            fields.append(f"float {name} = {value!r}f;")
        elif isinstance(value, int):
            fields.append(f"int64_t {name} = {value};")
    return "struct TilingData {\n" + textwrap.indent("\n".join(fields), "    ") + "\n};\n"


def _constants(tree: ast.Module, lines: Lines) -> list[str]:
    """Module-level numbers and padding."""
    found = [f"constexpr int64_t {node.targets[0].id} = {node.value.value};" for node in tree.body
             if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
             and isinstance(node.value.value, int)]
    found += [f"const DataCopyPadExtParams<T> {node.targets[0].id} = {lines.text(node.value)};" for node in tree.body
              if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("DataCopyPadExtParams(")]
    return found


def _entry(entry: ast.FunctionDef, program: Program, lines: Lines) -> str:
    *tensors, _ = (argument.arg for argument in entry.args.args)
    arguments = ", ".join(f"GM_ADDR {name}" for name in (*tensors, "tiling"))
    made = next(node for node in entry.body if isinstance(node, ast.Assign))
    body = [f"{made.value.func.id} op;"]
    body += [lines.text(node.value) + ";" for node in entry.body[1:] if isinstance(node, ast.Expr)]
    return (f'extern "C" __global__ __aicore__ void {program.name}({arguments}) {{\n'
            "    GET_TILING_DATA(tilingData, tiling);\n"
            + textwrap.indent("\n".join(body).replace("tiling)", "tilingData)"), "    ") + "\n}\n")


