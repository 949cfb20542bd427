"""The commands for many cases: sweep them, and report what the stores hold."""

from contextlib import ExitStack

from aclnn_viz.cli.checking import progress, show, write_page
from aclnn_viz.errors import problem


def sweep(options) -> int:
    """Run and judge many cases on a device or a kernel, here or on many machines, and record each once in a store.

    An interrupted sweep goes on where it stopped when it is called again. The exit status is 0 only if cases were
    judged and none is wrong.
    """
    from aclnn_viz.sweeps import sweep
    from aclnn_viz.sweeps.workers import cluster

    with ExitStack() as stack:
        executor = options.workers
        if executor is None and options.scheduler is None and ".py:" in options.device:
            executor = 1  # a kernel may end its process
        if options.resources and not options.scheduler:
            raise ValueError(
                problem(
                    "resources are those of a scheduler's workers",
                    "no --scheduler",
                    "name it, or leave out --resources",
                )
            )
        if options.scheduler:
            if executor is not None:
                raise ValueError(
                    problem(
                        "workers are processes here or those of a scheduler",
                        "both",
                        "leave out --workers or --scheduler",
                    )
                )
            executor, close = cluster(options.scheduler, dict(map(_resource, options.resources)))
            stack.callback(close)
        result = sweep(
            options.cases,
            options.device,
            executor,
            options.store,
            ops=options.operators or None,
            seeds=options.seeds,
            soc=options.soc,
            cann=options.cann,
            plan=options.plan,
            root=options.root,
            custom=options.custom,
            progress=lambda rows, total: progress(rows, "case", total),
        )
    show(options, result.to_json(), result)
    return 0 if result.passed else 1


def report(options) -> int:
    """Report what a store of `sweep` holds: tables, worst cases with the command that runs each again, what changed.

    The first line is the one thing to know. The exit status is 0 only if nothing is wrong, and nothing that was right
    in the other store became something else.
    """
    from aclnn_viz.sweeps import report

    found = report(options.store, options.against, options.device)
    if options.html:
        write_page(options.html, found.to_html())
    show(options, found.to_json(), found)
    return 0 if found.passed else 1


def _resource(setting: str) -> tuple[str, float]:
    name, _, amount = setting.partition("=")
    try:
        return name, float(amount)
    except ValueError:
        raise ValueError(
            problem("a resource of a worker is NAME=AMOUNT", repr(setting), "write such as atlas=1")
        ) from None


SWEEP = {
    "operators": {
        "nargs": "*",
        "metavar": "OP",
        "help": "short or vendor names; all operators unless given",
    },
    "--cases": {
        "default": "suite",
        "metavar": "CASES",
        "help": "suite (the default), standard (what `run` records), a file "
        "with a JSON list of recipes, or such a list itself",
    },
    "--seeds": {
        "type": int,
        "default": 1,
        "metavar": "N",
        "help": "draw each case of a suite so often (default: 1)",
    },
    "--device": {
        "default": "host",
        "help": '"host" (the default), "atlas", "atlas:1", a capsule, '
        "or a kernel as FILE.py:FUNCTION",
    },
    "--soc": {
        "help": "what the host emulates, and whose operator counts for a kernel (default: Ascend910B2)"
    },
    "--cann": {"help": "and which version (default: 9.1)"},
    "--plan": {
        "choices": ["device"],
        "help": "the host predicts the precision of the product, and is judged in it",
    },
    "--root": {
        "metavar": "FOLDER",
        "help": "the installation of CANN, where the environment does not name it",
    },
    "--custom": {"metavar": "PATH", "help": "a library of custom operators"},
    "--store": {
        "default": ":memory:",
        "metavar": "FILE",
        "help": "the SQLite file to record in; none unless given",
    },
    "--workers": {
        "type": int,
        "metavar": "N",
        "help": "so many processes of this machine (of a kernel 1, else none)",
    },
    "--scheduler": {
        "metavar": "ADDRESS",
        "help": "the workers of a dask scheduler, such as tcp://NAME:8786",
    },
    "--resources": {
        "metavar": "NAME=AMOUNT",
        "action": "append",
        "default": [],
        "help": "what a unit of work takes of its worker there, such as atlas=1",
    },
}

REPORT = {
    "store": {
        "metavar": "STORE",
        "help": "what `aclnn-viz sweep --store` wrote; its last run is reported",
    },
    "--against": {
        "metavar": "STORE",
        "help": "report what changed against another store, or against the run before in it",
    },
    "--device": {
        "metavar": "FILE.py:FUNCTION",
        "help": "the kernel for the lines that run cases again: a store names no code",
    },
    "--html": {
        "metavar": "FILE",
        "help": "write a page, too, which needs no other file and no network",
    },
}
