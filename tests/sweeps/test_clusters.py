"""The executor of a dask cluster: the same rows, even if its workers are killed."""

import os
import random
import signal
import warnings

import pytest
from in_child import StandIn, in_child, stand_in
from machine import SOAK
from swept import held

import aclnn_viz as av
from aclnn_viz.sweeps.recipes import source

OPS = ["hardswish", "rms_norm"]
KILLS = 8 if SOAK else 1
CASES = list(source("suite", None if SOAK else OPS, seeds=98 if SOAK else 1))[:: 1 if SOAK else 12]
DASK = pytest.mark.needs("dask")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    store = tmp_path_factory.mktemp("alone") / "s.sqlite"
    av.sweep(CASES, store=store)
    return held(store)


@DASK
def test_a_cluster_gives_the_same_rows(tmp_path, alone):
    """A client and its executor; workers are threads of one child, so that it is quick and leaves nothing behind."""

    def work():
        warnings.simplefilter("ignore")  # dask's own, of a machine that is slow
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=False,
                dashboard_address=":0",
                resources={"atlas": 1},
            ) as cluster,
            Client(cluster) as client,
        ):
            return [
                av.sweep(CASES, executor=executor, store=tmp_path / name).ran
                for name, executor in (
                    ("client", client),
                    ("executor", client.get_executor(resources={"atlas": 1})),
                )
            ]

    assert in_child(work) == [len(CASES)] * 2
    assert held(tmp_path / "client") == held(tmp_path / "executor") == alone


@DASK
@pytest.mark.soak
def test_kills_of_two_workers_at_random_moments_change_nothing(tmp_path):
    """Each kill comes at another recorded part of the cases, all before the last case."""
    cases, store = list(source("suite", OPS, seeds=6 * KILLS)), tmp_path / "s.sqlite"
    one = av.sweep(cases, store=tmp_path / "alone.sqlite")

    def work():
        from distributed import Client, LocalCluster

        killed = []

        def impatient(rows, total):
            for number, row in enumerate(rows):
                yield row
                if number % (len(cases) // (KILLS + 1)) == 1 and len(killed) < KILLS:
                    running = [nanny.process.pid for nanny in local.workers.values()]
                    killed.append(random.Random(number).choice(running))
                    os.kill(killed[-1], signal.SIGKILL)

        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
            Client(local) as client,
        ):
            result = av.sweep(cases, executor=client, store=store, progress=impatient)
        return result.ran, result.outcomes, len(killed)

    assert in_child(work) == (len(cases), one.outcomes, KILLS)
    assert held(store) == held(tmp_path / "alone.sqlite")


@pytest.mark.needs("g++")
def test_a_sweep_on_a_card_closes_it(tmp_path):
    """The identity does not name the card, so that any card goes on with the same rows."""
    root = stand_in()

    def swept():
        result = av.sweep(
            [{"operator": "hardswish", "shape": (4,)}],
            "atlas",
            root=root,
            store=tmp_path / "s.sqlite",
        )
        return (
            result.outcomes,
            result.run.device,
            StandIn(root).live,
            StandIn(root).misuse,
        )

    outcomes, device, live, misuse = in_child(swept)
    assert (
        outcomes == {"right": 1}
        and '"device": "atlas (stand-in)"' in device
        and not live
        and not misuse
    )
