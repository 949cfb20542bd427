"""A new operator in a folder of its own: the four files that it needs, with gaps that say what belongs there."""

import re
from pathlib import Path

from aclnn_viz.errors import problem
from aclnn_viz.operators import registry
from aclnn_viz.operators.parameters import ARRAYS
from aclnn_viz.operators.prototype import Prototype, parse
from aclnn_viz.storage.results import add, new_folder

_PAGE = '''"""{gap}: what is computed, forward and backward, in the letters that this page uses.

Source: {gap}: the public document or file that the formulas are from.
"""

# {gap}: one character an axis for every tensor, outputs too: a letter where blocks may be cut, a dot where not.
AXES = {{{axes}}}


def forward(xp, {forward}):
    # {gap}: the forward operator over Array API functions of xp
    return {{"out": ...}}


def backward(xp, {backward}):
    # {gap}: the gradients, from the saved tensors as they are given
    return {{{outputs}}}
'''
_DECLARATION = '''"""{aclnn_name}: {gap}: the shapes of its tensors in a few words."""

from aclnn_viz.operators import Attribute, Operator, Tensor
from aclnn_viz.products import A2, A3, ASCEND_950

from . import page

OPERATOR = Operator(
    name="{name}", page=page, chapter=99,
    prototype="""{prototype}""",
    header="{header}", library="ops-nn",  # {gap}: the header under aclnnop/ and the vendor's repository
    formats={{(A2, A3, ASCEND_950): "float32 float16 bfloat16"}},  # {gap}: what each product takes
    tensors={{
        # {gap}: a shape pattern for each, such as "N C *P", and a dtype rule where it is not that of `like`
{tensors}
        "out": Tensor("{gap}: the shape of the forward output"),
    }},
    attributes={{
        # {gap}: default, `values`, `low` and `high`, and values worth trying, of each; forward ones such as eps, too{attributes}
    }},
    takes=(),  # {gap}: the parameters of the forward operator
    gives=("out",),  # {gap}: its outputs, saved tensors among them
    upstream={{}},  # {gap}: upstream gradient -> the forward output that it belongs to
    saved={{}},  # {gap}: saved tensor -> the forward output that it is, if there are any
    gradient_of={{{gradients}}},  # {gap}: output -> the forward parameter whose gradient it is
    like="{like}",  # {gap}: the tensor that sets format and sizes
    shapes=({{"shape": (4, 6)}},),  # {gap}: options of av.case worth trying
)
'''
_DERIVATION = '''"""{gap}: the derivation in one line: from which definition to which gradient.

Documented backward: {gap}: its public source.
"""

from functools import cache

from sympy import Eq, IndexedBase, Symbol, diff

from derivations.formulas import Derivation, Formula
from derivations.notation import index_symbols, latex, size_symbols
from derivations.tape import Step
from derivations.theorem import Book, Equation

n = size_symbols("n")
i = index_symbols("i")
x = Symbol("x", real=True)
book = Book("{name}")


def definition(x):
    ...  # {gap}: the forward operator, one entry


def documented(x, factor=1):
    ...  # {gap}: the documented gradient, with an argument for each mistake that a mutant makes


@cache
def derive():
    """Derive the gradient of one entry."""
    slope = diff(definition(x), x)
    steps = (Step("Definition", Eq(Symbol("y"), definition(x)), "{gap}: why", latex(definition(x))),
             Step("Chain rule", Eq(Symbol("d"), slope), "{gap}: why", latex(slope)))
    # {gap}: one Formula for each output: its value at the entry `indices`, and the lengths of the leaves
    return Derivation(steps, None, lambda: [Formula("{main}", documented(x), {{i: n}}, {{}})])


@book.theorem("{gap}: what is proved.", **{{"{gap}: a mistake": {{"factor": 2}}}})
def derivative_is_documented(factor=1):
    return [Equation(diff(definition(x), x), documented(x, factor))]
'''
_REFERENCE = '''"""{gap}: the formulas in one line. Scalar loops at 50 digits that import nothing of the kit: they judge the page."""

import mpmath
import numpy as np

mp = mpmath.mp.clone()
mp.dps = 50


def exact(array):
    """Return an object array of the exact values of an array."""
    return np.vectorize(lambda value: mp.mpf(float(value)), otypes=[object])(np.asarray(array))


def forward(*, {forward}):
    # {gap}: the forward operator, one number at a time
    return {{"out": ...}}


def backward(*, {backward}):
    # {gap}: the gradients, one number at a time, written from the formulas and not from the page
    return {{{outputs}}}
'''
_TEST = '''"""What {name} has to pass: run pytest in this folder."""

from pathlib import Path

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.operators import registry
from aclnn_viz.operators.skeleton import gaps

HERE = Path(__file__).parent
filled = pytest.mark.skipif(bool(gaps(HERE)), reason="there are gaps to fill")


def test_nothing_is_left_to_fill():
    assert not gaps(HERE), "\\n".join(["to fill in:", *gaps(HERE)])


@filled
@pytest.mark.parametrize("seed", range(5))
def test_the_page_agrees_with_the_reference(seed):
    op = av.operator(HERE)
    for options in op.shapes:
        inputs = av.case(op, dtype="float64", seed=seed, **options).inputs
        expected = registry.module("reference", op.name).backward(**inputs)
        for name, value in op.backward(**inputs).items():
            np.testing.assert_allclose(value, expected[name].astype(float).reshape(value.shape), rtol=1e-10, atol=1e-12)


@filled
def test_the_kit_verifies_it():
    from aclnn_viz.verification import numeric, symbolic

    op = av.operator(HERE)
    rows = [check() for check in (*numeric.checks(), *symbolic.checks()) if check.operator == op.name]
    assert rows and [row for row in rows if not row.passed] == []


@filled
def test_the_emulated_device_gives_the_same_bits():
    op = av.operator(HERE)
    inputs = av.case(op).inputs
    with av.open_device("host") as device:
        found = device.run(op, **inputs)
    assert all(np.array_equal(found[name], value) for name, value in op.backward(**inputs).items())


@filled
def test_the_checker_passes_the_page_and_refuses_a_wrong_kernel():
    op = av.operator(HERE)
    assert av.check(op, op.backward).passed
    assert not av.check(op, lambda **inputs: {{k: 2 * v + 1 for k, v in op.backward(**inputs).items()}}).passed
'''


