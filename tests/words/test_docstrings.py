"""Docstrings of the public surface have numpydoc's form, and name errors and attributes."""

import inspect
from dataclasses import fields
from importlib import import_module
from operator import attrgetter

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate
from tables import table

import aclnn_viz as av
from aclnn_viz.accuracy.measures import Measures
from aclnn_viz.accuracy.report import Report
from aclnn_viz.checking.result import CheckResult

SURFACE = table("""
operators         | operators
operators         | Operator.backward Operator.bind Operator.describe Operator.forward Operator.layout Operator.truth
checking.result   | CheckResult.raise_if_failed CheckResult.to_html CheckResult.to_json
accuracy.report   | Report.to_json
devices.device    | Device.about Device.close Device.run
explorers.widget  | Explorer.save
tiles             | cpp explore launch programs run timeline Costs.published
""")
FUNCTIONS = [getattr(av, name) for name in av.__all__ if inspect.isfunction(getattr(av, name))]
FUNCTIONS += [
    attrgetter(name)(import_module(f"aclnn_viz.{module}"))
    for module, names in SURFACE
    for name in names.split()
]
FUNCTIONS += [getattr(import_module("derivations"), name) for name in ("proves_equal", "theorems")]
OPTIONAL = {"ES01", "SA01"}  # a second paragraph, and functions to see


def faults(function):
    """Return numpydoc's findings on a docstring, and a missing section on errors of a function with arguments."""
    doc = get_doc_object(function)
    silent = Validator(doc).signature_parameters and not (doc["Raises"] or doc["Yields"])
    found = [text for code, text in validate(doc)["errors"] if code not in OPTIONAL]
    return found + ["No Raises section found"] * bool(silent)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"{f.__module__}.{f.__qualname__}")
def test_a_public_docstring_is_whole(function):
    assert faults(function) == []


def unnamed(kind):
    """Return the fields of a class that its docstring does not name."""
    named = {name for part in get_doc_object(kind)["Attributes"] for name in part.name.split(", ")}
    return [field.name for field in fields(kind) if field.name not in named]


@pytest.mark.parametrize("kind", [av.Case, CheckResult, Report])
def test_every_attribute_of_a_result_is_documented(kind):
    assert unnamed(kind) == []


def twice(x, times=2):
    """Return a multiple of a number.

    Parameters
    ----------
    times : int
        How often.
    """
    return times * x


def test_a_docstring_without_its_parts_is_noticed():
    assert faults(twice) == [
        "Parameters {'x'} not documented",
        "No Returns section found",
        "No examples section found",
        "No Raises section found",
    ]
    assert "max_ulp" in unnamed(Measures)
