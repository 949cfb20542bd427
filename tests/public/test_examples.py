"""Every example in a docstring of the kit runs and prints what it says."""

import doctest
import importlib
import pkgutil
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
from machine import SOAK

import aclnn_viz
import derivations

COMPILED = "aclnn_viz.tiles.cpp"  # the module whose example compiles


def modules_of(package):
    """Yield the names of a package's modules that contain a prompt."""
    yield package.__name__
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        text = Path(find_spec(found.name).origin).read_text(encoding="utf-8")
        if ">>> " in text and not found.name.endswith("__main__"):
            yield found.name


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("package", [aclnn_viz, derivations], ids=["aclnn_viz", "derivations"])
def test_every_example_holds(package):
    """Every second module with examples, and with the soak each."""
    names = list(modules_of(package))[:: 1 if SOAK else 2]
    names = [name for name in names if name != COMPILED]
    results = {name: doctest.testmod(importlib.import_module(name)) for name in names}
    assert {name: result for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) > (50 if SOAK else 25)


@pytest.mark.needs("g++")
def test_the_example_that_compiles_holds():
    assert COMPILED in modules_of(aclnn_viz)
    assert not doctest.testmod(importlib.import_module(COMPILED)).failed


def test_an_example_that_does_not_hold_is_noticed():
    runner = doctest.DocTestRunner(verbose=False)
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    with warnings.catch_warnings():
        assert runner.run(wrong, out=lambda text: None).failed == 1
