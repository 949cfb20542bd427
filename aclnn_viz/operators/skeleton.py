"""Write the folder of a new operator from its C prototype: page.py (formulas) and declaration.py (shapes, dtypes), with gaps to
fill in.

Names and types come from the C prototype. The purpose of each parameter is guessed from them, or left as a gap.
"""

import re
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path
from textwrap import wrap

from aclnn_viz.errors import invalid, shown
from aclnn_viz.operators import registry
from aclnn_viz.operators.parameters import KINDS, Parameter
from aclnn_viz.operators.patterns import pattern
from aclnn_viz.operators.prototype import Prototype, parse
from aclnn_viz.storage.results import add, new_folder

LONGEST = 100  # most letters of an operator's name, because files have that name
PROTOTYPE = re.compile(r"aclnnStatus\s+aclnn\w+GetWorkspaceSize\s*\([^)]*\)")
#: Names of tensors that forward saves.
SAVED = r"output$|result$|.*mean$|.*rstd|.*invstd|softmaxmax|softmaxsum|softmaxin|sumexp|logprob|gelu$|loga|negloglik|lse|.*counter"
_PAGE = '''"""Forward and backward of {gap}: what is computed, in the letters that this page uses.

Source: {gap}: the public document or file that the formulas are from.
"""

# {gap}: one character for each axis of every tensor, outputs too, two for one that is a product such as G*D: a letter where
# blocks may be cut, a dot where not.
AXES = {{{axes}}}


def forward(xp, {forward}):
    # {gap}: the forward operator over Array API functions of xp
    return {{{results}}}


def backward(xp, {backward}):
    # {gap}: the gradients, from the saved tensors as they are given
    return {{{outputs}}}
'''
_DECLARATION = '''"""The declaration of {aclnn_name}: {gap}: the shapes of its tensors in a few words.
"""

from aclnn_viz.operators import Attribute, Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="{name}", page=page,
    prototype="""aclnnStatus {function}(
        {prototype});""",
    header="{snake}.h", library="ops-nn",{c_names}  # {gap}: the header under aclnnop/ and the vendor's repository
    formats={{  # {gap}: what each product takes
        WITH_BFLOAT16: "float32 float16 bfloat16",
    }},
    tensors={{  # {gap}: a shape pattern for each, such as "N C *P", and a dtype rule where it is not that of `like`
{tensors}
    }},
    attributes={{  # {gap}: default, values, low and high, and values worth trying, of each; forward ones such as eps, too
{attributes}
    }},
    takes=({takes}),  # {gap}: the parameters of the forward operator
    gives=({gives}),  # {gap}: its outputs, saved tensors among them
    upstream={{{upstream}}},  # {gap}: upstream gradient -> the forward output that it belongs to
    saved={{{saved}}},  # {gap}: saved tensor -> the forward output that it is, if there are any
    gradient_of={{{gradients}}},  # {gap}: output -> the forward parameter whose gradient it is
    like="{like}",  # {gap}: the tensor that sets format and sizes
    sizes={{}},  # {gap}: length -> formula, such as "Ho": "(H + 2*padding[0] - kernelSize[0]) // stride[0] + 1"
    shapes=(),  # {gap}: options of av.case worth trying, such as {{"shape": (4, 6)}}
)
'''
TEST = '''"""What {name} has to pass: run pytest in this folder."""

from pathlib import Path

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.operators import registry
from aclnn_viz.operators.skeleton import gaps

FOLDER = Path(__file__).parent
filled = pytest.mark.skipif(bool(gaps(FOLDER)), reason="there are gaps to fill")


def test_nothing_is_left_to_fill():
    assert not gaps(FOLDER), "\\n".join(["to fill in:", *gaps(FOLDER)])


@filled
def test_the_kit_verifies_it():
    from aclnn_viz.verification import numeric, symbolic

    op = av.operator(FOLDER)
    rows = [check() for check in (*numeric.checks([op]), *symbolic.checks([op]))]
    assert rows and [row for row in rows if not row.passed] == []


@filled
def test_the_emulated_device_gives_the_same_bits():
    op = av.operator(FOLDER)
    inputs = av.case(op).inputs
    with av.open_device("host") as device:
        found = device.run(op, **inputs)
    assert all(np.array_equal(found[name], value) for name, value in op.backward(**inputs).items())


@filled
def test_the_checker_passes_the_page_and_refuses_a_wrong_kernel():
    op = av.operator(FOLDER)
    assert av.check(op, op.backward).passed
    assert not av.check(op, lambda **inputs: {{k: 2 * v + 1 for k, v in op.backward(**inputs).items()}}, depth="quick").passed
'''


