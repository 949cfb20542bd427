"""Write a new operator from forward formulas alone: derive the backward ones, and from both declaration.py (shapes, dtypes)."""

import ast
from inspect import signature
from pathlib import Path

from aclnn_viz.errors import invalid, loaded
from aclnn_viz.operators.skeleton import TEST, fresh
from aclnn_viz.proving.derivation import Derivation, derive
from aclnn_viz.proving.subjects import fixed, size
from aclnn_viz.storage.results import add, new_folder

SAID = ("SHAPES", "SAVED", "WRT", "LABELS")
_DECLARATION = '''"""The declaration of {aclnn_name}: the gradients of {forward}, derived from its forward page."""

from aclnn_viz.operators import Attribute, Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="{name}", page=page,
    prototype="""aclnnStatus {aclnn_name}GetWorkspaceSize(
        {prototype},
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_{name}_grad.h", library="ops-nn",
    formats={{WITH_BFLOAT16: "float32 float16 bfloat16"}},
    tensors={{
{tensors}
    }},
    attributes={{{attributes}}},
    sizes={sizes},
    takes={takes}, gives={gives},
    upstream={upstream}, saved={saved},
    gradient_of={gradients}, like="{like}",
)
'''


def _run(file: str | Path) -> tuple[str, dict]:
    """Return the text of a file, and the names that it defines."""
    text, space = Path(file).read_text("utf-8"), {"__name__": Path(file).stem}
    exec(compile(text, str(file), "exec"), space)
    return text, space


def from_forward(name: str, file: str | Path, folder: str | Path) -> tuple[Path, Derivation]:
    """Write the operator `folder`/`name` whose forward page is `file`; return its folder and the derivation of its backward
    page.

    The file defines forward(xp, ...) and SHAPES = {"x": ("r", "n")}, and optionally SAVED = ("rstd",), LABELS = {"target": "n"}
    and WRT = ("x",), the inputs whose gradients are wanted, by default all of real numbers. Raises ValueError for a file
    without these, for pages that `derive` refuses, and for a name in use.
    """
    text, space = loaded(file, lambda: _run(file))
    name = name or Path(file).stem
    target = fresh(name, folder)
    if "forward" not in space or not isinstance(space.get("SHAPES"), dict) or "backward" in space:
        raise invalid(
            f"{file} defines forward(xp, ...) and SHAPES, no backward",
            ", ".join(n for n in space if n[0] != "_") or "nothing",
            'add such as SHAPES = {"x": ("r", "n"), "gamma": ("n",)}',
        )
    shapes, labels, saved = space["SHAPES"], space.get("LABELS", {}), space.get("SAVED", ())
    derivation = derive(
        space["forward"],
        space.get("WRT", tuple(x for x in shapes if x not in labels)),
        saved,
        shapes,
        labels,
    )
    lengths = {x: tuple(map(size, shape)) for x, shape in shapes.items()} | derivation.outputs
    files = {
        "page.py": _page(text, derivation, lengths),
        "declaration.py": _declaration(name, derivation, lengths, labels, tuple(saved)),
        f"test_{name}.py": TEST.format(name=name),
    }
    with new_folder(target) as own:
        for path, content in files.items():
            add(own / path, content.encode())
    return target, derivation


def _page(text: str, derivation: Derivation, lengths: dict) -> str:
    """Return the file's text without SHAPES, SAVED, WRT and LABELS, plus AXES (no axis is cut) and backward."""
    tree, lines = ast.parse(text), text.splitlines()
    for node in reversed(tree.body):
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in SAID for t in node.targets
        ):
            del lines[node.lineno - 1 : node.end_lineno]
    about = ast.get_docstring(tree, clean=False)
    if about is not None:
        del lines[tree.body[0].lineno - 1 : tree.body[0].end_lineno]
    axes = {x: "." * len(shape) for x, shape in _with_gradients(derivation, lengths).items()}
    return (
        f'"""{about or "Forward and backward of one operator: the backward page was derived from the forward one."}"""\n'
        + "\n".join(
            ["", f"AXES = {axes}", "", "", "\n".join(lines).strip(), "", "", derivation.source]
        )
    )


def _with_gradients(derivation: Derivation, lengths: dict) -> dict:
    taken = list(signature(derivation.backward).parameters)[1:]
    return (
        lengths
        | {d: lengths[d[1:]] for d in taken if d[1:] in derivation.outputs and d not in lengths}
        | {f"d{x}": lengths[x] for x in derivation.wrt}
    )


def _declaration(
    name: str, derivation: Derivation, lengths: dict, labels: dict, saved: tuple
) -> str:
    tensors, formulas = _with_gradients(derivation, lengths), {}
    taken = list(signature(derivation.backward).parameters)[1:]
    numbers = {
        n: p.default
        for n, p in list(signature(derivation.forward).parameters.items())[1:]
        if n not in lengths and n not in fixed(derivation.forward)
    }

    def letter(n):
        if n.is_Symbol or n.is_Integer:
            return str(n).upper()
        if n.is_Mul and all(f.is_Symbol or f.is_Integer for f in n.args):
            return f"({str(n).upper()})"  # the letter of one axis of the page
        return formulas.setdefault(str(n).upper(), f"L{len(formulas)}")

    def tensor(x):
        more = (
            f', "int64 or int32", low=0, high="{letter(size(labels[x]))} - 1"'
            if x in labels
            else ""
        )
        return f'        "{x}": Tensor("{" ".join(map(letter, tensors[x])) or "()"}"{more}),'

    def attribute(n):
        default = numbers[n]
        if n in ("eps", "epsilon"):
            return f'\n        "{n}": Attribute.epsilon({default if isinstance(default, float) else 1e-5}),'
        return f'\n        "{n}": Attribute("{"bool" if isinstance(default, bool) else "double"}", {default if isinstance(default, bool | float) else 1.0}),'

    parameters = [
        f"const aclTensor *{n}"
        if n in tensors
        else f"{'bool' if isinstance(numbers[n], bool) else 'double'} {n}"
        for n in taken
    ]
    parameters += [f"const aclTensor *d{x}" for x in derivation.wrt]
    rows = "\n".join(map(tensor, tensors))
    return _DECLARATION.format(
        name=name,
        aclnn_name=f"aclnn{name.title().replace('_', '')}Grad",
        forward=name,
        prototype=",\n        ".join(parameters),
        tensors=rows,
        attributes="".join(map(attribute, numbers)) + "\n    " * bool(numbers),
        sizes={length: text for text, length in formulas.items()},
        takes=(
            *(x for x in signature(derivation.forward).parameters if x in lengths or x in numbers),
        ),
        gives=tuple(derivation.outputs),
        upstream={
            d: d[1:]
            for d in taken
            if d[1:] in derivation.outputs and d[0] == "d" and d not in lengths
        },
        saved={y: y for y in taken if y in saved},
        gradients={f"d{x}": x for x in derivation.wrt},
        like=next((x for x in (*derivation.wrt, *taken) if x in taken and x in tensors), taken[0]),
    )
