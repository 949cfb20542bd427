"""Run C++ on this machine: kernels that are judged, whole programs with CANN emulated, and flags for a project of your own."""

import json
import shlex
import sys
import tempfile
from contextlib import ExitStack, nullcontext, redirect_stdout
from functools import wraps
from pathlib import Path

from aclnn_viz.cli.checks import show
from aclnn_viz.cli.options import OPTIONS
from aclnn_viz.errors import invalid, printable
from aclnn_viz.words.messages import tr

# options that need --golden; options that need --op
ON_FILES, JUDGED = ("--input", "--set", "--rtol", "--cores", "--schedule"), ("--dtypes", "--depth")
SHOWN = 1 << 20  # limit of printed characters in --json


def with_compiler_lines(command):
    """Return a command that prints a compiler's refusals in the compiler's lines, where others print one line."""

    @wraps(command)
    def call(options) -> int:
        from aclnn_viz.tiles.compiler import CompileError

        try:
            return command(options)
        except CompileError as error:
            print("aclnn-viz:", error, file=sys.stderr)
            return 2

    return call


@with_compiler_lines
def run(options) -> int:
    """Build a C++ program that holds host and kernel, and run it in the current folder with CANN emulated.

    The exit status is the program's own; 1 if that is 0 and a kernel showed hazards that --allow does not name; 2 if it could not be built; 124 if it took
    too long; 128 and the number of the signal that ended it. ACLNN_VIZ_SOC and ACLNN_VIZ_CANN choose product and version.
    What follows -- are the arguments of the program.
    """
    from aclnn_viz.devices import cpp_programs
    from aclnn_viz.devices.emulator import Emulator
    from aclnn_viz.tiles.hazards import KINDS

    if unknown := {*options.allow} - KINDS.keys():
        raise invalid(
            "--allow names a kind of hazard: " + ", ".join(KINDS),
            ", ".join(unknown),
            "name one of these",
        )
    program = cpp_programs.build([options.file, *options.sources], options.defines, options.include)
    emulator = Emulator(options.soc, schedule=options.schedule)
    with ExitStack() as files:
        streams = [None, None]
        if options.json:
            streams = [
                files.enter_context(
                    tempfile.TemporaryFile("w+", 1, encoding="utf-8", errors="replace")
                )
                for _ in range(2)
            ]
            files.enter_context(redirect_stdout(streams[0]))  # collect what kernels print
        left = cpp_programs.run(
            program,
            options.words,
            emulator,
            options.seconds,
            streams,
            options.allow,
        )
        left.output, left.errors = (beginning(one) if one else "" for one in streams)
    if options.json:
        print(json.dumps(left.to_json(), indent=1))
    for sentence in [] if options.json else left.sentences:
        print("aclnn-viz:", printable(sentence), file=sys.stderr)
    return left.status


def beginning(stream) -> str:
    """Return the first MiB of a written text, and whether there is more."""
    stream.seek(0)
    text = stream.read(SHOWN)
    return text + (
        "\n" + tr("(the program printed more, which is not shown)") if stream.read(1) else ""
    )


@with_compiler_lines
def check(options) -> int:
    """Tell whether a C++ kernel is right: hazards at its lines first, then its numbers.

    It is a C++ file with an entry, or a project with op_host and op_kernel, whose tiling function is run. With --op it is judged
    as that operator of the kit, as `aclnn-viz check` does; with --input and --golden on files, .npy or bytes of a DTYPE and a SHAPE.
    The exit status is 0 only if there was no hazard, and every case was run and is right.
    """
    from aclnn_viz.checking import check as judged
    from aclnn_viz.tiles.files import on_files
    from aclnn_viz.tiles.projects import HOST

    if bool(options.op) == bool(options.golden):
        raise invalid(
            "a kernel is judged as an operator (--op) or on files (--input, --golden)",
            "both" if options.op else "neither",
            "pass one of the two",
        )
    takes = OPTIONS["cpp"]["check"]
    if useless := [
        flag
        for flag in (ON_FILES if options.op else JUDGED)
        if getattr(options, flag[2:]) != takes[flag].get("default")
    ]:
        raise invalid(
            f"{' and '.join(useless)} can be given with {'--golden' if options.op else '--op'}",
            f"it with {'--op' if options.op else '--golden'}",
            "leave it out",
        )
    kernel = _kernel(options)
    if not 0 <= options.padding <= 1 << 15:
        raise invalid(
            "a tensor is padded by 0 to 32768 bytes", f"{options.padding}", "pass such as 1024"
        )
    for name in HOST:
        setattr(kernel, name, getattr(options, name))
    # a kernel may print, which would spoil JSON
    with redirect_stdout(sys.stderr) if options.json else nullcontext():
        result = (
            judged(
                options.op,
                kernel.program(options.op),
                dtypes=options.dtypes and options.dtypes.split(","),
                depth=options.depth,
            )
            if options.op
            else on_files(
                kernel,
                options.input,
                options.golden,
                options.set,
                options.rtol,
                cores=options.cores,
                schedule=options.schedule,
            )
        )
    print(result.to_json() if options.json else result)
    if options.op and result.passed and not options.json:
        print("\n".join(map(tr, _advice(kernel.program(options.op)))))
    return 0 if result.passed and not (options.op and result.stopped) else 1


def _advice(program) -> list:
    """Return the advice on buffers and waits from one launch of a program."""
    from aclnn_viz.cases import case
    from aclnn_viz.tiles.advice import advice
    from aclnn_viz.tiles.program import launch

    inputs = case(program.operator).inputs
    return [*advice(lambda **how: launch(program, **how, **inputs), launch(program, **inputs))]


def _kernel(options):
    """Return the project, or the single entry of a C++ file, that a command names."""
    from aclnn_viz.tiles.cpp import cpp
    from aclnn_viz.tiles.projects import Project

    place = Path(options.place)
    defines = dict(macro.partition("=")[::2] for macro in options.defines)
    if place.is_dir():
        project = Project(place, options.entry, defines, options.include)
        if project.left_out:
            said = tr(
                "left out, because these only register or call operators: {names}",
                names=", ".join(project.left_out),
            )
            print("aclnn-viz:", printable(said), file=sys.stderr)
        return project
    source = cpp(place, defines, options.include)
    name = options.entry or source.names[0]
    if name not in source.names or not options.entry and len(source.names) > 1:
        raise invalid(
            f"a kernel is one entry: {', '.join(source.names)}",
            options.entry or "none named",
            "pass it as --entry",
        )
    return source[name]


def flags(options) -> int:
    """Print what a C++ project of your own is compiled and linked with, so that its calls of CANN reach the emulator."""
    from aclnn_viz.devices.headers import flags, installation

    root = installation()
    found = flags(root)
    show(options, {"root": str(root), **found}, shlex.join([*found["compile"], *found["link"]]))
    return 0


def parted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of the command line, and those after --, which belong to the program of `cpp run`.

    >>> parted(["cpp", "run", "add.cpp", "--", "-x"])
    (['cpp', 'run', 'add.cpp'], ['-x'])
    """
    if "--" in arguments:
        at = arguments.index("--")
        if {"cpp", "run"} <= {*arguments[:at]}:
            return arguments[:at], arguments[at + 1 :]
    return arguments, []
