"""The rules of the structure: imports between packages, modules loaded by an import, lengths of modules."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from runpy import run_path

import pytest
from machine import ROOT
from tables import table
from together import in_one

import aclnn_viz
from aclnn_viz.operators import operators
from derivations import chapters

# A package may import every package above it, none below, and only the outside packages named beside it.
# An entry is a module or package of aclnn_viz, or derivations.
PACKAGES = dict(
    table("""
errors       | -
children     | ctypes
interrupts   | -
pool         | -
command      | -
tables       | -
dtypes       | numpy ml_dtypes
storage      | numpy
words        | -
notebook     | IPython tqdm
derivations  | sympy mpmath numpy
arrays       | numpy jax numba llvmlite
operators    | numpy
proving      | numpy sympy
cases        | numpy
acl          | ctypes numpy ml_dtypes
tiles        | numpy ml_dtypes
devices      | ctypes numpy torch torch_npu jax jaxlib numba llvmlite
accuracy     | numpy
checking     | ctypes numpy platformdirs
pictures     | matplotlib numpy
puzzles      | numpy platformdirs
verification | numpy sympy mpmath torch
sweeps       | numpy distributed
explorers    | ipywidgets anywidget traitlets numpy
cli          | mcp anyio platformdirs
__init__     | -
""")
)
ORDER = list(PACKAGES)
OPERATORS = [word for op in operators() for word in (op.name, op.aclnn_name)]
FUNCTIONS = set(
    "gelu sigmoid softmax softplus tanh threshold".split()
)  # words of mathematics, which generic code also uses
ANY_OPERATOR = re.compile(
    rf"\b(?:{'|'.join(word for word in OPERATORS if word not in FUNCTIONS)})\b"
)
PARTS = {
    part.__name__.rpartition(".")[2]
    for chapter in chapters()
    for part in getattr(chapter, "PARTS", ())
}
LONGEST_MODULE, LONGEST_FUNCTION = 850, 60

# Loaded when first needed, never by the public names alone.
LATE = (
    "sympy mpmath derivations matplotlib ipywidgets anywidget IPython jupyter_core jupyterlab platformdirs "
    "tqdm torch jax numba distributed mcp anyio"
).split()
CANN_LIBRARY = re.compile(
    r"lib(ascendcl|acl_\w+|nnopbase|opapi\w*|aclnn\w*|runtime|cust_opapi)\.so"
)


def modules(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def named(node):
    """Return the dotted names that one node imports; `from a import b` gives a.b, which may be a module."""
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            return [
                "." * node.level + ".".join(filter(None, (node.module, alias.name)))
                for alias in node.names
            ]
        case ast.Call(
            func=ast.Name(id=name) | ast.Attribute(attr=name),
            args=[
                ast.Constant(value=str(text))
                | ast.JoinedStr(values=[ast.Constant(value=text), *_]),
                *_,
            ],
        ):
            return [text] if name in ("import_module", "__import__") else []
    return []


@cache  # several rules read the same modules
def nodes(source):
    return list(ast.walk(ast.parse(source)))


@cache
def imports(source, package):
    """Return the absolute dotted names that a module of this package imports, anywhere in it."""
    found = set()
    some = (
        node for node in nodes(source) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
    )
    for name in (name for node in some for name in named(node)):
        level = len(name) - len(name.lstrip("."))
        base = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        found.add(".".join([*base, name.lstrip(".")]))
    return found


def package_of(name):
    """Return the package of a dotted name inside the project, or None outside of it."""
    first, *rest = name.split(".")
    if first != "aclnn_viz":
        return first if first == "derivations" else None
    return rest[0] if rest and rest[0] in PACKAGES else "__init__"


def broken_rules(package, source, folder):
    """Yield forbidden imports of this module of a package, and of a folder."""
    allowed = (
        set(ORDER[: ORDER.index(package) + 1]) if package != "derivations" else {"derivations"}
    )
    outside = set(PACKAGES[package].split())
    for name in sorted(imports(source, folder)):
        if (other := package_of(name)) is not None:
            if other not in allowed:
                yield f"{package} imports {name}"
        elif (top := name.split(".")[0]) not in outside and (
            top == "ctypes" or top not in sys.stdlib_module_names
        ):
            yield f"{package} uses {top}"


def belongs_to_an_operator(path):
    """Return whether a file belongs to one operator: in its folder, or its chapter, or a part of that."""
    return (
        path.parent.name in OPERATORS
        or path.stem in PARTS
        or any(re.match(rf"{name}(_|$)", path.stem) for name in OPERATORS)
    )


# The field of a node with a name.
NAMED = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.alias: "name",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.FunctionDef: "name",
    ast.ImportFrom: "module",
}


def operators_named(source):
    """Yield the operators' names in generic code: names, imports and texts; examples in docstrings may have them."""
    found = {
        id(node.body[0].value)
        for node in nodes(source)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes(source):
        words = NAMED.get(type(node))
        text = (
            getattr(node, words)
            if words
            else node.value
            if isinstance(node, ast.Constant)
            else None
        )
        if (
            isinstance(text, str) and id(node) not in found and "documentation" not in text
        ):  # a cited document may
            yield from (f"line {node.lineno} names {name}" for name in ANY_OPERATOR.findall(text))


def circles(sources):
    """Return the modules of {dotted name: source} that import each other in a circle, or need one that does."""
    needs = {}
    for name, source in sources.items():
        found = [
            one for one in imports(source, name.rpartition(".")[0]) if one[-1] != "."
        ]  # not f"package.{name}"
        parts = {
            next((known for known in (one, one.rpartition(".")[0]) if known in sources), name)
            for one in found
        }
        needs[name] = parts - {name}
    while free := [name for name, parts in needs.items() if not parts & needs.keys()]:
        for name in free:
            del needs[name]
    return sorted(needs)


#: Replacements that a process of the kit makes for itself; no module that a person imports makes any.
OF_THE_PROCESS = {
    "aclnn_viz/command.py": {"sys.stderr", "sys.stdout"},  # a closed pipe would break them
    "aclnn_viz/checking/sealed_process.py": {"sys.addaudithook"},  # to see a kernel's actions
}
HOOKS = {"meta_path", "path_hooks", "register_at_fork", "addaudithook", "excepthook"}


def replaced(source):
    """Yield foreign attributes of modules and classes that a module assigns, and hooks that it sets."""
    foreign = {
        (alias.asname or alias.name).split(".")[0]
        for node in nodes(source)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias, name in zip(node.names, named(node))
        if package_of(name.lstrip(".")) is None and name[0] != "."
    }
    for node in nodes(source):
        match node:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Tuple(elts=parts) | ast.List(elts=parts)
            ):
                if any(isinstance(part, ast.Name) and part.id in foreign for part in parts):
                    foreign.add(name)
    for node in nodes(source):
        match node:
            case ast.Attribute(attr=name) if name in HOOKS:
                yield ast.unparse(node)
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                if name in foreign:
                    yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[ast.Name(id=name), *_]):
                if name in foreign:
                    yield ast.unparse(node)


