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
