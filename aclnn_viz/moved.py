"""Modules that have moved: each can still be imported by the path that it had, and CHANGELOG.md lists both."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path

HERE = Path(__file__).parent

# Packages whose modules of an operator's name are now files of that operator's folder, called so.
FILES = {
    "kernels": "page",
    "operators.contract": "contract",
    "operators.loops": "loops",
    "faults": "faults",
    "samples": "sample",
    "tiles.programs": "tiles",
    "cases": "cases",
    "checking.puzzles": "puzzles",
    "checking.puzzles.tiles": "puzzles",
    "verification.errata": "errata",
    "verification.conventions": "conventions",
    "explorers": "explorer",
}
MODULES = {
    "operators.contract.call": "operators.contract.model",
    "operators.contract.default": "operators.contract.rules",
    "rooms": "operators.registry",
    "products": "operators.products",
    "codes": "operators.codes",
    "faults": "operators.faults",
    "samples.common": "acl.samples",
    "export": "devices.cpp",
    "export.cpp": "devices.cpp",
    "export.template": "devices.cpp",
    "devices.cpp_template": "devices.cpp",
    "export.skeleton": "operators.skeleton",
    "words.speech": "words.messages",
    "faults.fault": "operators.faults.fault",
    "faults.edits": "operators.faults.edits",
    "faults.places": "operators.faults.fault",
    "checking.faulty": "operators.faults.fault",
    "accuracy.conditioning": "accuracy.envelopes",
    "accuracy.factors": "accuracy.sweeps",
    "explorers.gradients": "explorers.device",
    "tiles.children": "children",
}


def new_path(name: str) -> str | None:
    """The path that a module of an old one has now, "" for a package that only held others, None for any other name.

    >>> new_path("aclnn_viz.kernels.rms_norm"), new_path("aclnn_viz.kernels"), new_path("aclnn_viz.none")
    ('aclnn_viz.operators.rms_norm.page', '', None)
    """
    old = name.removeprefix("aclnn_viz.")
    place = HERE / old.replace(".", "/")
    if place.with_suffix(".py").is_file() or (place / "__init__.py").is_file():
        return None
    if new := MODULES.get(old):
        return f"aclnn_viz.{new}"
    package, _, operator = old.rpartition(".")
    if package in FILES and (HERE / "operators" / operator / f"{FILES[package]}.py").is_file():
        return f"aclnn_viz.operators.{operator}.{FILES[package]}"
    return "" if old in FILES else None


class Moved:
    """Finds modules by old paths, asked before all other finders: of a folder that has moved bytecode may be left, which is
    taken for a package. What `sys.modules` then holds is the module itself.
    """

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> ModuleSpec | None:
        new = new_path(name) if name.startswith("aclnn_viz.") else None
        return None if new is None else spec_from_loader(name, Moved, is_package=not new)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module) -> None:
        if new := new_path(module.__name__):
            sys.modules[module.__name__] = there = import_module(new)
            there.__path__ = getattr(
                there, "__path__", []
            )  # what was a package held modules, which have moved, too
            return
        parent, _, name = module.__name__.rpartition(".")
        if callable(
            function := getattr(sys.modules[parent], name, None)
        ):  # the import gives its name to this module
            module.__class__ = type(
                "Callable", (type(module),), {"__call__": staticmethod(function)}
            )
