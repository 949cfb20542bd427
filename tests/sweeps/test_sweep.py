"""A sweep records each case once and right, whoever works, however often it is interrupted."""

import itertools
import os
import shutil
import signal
import time
import tracemalloc
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from children import forked
from in_child import in_child
from machine import ROOT, SOAK
from swept import Mortal, held, in_children, kernel

import aclnn_viz as av
from aclnn_viz.sweeps.ledger import Ledger
from aclnn_viz.sweeps.place import Place, close_all
from aclnn_viz.sweeps.recipes import draw, source
from aclnn_viz.sweeps.sweeping import LOOKED_UP, MOST, Drive
from aclnn_viz.sweeps.work import Row, identity
from aclnn_viz.sweeps.workers import Crew
from aclnn_viz.words.messages import restored

OPS = ["hardswish", "rms_norm"]
CASES = [
    recipe
    for number, recipe in enumerate(source("suite", OPS))
    if SOAK or number % 3 == 0 or "float64" in recipe
]
COUNT = len(CASES)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The rows of a sweep in one process."""
    store = tmp_path_factory.mktemp("alone") / "s.sqlite"
    assert av.sweep(CASES, store=store).passed
    return held(store)


# What is judged


def test_the_suites_are_right_on_the_host_and_what_it_refuses_is_left_out(alone):
    cases, outputs = alone
    assert len(cases) == COUNT and {line[8] for line in cases} == {"right", "left out"}
    assert all(line[9] for line in cases if line[8] == "left out")
    assert {line[2] for line in outputs} == {"right"} and {line[1] for line in outputs} == {
        "out",
        "dxOut",
        "dgammaOut",
    }


def test_a_wrong_output_is_named_and_leaves_a_dump_that_check_reads(tmp_path):
    store, device = tmp_path / "s.sqlite", kernel(tmp_path, "wrong")
    cases = [*CASES, {"operator": "rms_norm", "dtype": "float16", "shape": (3, 4)}]
    result = av.sweep(cases, device, store=store)
    cases, outputs = held(store)
    wrong = {line[0]: line for line in cases if line[8] == "wrong"}
    assert (
        not result.passed
        and wrong
        and {(line[4], line[5]) for line in wrong.values()} == {("rms_norm", "float16")}
    )
    assert {line[1] for line in outputs if line[2] == "wrong"} == {"dgammaOut"}
    assert "dgammaOut is wrong in" in result.wrong[0] and result.outcomes["wrong"] == len(wrong)
    folders = sorted(result.dumps.iterdir())
    assert [folder.name for folder in folders] == sorted(key[:16] for key in wrong)
    assert (
        not av.check(folders[0]).passed and av.check(folders[0], kernel(tmp_path, "right")).passed
    )


def test_a_kernel_that_raises_is_wrong_and_one_that_refuses_is_not(tmp_path):
    (tmp_path / "k.py").write_text(
        "def raises(**inputs):\n    raise KeyError('x')\n"
        "def refuses(**inputs):\n    raise NotImplementedError\n"
    )
    raised, refused = (
        av.sweep([{"operator": "hardswish"}], f"{tmp_path}/k.py:{name}", store=":memory:")
        for name in ("raises", "refuses")
    )
    assert not raised.passed and "raises KeyError" in raised.wrong[0]
    assert not refused.passed and refused.outcomes == {"unsupported": 1}


def test_a_prediction_is_judged_in_its_own_precision():
    for soc, cann in (("A2", "9.1"), ("Ascend310P3", "8.1")):
        result = av.sweep(
            [{"operator": "rms_norm", "dtype": "float16", "seed": seed} for seed in range(3)],
            soc=soc,
            cann=cann,
            plan="device",
            store=":memory:",
        )
        assert result.passed and '"plan": "device"' in result.run.device


def test_all_numbers_of_a_format_are_right():
    assert av.sweep("exhaustive", store=":memory:").outcomes == {"right": 4}


def test_a_capsule_replays_the_cases_that_it_holds():
    capsule = ROOT / "notebooks/capsules/predicted_a2.capsule"
    result = av.sweep(f"recorded:{capsule}", capsule, store=":memory:", ops="hardswish")
    with av.open_device(capsule) as device:
        assert sum(result.outcomes.values()) == sum(
            op.name == "hardswish" for op, _ in device.cases()
        )
    assert result.outcomes["right"]
    assert av.sweep(
        [{"operator": "hardswish", "seed": 12345}], capsule, store=":memory:"
    ).outcomes == {"unsupported": 1}


# Once and only once


def test_what_is_known_is_not_run_again(tmp_path):
    cases = [{"operator": "hardswish", "seed": seed} for seed in range(3)]
    first = av.sweep(cases, store=tmp_path / "s.sqlite")
    again = av.sweep(
        cases + [{"operator": "hardswish", "seed": 3}] * 2, store=tmp_path / "s.sqlite"
    )
    other = av.sweep(cases, store=tmp_path / "s.sqlite", soc="Ascend910A")
    assert [(one.ran, one.known) for one in (first, again, other)] == [(3, 0), (1, 3), (3, 0)]
    assert len(held(tmp_path / "s.sqlite")[0]) == 7


def test_an_edited_kernel_is_another_device(tmp_path):
    cases = [{"operator": "hardswish"}]
    runs = [
        av.sweep(cases, kernel(tmp_path, "right", X=x), store=tmp_path / "s.sqlite").ran
        for x in (1, 2, 1)
    ]
    assert runs == [1, 1, 0]


@pytest.mark.parametrize("executor", [1, 2] if SOAK else [1])
def test_processes_give_the_same_rows(tmp_path, alone, executor):
    assert av.sweep(CASES, executor=executor, store=tmp_path / "s.sqlite").ran == COUNT
    assert held(tmp_path / "s.sqlite") == alone


def test_any_executor_gives_the_same_rows(tmp_path, alone):
    with ThreadPoolExecutor(3) as executor:
        av.sweep(CASES, executor=executor, store=tmp_path / "s.sqlite")
    assert held(tmp_path / "s.sqlite") == alone


def test_two_sweeps_into_one_store_at_once_give_the_same_rows(tmp_path, alone):
    store = tmp_path / "s.sqlite"
    assert in_children(*[lambda: av.sweep(CASES, store=store)] * 2) == [0, 0]
    assert held(store) == alone


def test_a_sweep_that_is_killed_again_and_again_loses_and_repeats_nothing(tmp_path, alone):
    """Each child dies within a case; a case that is in the ledger then is never run again."""
    store, log = tmp_path / "s.sqlite", tmp_path / "calls"
    cases = list(source("suite", "hardswish", seeds=7 if SOAK else 1))
    device, deaths, known = kernel(tmp_path, "mortal", KILLED=6, LOG=str(log)), 0, []
    while in_children(lambda: av.sweep(cases, device, store=store)) == [-signal.SIGKILL]:
        deaths += 1
        known.append(
            (
                len(log.read_text().splitlines()),
                {line[2] for line in held(store)[0]} if store.exists() else set(),
            )
        )
    calls = log.read_text().splitlines()
    recorded = held(store)[0]
    assert deaths >= (20 if SOAK else 3) and len(recorded) == len(cases) == len(
        {line[2] for line in recorded}
    )
    inputs = {recipe: draw(recipe)[1].inputs["self"].tobytes().hex() for recipe in cases}
    for count, done in known:
        later = set(calls[count:])
        # no other has its numbers
        unlike = [recipe for recipe in done if list(inputs.values()).count(inputs[recipe]) == 1]
        assert not [recipe for recipe in unlike if inputs[recipe] in later]


def test_a_sweep_that_is_interrupted_again_and_again_goes_on_where_it_stopped(tmp_path, alone):
    """Ctrl-C comes between two rows: what was done stays done, and nothing is recorded twice."""
    store, interrupts = tmp_path / "s.sqlite", 0

    def impatient(rows, total):
        for number, row in enumerate(rows):
            yield row
            if number == 1:
                raise KeyboardInterrupt

    while True:
        try:
            result = av.sweep(CASES, store=store, progress=impatient)
            break
        except KeyboardInterrupt:
            interrupts += 1
    assert held(store) == alone and interrupts and result.ran + result.known == COUNT


# Memory, and workers that die


def test_no_more_waits_than_a_window(tmp_path):
    """Of endless recipes only those are made that the workers can soon take."""
    made = itertools.count()

    def endless():
        for number in made:
            yield {"operator": "hardswish", "shape": (2,), "seed": number}

    def some(rows, total):
        yield from itertools.islice(rows, 40)

    with ThreadPoolExecutor(2) as executor:
        assert (
            av.sweep(endless(), store=tmp_path / "s.sqlite", executor=executor, progress=some).ran
            == 40
        )
    assert next(made) <= 40 + 4 * 2 * MOST + LOOKED_UP + MOST


@pytest.mark.soak
def test_memory_does_not_grow_with_the_queue(tmp_path, record_property):
    """Of 10^3 and of 10^5 cases, whose workers do nothing: the most that Python held beside what it had before."""

    class Instant(Executor):
        def submit(self, function, /, place, recipes):
            future = Future()
            future.set_result(
                [Row(recipe, "hardswish", "float32", "", 0, "right") for recipe in recipes]
            )
            return future

    peaks = {}
    for count in (10**3, 10**5):
        with Ledger(tmp_path / f"{count}.sqlite") as ledger:
            drive = Drive(
                Place.of("host"), Crew(Instant(), lambda: 8), ledger, ledger.run("1", "host"), {}
            )
            tracemalloc.start()
            assert (
                sum(1 for _ in drive.rows(itertools.islice(source("suite", seeds=10**6), count)))
                == count
            )
            peaks[count] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        record_property(f"peak of {count} cases", peaks[count])
    assert peaks[10**5] < 1.2 * peaks[10**3] + 2**18


def driven(tmp_path, cases, new, renewing=True):
    """Drive cases with executors that `new()` makes."""
    place = Place.of("host")
    with Ledger(tmp_path / "s.sqlite") as ledger:
        crew = Crew(new(), lambda: 8, new if renewing else None)
        list(
            Drive(place, crew, ledger, ledger.run(place.kit, identity(place)), {}).rows(iter(cases))
        )
    close_all()
    return held(tmp_path / "s.sqlite")


def test_the_case_that_ends_its_worker_is_found_and_the_others_are_right(tmp_path, alone):
    cases = CASES
    rows, outputs = driven(
        tmp_path, cases, lambda: Mortal(lambda recipe: recipe in (cases[3], cases[9]))
    )
    died = [line for line in rows if line[8] == "died"]
    assert {line[2] for line in died} == {cases[3], cases[9]} and all(
        restored(line[9]) == "it ended its worker" for line in died
    )
    assert [line for line in rows if line not in died] == [
        line for line in alone[0] if line[2] not in (cases[3], cases[9])
    ]
    assert {line[2] for line in outputs if line[0] in {line[0] for line in died}} == {"wrong"}


def test_workers_of_somebody_else_that_die_end_the_sweep(tmp_path):
    cases = list(source("suite", "hardswish"))
    with pytest.raises(
        RuntimeError,
        match="workers must stay until the sweep ends: got BrokenExecutor dead; sweep again",
    ):
        driven(tmp_path, cases, lambda: Mortal(lambda recipe: recipe == cases[12]), renewing=False)
    assert issubclass(BrokenExecutor, RuntimeError)
    assert len(driven(tmp_path, cases, lambda: Mortal(lambda recipe: False))[0]) == len(cases)


@pytest.mark.soak
def test_a_kernel_that_ends_its_process_is_found(tmp_path):
    result = av.sweep(
        "suite", kernel(tmp_path, "deadly"), 2, tmp_path / "s.sqlite", ops="hardswish"
    )
    assert result.outcomes["died"] == 1 and result.outcomes["right"] == 18
    assert "died: hardswish, float32: it ended its worker" in str(result)


@pytest.mark.soak
def test_workers_end_with_the_process_that_sweeps(tmp_path):
    def sweeping():
        av.sweep("suite", executor=2, store=tmp_path / "s.sqlite", seeds=100)

    import psutil

    child = forked(sweeping)
    while not (tmp_path / "s.sqlite").exists() or not held(tmp_path / "s.sqlite")[0]:
        time.sleep(0.1)
    workers = psutil.Process(child).children(recursive=True)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(workers) >= 2 and not psutil.wait_procs(workers, timeout=20)[1]


def test_another_kit_at_the_workers_is_refused(tmp_path):
    place = Place(**vars(Place.of("host")) | {"kit": "0.0.1"})
    with pytest.raises(
        RuntimeError,
        match=r"every worker needs the kit of the process that sweeps, 0\.0\.1: got 0\.\d.*; install",
    ):
        identity(place)


@pytest.mark.parametrize(
    ("options", "kind", "part"),
    [
        ({"cases": "nonsense"}, ValueError, "cases are suite, deep, exhaustive"),
        ({"cases": {"operator": "hardswish"}}, TypeError, "or an iterable of recipes: got dict"),
        ({"device": "nonsense"}, ValueError, "no such device: got 'nonsense'"),
        ({"device": len}, TypeError, "a sweep names its device"),
        (
            {"executor": "many"},
            TypeError,
            "an executor is None, a number of processes, an Executor or a dask Client: got",
        ),
        ({"executor": 0}, ValueError, "executor is a number from 1 to 1024: got 0"),
        ({"device": "nowhere.py:f"}, ValueError, "no file nowhere.py"),
        ({"soc": "Ascend1"}, ValueError, "Ascend1"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_is_written(options, kind, part, tmp_path):
    with pytest.raises(kind) as error:
        av.sweep(**{"cases": [{"operator": "hardswish"}], "store": tmp_path / "s.sqlite"} | options)
    assert part in str(error.value)


def test_a_result_reads_as_text_html_and_json(tmp_path):
    result = av.sweep([{"operator": "hardswish"}], store=tmp_path / "s.sqlite")
    assert str(result).startswith(
        f"{tmp_path}/s.sqlite: 1 right on host, Ascend910B2, CANN 9.1.0 (emulated, not measured"
    )
    assert (
        "1 right" in result._repr_html_()
        and result.to_json()["passed"]
        and Path(result.store).is_file()
    )


def test_an_operator_from_elsewhere_is_swept_and_is_part_of_the_kit(tmp_path):
    """In a child: what is opened stays known to a process."""

    def work():
        folder = tmp_path / "my_silu"
        shutil.copytree(ROOT / "tests" / "elsewhere" / "my_silu", folder)
        kits, ran = [], []
        for comment in ("", "# edited\n"):
            with open(folder / "page.py", "a") as page:
                page.write(comment)
            result = av.sweep("suite", ops=str(folder), store=tmp_path / "s.sqlite")
            kits, ran = (
                [*kits, result.run.kit],
                [*ran, (result.ran, result.passed or result.outcomes["right"])],
            )
        return kits, ran

    kits, ran = in_child(work)
    assert kits[0] != kits[1] and ran[0][0] == ran[1][0] > 0
