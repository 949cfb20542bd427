"""Turn any form of a user's kernel (a function, a file, C++, a device) into a function that takes the vendor's parameters by
name.

Later code need not distinguish functions, names, files, C++, devices, capsules and folders.
"""

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial, update_wrapper
from importlib import import_module
from pathlib import Path

import numpy as np

from aclnn_viz.accuracy.measures import same
from aclnn_viz.cases import Case, files
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import in_float64, prepared
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import (
    NotSupported,
    invalid,
    is_device,
    loaded,
    mistyped,
    need,
    problem,
    shown,
)
from aclnn_viz.operators import Operator
from aclnn_viz.storage.readers import SOURCES
from aclnn_viz.words.messages import message

MAKERS = {
    "device": "aclnn_viz.devices",
    "peer": "aclnn_viz.devices.peers",
    "signature": "aclnn_viz.devices.signatures",
    "C++": "aclnn_viz.tiles.cpp",
}
CLEAR = 0.25  # a Function saves its own tensors; they may use up this share of the allowed error


@dataclass(frozen=True, eq=False)
class Kernel:
    """A function that takes the vendor's parameters by name, and the device that computes it, if any.

    A folder of cases has no function: its outputs replace one.
    """

    function: Callable | None
    device: object | None = None
    folder: Path | None = None


def _maker(kind: str):
    """Import the module that makes a kind of kernel, on demand because functions need none."""
    return import_module(MAKERS[kind])


@contextmanager
def as_kernel(what, op: Operator, signature=None, soc=None, cann=None) -> Iterator[Kernel]:
    """Yield a user's kernel as a `Kernel`; a device that it names is open within the block."""
    if files.names_cases(what) and os.path.isdir(what):
        yield Kernel(None, folder=Path(what))
        return
    with ExitStack() as closing, warnings.catch_warnings():
        function, device = what, None
        if isinstance(what, (str, Path)) and not (
            isinstance(signature, str) and "(" in signature  # the prototype of a C function
        ):
            if names_device(what):
                product = {"soc": soc, "cann": cann} if what == "host" else {}
                device = closing.enter_context(_maker("device").open_device(what, **product))
            elif isinstance(what, str):
                function = load_kernel(what, op)
        elif is_device(what) and not callable(what):
            device = what
        if device is not None:
            warnings.simplefilter("ignore", _maker("device").ConstraintWarning)
            function = partial(device.run, op)
        if signature is not None:
            function = _maker("signature").adapted(op, function, signature)
            if signature == "torch.autograd" and op.saved:
                function = update_wrapper(partial(_saving, op, function), function)
        if not callable(function):
            raise mistyped(
                "a kernel is a function, a device or the name of one",
                shown(what),
                "pass such as my_kernel, which takes the vendor's parameters as keywords",
            )
        yield Kernel(function, device)


def _saving(op: Operator, function: Callable, **inputs) -> dict:
    """Return the gradients of a Function that saves its own tensors; raise NotSupported if the case's saved tensors differ.

    Gradients from exact saved tensors differ from those with another epsilon, or from 16-bit ones.
    """
    bound = op.bind(inputs)
    bound |= in_float64(bound)
    anew = op.forward(**{p.name: bound[p.name] for p in op.forward_parameters if p.name in bound})
    exact = op.backward(**bound | {name: anew[of] for name, of in op.saved.items()})
    case = Case(op, inputs, float_format(inputs[op.like]).name, 0)
    for name, part in prepared(Recipe(op.name), case).expected.items():
        near = np.abs(exact[name] - part.truth) <= CLEAR * part.allowed
        if not (near | part.undecided | same(exact[name], part.truth)).all():
            raise NotSupported(
                problem(
                    "a Function saves its own tensors, in its own precision",
                    f"{name}, which follows from another {' or '.join(op.saved)}",
                    "leave such cases out",
                )
            )
    return function(**inputs)


def names_device(name: str | Path) -> bool:
    """Return whether a text names a device or a capsule file, not a function of a file or module.

    >>> names_device("atlas:1"), names_device("math:sqrt")
    (True, False)
    """
    return ":" not in str(name).removeprefix("atlas:") or _maker("peer").is_peer(name)


def differences(teller, op: Operator) -> Iterator[str]:
    """Yield the documented differences between a device, or another implementation, and the vendor."""
    for how in getattr(teller, "differences", lambda op: ())(op):
        yield message("{device} is documented to differ: {how}", device=teller.name, how=how)


def load_kernel(name: str, op=None) -> Callable:
    """Return the function named by "path/to/file.py:function" or "package.module:function".

    "path/to/file.cpp:entry" is an Ascend C kernel of the operator `op`, which runs on the tile machine.

    Raises ValueError when there is no such file, module or function, or when its code fails as it is loaded.

    >>> load_kernel("math:sqrt")(4.0)
    2.0
    """
    place, _, function = need(
        name,
        str,
        "a kernel is named as FILE.py:FUNCTION or MODULE:FUNCTION",
        "pass such as 'kernel.py:norm'",
    ).rpartition(":")
    if not place:
        raise _misnamed(repr(name), "name the function as well")
    kind = Path(place).suffix
    if kind in (".py", *SOURCES) and not os.path.isfile(place):
        raise _misnamed(f"{name!r}: no file {place}", "mend the name")
    if kind == ".so":
        raise _misnamed(
            repr(name),
            "say how a function of a library is called: signature=, or --signature, with its prototype in C",
        )
    if kind in SOURCES:
        source = _maker("C++").cpp(place)
        if function not in source.names:
            raise _misnamed(
                f"{name!r}, where {place} has no entry {function!r}",
                f"name one of: {', '.join(source.names)}",
            )
        return source[function].program(op)
    try:
        module = loaded(
            place,
            lambda: _module_of_file(Path(place)) if place.endswith(".py") else import_module(place),
        )
    except ValueError as error:
        missing = error.__cause__
        if (
            isinstance(missing, ModuleNotFoundError)
            and missing.name
            and f"{place}.".startswith(f"{missing.name}.")
        ):
            raise _misnamed(f"{name!r}: {missing}", "mend the name") from missing
        raise
    kernel = getattr(module, function, None)
    if kernel is None:
        there = (
            ", ".join(
                key for key, value in vars(module).items() if callable(value) and key[0] != "_"
            )
            or "none"
        )
        raise _misnamed(
            f"{name!r}, where {place} has no {function!r}", f"name one of its functions: {there}"
        )
    if not callable(kernel):
        raise _misnamed(f"{name!r}, a {type(kernel).__name__}", "name a function")
    return kernel


def _misnamed(got: str, fix: str) -> ValueError:
    return invalid(
        "a kernel is named as FILE.py:FUNCTION, MODULE:FUNCTION or FILE.cpp:ENTRY", got, fix
    )


def _module_of_file(path: Path):
    """Import a file as a module that may import its neighbours, even later when its functions run."""
    if (folder := str(path.parent.absolute())) not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
