"""Write headers and a library with which C++ programs for CANN compile and run here.

The folder has the form of an installation, `include/` and `lib64/`, cached by its content. The library sends each call to the
emulator (`emulator.py`), which the program starts or `aclnn-viz cpp run` has started. Sources: the header files of the CANN
runtime and of nnopbase that `acl.protocol` and `operators.codes` name.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from aclnn_viz.acl.protocol import FUNCTIONS, RUNTIME, Function, phases
from aclnn_viz.operators import codes, operators
from aclnn_viz.operators.contract import contract
from aclnn_viz.tiles.compiler import compiler, kept, translate

INCLUDE = Path(__file__).parent / "include"
PACKAGE = Path(__file__).parents[1]
LIBRARIES = (
    "ascendcl",
    "acl_rt",
    "nnopbase",
    "opapi",
    "opapi_nn",
    "opapi_cv",
    "opapi_math",
    "opapi_transformer",
)
HANDLES = (
    "aclTensor",
    "aclBoolArray",
    "aclIntArray",
    "aclFloatArray",
    "aclScalar",
    "aclOpExecutor",
)
# written by hand in client.cpp, because they access host memory
BY_HAND = ("aclrtMemcpy", "aclrtMemset", "aclCreateScalar")


def installation() -> Path:
    """Return the folder of headers and library, created if missing."""
    files = dict(headers())
    source = client()
    command = [
        compiler(),
        "-std=c++17",
        "-O0",
        "-g1",
        "-fPIC",
        "-shared",
        "-pthread",
        f"-DACLNN_VIZ_PYTHON={_quoted(sys.executable)}",
        f"-DACLNN_VIZ_ROOT={_quoted(str(PACKAGE.parent))}",
    ]
    own = [path.read_text("utf-8") for path in sorted(INCLUDE.iterdir())]

    def make(folder: Path):
        for name, text in files.items():
            (place := folder / "include" / name).parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        (folder / "lib64").mkdir()
        library = folder / "lib64" / "libaclnn_viz.so"
        translate(
            [
                *command,
                f"-I{folder / 'include'}",
                f"-I{INCLUDE}",
                "-x",
                "c++",
                "-",
                "-o",
                library,
            ],
            source,
            library,
        )
        for name in LIBRARIES:
            (folder / "lib64" / f"lib{name}.so").symlink_to(library.name)

    return kept((*command, source, *files, *files.values(), *own), "cann", make)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def flags(root: Path) -> dict[str, list[str]]:
    """Return the compiler and linker flags for a program that uses the emulated CANN."""
    return {
        "compile": [f"-I{root / 'include'}", f"-I{root / 'include' / 'aclnnop'}"],
        "link": [
            f"-L{root / 'lib64'}",
            f"-Wl,-rpath,{root / 'lib64'}",
            "-lopapi",
            "-lnnopbase",
            "-lascendcl",
        ],
    }


def headers() -> Iterable[tuple[str, str]]:
    """Yield the path and text of each header."""
    status = "".join(f"#define {name} {value}\n" for name, value in codes.TYPES["status"].items())
    enumerations = "".join(
        _enumeration(name, values) for name, values in codes.TYPES.items() if name != "status"
    )
    yield (
        "acl/acl_base.h",
        _header(f"""#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef __cplusplus
#include <array>  // which the vendor's samples take from other headers of older compilers
#endif

typedef int aclError;
typedef int32_t aclnnStatus;
typedef void *aclrtStream;
typedef void *aclrtContext;

