"""Run C++ on this machine: whole programs with CANN emulated, and what a project of your own is compiled with."""

import json
import shlex
import sys
import tempfile
from contextlib import ExitStack, nullcontext, redirect_stdout
from pathlib import Path

import numpy as np

from aclnn_viz.errors import printable, problem
from aclnn_viz.words.messages import tr


def run(options) -> int:
    """Build a C++ program that holds host and kernel, and run it in the current folder with CANN emulated.

    The exit status is the program's own; 1 if that is 0 and a kernel showed hazards; 2 if it could not be built; 124 if it took
    too long; 128 and the number of the signal that ended it. ACLNN_VIZ_SOC and ACLNN_VIZ_CANN choose product and version.
    What follows -- are the arguments of the program.
    """
    from aclnn_viz.devices import whole
    from aclnn_viz.devices.serving import Emulator
    from aclnn_viz.tiles.compiling import CompileError

    try:
        program = whole.build([options.file, *options.sources], options.defines, options.include)
    except CompileError as error:  # in the compiler's own lines
        print("aclnn-viz:", error, file=sys.stderr)
        return 2
    schedule = int(options.schedule) if options.schedule.isdigit() else options.schedule
    emulator = Emulator(options.soc, schedule=schedule, traced=options.trace is not None)
    with ExitStack() as files:
        streams = [None, None]
        if options.json:
            streams = [files.enter_context(tempfile.TemporaryFile("w+", 1, encoding="utf-8", errors="replace")) for _ in range(2)]
            files.enter_context(redirect_stdout(streams[0]))  # what kernels print
        left = whole.run(program, options.words, emulator, options.seconds, streams)
        for one in filter(None, streams):
            one.seek(0)
        left.output, left.errors = (one.read() if one else "" for one in streams)
    if options.json:
        print(json.dumps(left.to_json(), indent=1))
    for sentence in [] if options.json else left.sentences:
        print("aclnn-viz:", printable(sentence), file=sys.stderr)
    if options.trace:
        save(emulator.runs, Path(options.trace))
    return left.status


def check(options) -> int:
    """Tell whether a C++ kernel is right: hazards at its lines first, then its numbers.

    PLACE is a C++ file with an entry, or a project with op_host and op_kernel, whose tiling function is run. With --op it is judged
    as that operator of the kit, as `aclnn-viz check` does; with --input and --golden on files, .npy or bytes of a DTYPE and a SHAPE.
    The exit status is 0 only if there was no hazard and every number is right.
    """
    from aclnn_viz.checking import check as judged
    from aclnn_viz.tiles.cpp import cpp
    from aclnn_viz.tiles.projects import Project

    if bool(options.op) == bool(options.golden):
        raise ValueError(problem("a kernel is judged as an operator (--op) or on files (--input, --golden)",
                                 "both" if options.op else "neither", "pass one of the two"))
    place, source = Path(options.place), None
    if place.is_dir():
        kernel = Project(place, options.entry)
    else:
        source = cpp(place, dict(one.partition("=")[::2] for one in options.defines), options.include)
        kernel = source[options.entry or source.names[0]]
    with redirect_stdout(sys.stderr) if options.json else nullcontext():  # a kernel may print
        result = judged(options.op, kernel.program(options.op), dtypes=options.dtypes and options.dtypes.split(","), depth=options.depth) if options.op else \
            on_files(kernel, options)
    print(result.to_json() if options.json else result)
    return 0 if result.passed else 1


