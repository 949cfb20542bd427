"""The examples in the docstrings of the tiles hold."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import aclnn_viz.tiles

MODULES = [module.name for module in pkgutil.walk_packages(aclnn_viz.tiles.__path__, "aclnn_viz.tiles.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(import_module(name)).failed == 0
