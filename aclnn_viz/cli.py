"""The command line: `aclnn-viz verify`; each command has `--help` and `--json`, and exits with 0 only if all held."""

import argparse
import json
import sys
import time

from aclnn_viz.verification.check import Row


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = argparse.ArgumentParser(prog="aclnn-viz", description="Verify the backward operators of CANN's aclnn.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, function, options in (("verify", verify, _VERIFY),):
        command = commands.add_parser(name, help=function.__doc__.splitlines()[0], description=function.__doc__)
        command.add_argument("--json", action="store_true", help="print the rows as JSON instead of a table")
        for flags, settings in options:
            command.add_argument(*flags, **settings)
        command.set_defaults(run=function)
    chosen = parser.parse_args(arguments)
    return chosen.run(chosen)


_VERIFY = (
    (("--numeric",), {"action": "store_true", "help": "only kernels, rates, devices and status codes"}),
    (("--symbolic",), {"action": "store_true", "help": "only the theorems and their mutants"}),
    (("--report",), {"metavar": "FOLDER", "help": "write accuracy.md and accuracy.json there as well"}),
)


def verify(options) -> int:
    """Verify every operator: theorems, rounding against truth, Taylor rates, status codes of the emulator.

    Modes x formats x products x shapes; the exit status is 0 only if everything held.
    """
    from aclnn_viz.verification import numeric, symbolic

    both = options.numeric == options.symbolic
    start = time.perf_counter()
    checks = list(numeric.checks()) if both or options.numeric else []
    checks += list(symbolic.checks()) if both or options.symbolic else []
    rows = [check() for check in _progress(checks)]
    passed = all(row.passed for row in rows)
    if options.json:
        print(json.dumps({"passed": passed, "seconds": time.perf_counter() - start,
                          "rows": [row.to_json() for row in rows]}, indent=1))
    else:
        print(table(rows))
        failed = sum(not row.passed for row in rows)
        print(f"\n{len(rows)} checks, {sum(row.cases for row in rows)} cases, {failed} failed, "
              f"{time.perf_counter() - start:.1f} s")
    if options.report:
        from aclnn_viz.verification import report

        print(*(f"wrote {path}" for path in report.write(options.report)), sep="\n", file=sys.stderr)
    return 0 if passed else 1


def table(rows: list[Row]) -> str:
    """Return the rows as a text table, one operator after the other; failures are told below their row."""
    header = ("operator", "check", "scope", "result", "cases", "worst", "time")
    lines = [(row.operator, row.check, row.scope, "ok" if row.passed else "FAILED", str(row.cases), row.value,
              f"{row.seconds:.2f} s") for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *lines)]
    text = []
    for cells, row in zip([header, *lines], [None, *rows]):
        text.append("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip())
        if row is None:
            text.append("  ".join("-" * width for width in widths))
        elif row.failure:
            text.append(f"    {row.failure}")
    return "\n".join(text)


def _progress(items):
    """Show a progress bar where tqdm is installed and somebody watches."""
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    return tqdm(items, disable=not sys.stderr.isatty(), leave=False, unit="check")


if __name__ == "__main__":
    sys.exit(main())