def new_operator(name: str, prototype: str, folder: str | Path) -> Path:
    """Write the skeleton of an operator into `folder`/`name` and return that folder.

    `prototype` is C text that declares phase 1, such as the vendor's header. Raises ValueError for a name that is no
    Python name, for text that declares no or several such functions, and where the folder exists.

    >>> import tempfile
    >>> text = "aclnnStatus aclnnSiluBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self, " \\
    ...     "aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);"
    >>> sorted(path.name for path in new_operator("silu", text, tempfile.mkdtemp()).iterdir())
    ['declaration.py', 'derivation.py', 'page.py', 'reference.py', 'test_silu.py']
    """
    if not name.isidentifier() or name in registry.names():
        raise ValueError(problem("an operator needs a name that Python takes and no operator has", repr(name),
                                 "choose one such as my_op"))
    declared = [one for one in parse(_plain(prototype)) if one.name.endswith("GetWorkspaceSize")]
    if len(declared) != 1:
        raise ValueError(problem("the prototype declares one function aclnn...GetWorkspaceSize",
                                 ", ".join(one.name for one in declared) or "none", "pass its declaration alone"))
    target = Path(folder) / name
    if target.exists():
        raise ValueError(problem(f"{target} must not exist", "a file or folder of that name", "choose another place"))
    words = _words(name, declared[0])
    with new_folder(target) as own:
        for kind, text in (("page", _PAGE), ("declaration", _DECLARATION), ("derivation", _DERIVATION),
                           ("reference", _REFERENCE), (f"test_{name}", _TEST)):
            add(own / f"{kind}.py", text.format(**words).encode())
    return target


def gaps(folder: str | Path) -> list[str]:
    """List what is left to fill in the files of an operator, one line each: the file, the line, what belongs there."""
    found = []
    for kind in registry.REQUIRED:
        path = Path(folder) / f"{kind}.py"
        lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else [f"{registry.GAP}: the whole file"]
        found += [f"{path.name}:{number}: {line.partition(registry.GAP)[2].strip(' :')}"
                  for number, line in enumerate(lines, 1) if registry.GAP in line]
    return found


def _plain(text: str) -> str:
    """C text without comments, macros and white space that says nothing."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*|\bACLNN_API\b|\bextern\b", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"\s*\*\s*", " *", text).replace("* *", "**").strip() if ";" in text else text + ";"


def _words(name: str, declared: Prototype) -> dict[str, str]:
    parameters = [p for p in declared.parameters if p.role == "in"]
    tensors = [p for p in parameters if p.kind == "tensor"]
    outputs = [p.name for p in tensors if not p.c_type.startswith("const")] or [tensors[-1].name]
    inputs = [p.name for p in parameters if p.name not in outputs]
    gap, plain = registry.GAP, [p for p in parameters if p.kind != "tensor"]
    c_text = ", ".join(f"{p.c_type} {p.name}".replace("* ", "*") for p in declared.parameters)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", declared.name.removesuffix("GetWorkspaceSize")).lower()
    quoted = "".join(f"{line}\n        " for line in _wrapped(c_text))
    return {
        "gap": gap, "name": name, "aclnn_name": declared.name.removesuffix("GetWorkspaceSize"), "header": f"{snake}.h",
        "prototype": f"aclnnStatus {declared.name}(\n        {quoted.rstrip()});",
        "axes": ", ".join(f'"{p.name}": ""' for p in tensors) + ', "out": ""',
        "forward": ", ".join(p for p in inputs if "grad" not in p.lower() and p != "dy") or "x",
        "backward": ", ".join(inputs), "outputs": ", ".join(f'"{one}": ...' for one in outputs), "main": outputs[0],
        "gradients": ", ".join(f'"{one}": "{gap}: a forward parameter"' for one in outputs), "like": tensors[0].name,
        "tensors": "\n".join(f'        "{p.name}": Tensor("{gap}: the shape of {p.name}"),' for p in tensors),
        "attributes": "".join(f'\n        "{p.name}": Attribute("{p.c_type}"{", length=2" if p.kind in ARRAYS else ""}),'
                              for p in plain),
    }


def _wrapped(text: str) -> list[str]:
    from textwrap import wrap

    return wrap(text, 100)