def long_modules(paths):
    return [path.name for path in paths if len(path.read_text().splitlines()) > LONGEST_MODULE]


def long_functions(source):
    """Yield the functions of a module whose body, without its docstring, has too many lines."""
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[ast.get_docstring(node) is not None :] or node.body
            if (lines := body[-1].end_lineno - body[0].lineno + 1) > LONGEST_FUNCTION:
                yield node.name, lines


def in_the_locale(source):
    """Yield the lines that read or write text in the locale's encoding."""
    for node in nodes(source):
        if isinstance(node, ast.Call) and not any(
            word.arg in ("encoding", None) for word in node.keywords
        ):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            of = getattr(getattr(node.func, "value", None), "id", "")
            at = {"read_text": 0, "write_text": 1}.get(name)
            mode = [
                one.value
                for one in (
                    *node.args,
                    *(word.value for word in node.keywords if word.arg == "mode"),
                )
                if isinstance(one, ast.Constant) and re.fullmatch("[rwxab+t]+", str(one.value))
            ]
            opens = name in ("open", "fdopen", "TemporaryFile", "NamedTemporaryFile") and not (
                name == "open" and of in ("os", "Image")
            )  # a descriptor, pixels
            text = name in ("Popen", "run", "check_output") and any(
                word.arg == "text" for word in node.keywords
            )
            if (
                opens
                and "b" not in "".join(mode)
                or at is not None
                and len(node.args) <= at
                or text
            ):
                yield node.lineno


