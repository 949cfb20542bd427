"""The commands that check a kernel and its dump; the progress bar of all commands, and how they show what they found."""

import argparse
import ast
import json
import os
import sys
from contextlib import nullcontext, redirect_stdout

from aclnn_viz.errors import problem
from aclnn_viz.notebook import noted
from aclnn_viz.words.messages import tr


def progress(items, unit: str, total: int | None = None):
    """Show a progress bar where somebody watches."""
    return noted(items, total, unit, sys.stderr.isatty())


def show(options, content, text, **form) -> None:
    """Print what a command found: as text, or with --json as data."""
    print(json.dumps(content, indent=1, **form) if options.json else text, flush=True)


def _seed(text: str) -> int:
    try:
        if int(text) >= 0:
            return int(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        problem("a seed is a number from 0 on", text, "pass such as --seed 3")
    )


FORCE = {"action": "store_true", "help": "replace what this kit wrote there before"}
OPTIONS = {
    "operator": {
        "nargs": "?",
        "help": "short or vendor name; a folder of cases to try a kernel on them",
    },
    "kernel": {
        "nargs": "?",
        "help": 'FILE.py:FUNCTION, a device such as "host" or "atlas", a capsule',
    },
    "--seed": {"type": _seed, "metavar": "N", "help": "0 unless given; with --sealed one is drawn"},
    "--soc": {"help": "whose operator is the measure of what counts (default: Ascend910B2)"},
    "--cann": {"help": "and which version (default: 9.1)"},
    "--dtypes": {"metavar": "A,B", "help": "only these formats, such as float16,bfloat16"},
    "--where": {
        "metavar": "NAME=VALUE",
        "action": "append",
        "default": [],
        "help": "only this value of an attribute; a list is one of several; of an optional tensor None, left out, or True, given",
    },
    "--limits": {
        "metavar": "NAME=LIMIT",
        "action": "append",
        "default": [],
        "help": "at most so many elements of a tensor, or a shape of greatest lengths, such as (None,4096)",
    },
    "--shape": {
        "metavar": "N,M",
        "action": "append",
        "default": [],
        "help": "these shapes in place of the suite's",
    },
    "--plan": {
        "choices": ["device"],
        "help": "judge in the precision of the product, not of any float32 kernel",
    },
    "--depth": {
        "choices": ["quick", "normal", "deep"],
        "default": "normal",
        "help": "a second or two, the suite (the default), or a minute or more with sizes and special numbers",
    },
    "--beyond": {"action": "store_true", "help": "judge what the product does not take, too"},
    "--cases": {
        "metavar": "FILE",
        "help": "judge on this test list in place of the suite: ATK's .json or TTK's .csv",
    },
    "--signature": {
        "metavar": "CALL",
        "help": "how the kernel is called: aten, torch.autograd, liger, the prototype of a C function "
        "(KERNEL is LIBRARY.so:FUNCTION), or KERNEL_NAME=VENDOR_NAME,...",
    },
    "--allow-unsupported": {
        "action": "store_true",
        "help": "pass although the kernel does not support some cases",
    },
    "--write": {
        "metavar": "FOLDER",
        "help": "write the cases as .npy and .bin with their shapes in JSON",
    },
    "--read": {
        "metavar": "PLACE",
        "help": "judge the outputs left in a folder as 000/out/NAME.bin or .npy, or those "
        "of a capsule",
    },
    "--given": {
        "metavar": "NAME=FILE",
        "action": "append",
        "default": [],
        "help": "judge one case that lies in files: each tensor, each output, golden.OUTPUT for what was expected; "
        "bare numbers as FILE:DTYPE:N,M, attributes as NAME=VALUE",
    },
    "--html": {"metavar": "FILE", "help": "write the result as one page of HTML, too"},
    "--sealed": {
        "action": "store_true",
        "help": "run FILE.py:FUNCTION in a process of its own, with limits and a seed that is drawn unless given, "
        "and say what it does besides computing",
    },
    "--same-bits": {
        "action": "store_true",
        "help": "tell whether a row's result is the same bits in any batch, at any place, on any cores, in any thread and call",
    },
    "--seconds": {"type": float, "metavar": "N", "help": "with --sealed: of a call (default: 20)"},
    "--memory": {
        "type": int,
        "metavar": "MIB",
        "help": "with --sealed: of the kernel's process (default: 2048)",
    },
    "--force": FORCE,
}

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
        raise ValueError(problem("check needs an operator", "none", "name one"))
    if way == "--write":
        return _write(options, asked)
    if way == "--read":
        result = checking.read_and_check(
            options.operator, options.read, allow_unsupported=options.allow_unsupported, **asked
        )
    elif way == "--given":
        result = checking.given(options.operator, _named(options.given), options.plan)
    elif options.kernel is None and not os.path.isdir(options.operator):  # where outputs may lie
        raise ValueError(
            problem(
                "check needs a kernel", "none", "name FILE.py:FUNCTION, a device, --write or --read"
            )
        )
    else:
        result = _judged(options, way, asked)
    print(result.to_json() if options.json else result)
    if options.html:
        write_page(options.html, result.to_html())
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
    """Run the kernel and judge it; with --json what it prints goes to the standard error."""
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


