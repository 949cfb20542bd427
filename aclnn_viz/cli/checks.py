"""The commands `check`, `tolerance` and `triage`, which judge kernels and dumped runs; and the progress bar and output of all
commands.
"""

import ast
import json
import os
import sys
from contextlib import nullcontext, redirect_stdout

from aclnn_viz.cli.options import OPTIONS
from aclnn_viz.errors import invalid
from aclnn_viz.notebook import noted
from aclnn_viz.words.messages import tr


def progress(items, unit: str, total: int | None = None):
    """Return the items, with a progress bar if a person watches."""
    return noted(items, total, unit, sys.stderr.isatty())


def show(options, content, text, **form) -> None:
    """Print a command's result, as text, or with --json as data."""
    print(json.dumps(content, indent=1, **form) if options.json else text, flush=True)


_SCOPE = {
    "--seed",
    "--soc",
    "--cann",
    "--dtypes",
    "--where",
    "--limits",
    "--shape",
    "--plan",
    "--beyond",
}
WAYS = {
    "--write": _SCOPE | {"--force"},
    "--read": _SCOPE | {"--allow-unsupported", "--html"},
    "--given": {"--html", "--plan"},
    "--sealed": _SCOPE | {"--depth", "--allow-unsupported", "--seconds", "--memory"},
    "--same-bits": {"--seed", "--soc", "--cann", "--signature"},
    "a kernel": _SCOPE | {"--depth", "--cases", "--signature", "--allow-unsupported", "--html"},
}


def check(options) -> int:
    """Tell whether a kernel is right, where it first goes wrong, and which mistake it looks like.

    KERNEL is FILE.py:FUNCTION, FILE.cpp:ENTRY, the name of a device or a capsule. Without either: --write the cases into a folder, run
    any program on them, and --read its outputs back. By default what the vendor's operator takes on Atlas A2 is judged.
    The exit status is 0 only if every case that counts was run and is right; one that the kernel does not support
    (NotImplementedError, or no output to read) fails, unless --allow-unsupported.
    """
    from aclnn_viz import checking

    way = _way(options)
    asked = {
        "soc": options.soc,
        "cann": options.cann,
        "where": _named(options.where),
        "limits": _named(options.limits),
        "dtypes": options.dtypes and [name.strip() for name in options.dtypes.split(",")],
        "beyond": options.beyond,
        "shapes": [_shape(shape) for shape in options.shape],
        "plan": options.plan,
    }
    if options.operator is None:
        raise invalid("check needs an operator", "none", "name one")
    if way == "--write":
        return _write(options, asked)
    if way == "--read":
        result = checking.read_and_check(
            options.operator, options.read, allow_unsupported=options.allow_unsupported, **asked
        )
    elif way == "--given":
        result = checking.given(options.operator, _named(options.given), options.plan)
    # `operator` may be a folder of outputs, which needs no kernel
    elif options.kernel is None and not os.path.isdir(options.operator):
        raise invalid(
            "check needs a kernel", "none", "name FILE.py:FUNCTION, a device, --write or --read"
        )
    else:
        result = _judged(options, way, asked)
    print(result.to_json() if options.json else result)
    write_page(options, result)
    if way == "--same-bits":
        return 0 if result.holds else 1
    return 0 if result.passed and (way == "--sealed" or not result.stopped) else 1


def _write(options, asked: dict) -> int:
    """Write the cases with their arrays into a folder."""
    from aclnn_viz.checking import write_suite

    place = options.operator, options.write, options.seed or 0, options.force
    folder = write_suite(*place, **asked)
    text = tr(
        "{folder}: inputs in 000/in/NAME.bin, their shapes and dtypes in cases.json\n"
        "leave outputs in 000/out/NAME.bin, then: aclnn-viz check {operator} --read {folder}",
        folder=folder,
        operator=options.operator,
    )
    show(options, {"folder": str(folder)}, text)
    return 0


def _judged(options, way: str, asked: dict):
    """Run the kernel and judge it; with --json its prints go to the standard error."""
    from aclnn_viz import checking
    from aclnn_viz.checking.sealed_check import check_sealed

    asked |= {
        "allow_unsupported": options.allow_unsupported,
        "depth": options.depth,
        "progress": lambda items, *_: progress(items, "case"),
    }
    kernel, memory = options.kernel, options.memory and options.memory << 20
    with redirect_stdout(sys.stderr) if options.json else nullcontext():
        if way == "--sealed":
            limits = {"seconds": options.seconds, "memory": memory}
            asked |= {name: value for name, value in limits.items() if value is not None}
            return check_sealed(options.operator, kernel, options.seed, **asked)
        if way == "--same-bits":
            asked = {name: getattr(options, name) for name in ("soc", "cann")}
            asked["signature"] = _call(options.signature)
            return checking.same_bits(options.operator, kernel, options.seed or 0, **asked)
        return checking.check(
            options.operator,
            checking.load_kernel(kernel) if kernel and kernel.endswith(".py") else kernel,
            options.seed or 0,
            **asked,
            cases=options.cases,
            signature=_call(options.signature),
        )


