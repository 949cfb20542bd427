"""The command line: `aclnn-viz COMMAND`; each command has `--help` and `--json`.

The exit status is 0 only if everything held, 1 if something did not, 2 if the command could not run or ended without its
verdict, 130 if it was interrupted.
"""

import argparse
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType

from aclnn_viz.cli import agents, checks, cpp, reference, sweeps
from aclnn_viz.cli.checks import progress, show
from aclnn_viz.cli.lessons import lab
from aclnn_viz.cli.options import OPTIONS, add_options, given
from aclnn_viz.errors import printable, problem
from aclnn_viz.tables import as_text, columns, wrapped
from aclnn_viz.verification.check import Row
from aclnn_viz.words.messages import LANGUAGES, VARIABLE, english, language, message, tr

# Sentences of argparse, in English.
USAGE = (
    message("usage: "),
    message("positional arguments"),
    message("options"),
    message("show this help message and exit"),
    message("%(prog)s: error: %(message)s\n"),
    message("the following arguments are required: %s"),
    message("unrecognized arguments: %s"),
    message("invalid choice: %(value)r (choose from %(choices)s)"),
    message("argument %(argument_name)s: %(message)s"),
    message("expected one argument"),
    message("expected %s arguments"),
    message("invalid %(type)s value: %(value)r"),
    message("one of the arguments %s is required"),
    message("not allowed with argument %s"),
    message("ambiguous option: %(option)s could match %(matches)s"),
    message("ignored explicit argument %r"),
)
PLACE = r"%(?:\(\w+\))?[rs]"  # placeholder in a sentence of argparse


def translated(sentence: str) -> str:
    """Return a sentence of argparse in the output's language, unchanged if it is not in USAGE."""
    for template in USAGE:
        parts, places = re.split(PLACE, template), re.findall(PLACE, template)
        if match := re.fullmatch("(.+?)".join(map(re.escape, parts)), sentence, re.DOTALL):
            text = tr(template)
            for place, word in zip(places, match.groups()):
                word = translated(word) if place == "%(message)s" else word
                text = text.replace(place, word, 1)
            return text
    return sentence


class Help(argparse.HelpFormatter):
    """Help whose lines have their visible width, in the output's language."""

    def start_section(self, heading):
        super().start_section(heading and translated(heading))

    def add_usage(self, usage, actions, groups, prefix=None):
        super().add_usage(usage, actions, groups, tr("usage: ") if prefix is None else prefix)

    def _split_lines(self, text, width):
        return wrapped(" ".join(text.split()), width)

    def _fill_text(self, text, width, indent):
        return "\n".join(wrapped(" ".join(text.split()), width, indent, indent))


class Parser(argparse.ArgumentParser):
    """A parser with help and errors in the output's language."""

    def __init__(self, **settings):
        super().__init__(**settings, add_help=False, formatter_class=Help, allow_abbrev=False)
        self.add_argument("-h", "--help", action="help", help=tr("show this help message and exit"))

    def error(self, message):
        self.print_usage(sys.stderr)
        said = {"prog": self.prog, "message": translated(message)}
        self.exit(2, tr("%(prog)s: error: %(message)s\n") % said)


