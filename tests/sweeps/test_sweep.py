"""A sweep records each case once and right, with any workers and any interruptions."""

import itertools
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from children import forked
from in_child import in_child
from machine import ROOT, SOAK
from swept import Mortal, held, in_children, kernel

import aclnn_viz as av
from aclnn_viz.sweeps import scheduler
from aclnn_viz.sweeps.place import Place
from aclnn_viz.sweeps.recipes import draw, source
from aclnn_viz.sweeps.scheduler import AHEAD
from aclnn_viz.sweeps.work import identity

CASES = [
    recipe
    for number, recipe in enumerate(source("suite", ["hardswish", "rms_norm"]))
    if SOAK or number % 9 == 0 or "float64" in recipe
]
COUNT = len(CASES)
ONE = [{"operator": "hardswish", "shape": (4,)}]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return the rows of a sweep in one process."""
    store = tmp_path_factory.mktemp("alone") / "s.sqlite"
    assert av.sweep(CASES, store=store).passed
    return held(store)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "s.sqlite"


# What is judged


def test_the_suites_are_right_on_the_host_and_what_it_refuses_is_left_out(alone):
    cases, outputs = alone
    assert len(cases) == COUNT and {case["outcome"] for case in cases} == {"right", "left out"}
    assert all(case["note"] for case in cases if case["outcome"] == "left out")
    assert {output["verdict"] for output in outputs} == {"right"}
    assert {output["output"] for output in outputs} == {"out", "dxOut", "dgammaOut"}


def test_a_wrong_output_is_named(tmp_path, store):
    cases = [*CASES, {"operator": "rms_norm", "dtype": "float16", "shape": (3, 4)}]
    result = av.sweep(cases, kernel(tmp_path, "wrong"), store=store)
    rows, outputs = held(store)
    wrong = [row for row in rows if row["outcome"] == "wrong"]
    assert not result.passed and result.outcomes["wrong"] == len(wrong) > 0
    assert {(row["operator"], row["dtype"]) for row in wrong} == {("rms_norm", "float16")}
    names = {row["output"] for row in outputs if row["verdict"] == "wrong"}
    assert names == {"dgammaOut"} and "dgammaOut is wrong in" in result.worst[0][0]


def test_a_kernel_that_raises_is_wrong_and_one_that_refuses_is_not(tmp_path):
    raised, refused = (
        av.sweep(ONE, kernel(tmp_path, name), store=":memory:") for name in ("raises", "refuses")
    )
    assert not raised.passed and "raises KeyError" in raised.worst[0][0]
    assert not refused.passed and refused.outcomes == {"unsupported": 1}


@pytest.mark.parametrize(("soc", "cann"), [("A2", "9.1"), ("Ascend310P3", "8.1")])
def test_a_prediction_is_judged_in_its_own_precision(soc, cann):
    cases = [{"operator": "rms_norm", "dtype": "float16", "seed": seed} for seed in range(3)]
    result = av.sweep(cases, soc=soc, cann=cann, plan="device", store=":memory:")
    assert result.passed and '"plan": "device"' in result.run.device


# Once and only once


def test_what_is_known_is_not_run_again(store):
    cases = [{"operator": "hardswish", "seed": seed} for seed in range(3)]
    first = av.sweep(cases, store=store)
    again = av.sweep(cases + [{"operator": "hardswish", "seed": 3}] * 2, store=store)
    other = av.sweep(cases, store=store, soc="Ascend910A")
    assert [(swept.ran, swept.known) for swept in (first, again, other)] == [(3, 0), (1, 3), (3, 0)]
    assert len(held(store)[0]) == 7


def test_an_edited_kernel_is_another_device(tmp_path, store):
    runs = [av.sweep(ONE, kernel(tmp_path, "right", X=x), store=store).ran for x in (1, 2, 1)]
    assert runs == [1, 1, 0]


@pytest.mark.parametrize("executor", [1, 2] if SOAK else [1])
def test_processes_give_the_same_rows(store, alone, executor):
    assert av.sweep(CASES, executor=executor, store=store).ran == COUNT and held(store) == alone


def test_any_executor_gives_the_same_rows(store, alone):
    with ThreadPoolExecutor(3) as executor:
        av.sweep(CASES, executor=executor, store=store)
    assert held(store) == alone


def test_two_sweeps_into_one_store_at_once_give_the_same_rows(store, alone):
    assert in_children(*[lambda: av.sweep(CASES, store=store)] * 2) == [0, 0]
    assert held(store) == alone


def test_a_sweep_that_is_killed_again_and_again_loses_and_repeats_nothing(tmp_path, store):
    """Each child dies within a case; a case that is in the store then is never run again."""
    log, cases, known = tmp_path / "calls", list(source("suite", "hardswish"))[::3], []
    device = kernel(tmp_path, "mortal", KILLED=6, LOG=str(log))
    while in_children(lambda: av.sweep(cases, device, store=store)) == [-signal.SIGKILL]:
        done = {row["recipe"] for row in held(store)[0]}
        known.append((len(log.read_text().splitlines()), done))
    calls = log.read_text().splitlines()
    assert len(known) >= 3 and sorted(row["recipe"] for row in held(store)[0]) == sorted(cases)
    inputs = {recipe: draw(recipe)[1].inputs["self"].tobytes().hex() for recipe in cases}
    for count, done in known:
        alone = [recipe for recipe in done if list(inputs.values()).count(inputs[recipe]) == 1]
        assert not {inputs[recipe] for recipe in alone} & set(calls[count:])


def test_a_sweep_that_is_interrupted_again_and_again_goes_on_where_it_stopped(store, alone):
    """Ctrl-C comes between two rows: what was done stays done, and nothing is recorded twice."""
    interrupts, result = 0, None

    def impatient(rows, total):
        for number, row in enumerate(rows):
            yield row
            if number == 1:
                raise KeyboardInterrupt

    while result is None:
        try:
            result = av.sweep(CASES, store=store, progress=impatient)
        except KeyboardInterrupt:
            interrupts += 1
    assert held(store) == alone and interrupts and result.ran + result.known == COUNT


# Memory, and workers that die


def test_no_more_waits_than_a_window(store):
    """From endless recipes only as many are made as the workers can soon take."""
    numbers = itertools.count()
    endless = ({"operator": "hardswish", "shape": (2,), "seed": number} for number in numbers)
    with ThreadPoolExecutor(2) as executor:
        result = av.sweep(
            endless,
            store=store,
            executor=executor,
            progress=lambda rows, total: itertools.islice(rows, 40),
        )
    assert result.ran == 40 and next(numbers) <= 40 + AHEAD * 2 + 1


def test_the_case_that_ends_its_worker_is_found_and_the_others_are_right(store, alone, monkeypatch):
    deadly = {CASES[3], CASES[9]}

    def new():
        return Mortal(lambda recipe: recipe in deadly)

    monkeypatch.setattr(scheduler, "executor_of", lambda executor: (new(), new))
    av.sweep(CASES, store=store)
    rows, outputs = held(store)
    died = [row for row in rows if row["outcome"] == "died"]
    assert {row["recipe"] for row in died} == deadly
    assert {row["note"] for row in died} == {"the case ended its worker process"}
    assert [row for row in rows if row not in died] == [
        row for row in alone[0] if row["recipe"] not in deadly
    ]
    keys = {row["key"] for row in died}
    assert {row["verdict"] for row in outputs if row["key"] in keys} == {"wrong"}


def test_workers_of_somebody_else_that_die_end_the_sweep(store):
    cases = list(source("suite", "hardswish"))[:20]
    text = "workers must stay until the sweep ends: got BrokenExecutor dead; sweep again"
    with pytest.raises(RuntimeError, match=text):
        av.sweep(cases, executor=Mortal(lambda recipe: recipe == cases[12]), store=store)
    assert 0 < len(held(store)[0]) < len(cases)
    av.sweep(cases, executor=Mortal(lambda recipe: False), store=store)
    assert len(held(store)[0]) == len(cases)


@pytest.mark.soak
def test_a_kernel_that_ends_its_process_is_found(tmp_path, store):
    result = av.sweep("suite", kernel(tmp_path, "deadly"), 2, store, ops="hardswish")
    assert result.outcomes["died"] == 1 and result.outcomes["right"] == 18
    assert "hardswish out, float32, the only mode: the case ended its worker process" in str(result)


@pytest.mark.soak
def test_workers_end_with_the_process_that_sweeps(store):
    import psutil

    child = forked(lambda: av.sweep("suite", executor=2, store=store, seeds=100))
    while not store.exists() or not held(store)[0]:
        time.sleep(0.1)
    workers = psutil.Process(child).children(recursive=True)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(workers) >= 2 and not psutil.wait_procs(workers, timeout=20)[1]


def test_another_kit_at_the_workers_is_refused():
    place = Place(**vars(Place.of("host")) | {"kit": "0.0.1"})
    text = r"every worker needs the kit of the process that sweeps, 0\.0\.1: got 0\.\d.*; install"
    with pytest.raises(RuntimeError, match=text):
        identity(place)


@pytest.mark.parametrize(
    ("options", "kind", "part"),
    [
        ({"cases": "nonsense"}, ValueError, "cases are suite, standard"),
        ({"cases": {"operator": "hardswish"}}, TypeError, "or an iterable of recipes: got dict"),
        ({"device": "nonsense"}, ValueError, "no such device: got 'nonsense'"),
        ({"device": len}, TypeError, "a sweep names its device"),
        ({"executor": "many"}, TypeError, "an executor is None, a number of processes, an Exec"),
        ({"executor": 0}, ValueError, "executor is a number from 1 to 1024: got 0"),
        ({"device": "nowhere.py:f"}, ValueError, "no file nowhere.py"),
        ({"soc": "Ascend1"}, ValueError, "Ascend1"),
    ],
)
def test_what_cannot_be_swept_is_refused(options, kind, part):
    with pytest.raises(kind) as error:
        av.sweep(**{"cases": ONE, "store": ":memory:"} | options)
    assert part in str(error.value)


def test_a_result_reads_as_text_html_and_json(store):
    result = av.sweep(ONE, store=store)
    text = f"{store}: 1 right; host, Ascend910B2, CANN 9.1.0 (emulated, not measured"
    assert text in str(result) and "1 cases ran, 0 were known" in str(result)
    assert str(result).startswith("all 1 judged cases are right") and result.to_json()["passed"]
    assert "1 right" in result._repr_html_() and store.is_file()


def test_an_operator_from_elsewhere_is_swept_and_is_part_of_the_kit(tmp_path, store):
    """In a child: what is opened stays known to a process."""
    folder = shutil.copytree(ROOT / "tests/elsewhere/my_silu", tmp_path / "my_silu")

    def work():
        for comment in ("", "# edited\n"):
            with open(folder / "page.py", "a") as page:
                page.write(comment)
            result = av.sweep("standard", ops=str(folder), store=store)
            yield result.run.kit, result.ran, result.outcomes["right"]

    first, edited = in_child(lambda: list(work()))
    assert first[0] != edited[0] and first[1:] == edited[1:] and first[2]
