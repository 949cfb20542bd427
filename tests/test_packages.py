"""The files that name packages agree: pyproject.toml, environment.yml for conda, and the pins of constraints.txt."""

import ast
import re
import tomllib
from importlib import metadata

import pytest
import yaml  # comes with JupyterLab
from machine import ENGINES, ROOT
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import aclnn_viz

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = ("3.11", "3.12", "3.13")
PIN = re.compile(r'[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*( ; python_version [<>=]+ "3\.\d+")?')


# come with PyTorch where it is built for CUDA, in the versions that it names
CUDA = re.compile("nvidia-|cuda-|triton")


def pip_packages(project, without=ENGINES):
    """Return {name: bounds} of the core and every extra but these; the project's name refers to its other extras."""
    extras = project["optional-dependencies"]
    lines = project["dependencies"] + sum((extras[name] for name in extras.keys() - without), [])
    requirements = [Requirement(line) for line in lines]
    bounds = {
        canonicalize_name(r.name): str(r.specifier)
        for r in requirements
        if r.name != project["name"]
    }
    return bounds | {"python": project["requires-python"]}


def conda_packages(text):
    """Return {name: bounds} of an environment file."""
    lines = [
        line
        for line in yaml.safe_load(text)["dependencies"]
        if isinstance(line, str) and line != "pip"
    ]
    return {
        canonicalize_name(name): bounds for name, bounds in (line.split(" ", 1) for line in lines)
    }


def pins(text, python):
    """Return {name: version} that a constraints file gives to one Python."""
    requirements = [Requirement(line) for line in text.splitlines() if not line.startswith("#")]
    assert all(len(r.specifier) == 1 for r in requirements)
    return {
        canonicalize_name(r.name): Version(next(iter(r.specifier)).version)
        for r in requirements
        if not r.marker or r.marker.evaluate({"python_version": python})
    }


def unpinned(project, text):
    """Return names of packages that are not pinned, or pinned outside their bounds, for one of the Pythons."""
    wanted = pip_packages(project, without=set())
    del wanted["python"]
    return {
        name
        for python in PYTHONS
        for given in [pins(text, python)]
        for name in wanted
        if name not in given or given[name] not in Requirement(f"{name}{wanted[name]}").specifier
    }


def installed_with(name, extras=("",)):
    """Return the distributions that this one and these extras need on this machine, with dependencies."""
    found, waiting = set(), [(name, extra) for extra in extras]
    while waiting:
        name, extra = waiting.pop()
        for line in metadata.requires(name) or ():
            needed = Requirement(line)
            if not needed.marker or needed.marker.evaluate(
                default_environment() | {"extra": extra}
            ):
                new = {(canonicalize_name(needed.name), e) for e in ("", *needed.extras)} - found
                found |= new
                waiting += new
    return {name for name, _ in found} - {"aclnn-viz"}


CONSTRAINTS = (ROOT / "constraints.txt").read_text()


def test_conda_and_pip_users_get_the_same_packages_and_bounds():
    assert conda_packages((ROOT / "environment.yml").read_text()) == pip_packages(PROJECT)


def test_every_named_package_is_pinned_within_its_bounds():
    assert unpinned(PROJECT, CONSTRAINTS) == set()


@pytest.mark.parametrize(
    "extras",
    [("test",), pytest.param(ENGINES, marks=pytest.mark.needs(*ENGINES))],
    ids=["test", "peers"],
)
def test_everything_that_comes_along_is_pinned(extras):
    python = default_environment()["python_version"]
    found = installed_with("aclnn-viz", ("", *extras)) - pins(CONSTRAINTS, python).keys()
    assert [name for name in found if not CUDA.match(name)] == []


def test_pins_are_a_name_and_a_version_and_nothing_else():
    lines = CONSTRAINTS.splitlines()
    assert [line for line in lines if not line.startswith("#") and not PIN.fullmatch(line)] == []
    assert not PIN.fullmatch("numpy @ ./numpy.whl") and not PIN.fullmatch("numpy>=2.1")


def test_the_installed_version_is_that_of_pyproject():
    version = PROJECT["version"]
    assert metadata.version("aclnn-viz") == aclnn_viz.__version__ == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()


def hashed(text):
    """Return {name: version} of a file of requirements with hashes, equal on every Python; None without a hash."""
    found = re.findall(
        r"^([A-Za-z0-9._-]+)==([0-9][^ ]*)(?: ;[^\\\n]*[^ \\\n])?(( \\\n    --hash=sha256:[0-9a-f]{64})*)",
        text,
        re.MULTILINE,
    )
    return {
        canonicalize_name(name): Version(version) if hashes else None
        for name, version, hashes, _ in found
    }


def test_a_wheel_is_installed_with_the_versions_of_the_clone():
    given, pinned = (
        hashed((ROOT / "requirements.txt").read_text()),
        [pins(CONSTRAINTS, python) for python in PYTHONS],
    )
    assert None not in given.values()
    assert [
        name for name in installed_with("aclnn-viz", ("", "symbols", "lab")) if name not in given
    ] == []
    other = {
        name for name, version in given.items() if version not in [one.get(name) for one in pinned]
    }
    assert other <= {"appnope", "colorama", "pywinpty"}  # only for macOS and Windows
    assert hashed("a==1 \\\n    --hash=sha256:" + "0" * 64 + "\nb==2\n") == {
        "a": Version("1"),
        "b": None,
    }


def test_a_type_checker_finds_each_public_name_where_it_is_loaded_from():
    tree = ast.parse((ROOT / "aclnn_viz/__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {name.asname: entry.module for entry in block.body for name in entry.names}
    assert {
        name: module.removeprefix("aclnn_viz").lstrip(".") for name, module in seen.items()
    } == {
        # the package there, the function here: it is both
        **aclnn_viz._MODULES,
        "operators": "operators",
    }


def test_a_missing_a_loose_and_an_outdated_pin_are_noticed():
    small = {
        "name": "p",
        "requires-python": ">=3.11",
        "dependencies": ["a>=2"],
        "optional-dependencies": {"t": ["b"]},
    }
    assert unpinned(small, "a==2.1\nb==1") == set()
    assert unpinned(small, "a==2.1") == {"b"}
    assert unpinned(small, "a==1.9\nb==1") == {"a"}
    assert unpinned(small, 'a==2.1\nb==1 ; python_version < "3.13"') == {"b"}


def test_another_bound_in_the_conda_file_is_noticed():
    assert conda_packages("dependencies: [python >=3.11, a >=2.1, pip]") == {
        "python": ">=3.11",
        "a": ">=2.1",
    }
    assert conda_packages("dependencies: [python >=3.11]") != pip_packages(PROJECT)