def main(
    arguments: list[str] | None = None, supervised: Callable = lambda work, alone: work()
) -> int:
    """Run one command and return its exit status; `supervised(work, alone)` does its work, in a child unless alone."""
    arguments, words = cpp.parted(sys.argv[1:] if arguments is None else arguments)
    first = argparse.ArgumentParser(prog="aclnn-viz", add_help=False, allow_abbrev=False)
    option = first.add_argument("--lang", choices=LANGUAGES)
    # choose the language before any help or error is printed
    asked, arguments = first.parse_known_args(arguments)
    if asked.lang:
        os.environ[VARIABLE] = asked.lang  # kernels of a JupyterLab inherit the language
        language(asked.lang)
    option.help = tr("the language of the output, and of the explorers that `lab` opens")
    parser = Parser(
        prog="aclnn-viz",
        parents=[first],
        description=tr("Verify the backward operators of CANN's aclnn."),
        epilog=tr(
            "Exit status: 0 if everything held, 1 if something did not hold, 2 if the command could not be carried out or ended without a verdict, 130 if it was interrupted."
        ),
    )
    # imported late, because these modules load slowly
    release = (
        import_module("importlib.metadata").version("aclnn-viz") if "--version" in arguments else ""
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"aclnn-viz {release}",
        help=tr("show program's version number and exit"),
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _offer(commands, COMMANDS)
    chosen = parser.parse_args(arguments, argparse.Namespace(words=words))
    # the command turns into JupyterLab and returns no verdict
    return supervised(lambda: _status(chosen), chosen.run is lab)


def summary(function) -> str:
    """Return a command's purpose in one sentence; empty under -OO."""
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())


def _offer(commands, table: dict) -> None:
    """Add the commands of a table; a module adds the commands of its own table."""
    for name, (function, options) in table.items():
        short = summary(function)
        about = tr(short)
        command = commands.add_parser(
            name,
            help=about,
            description=(function.__doc__ or "") if about == short else about,
        )
        if isinstance(function, ModuleType):
            _offer(command.add_subparsers(required=True, metavar="COMMAND"), options)
            continue
        command.add_argument("--json", action="store_true", help=tr("print JSON instead of text"))
        add_options(command, options)
        if name in TAKES_DATA:
            command.add_argument(
                "--operator",
                dest="folders",
                action="append",
                default=[],
                metavar="FOLDER",
                type=given,
                help=tr("open the operator in this folder, so that cases may use its name"),
            )
        command.set_defaults(run=function, folders=[])


def _status(chosen) -> int:
    try:
        for folder in chosen.folders:
            from aclnn_viz.operators import operator

            operator(Path(folder))
        # programs read JSON, so its texts stay English
        with english() if chosen.json else nullcontext():
            status = chosen.run(chosen)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return ended("interrupted", 130)
    except ImportError as error:
        return ended(
            problem(
                "this command needs what the extra `symbols` installs",
                str(error),
                "pip install 'aclnn-viz[symbols]'; verify --numeric, check, run and device need none of it",
            )
        )
    except SystemExit as error:  # raised by a kernel, or by an operator's files
        return ended(
            problem(
                "a command ends with its verdict",
                f"{error!r} before it",
                "leave the exit out of the code that it runs",
            )
        )
    except MemoryError as error:
        return ended(
            problem(
                "a command fits into the memory of this machine",
                str(error) or "a command that needs more",
                "ask for less, such as a smaller shape",
            )
        )
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(
            error.__cause__, KeyboardInterrupt
        ):  # Python 3.11 wraps an exception raised while a class is created
            return ended("interrupted", 130)
        if (
            isinstance(error, OSError) and error.filename is not None
        ):  # a system error, not a problem text in three parts
            return ended(
                problem(
                    "the named file or folder can be opened or made",
                    f"{error.filename}: {error.strerror}",
                    "name another file or folder, or correct its rights",
                )
            )
        return ended(str(error) or type(error).__name__)


def ended(why: str, status: int = 2) -> int:
    """Print in one line why a command ended early, and return its exit status."""
    print("aclnn-viz:", printable(" ".join(why.split())), file=sys.stderr)
    return status