def loaded_by(statement, late=LATE):
    """Return a fresh interpreter's modules after a statement: late packages, and libraries of CANN."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)\n" + (
        "print(open('/proc/self/maps').read())" if Path("/proc/self/maps").exists() else ""
    )
    child = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names, _, libraries = child.stdout.partition("\n")
    return sorted(set(names.split()) & set(late)), CANN_LIBRARY.findall(libraries)


def test_packages_import_only_what_stands_above_them():
    found = {}
    for path in modules("aclnn_viz", "derivations"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        package = package_of(name)
        if package == "__init__" and name != "aclnn_viz.__init__":
            found[name] = ["belongs to no package of the table"]
        elif broken := list(broken_rules(package, path.read_text(), name.rpartition(".")[0])):
            found[name] = broken
    assert found == {}


def test_architecture_lists_the_packages_in_their_order():
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    picture = [
        name
        for line in text.split("```")[1].splitlines()[1:]
        for name in re.split(" {3,}", line)[0].split(" · ")
        if name
    ]
    assert (
        picture == re.findall(r"(?m)^\| `(\w+)` \|", text) == ORDER
        and len(text.splitlines()) <= 120
    )


def test_no_generic_module_names_an_operator():
    found = {
        str(path.relative_to(ROOT)): faults
        for path in modules("aclnn_viz", "derivations")
        if not belongs_to_an_operator(path) and (faults := list(operators_named(path.read_text())))
    }
    assert found == {}


def test_no_modules_import_each_other_in_a_circle():
    names = {
        path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in modules("aclnn_viz", "derivations")
    }
    assert circles({name: path.read_text() for path, name in names.items()}) == []


def test_the_judges_import_nothing_of_the_kit():
    judges = [path for path in modules("tests/reference") if not path.name.startswith("test_")]
    used = {package_of(name) for path in judges for name in imports(path.read_text(), "reference")}
    assert len(judges) >= 5 and used == {None}


@pytest.mark.parametrize(
    "statement, late",
    [
        ("from aclnn_viz import *", LATE),
        ("import aclnn_viz", ["numpy", "ml_dtypes", *(f"aclnn_viz.{name}" for name in ORDER)]),
        ("import aclnn_viz.cli", ["numpy", "aclnn_viz.operators"]),
        (
            "import aclnn_viz.cli, aclnn_viz.checking.check; aclnn_viz.cases.case('hardswish')",
            ["importlib.metadata"],
        ),
    ],
)
def test_nothing_is_loaded_that_can_wait(statement, late):
    assert loaded_by(statement, late) == ([], [])


def test_the_public_names_are_those_that_editors_see():
    text = {
        name.rpartition(".")[2]
        for name in imports((ROOT / "aclnn_viz" / "__init__.py").read_text(), "")
        if package_of(name) and name[-1] != "."
    }  # not f"aclnn_viz.{module}"
    assert text == set(aclnn_viz.__all__) and text <= set(dir(aclnn_viz))


def test_a_package_is_found_when_it_is_first_named_and_nothing_else_is():
    assert aclnn_viz.storage.foreign_arrays.load is aclnn_viz.load
    with pytest.raises(AttributeError, match="no attribute 'cases_of'"):
        aclnn_viz.cases_of


def test_files_are_read_and_written_in_utf_8_whatever_the_locale():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules("aclnn_viz", "derivations", "benchmarks")
        for line in in_the_locale(path.read_text("utf-8"))
    ]
    assert found == []


def test_the_encoding_of_the_locale_is_noticed():
    bad, good = (
        """
open(f)
open(f, 'w')
f.open('a')
f.read_text()
f.read_text(errors='replace')
f.write_text(t)
Popen(c, text=True)
""",
        """
