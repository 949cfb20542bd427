"""Find and load the files of an operator: one folder, in this package or elsewhere, with page.py (formulas) and declaration.py
(shapes, dtypes).

A folder of the kit has its derivation in `derivations` and its reference in the tests. Each optional file has a default.
"""

import hashlib
import os
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from aclnn_viz.errors import invalid, loaded, shown

#: The files that an operator's folder may hold, and the package that opens each: both may import the same modules.
KINDS = {
    "page": "operators",
    "declaration": "operators",
    "contract": "operators",
    "plans": "operators",
    "peer": "operators",
    "loops": "operators",
    "faults": "operators",
    "tiles": "tiles",
    "tile_faults": "tiles",
    "cases": "cases",
    "puzzles": "puzzles",
    "puzzle_solutions": "puzzles",
    "errata": "verification",
    "conventions": "verification",
    "explorer": "explorers",
    "derivation": "derivations",
    "reference": "tests",
}
#: For each kind of file that states no fact of an operator: the name pattern of the kit's module.
BESIDE = {
    "derivation": "derivations.{}",
    "reference": "tests.reference.{}",
    "cases": "aclnn_viz.cases.by_operator.{}",
    "tiles": "aclnn_viz.tiles.by_operator.{}",
    "tile_faults": "aclnn_viz.tiles.by_operator.{}_faults",
    "puzzles": "aclnn_viz.puzzles.by_operator.{}",
    "puzzle_solutions": "aclnn_viz.puzzles.by_operator.{}_solutions",
    "explorer": "aclnn_viz.explorers.by_operator.{}",
    "errata": "aclnn_viz.verification.by_operator.{}_errata",
    "conventions": "aclnn_viz.verification.by_operator.{}_conventions",
}
REQUIRED = ("page", "declaration")
OUTSIDE = "aclnn_viz_outside_"  # prefix of the package under which a folder is imported
GAP = "GAP"  # marks, in a new operator's files, a place that the user fills
ROOT = Path(__file__).parents[2]  # holds aclnn_viz, derivations and, in a clone, tests

# folders that a user opened, by name
_outside: dict[str, Path] = {}


def names() -> tuple[str, ...]:
    """Return the short names of all operators: the kit's, and those of opened folders."""
    return (*_own(), *_outside)


@cache
def _own() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/page.py")))


def open_folder(folder: str | Path) -> str:
    """Register the operator in a folder under the folder's name, and return that name.

    Raise ValueError if required files are missing, or if another folder has registered that name.
    """
    folder = Path(folder).resolve()
    missing = [f"{kind}.py" for kind in REQUIRED if not os.path.isfile(folder / f"{kind}.py")]
    if missing:
        there = (
            ", ".join(
                sorted(path.name for path in (folder.glob("*.py") if os.path.isdir(folder) else ()))
            )
            or "no Python file"
        )
        raise invalid(
            f"an operator's folder holds {', '.join(f'{kind}.py' for kind in REQUIRED)}",
            f"{folder} with {there}",
            f"add {', '.join(missing)}, or let `aclnn-viz new` make them",
        )
    unfilled = {
        f"{kind}.py": count
        for kind in REQUIRED
        if (count := (folder / f"{kind}.py").read_bytes().count(GAP.encode()))
    }
    if unfilled:
        raise invalid(
            f"the files in {folder} must be filled in",
            ", ".join(f"{count} gaps in {name}" for name, count in unfilled.items()),
            "run pytest there: it lists them",
        )
    if folder.name in names() and _outside.get(folder.name) != folder:
        raise invalid(
            f"{folder} needs a name of its own",
            f"{folder.name!r}, which is taken",
            "rename the folder",
        )
    if _outside.get(folder.name) != folder:
        _drop_modules(folder.name)  # forget modules of an earlier folder with this name
    _outside[folder.name] = folder
    try:
        if not hasattr(type(found := own("declaration", folder.name, "OPERATOR")), "aclnn_name"):
            raise invalid(
                f"{folder / 'declaration.py'} defines OPERATOR, an Operator",
                shown(found),
                "mend that file",
            )
    except ValueError:
        forget(folder.name)
        raise
    return folder.name


def forget(name: str) -> None:
    """Forget the operator of a folder and its modules, so that its name is free and changed files are read again."""
    del _outside[name]
    _drop_modules(name)