def verify(options) -> int:
    """Verify every operator: theorems, pages against truth, status codes of the emulator, peers.

    The exit status is 0 only if everything held.
    """
    from aclnn_viz.operators import operator
    from aclnn_viz.verification import cores

    start = time.perf_counter()
    parts = tuple(
        part
        for part in ("numeric", "symbolic")
        if options.numeric == options.symbolic or getattr(options, part)
    )
    names = (operator(options.operator).name,) if options.operator else None
    with (
        cores.rows(parts, names)
        if "symbolic" in parts
        else nullcontext(cores.checks(parts, names)) as checks
    ):
        rows = [check() for check in progress(checks, "check")]
    passed, seconds = all(row.passed for row in rows), time.perf_counter() - start
    show(
        options,
        {"passed": passed, "seconds": seconds, "rows": [*map(asdict, rows)]},
        table(rows)
        + "\n\n"
        + tr(
            "{checks} checks, {cases} cases, {failed} failed, {seconds} s",
            checks=len(rows),
            failed=sum(not row.passed for row in rows),
            cases=sum(row.cases for row in rows),
            seconds=f"{seconds:.1f}",
        ),
    )
    return 0 if passed else 1


def errata(options) -> int:
    """Show where the published documents are wrong or contradict the device, and recompute the evidence of each claim.

    The exit status is 0 only if every claim reproduced.
    """
    from aclnn_viz.operators import operator
    from aclnn_viz.verification import errata

    name = options.operator and operator(options.operator).name
    findings = errata.recompute(
        progress([one for one in errata.errata() if name in (None, one.operator)], "erratum")
    )
    content = errata.to_json(findings)
    show(options, content, errata.text_table(findings))
    return 0 if content["passed"] or name and not findings else 1  # an operator may have no errata


def run(options) -> int:
    """Run cases on a device and record them, with their outputs, in a capsule that replays anywhere."""
    from aclnn_viz.devices import ConstraintWarning, open_device, record
    from aclnn_viz.sweeps.recipes import draw, source

    cases = [draw(text)[1] for text in source(options.cases)]
    with open_device(options.device) as device, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        path = record(
            device, cases, options.out, lambda items: progress(items, "case"), options.force
        )
        done = {
            "capsule": str(path),
            "cases": len(cases),
            "device": device.name,
            "soc": device.soc,
            "cann": device.cann,
        }
    show(
        options,
        done,
        tr("{cases} cases on {device} ({soc}, CANN {cann}) in {capsule}", **done)
        if done["soc"]
        else tr("{cases} cases on {device} in {capsule}", **done),
    )
    return 0


def device(options) -> int:
    """Tell which devices, libraries and operators were found here, and why others cannot be used.

    The exit status is 1 where no Atlas can be used.
    """
    from aclnn_viz.devices.inventory import device_text, list_devices

    found = list_devices()
    show(options, found, device_text(found))
    return 0 if found["devices"] else 1


FUNCTIONS = (
    verify,
    reference.prove,
    errata,
    reference.conventions,
    reference.glossary,
    reference.why,
    checks.check,
    reference.museum,
    checks.tolerance,
    checks.triage,
    run,
    sweeps.sweep,
    sweeps.report,
    device,
    lab,
    cpp,
    agents.mcp,
    reference.operators,
    reference.describe,
    reference.new,
)
# a command has the name of its function or module
NAMED = {function.__name__.rpartition(".")[2]: function for function in FUNCTIONS}
COMMANDS = {name: (function, OPTIONS[name]) for name, function in NAMED.items()}
COMMANDS["cpp"] = cpp, {name: (getattr(cpp, name), own) for name, own in OPTIONS["cpp"].items()}

TAKES_DATA = ("check", "triage", "run", "sweep", "report", "mcp")


def table(rows: list[Row]) -> str:
    """Return the rows as a text table, by operator; failures follow their row."""
    header = tr(
        "operator | check | scope | result | cases | time | worst, or what a proof assumes"
    ).split(" | ")
    lines = [
        (
            row.operator,
            tr(row.check),
            tr(row.scope),
            tr("ok") if row.passed else tr("FAILED"),
            str(row.cases),
            f"{row.seconds:.2f} s",
            tr(row.value),
        )
        for row in rows
    ]
    head, *table = as_text(header, lines)
    text = [head, "-" * columns(head)]
    for line, row in zip(table, rows):
        text.append(line)
        if row.failure:
            text.append(f"    {tr(row.failure)}")
    return "\n".join(text)
