"""Modules that have moved: CHANGELOG lists them all, and by its old path each is the module itself."""

import re
from importlib import import_module

import pytest

import aclnn_viz
from aclnn_viz import moved
from aclnn_viz.operators import registry
from machine import ROOT
from together import in_one

OWN = {f"{old}.<name>": f"operators.<name>.{new}" for old, new in moved.FILES.items()}
EXAMPLES = {
    kind: next(name for name in registry.names() if registry.module(kind, name))
    for kind in moved.FILES.values()
}
PATHS = moved.MODULES | {
    old.replace("<name>", name): new.replace("<name>", name)
    for old, new in OWN.items()
    for name in [EXAMPLES[new.rpartition(".")[2]]]
}


def test_changelog_lists_every_module_that_moved_and_no_other():
    listed = re.findall(
        r"(?m)^\| `aclnn_viz\.(\S+)` \| `aclnn_viz\.(\S+)` \|$",
        (ROOT / "CHANGELOG.md").read_text("utf-8"),
    )
    assert sorted(listed) == sorted((OWN | moved.MODULES).items())


@in_one
@pytest.mark.parametrize(("old", "new"), PATHS.items())
def test_the_old_path_gives_the_module_itself(old, new):
    assert import_module(f"aclnn_viz.{old}") is import_module(f"aclnn_viz.{new}")


def test_functions_of_the_names_of_old_packages_can_still_be_called():
    import_module("aclnn_viz.tiles.programs.rms_norm")
    assert aclnn_viz.tiles.programs("rms_norm") and aclnn_viz.tiles.faults("rms_norm")


def test_a_path_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        import_module("aclnn_viz.kernels.no_operator")