def _drop_modules(name: str) -> None:
    module.cache_clear()
    for one in [one for one in sys.modules if f"{one}.".startswith(f"{OUTSIDE}{name}.")]:
        del sys.modules[one]


def name_of(op) -> str:
    """Return the short name of an operator, or of an object that has one; raise ValueError for any other."""
    name = getattr(op, "name", op)
    if isinstance(name, str) and name in names():
        return name
    raise invalid(
        f"an operator is one of {', '.join(names())}", shown(op), "use one of these names"
    )


def holds_operator(folder: str | Path) -> bool:
    """Return whether a path is the folder of an operator, filled in or not."""
    # isfile is false for an impossible file name
    return os.path.isfile(Path(folder) / "declaration.py")


def outside() -> dict[str, Path]:
    """Return the folders of outside operators that still exist, by name."""
    return {name: folder for name, folder in _outside.items() if holds_operator(folder)}


def folders() -> tuple[Path, ...]:
    """Return the folders that another process needs to open the outside operators."""
    return tuple(outside().values())


def sources(name: str) -> str | None:
    """Return a digest of the sources of an outside operator, None for the kit's operators."""
    return (
        hashed(folder, (path for path in folder.rglob("*") if path.suffix in (".py", ".toml")))
        if (folder := _outside.get(name))
        else None
    )


def hashed(root: Path, paths: Iterable[Path]) -> str:
    """Return a digest of files below a folder, the same on every platform."""
    state = hashlib.sha256(root.name.encode())
    for place, path in sorted((path.relative_to(root).as_posix(), path) for path in paths):
        state.update(f"\n{place}\n".encode())
        state.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return state.hexdigest()


def file(kind: str, name: str, root: Path = ROOT) -> Path | None:
    """Return the path of an operator's file of a kind, else of its table, else None.

    `root` holds the packages of the kit's own operators.
    """
    paths = (_path(kind, name, root), *_tables(kind, name, root))
    return next((path for path in paths if path.is_file()), None)


def _path(kind: str, name: str, root: Path = ROOT) -> Path:
    """Return the path of an operator's Python file of a kind, existing or not."""
    if folder := _outside.get(name):
        return folder / f"{kind}.py"
    return root / f"{_module_name(kind, name).replace('.', '/')}.py"


def _tables(kind: str, name: str, root: Path = ROOT) -> tuple[Path, ...]:
    """Return the possible places of an operator's table: beside its Python file of that kind, and in its folder."""
    page = _path("page", name, root)
    return _path(kind, name, root).with_suffix(".toml"), page.with_name(f"{kind}.toml")


@cache
def module(kind: str, name: str) -> ModuleType | None:
    """Return an operator's module of a kind, None if the default applies."""
    path = file(kind, name)
    if path is None or path.suffix == ".toml":
        return None
    if name in _own():
        return import_module(_module_name(kind, name))
    package = f"{OUTSIDE}{name}"
    # the folder becomes a package, so that its files can import each other
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(path.parent)]
    return loaded(path, lambda: import_module(f"{package}.{kind}"))


def _module_name(kind: str, name: str) -> str:
    return BESIDE.get(kind, f"aclnn_viz.operators.{{}}.{kind}").format(name)


def own(kind: str, name: str, attribute: str, default=None):
    """Return the attribute of an operator's file of a kind, else the default.

    >>> own("faults", "grid_sampler_2d", "CANCELLING"), own("faults", "rms_norm", "nothing", 7)
    (True, 7)
    """
    return getattr(module(kind, name), attribute, default)


def table(kind: str, name: str, made: Callable = dict):
    """Return what `made` makes of an operator's TOML table of a kind, or of an empty table if the operator has none.

    Raise ValueError if the file cannot be read or `made` fails.

    >>> table("puzzle_solutions", "hardswish")["hardswish_slope"][0]["name"]
    'interval open at both ends'
    """
    tables = _tables(kind, name)
    path = next((path for path in tables if path.is_file()), None)
    return loaded(
        path or tables[-1], lambda: made(tomllib.loads(path.read_text("utf-8")) if path else {})
    )


def missing() -> list[str]:
    """Return, in words, every required file that an operator lacks."""
    return [
        f"{name} needs its {kind}: {_module_name(kind, name).replace('.', '/')}.py"
        for name in names()
        for kind in REQUIRED
        if file(kind, name) is None
    ]
