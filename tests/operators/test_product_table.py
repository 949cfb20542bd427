"""Products and versions are spelled in one table: every other place but a declaration, which says what runs where, is listed in product_places.toml, with its reason."""

import ast
import re
import tomllib
from pathlib import Path

from machine import ROOT

from aclnn_viz.operators import products
from aclnn_viz.operators.products import PRODUCTS, Product

PLACES = tomllib.loads(Path(__file__).with_name("product_places.toml").read_text("utf-8"))
TABLE = "aclnn_viz/operators/products.py"
NAMES = {
    name
    for name, one in vars(products).items()
    if isinstance(one, Product) or name.startswith("DAV_")
}
TEXT = re.compile(
    r"\bAscend\d{3}\w*|(?:default: |^ ?)v?[89]\.\d+(?:\.\w+)?(?:-beta\.\d+)?(?:\.pre)?(?=\)?$)"
)
# most modules lack all of these and spell nothing
ANY = re.compile(rf"Ascend\d{{3}}|[89]\.\d|\b(?:{'|'.join(NAMES)})\b")


def spelled(text: str) -> set[str]:
    """Return the products, SoCs, architectures and versions in a module's code and texts, docstrings apart."""
    if not ANY.search(text):
        return set()
    nodes = list(ast.walk(ast.parse(text)))
    documentation = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    imported = {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    texts = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documentation
    ]
    found = {one.removeprefix("default: ").strip() for text in texts for one in TEXT.findall(text)}
    return found | (imported | set(texts)) & NAMES


def test_each_place_that_spells_a_product_is_listed():
    files = [
        path
        for folder in ("aclnn_viz", "derivations", "benchmarks", "notebooks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    found = {
        path.relative_to(ROOT).as_posix(): sorted(names)
        for path in files
        if path.name != "declaration.py" and (names := spelled(path.read_text("utf-8")))
    }
    assert found.pop(TABLE) and found == {
        place: sorted(names.split())
        for listed in PLACES.values()
        for place, names in listed.items()
    }


def test_what_a_module_may_spell():
    assert spelled(
        'from a import A2, B\n"Ascend310P3 9.0"\nx = ("9.1", "9.1f", "8.5.0", "v9.1.0-beta.1", 9.1)'
    ) == {"A2", "Ascend310P3", "9.1", "8.5.0", "v9.1.0-beta.1"}
    assert spelled('"""On Ascend910B2, CANN 9.1."""\ndef f(): "Ascend950"\n') == set()


def test_sets_are_made_of_the_table():
    sets = {
        name: one
        for name, one in vars(products).items()
        if isinstance(one, tuple) and one and isinstance(one[0], Product)
    }
    assert len(sets) > 6 and all(
        len(set(one)) == len(one) and set(one) <= set(PRODUCTS) for one in sets.values()
    )
    # each once
    assert len({frozenset(one) for name, one in sets.items() if name != "READ"}) == len(sets) - 1
