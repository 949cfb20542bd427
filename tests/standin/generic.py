"""C++ for operators without hand-written code in the stand-in: header and library layer from the declaration.

Such an operator takes the vendor's arguments, refuses null pointers, and fills its outputs with 0: it shows
protocol and ABI, not numbers.
"""

from collections.abc import Iterable
from pathlib import Path

from machine import taught

from aclnn_viz.acl.protocol import RUNTIME, Function, phases
from aclnn_viz.operators import Operator, operator, registry
from aclnn_viz.operators.contract import contract
from aclnn_viz.operators.parameters import ARRAYS

HERE = Path(__file__).resolve().parent
OWN = {path.name for path in (HERE / "include" / "aclnnop").glob("*.h")}
PHASE_2 = (
    "void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, const aclrtStream stream"
)


def without_their_own() -> list[Operator]:
    return [op for op in there() if op.header not in OWN]


def there() -> list[Operator]:
    """Return the operators of the stand-in: swish, which takes a scalar, and those of opened folders among them."""
    return [*taught(), operator("swish"), *map(operator, registry.outside())]


def functions() -> list[Function]:
    """Return the functions of the stand-in."""
    return [*RUNTIME, *(function for op in there() for function in phases(contract(op)))]


def _declaration(op: Operator) -> str:
    parameters = [f"{p.c_type} {p.c_name or p.name}".replace("* ", "*") for p in op.c_parameters]
    return (
        f"aclnnStatus {op.aclnn_name}GetWorkspaceSize(\n        "
        + ",\n        ".join([*parameters, "uint64_t *workspaceSize", "aclOpExecutor **executor"])
        + ")"
    )


def header(op: Operator) -> str:
    guard = op.header.upper().replace(".", "_")
    return (
        f'#ifndef {guard}\n#define {guard}\n#include "aclnn/acl_meta.h"\n#ifdef __cplusplus\nextern "C" {{\n'
        f"#endif\n{_declaration(op)};\naclnnStatus {op.aclnn_name}({PHASE_2});\n#ifdef __cplusplus\n}}\n#endif\n"
        "#endif\n"
    )


def source(ops: Iterable[Operator]) -> str:
    """Return one file for all of them, because the includes cost the compiler half a second."""
    return (
        "".join(map(header, ops))
        + '#include "sim.h"\n\nusing namespace standin;\n\nextern "C" {\n'
        + ("".join(map(_layer, ops)) + '\n}  // extern "C"\n')
    )


def _layer(op: Operator) -> str:
    lines = []
    for p in op.c_parameters:
        name = p.c_name or p.name
        if p.kind in ARRAYS:
            lines.append(f'p.require({name}, ACLNN_ERR_PARAM_NULLPTR, "{name} is null");')
        elif p.kind == "tensor" and p.output:
            lines.append(
                f'if (auto given = p.optional_output("{name}", {name})) outputs.push_back(*given);'
            )
        elif p.kind == "tensor":
            lines.append(f'p.{"input" if p.required else "optional"}("{name}", {name});')
        else:
            lines.append(f"(void){name};")
    body = "\n        ".join(lines)
    return f"""
{_declaration(op)} {{
    Phase1 p("{op.aclnn_name}", false, workspaceSize, executor);
    return p.run([&] {{
        p.pointers();
        std::vector<Tensor> outputs;
        {body}
        p.launch(0, [=] {{
            for (const Tensor &each : outputs) write(each, std::vector<double>(each.size(), 0));
        }});
    }});
}}

aclnnStatus {op.aclnn_name}({PHASE_2}) {{
    return phase2("{op.aclnn_name}", workspace, workspaceSize, executor, stream);
}}
"""