class Files:
    """The verdict on a kernel that ran on files: the hazards of its run, and for each output how far it is from its golden file."""

    def __init__(self, run, golden: list, rtol: float):
        self.hazards, self.rtol, self.outputs = run.hazards, rtol, []
        for (name, made), right in zip(list(run.outputs.items())[-len(golden):], golden):
            with np.errstate(all="ignore"):
                wide, wanted = (one.astype(np.float64) for one in (made, right))
                wrong = ~np.isclose(wide, wanted, rtol, rtol, equal_nan=True)
            places = np.argwhere(wrong)
            self.outputs.append((name, len(places), made.size, *((tuple(map(int, place := places[0])), made[tuple(place)].item(),
                                                                 right[tuple(place)].item()) if len(places) else ())))
        self.passed = not self.hazards and all(not wrong for _, wrong, *_ in self.outputs)

    def to_json(self) -> str:
        return json.dumps({"passed": self.passed, "hazards": [str(one) for one in self.hazards], "outputs": [
            dict(zip(("name", "wrong", "of", "first", "got", "golden"), one)) for one in self.outputs]}, indent=1)

    def __str__(self) -> str:
        lines = [str(one) for one in self.hazards]
        for name, wrong, size, *first in self.outputs:
            lines.append(tr("{name}: all {n} elements within rtol = atol = {rtol} of the golden file", name=name, n=size, rtol=self.rtol)
                         if not wrong else
                         tr("{name}: {wrong} of {n} elements beyond rtol = atol = {rtol} of the golden file, the first at {place}: {got} "
                            "instead of {golden}", name=name, wrong=wrong, n=size, rtol=self.rtol, place=first[0], got=first[1], golden=first[2]))
        return "\n".join([*lines, tr("ok") if self.passed else tr("FAILED")])


def on_files(kernel, options) -> Files:
    """Run a kernel or a project on the files that a command names."""
    from aclnn_viz.tiles import run
    from aclnn_viz.tiles.launching import poisoned
    from aclnn_viz.tiles.memory import GlobalMemory
    from aclnn_viz.tiles.projects import Project

    inputs, golden = ([array_of(one) for one in given] for given in (options.input, options.golden))
    values = dict(one.partition("=")[::2] for one in options.set)
    numbers = {name: value_of(text) for name, text in values.items()}
    schedule = int(options.schedule) if options.schedule.isdigit() else options.schedule
    if isinstance(kernel, Project):
        left = kernel.launch(*inputs, shapes=[one.shape for one in golden], cores=options.cores, schedule=schedule, **numbers)
        return Files(left, golden, options.rtol)
    tensors = iter([*inputs, *(GlobalMemory(f"output {place}", poisoned(one.shape, one.dtype), False) for place, one in enumerate(golden))])
    given = [numbers[name] if name in numbers else next(tensors, None) for name, _ in kernel.parameters]
    if unused := sum(1 for _ in tensors) + len(numbers.keys() - {name for name, _ in kernel.parameters}):
        raise ValueError(problem(f"{kernel.__name__} takes {', '.join(name for name, _ in kernel.parameters)}", f"{unused} more than it takes",
                                 "pass inputs, then golden files, in their order, and numbers as --set NAME=VALUE"))
    return Files(run(kernel, *given, cores=options.cores or 1, schedule=schedule), golden, options.rtol)


def array_of(text: str):
    """The array of FILE.npy, or of FILE:DTYPE:SHAPE, such as x.bin:float16:8x2048."""
    from aclnn_viz.tiles.projects import TYPES

    if text.endswith(".npy"):
        return np.load(text)
    try:
        name, dtype, shape = text.rsplit(":", 2)
        lengths = tuple(int(one) for one in shape.split("x")) if shape else ()
        dtype = next(one for one in TYPES if one.name == dtype)
    except (ValueError, StopIteration):
        raise ValueError(problem("a file is given as FILE.npy or FILE:DTYPE:SHAPE", text, "pass such as x.bin:float16:8x2048")) from None
    found = np.fromfile(name, dtype)
    if found.size != np.prod(lengths, dtype=int):
        raise ValueError(problem(f"{name} holds {shape} elements of {dtype}", f"{found.size}", "mend the shape or the dtype"))
    return found.reshape(lengths)