open(f, 'xb')
open(f, mode='rb')
f.read_text('utf-8')
os.open(f, flags)
Image.open(f)
open(f, encoding='utf-8')
f.write_text(t, 'utf-8')
open(**options)
""",
    )
    lines = [number for number, line in enumerate(bad.split("\n"), 1) if line]
    assert list(in_the_locale(bad)) == lines and list(in_the_locale(good)) == []


def test_nothing_from_outside_is_replaced_and_no_hook_is_set():
    found = {
        name: names
        for path in modules("aclnn_viz", "derivations")
        for name in [path.relative_to(ROOT).as_posix()]
        if (names := {*replaced(path.read_text("utf-8"))} - OF_THE_PROCESS.get(name, set()))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import sympy\nsympy.x = 1",
        "from sympy import Sum\nfor kind in (Sum, 1):\n    kind.__new__ = 1",
        "import os\nsetattr(os, 'x', 1)",
        "import sys\nsys.meta_path.insert(0, 1)",
        "def f():\n    import os\n    os._exit = 1",
    ],
)
def test_a_replaced_name_is_noticed(source):
    assert len({*replaced(source)}) == 1 and not {*replaced("import os\nx = os.name\nx.y = 1")}


def test_importing_everything_leaves_the_import_system_as_it_is():
    program = "import sys\nbefore = [*sys.meta_path]\nfrom aclnn_viz import *\nassert sys.meta_path == before"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_modules_are_short():
    assert long_modules(modules("aclnn_viz", "derivations")) == []


def test_functions_are_short():
    """pyproject.toml limits their complexity, which `make lint` tests."""
    found = {
        f"{path.relative_to(ROOT)}:{name}": lines
        for path in modules("aclnn_viz", "derivations", "benchmarks", "notebooks/gallery")
        for name, lines in long_functions(path.read_text("utf-8"))
    }
    assert found == {}


def switches(text):
    """Return conditions on the name of a mistake, which would show the right branch in the wrong kernel's source."""
    return re.findall(
        r"\bif (?:slip|fault|bug|mistake|wrong) (?:[!=]=|(?:not )?in\b|is\b).*",
        text.replace("elif", "if"),
    )


def test_no_wrong_kernel_switches_its_mistake_on():
    assert [
        (path.name, switch)
        for path in modules("tests", "benchmarks")
        if path.name != "test_structure.py"
        for switch in switches(path.read_text("utf-8"))
    ] == []


# The checks above reject wrong examples.


@in_one
@pytest.mark.parametrize(
    "line, count",
    [
        ("if slip == 'gamma twice':", 1),
        ("    elif fault in ('a', 'b'):", 1),
        ("x = y if bug != 'sum' else z", 1),
        ("if fault.shows in KINDS:", 0),
        ("if slips == 2:", 0),
    ],
)
def test_a_switch_of_a_mistake_is_noticed(line, count):
    assert len(switches(line)) == count


@in_one
@pytest.mark.parametrize(
    ("package", "source", "fault"),
    table(r"""
words       | import numpy as np                                      | words uses numpy
operators   | import ctypes                                           | operators uses ctypes
arrays      | from aclnn_viz.operators.rms_norm import page           | arrays imports aclnn_viz.operators.rms_norm.page
operators   | from aclnn_viz.explorers.by_operator import hardswish   | operators imports aclnn_viz.explorers.by_operator.hardswish
cases       | from aclnn_viz.tiles.by_operator.sampling import tiling | cases imports aclnn_viz.tiles.by_operator.sampling.tiling
arrays      | def f():\n    from aclnn_viz import operators           | arrays imports aclnn_viz.operators
arrays      | from ..operators import operator                        | arrays imports aclnn_viz.operators.operator
arrays      | from .. import cli                                      | arrays imports aclnn_viz.cli
acl         | import aclnn_viz                                        | acl imports aclnn_viz
cases       | import_module('aclnn_viz.pictures')                     | cases imports aclnn_viz.pictures
cases       | importlib.import_module(f'aclnn_viz.pictures.{n}')      | cases imports aclnn_viz.pictures.
derivations | import aclnn_viz.errors                                 | derivations imports aclnn_viz.errors
"""),
)
def test_an_import_from_below_is_noticed(package, source, fault):
    assert list(broken_rules(package, source, f"aclnn_viz.{package}")) == [fault]


