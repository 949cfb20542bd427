"""Every example in a docstring of the kit runs and prints what it says."""

import doctest
import importlib
import pkgutil
import warnings

import pytest

import aclnn_viz
import derivations

PACKAGES = {package.__name__: [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
                               if not found.name.endswith("__main__")] for package in (aclnn_viz, derivations)}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("package", PACKAGES)
def test_every_example_holds(package):
    results = {name: doctest.testmod(importlib.import_module(name)) for name in (package, *PACKAGES[package])}
    assert {name: result for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) > 50


def test_an_example_that_does_not_hold_is_noticed():
    runner = doctest.DocTestRunner(verbose=False)
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    with warnings.catch_warnings():
        assert runner.run(wrong, out=lambda text: None).failed == 1
