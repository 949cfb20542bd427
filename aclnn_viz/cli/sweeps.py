"""The commands `sweep` and `report`: run and judge many test cases, and report what was recorded of them."""

from aclnn_viz.cli.checks import progress, show, write_page


def sweep(options) -> int:
    """Run and judge many cases on a device or a kernel, and record each once in a store.

    An interrupted sweep goes on where it stopped when it is called again. The exit status is 0 only if cases were
    judged and none is wrong.
    """
    from aclnn_viz.sweeps import sweep

    workers = options.workers
    if workers is None and ".py:" in options.device:
        workers = 1  # a worker process, because a kernel may end its process
    result = sweep(
        options.cases,
        options.device,
        workers,
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
    """Report what a store of `sweep` holds: tables, the worst cases with a command that runs each again, and what changed.

    The first line is the one thing to know. The exit status is 0 only if nothing is wrong, and nothing that was right
    in the other store became something else.
    """
    from aclnn_viz.sweeps import report

    found = report(options.store, options.against)
    write_page(options, found)
    show(options, found.to_json(), found)
    return 0 if found.passed else 1