def value_of(text: str):
    """A number, a truth, a list of numbers, or a text.

    >>> value_of("3"), value_of("[1, 2]"), value_of("mean")
    (3, [1, 2], 'mean')
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def save(runs, file: Path) -> None:
    """Write the stated times of each launch: the first to the file, others beside it with a number."""
    from aclnn_viz.tiles import Costs, timeline

    if not runs:
        raise ValueError(problem("a trace holds the launches of a program", "none", "leave out --trace, or launch a kernel"))
    for number, one in enumerate(runs, 1):
        place = file if number == 1 else file.with_stem(f"{file.stem}.{number}")
        print(tr("wrote {path}", path=timeline(one, Costs.published("A2")).save(place)), file=sys.stderr)


def flags(options) -> int:
    """Print what a C++ project of your own is compiled and linked with, so that its calls of CANN reach the emulator."""
    from aclnn_viz.devices.headers import flags, installation

    root = installation()
    found = flags(root)
    print(json.dumps({"root": str(root), **found}, indent=1) if options.json else
          shlex.join([*found["compile"], *found["link"]]))
    return 0


def parted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments of the command line, and those after -- that are for the program which `cpp run` runs.

    >>> parted(["cpp", "run", "add.cpp", "--", "-x"])
    (['cpp', 'run', 'add.cpp'], ['-x'])
    """
    if "--" in arguments:
        at = arguments.index("--")
        if {"cpp", "run"} <= {*arguments[:at]}:
            return arguments[:at], arguments[at + 1:]
    return arguments, []


COMMANDS = {
    "check": (check, {
        "place": {"metavar": "FILE|FOLDER", "help": "a C++ file with an entry, or an operator project"},
        "--op": {"help": "judge it as this operator of the kit"},
        "--input": {"action": "append", "default": [], "metavar": "FILE", "help": "FILE.npy or FILE:DTYPE:SHAPE, each input in its order"},
        "--golden": {"action": "append", "default": [], "metavar": "FILE", "help": "what each output should hold, given likewise"},
        "--set": {"action": "append", "default": [], "metavar": "NAME=VALUE", "help": "an attribute of a project, a number of an entry"},
        "--rtol": {"type": float, "default": 1e-3, "help": "with files: how far a number may be, relative and absolute (default: 0.001)"},
        "--entry": {"metavar": "NAME", "help": "the entry of a file, the operator of a project, where there are several"},
        "-D": {"dest": "defines", "action": "append", "default": [], "metavar": "NAME=VALUE", "help": "a macro"},
        "-I": {"dest": "include", "action": "append", "default": [], "metavar": "FOLDER", "help": "a folder of headers"},
        "--cores": {"type": int, "metavar": "N", "help": "with files: cores of the run, or that the tiling function is offered"},
        "--schedule": {"default": "eager", "help": '"eager" (the default), "late" or a number, which draws an order'},
        "--dtypes": {"metavar": "A,B", "help": "with --op: only these formats"},
        "--depth": {"choices": ["quick", "normal", "deep"], "default": "normal", "help": "with --op: how many cases"}}),
    "run": (run, {  # what follows -- is the program's
        "file": {"metavar": "FILE", "help": "a C++ file with a function main; its own arguments follow after --"},
        "-D": {"dest": "defines", "action": "append", "default": [], "metavar": "NAME=VALUE", "help": "a macro"},
        "-I": {"dest": "include", "action": "append", "default": [], "metavar": "FOLDER", "help": "a folder of headers"},
        "--with": {"dest": "sources", "action": "append", "default": [], "metavar": "FILE",
                   "help": "another source of the program, such as the kernel's"},
        "--schedule": {"default": "eager", "help": '"eager" (the default), "late" or a number, which draws an order'},
        "--soc": {"help": "the SoC that is emulated, such as Ascend910B2; ACLNN_VIZ_SOC unless given"},
        "--seconds": {"type": float, "default": 60.0, "help": "how long the program may take (default: 60)"},
        "--trace": {"metavar": "FILE", "help": "write the stated times of each launch as a trace.json"}}),
    "flags": (flags, {}),
}