TOLERANCE = {
    "operator": {"help": "short or vendor name, or the folder of an operator"},
    "--shape": {"metavar": "N,M", "help": "the shape that av.case takes; its default unless given"},
    "--dtype": {
        "default": "float32",
        "help": "float16, bfloat16, float32 (the default) or float64",
    },
    "--plan": {
        "help": "how right kernels compute: a product such as A2, or the order of sums: sequential, pairwise, blocked, shuffled; "
        "any order in float32 unless given"
    },
    "--set": {
        "metavar": "NAME=VALUE",
        "action": "append",
        "default": [],
        "help": "a parameter of the vendor",
    },
    "--seed": {"type": _seed, "default": 0, "metavar": "N", "help": "0 unless given"},
    "--let-through": {
        "nargs": 2,
        "type": float,
        "metavar": ("RTOL", "ATOL"),
        "help": "which named faults this pair lets pass",
    },
}


TRIAGE = {
    "folder": {"metavar": "FOLDER", "help": "the dump_path of msProbe, or a step or rank in it"},
    "--call": {"metavar": "NAME", "help": "only this call, such as Functional.API.3"},
    "--write": {
        "metavar": "CASE",
        "help": "write the first call that is not explained (else the first judged) as a case, into this folder",
    },
    "--html": {"metavar": "FILE", "help": "write every call as one page of HTML, too"},
    "--force": FORCE,
}


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
                "{call} is in {folder}: aclnn-viz check {operator} --read {folder} judges it, aclnn-viz check {folder} FILE.py:FUNCTION your kernel on it",
                call=written.name,
                folder=options.write,
                operator=written.operator,
            )
        )
    if options.html:
        write_page(options.html, found.to_html())
    return 0 if found.passed else 1


def write_page(place: str, page: str) -> None:
    """Write a page of HTML, in the place of one that these commands wrote."""
    from aclnn_viz.storage.results import new_file
    from aclnn_viz.tables import GENERATOR

    with new_file(
        place, True, lambda path: path.is_file() and GENERATOR in path.read_text("utf-8", "replace")
    ) as file:
        file.write(page.encode("utf-8", "replace"))


def _way(options) -> str:
    """Which of the ways of a check is asked for; ValueError for two of them, and for options that it has no use for."""
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
        raise ValueError(
            problem("check does one thing at a time", " and ".join(chosen), "leave out all but one")
        )
    (way,) = chosen
    useless = [
        flag
        for flag, settings in OPTIONS.items()
        if flag[0] == "-"
        and flag not in {*WAYS, *WAYS[way]}
        and getattr(options, flag[2:].replace("-", "_")) not in (settings.get("default"), False)
    ]
    if useless:
        served = (
            " or ".join(other for other, takes in WAYS.items() if takes >= set(useless))
            or "other ways of a check"
        )
        raise ValueError(
            problem(
                f"{' and '.join(useless)} can be given with {served}",
                f"it with {way}",
                "leave it out",
            )
        )
    return way


def _named(settings: list[str]) -> dict:
    """The settings NAME=VALUE by their names."""
    found = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(
                problem(
                    "a setting is NAME=VALUE", repr(setting), "write such as interpolationMode=0"
                )
            )
        if name in found:
            raise ValueError(
                problem(
                    f"{name} is set once",
                    f"{setting!r} as well",
                    f"write such as {name}=[0,1] for one of several",
                )
            )
        found[name] = _value(value)
    return found


def _call(text: str | None):
    """A signature as check takes it; names with = are a mapping."""
    return _named(text.split(",")) if text and "=" in text and "(" not in text else text


def _shape(text: str):
    """A shape, of one axis if it is a number alone."""
    value = _value(text)
    return (value,) if isinstance(value, int) else value


def _value(text: str):
    """A number, True, False, None, a list or a tuple as Python writes it; any other text is itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text