@pytest.mark.parametrize(
    "source",
    """
if op.name == "rms_norm": pass
from aclnn_viz.operators.rms_norm import page
import derivations.rms_norm
_TABLE = dict(rms_norm=1)
def rms_norm(): pass
f"aclnnRmsNormGrad {x}"
""".strip().splitlines(),
)
def test_an_operator_named_by_generic_code_is_noticed(source):
    assert len(list(operators_named(source))) == 1


def test_an_example_and_a_cited_document_may_name_an_operator():
    assert (
        list(
            operators_named(
                '"""As `rms_norm`."""\nSOURCE = "aclnnRmsNormGrad, CANN documentation"\nx = "norms"'
            )
        )
        == []
    )


def test_an_import_from_above_is_allowed():
    source = """
import math, derivations, numpy.linalg
from .. import errors
from .driver import a
from aclnn_viz.dtypes import b
"""
    assert list(broken_rules("arrays", source, "aclnn_viz.arrays")) == []


def test_a_circle_is_noticed():
    straight = {
        "a": "",
        "a.b": "from a import c",
        "a.c": "import numpy",
        "a.d": "from a.b import x\nimport a.c",
    }
    assert circles(straight) == []
    assert circles(straight | {"a.c": "def f():\n    from a.d import y"}) == ["a.b", "a.c", "a.d"]


def test_a_package_or_library_that_loads_too_early_is_noticed():
    assert loaded_by("import tqdm")[0] == ["tqdm"]
    assert loaded_by("from aclnn_viz import compare", ["aclnn_viz.accuracy"])[0] == [
        "aclnn_viz.accuracy"
    ]
    assert CANN_LIBRARY.findall("7f0 r-xp 08:01 /usr/local/Ascend/lib64/libascendcl.so.1") == [
        "ascendcl"
    ]


def test_a_long_module_is_noticed(tmp_path):
    (tmp_path / "long.py").write_text("x = 1\n" * (LONGEST_MODULE + 1))
    (tmp_path / "short.py").write_text("x = 1\n" * LONGEST_MODULE)
    assert long_modules(tmp_path.glob("*.py")) == ["long.py"]


def test_a_long_function_is_noticed():
    text = 'def f():\n    """Text.\n\n    More.\n    """\n'
    short = text + "    x = 1\n" * LONGEST_FUNCTION
    assert list(long_functions(short)) == []
    assert list(long_functions(short + "    return x\n")) == [("f", LONGEST_FUNCTION + 1)]


def test_no_two_files_of_tests_have_the_same_name():
    """Outside of packages, pytest takes the second file for the first."""
    names = [
        path.name
        for path in modules("tests")
        if path.name.startswith("test_") and not (path.parent / "__init__.py").exists()
    ]
    assert sorted(names) == sorted(set(names))


@pytest.mark.needs("git")
def test_the_project_weighs_no_more_than_its_limits():
    weight = run_path(str(ROOT / ".ci" / "weight"))
    limits = tomllib.loads((ROOT / ".ci" / "weight.toml").read_text("utf-8"))
    packages = weight["weights"](weight["here"]())
    assert weight["beyond"](packages, limits) == []
    assert weight["beyond"](packages + Counter(cli=10**6), limits) != []


VAGUE = re.compile(
    r"(?m)^[A-Z_, ]*\b(FEW|SMALL|MOST|MANY|LARGE|ENOUGH|LEAST|SHORT|LONG|LIMIT|HERE)\b[A-Z_, ]* ="
)


def test_a_constant_is_named_by_what_it_limits():
    """A name that fits any module does not help a reader's search."""
    found = {path.name: VAGUE.findall(path.read_text("utf-8")) for path in modules("aclnn_viz")}
    assert {name: words for name, words in found.items() if words} == {}
    assert VAGUE.findall("FEW, TWO = 1, 2\nMOST = 3\nMOST_ELEMENTS = 4") == ["FEW", "MOST"]