def tolerance(options) -> int:
    """Show the tightest rtol and atol that no right kernel breaks, and which named faults a pair of yours lets pass.

    |actual - exact| <= atol + rtol * |exact|, element by element, as numpy.allclose has it, on inputs drawn as `av.case` draws them.
    """
    from aclnn_viz.checking.tolerances import tolerance

    found = tolerance(
        options.operator,
        shape=_shape(options.shape) if options.shape else None,
        dtype=options.dtype,
        plan=options.plan,
        seed=options.seed,
        let_through=options.let_through,
        **_named(options.set),
    )
    print(found.to_json() if options.json else found)
    return 0


def triage(options) -> int:
    """Judge the backward calls of a dumped training run, and name the first that neither rounding nor the device explains.

    The dump is one of msProbe with tensors; of statistics and checksums alone only contradictions are found. Files are read, and
    nothing in them is run. The exit status is 0 only if calls were judged, all of them are explained and no file is damaged.
    """
    from aclnn_viz import checking
    from aclnn_viz.storage.cases import is_folder_of_cases
    from aclnn_viz.storage.results import need_place

    if options.write:
        need_place(options.write, options.force, is_folder_of_cases)
    found = checking.triage(options.folder, options.call, lambda calls: progress(calls, "call"))
    written = found.write(options.write, options.force) if options.write else None
    print(found.to_json() if options.json else found)
    if written and not options.json:
        print(
            tr(
                "{call} is in {folder}: aclnn-viz check {operator} --read {folder} judges this call; aclnn-viz check {folder} FILE.py:FUNCTION judges your kernel on the inputs of this call",
                call=written.name,
                folder=options.write,
                operator=written.operator,
            )
        )
    write_page(options, found)
    return 0 if found.passed else 1


def write_page(options, found) -> None:
    """Write the page of HTML that --html asks for, replacing only a page that these commands wrote."""
    from aclnn_viz.storage.results import new_file
    from aclnn_viz.tables import GENERATOR

    if options.html:
        with new_file(
            options.html,
            True,
            lambda path: path.is_file() and GENERATOR in path.read_text("utf-8", "replace"),
        ) as file:
            file.write(found.to_html().encode("utf-8", "replace"))


def _way(options) -> str:
    """Return the selected way of a check; raise ValueError for two ways, and for options that do not apply."""
    asked = {
        "--write": options.write,
        "--read": options.read,
        "--given": options.given,
        "--sealed": options.sealed,
        "--same-bits": options.same_bits,
        "a kernel": options.kernel and not (options.sealed or options.same_bits),
    }
    chosen = [way for way, value in asked.items() if value] or ["a kernel"]
    if len(chosen) > 1:
        raise invalid(
            "check does one thing at a time", " and ".join(chosen), "leave out all but one"
        )
    (way,) = chosen
    useless = [
        flag
        for flag, settings in OPTIONS["check"].items()
        if flag[0] == "-"
        and flag not in {*WAYS, *WAYS[way]}
        and getattr(options, flag[2:].replace("-", "_")) not in (settings.get("default"), False)
    ]
    if useless:
        served = (
            " or ".join(other for other, takes in WAYS.items() if takes >= set(useless))
            or "other ways of a check"
        )
        raise invalid(
            f"{' and '.join(useless)} can be given with {served}", f"it with {way}", "leave it out"
        )
    return way


def _named(settings: list[str]) -> dict:
    """Return the settings NAME=VALUE by name."""
    found = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise invalid(
                "a setting is NAME=VALUE", repr(setting), "write such as interpolationMode=0"
            )
        if name in found:
            raise invalid(
                f"{name} is set once",
                f"{setting!r} as well",
                f"write such as {name}=[0,1] for one of several",
            )
        found[name] = _value(value)
    return found


def _call(text: str | None):
    """Return a signature as check takes it; names with = form a mapping."""
    return _named(text.split(",")) if text and "=" in text and "(" not in text else text


def _shape(text: str):
    """Return a shape, of one axis for a single number."""
    value = _value(text)
    return (value,) if isinstance(value, int) else value


def _value(text: str):
    """Return a number, True, False, None, a list or a tuple in Python's notation; any other text unchanged."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text