#define ACL_ERROR_NONE 0
{status}
{enumerations}"""),
    )
    runtime = [one for one in RUNTIME if not _of_operators(one)]
    yield (
        "acl/acl_rt.h",
        _header(
            '#include "acl/acl_base.h"\n', runtime, (INCLUDE / "acl_more.h").read_text("utf-8")
        ),
    )
    yield "acl/acl.h", _header('#include "acl/acl_base.h"\n#include "acl/acl_rt.h"\n')
    yield "aclnn/aclnn_base.h", _header('#include "acl/acl_base.h"\n')
    types = "".join(f"typedef struct {name} {name};\n" for name in HANDLES)
    yield (
        "aclnn/acl_meta.h",
        _header('#include "aclnn/aclnn_base.h"\n\n' + types, filter(_of_operators, RUNTIME)),
    )
    # a header may declare two operators
    for name in dict.fromkeys(op.header for op in operators()):
        declared = [one for op in operators() if op.header == name for one in phases(contract(op))]
        yield f"aclnnop/{name}", _header('#include "aclnn/acl_meta.h"\n', declared)


def _of_operators(function: Function) -> bool:
    """Return whether acl_meta.h declares a function, that is, one of descriptors,
    of executors or of the aclnn interface.
    """
    text = function.prototype
    return "aclnn" in text or any(f"{name} " in text for name in HANDLES)


def _enumeration(name: str, values: dict[str, int]) -> str:
    return f"typedef enum {{\n{''.join(f'    {one} = {value},{chr(10)}' for one, value in values.items())}}} {name};\n\n"


def _header(before: str, functions: Iterable[Function] = (), more: str = "") -> str:
    declared = "".join(f"{prototype(one)};\n" for one in functions)
    if declared or more:
        more = more.replace("#pragma once\n", "")
        includes = "".join(line + "\n" for line in more.splitlines() if line.startswith("#include"))
        more = "\n".join(line for line in more.splitlines() if not line.startswith("#include"))
        declared = f'{includes}\n#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{declared}\n{more}\n\n#ifdef __cplusplus\n}}\n#endif\n'
    return f"// Written by aclnn-viz from its declarations.\n#pragma once\n\n{before}{declared}"


def prototype(function: Function) -> str:
    """Return the declaration of a function, with the parameter names of the vendor's header."""
    declared = ", ".join(
        f"{p.c_type} {p.c_name or p.name}".replace("* ", "*") for p in function.parameters
    )
    return f"{function.return_type} {function.name}({declared or 'void'})".replace("* ", "*")


def client() -> str:
    """Return the C++ source of the library that passes calls to the emulator."""
    stubs = "".join(_stub(one) for one in FUNCTIONS if one.name not in BY_HAND)
    includes = "".join(f'#include "aclnnop/{op.header}"\n' for op in operators())
    return f'#include "client.cpp"\n{includes}\nusing aclnn_viz_client::Array;\nusing aclnn_viz_client::List;\n\nextern "C" {{\n{stubs}}}\n'


def _stub(function: Function) -> str:
    """Return the C function that sends the arguments and stores the answer."""
    given, out, count = [f'"{function.name}"', "HERE"], [], None
    for p, after in zip(function.parameters, (*function.parameters[1:], None)):
        name = p.c_name or p.name
        counted = after is not None and after.role == "count"
        if p.role == "in":
            # strides and dims share one count
            count = after.name if counted else count
            kind = p.c_type.removeprefix("const ").removesuffix(" *")
            given.append(
                f"Array<{kind}>{{{name}, {count}}}"
                if kind in ("int64_t", "bool", "float") and p.c_type.endswith("*")
                else name
            )
        elif p.role == "out":
            out.append(
                f"List<{p.c_type.rstrip(' *')}>{{{name}, {after.name}}}" if counted else name
            )
    match function.return_type:
        case "aclError" | "aclnnStatus" as kind:
            null = "ACL_ERROR_INVALID_PARAM" if kind == "aclError" else "ACLNN_ERR_PARAM_NULLPTR"
            answer = f"status({', '.join((null, *out))})"
        case "const char *":
            answer = "text()"
        case kind:
            answer = f"value<{kind}>()"
    return f"{prototype(function)} {{ return Call({', '.join(given)}).{answer}; }}\n"