def new_operator(name: str, text: str, folder: str | Path) -> Path:
    """Write the skeleton of an operator into `folder`/`name` and return that folder.

    `text` is C that declares phase 1, such as the vendor's header; it names the operator where `name` is empty. Raise
    ValueError for a name that is no Python name or taken, for text without exactly one such function, and for an existing
    folder.

    >>> import tempfile
    >>> text = "aclnnStatus aclnnSoftsignBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self, " \\
    ...     "aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor)"
    >>> sorted(path.name for path in new_operator("softsign", text, tempfile.mkdtemp()).iterdir())
    ['declaration.py', 'page.py', 'test_softsign.py']
    """
    text = text.replace("\0", " ")  # a Python file cannot hold a NUL
    declared = [
        function for each in PROTOTYPE.findall(_plain(text)) for function in parse(f"{each};")
    ]
    if len(declared) != 1:
        raise invalid(
            "the prototype declares one function aclnn...GetWorkspaceSize",
            ", ".join(function.name for function in declared) or "none",
            "pass its declaration alone",
        )
    snake = re.sub(
        r"(?<=[a-z0-9])(?=[A-Z])", "_", declared[0].name.removesuffix("GetWorkspaceSize")
    ).lower()
    name = name or re.sub("^aclnn_|_(backward|grad)(?=$|_v)", "", snake)
    target = fresh(name, folder)
    words = _words(name, snake, declared[0])
    with new_folder(target) as own:
        for file, template in {
            "page.py": _PAGE,
            "declaration.py": _DECLARATION,
            f"test_{name}.py": TEST,
        }.items():
            add(own / file, template.format(**words).encode(errors="replace"))
    return target


def fresh(name: str, folder: str | Path) -> Path:
    """Return a new operator's folder; raise ValueError for a name that is no Python name or taken, and for an existing
    folder.
    """
    if (
        not name.isidentifier()
        or iskeyword(name)
        or len(name) > LONGEST
        or name in registry.names()
    ):
        raise invalid(
            f"an operator needs a name of at most {LONGEST} letters that Python takes and no operator has",
            shown(name),
            "choose one such as my_op",
        )
    target = Path(folder) / name
    if target.exists():
        raise invalid(
            f"{target} must not exist", "a file or folder of that name", "choose another place"
        )
    return target


def gaps(folder: str | Path) -> list[str]:
    """Return a line for each gap in the files of an operator: the file, the line, the missing content."""
    gaps = []
    for kind in registry.REQUIRED:
        path = Path(folder) / f"{kind}.py"
        lines = (
            path.read_text("utf-8", "replace").splitlines()
            if path.exists()
            else [f"{registry.GAP}: the whole file"]
        )
        gaps += [
            f"{path.name}:{number}: {line.partition(registry.GAP)[2].strip(' :')}"
            for number, line in enumerate(lines, 1)
            if registry.GAP in line
        ]
    return gaps


