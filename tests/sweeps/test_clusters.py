"""The executor of a dask cluster: the same rows, also when its workers are killed; each card for one process at a time."""

import os
import random
import signal
import time
import warnings

import pytest
from children import forked
from in_child import StandIn, in_child, stand_in
from machine import SOAK
from swept import held

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.sweeps import place
from aclnn_viz.sweeps.place import open_card
from aclnn_viz.sweeps.recipes import source
from aclnn_viz.sweeps.store import Store
from aclnn_viz.sweeps.workers import cluster

OPS = ["hardswish", "rms_norm"]
KILLS = 8 if SOAK else 1
CASES = list(source("suite", None if SOAK else OPS, seeds=98 if SOAK else 1))[:: 1 if SOAK else 5]
DASK = pytest.mark.needs("dask")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    store = tmp_path_factory.mktemp("alone") / "s.sqlite"
    av.sweep(CASES, store=store)
    return held(store)


@DASK
def test_a_cluster_gives_the_same_rows(tmp_path, alone):
    """A client, and its executor; workers are threads of one child, so that it is quick and leaves nothing behind."""

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
def test_a_scheduler_that_is_not_there_is_reported(capsys):
    def refused():
        try:
            cluster("nonsense://")
        except RuntimeError as error:
            return str(error)

    assert in_child(refused).startswith("a dask scheduler must answer: got nonsense://")
    assert cli.main(["sweep", "--scheduler", "tcp://127.0.0.1:1", "--resources", "atlas"]) == 2
    assert (
        "a resource of a worker is NAME=AMOUNT: got 'atlas'; write such as atlas=1"
        in capsys.readouterr().err
    )


@DASK
@pytest.mark.soak
def test_kills_of_two_workers_at_random_moments_change_nothing(tmp_path):
    """A kill comes when another part of the cases is recorded, so that all of them come before the last case."""
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


# Cards of the stand-in


@pytest.fixture
def four_cards(tmp_path, monkeypatch):
    """Four devices of the stand-in, and claims that no other test of this machine sees."""
    monkeypatch.setattr(place, "FOLDER", tmp_path / "cards")
    monkeypatch.setenv("STANDIN_DEVICES", "4")
    return stand_in()


@pytest.mark.needs("g++")
def test_each_card_is_used_by_one_process_at_a_time(four_cards, tmp_path):
    """Children hold a card each until a pipe ends; the fifth is refused, and a card of one that died is free again."""
    wait, end = os.pipe()

    def hold(number):
        def work():
            os.close(end)
            device, claim = open_card("atlas", root=four_cards)
            (tmp_path / f"{number}.part").write_text(device.name)
            os.rename(tmp_path / f"{number}.part", tmp_path / f"{number}.card")
            os.read(wait, 1)

        return work

    children = []
    for number in range(4):
        children.append(forked(hold(number)))
        while not (tmp_path / f"{number}.card").exists():
            assert os.waitpid(children[-1], os.WNOHANG) == (0, 0)
            time.sleep(0.005)
    assert [(tmp_path / f"{number}.card").read_text() for number in range(4)] == [
        f"atlas:{n} (stand-in)" for n in range(4)
    ]

    def refused(name):
        try:
            open_card(name, root=four_cards)
        except RuntimeError as error:
            return str(error)

    text = in_child(lambda: [refused("atlas"), refused("atlas:2")])
    assert text == [
        "each card is used by one process at a time: got one worker more than the free ones of 4 cards; start at "
        "most 4 workers, or wait for who uses them",
        "a card is used by one process at a time: got atlas:2, "
        "which another one uses; name another card, or wait for that sweep",
    ]
    os.kill(children[2], 9)
    os.waitpid(children[2], 0)
    assert in_child(lambda: open_card("atlas", root=four_cards)[0].name) == "atlas:2 (stand-in)"
    os.close(end)
    assert [os.waitpid(child, 0)[1] for number, child in enumerate(children) if number != 2] == [
        0,
        0,
        0,
    ]
    os.close(wait)


@pytest.mark.needs("g++")
def test_the_cards_that_are_visible_are_claimed_by_their_own_numbers(four_cards, monkeypatch):
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "5,7")
    held_ = [place.claimed(0), place.claimed(1)]
    assert (
        sorted(path.name for path in place.FOLDER.iterdir()) == ["5.lock", "7.lock"]
        and place.claimed(1) is None
    )
    held_[1].close()
    held_.append(place.claimed(1))
    assert held_[2] is not None
    held_[0].close()
    held_[2].close()


@pytest.mark.needs("g++")
def test_a_sweep_on_a_card_closes_it(four_cards, tmp_path):
    """The identity does not name the card, so that any card goes on with the same rows."""

    def swept():
        result = av.sweep(
            [{"operator": "hardswish", "shape": (4,)}],
            "atlas",
            root=four_cards,
            store=tmp_path / "s.sqlite",
        )
        return (
            result.outcomes,
            result.run.device,
            StandIn(four_cards).live,
            StandIn(four_cards).misuse,
        )

    outcomes, device, live, misuse = in_child(swept)
    assert (
        outcomes == {"right": 1}
        and '"device": "atlas (stand-in)"' in device
        and not live
        and not misuse
    )
    with Store(tmp_path / "s.sqlite", reading=True) as opened:
        assert "atlas:0 (stand-in)" in next(opened.rows("SELECT worker FROM provenance"))[0]