def _plain(text: str) -> str:
    """Return C text without comments, macros and redundant white space."""
    text = re.sub(
        r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*|\bACLNN_API\b|\bextern\b",
        " ",
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    return re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", text)).replace("* *", "**").strip()


def _inputs(declared: Prototype) -> list[Parameter]:
    """Return a caller's parameters, under names valid in Python."""
    parameters = [
        replace(p, name=f"{p.name}_", c_name=p.name) if iskeyword(p.name) else p
        for p in declared.parameters
        if p.role == "in"
    ]
    if len({"xp", *(p.name for p in parameters)}) <= len(parameters):
        raise invalid(
            "a prototype names each parameter once, and none xp",
            ", ".join(p.name for p in parameters),
            "rename one",
        )
    for p in parameters:
        if p.c_type.removeprefix("const ") not in KINDS:
            raise invalid(
                f"the type of {p.name} is one of {', '.join(KINDS)}",
                repr(p.c_type),
                "such operators cannot be declared",
            )
    return parameters


class _Roles:
    """The role of each parameter, by its name and type."""

    def __init__(self, parameters: list[Parameter]):
        tensors = [p.name for p in parameters if p.kind == "tensor"]
        outputs = [
            p.name for p in parameters if p.name in tensors and p.c_type[:5] != "const"
        ] or tensors[-1:]
        inputs = [p.name for p in parameters if p.name not in outputs]
        if not (tensor_inputs := [name for name in inputs if name in tensors]):
            raise invalid(
                "a backward operator takes a tensor",
                "outputs alone",
                "mend which parameters are inputs; in C they are const",
            )
        upstream = next(
            (name for name in tensor_inputs if re.match(r"d[a-z]\d?$|.*grad", name, re.IGNORECASE)),
            tensor_inputs[0],
        )
        saved = [
            name
            for name in tensor_inputs
            if name != upstream and re.match(SAVED, name, re.IGNORECASE)
        ]
        taken = [name for name in tensor_inputs if name not in (upstream, *saved)] or [
            "x" if "x" not in tensors else "forwardInput"
        ]
        result = next(
            name for name in ("out", "y", "forwardOutput") if name not in (*tensors, *taken)
        )
        of = {
            name: next(
                (other for other in taken if _bare(name) == _bare(other)),
                taken[min(at, len(taken) - 1)],
            )
            for at, name in enumerate(outputs)
        }
        attributes = [p for p in parameters if p.name not in tensors]
        mask = next((p.name for p in attributes if p.kind == "bools"), None)
        like = next((name for name in taken if name in tensor_inputs), upstream)

        self.tensors, self.outputs, self.inputs = tensors, outputs, inputs
        self.upstream, self.saved, self.taken, self.result = upstream, saved, taken, result
        self.of, self.attributes, self.mask, self.like = of, attributes, mask, like
        self.patterns: dict[str, str] = {}

    def shaped(self, name: str, seen: tuple = ()) -> str:
        """Return the pattern of a tensor with the same shape, or else a new pattern with any number of axes."""
        like = self.of.get(name) or {
            self.result: self.upstream,
            self.upstream: self.taken[0],
        }.get(name)
        if name not in self.patterns and like in (*self.tensors, *self.taken) and like not in seen:
            self.patterns[name] = self.shaped(like, (*seen, name))
        return self.patterns.setdefault(name, f"*R{len(set(self.patterns.values())) or ''}")

    def tensor(self, name: str) -> str:
        asked = (
            f', asked="{self.mask}[{self.outputs.index(name)}]"'
            if self.mask and name in self.outputs
            else ""
        )
        return f'        "{name}": Tensor("{self.shaped(name)}"{asked}),'

    def attribute(self, p) -> str:
        count = len(self.outputs)
        more = f", {(True,) * count}, length={count}" if p.name == self.mask else ""
        return f'        "{p.name}": Attribute("{p.c_type}"{more}),'


def _words(name: str, snake: str, declared: Prototype) -> dict[str, str]:
    """Return the words that fill the gaps of the templates."""
    parameters = _inputs(declared)
    roles = _Roles(parameters)
    forward = [*roles.taken, *(p.name for p in roles.attributes if p.name != roles.mask)]
    c_text = ", ".join(
        f"{p.c_type} {p.name}".replace("* ", "*")
        for p in (*parameters, *(q for q in declared.parameters if q.role != "in"))
    )
    every = dict.fromkeys([*roles.tensors, *roles.taken, roles.result])
    return {
        "gap": registry.GAP,
        "name": name,
        "snake": snake,
        "function": declared.name,
        "aclnn_name": declared.name.removesuffix("GetWorkspaceSize"),
        "like": roles.like,
        "prototype": "\n        ".join(wrap(c_text, 100)),
        "c_names": f" c_names={renamed},"
        if (renamed := {p.name: p.c_name for p in parameters if p.c_name})
        else "",
        "tensors": "\n".join(map(roles.tensor, every)),
        "attributes": "\n".join(map(roles.attribute, roles.attributes)),
        "takes": _listed(forward),
        "gives": _listed([roles.result, *roles.saved]),
        "upstream": f'"{roles.upstream}": "{roles.result}"',
        "saved": ", ".join(f'"{name}": "{name}"' for name in roles.saved),
        "gradients": ", ".join(f'"{name}": "{other}"' for name, other in roles.of.items()),
        "axes": ", ".join(
            f'"{name}": "{"." * len(pattern(roles.shaped(name)).page_axes)}"' for name in every
        ),
        "forward": ", ".join(forward),
        "backward": ", ".join(roles.inputs),
        "results": ", ".join(f'"{name}": ...' for name in (roles.result, *roles.saved)),
        "outputs": ", ".join(f'"{name}": ...' for name in roles.outputs),
    }


def _bare(name: str) -> str:
    """Return the common part of the names of a gradient and its tensor."""
    return re.sub(
        r"^(d|grad)(?=[A-Z_a-z])|_?grad|Grad|Out(put)?$|Ref$|Optional$|In(put)?$", "", name
    ).lower()


def _listed(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) + "," * (len(names) < 2)
