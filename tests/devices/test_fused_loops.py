"""Fused loops: right as they are written and as numba compiles them, within their plan, whatever the threads."""

import os
import random
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from machine import ROOT, SOAK

import aclnn_viz as av
from aclnn_viz.accuracy import envelope, explain
from aclnn_viz.arrays import loops, page_loops
from aclnn_viz.checking.judge import case_at, judge, prepared_at, suite_recipes
from aclnn_viz.devices import UnsupportedError
from aclnn_viz.devices.peers import computed_by
from aclnn_viz.dtypes import FORMATS, float_format, round_to, ulp
from aclnn_viz.operators import registry
from aclnn_viz.verification.conventions import conventions
from aclnn_viz.verification.conventions.model import recomputed

FUSED = [op.name for op in av.operators() if registry.file("loops", op.name)]
FROM_PAGES = [
    "tanh",
    "elu",
    "selu",
    "softplus",
    "hardtanh",
    "threshold",
    "swish",
    "log_sigmoid",
    "mse_loss",
    "smooth_l1_loss",
    "binary_cross_entropy_with_logits",
    "softmax",
    "log_softmax",
    "scaled_masked_softmax",
]
# numba takes seconds for each, and a minute for all formats of a sampler
COMPILED = FUSED[:: 1 if SOAK else 6]
SWEPT = [name for name in COMPILED if SOAK or not name.startswith("grid_sampler")]
# case of a suite, as far as Python can run it by single numbers
EVERY = [5, pytest.param(1, marks=pytest.mark.soak)]
SMALL = 600


class Part(np.ndarray):
    """An array of another class."""


@pytest.fixture
def written(monkeypatch):
    """Yield the device as without numba: Python runs the loops as written, a number at a time."""
    monkeypatch.setattr(loops, "compiled", lambda loop: loop)
    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(__version__="none"))
    with np.errstate(all="ignore"), av.open_device("numba") as device:
        yield device


@pytest.fixture
def device():
    with av.open_device("numba") as found:
        yield found


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("name", FUSED)
def test_loops_as_they_are_written_are_right_on_the_suite(name, every, written):
    judged = 0
    for number in range(0, len(suite_recipes(name)), every):
        inputs = case_at(name, number, 0).inputs
        if sum(value.size for value in inputs.values() if isinstance(value, np.ndarray)) <= SMALL:
            assert judge(prepared_at(name, number, 0), written.run(name, **inputs)) == []
            judged += 1
    assert judged >= 3


def test_a_wrong_loop_is_found_wrong(written, monkeypatch):
    file = registry.module("loops", "hardswish")
    monkeypatch.setattr(file, "read", lambda array, at: loops.read(array, at) * np.float32(1.001))
    one = prepared_at("hardswish", 0, 0)
    assert judge(one, written.run("hardswish", **one.case.inputs))


@pytest.mark.parametrize("name", FUSED)
def test_conventions_are_those_of_the_page(name, written, monkeypatch):
    monkeypatch.setattr(
        type(av.operator(name)), "backward", lambda self, /, **inputs: written.run(self, **inputs)
    )
    rows = [recomputed(name, row) for row in conventions(name)]
    assert {row.where: row.kit for row in rows if not row.holds} == {}


@pytest.mark.parametrize("name", FUSED)
def test_results_do_not_depend_on_the_order_of_parts(name, written, monkeypatch):
    case = av.case(name, dtype="float32")
    monkeypatch.setattr(loops, "PART", 8)  # many parts
    usual, over = written.run(name, **case.inputs), loops.over
    own = registry.own("loops", name, "backward")
    file = sys.modules[own.__module__] if own else loops
    monkeypatch.setattr(
        file, "over", lambda parts, loop, *arguments: over(parts[::-1], loop, *arguments)
    )
    turned = written.run(name, **case.inputs)
    assert {output: value.tobytes() for output, value in usual.items()} == {
        output: value.tobytes() for output, value in turned.items()
    }


@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", [*COMPILED, "swish"])
def test_results_do_not_depend_on_the_threads(name, device, monkeypatch):
    case, runs = av.case(name, dtype="float32"), set()
    monkeypatch.setattr(loops, "PART", 8)
    numba = pytest.importorskip("numba")
    for count in range(1, numba.config.NUMBA_NUM_THREADS + 1):
        numba.set_num_threads(count)
        runs |= {
            tuple(value.tobytes() for value in device.run(name, **case.inputs).values())
            for _ in range(20)
        }
    assert len(runs) == 1


@pytest.mark.needs("numba")
def test_calls_of_several_threads_do_not_mix(device):
    cases = [av.case("hardswish", shape=(n, 1000), seed=n).inputs for n in (140, 141, 142)]
    right, wrong = [av.operator("hardswish").backward(**one)["out"] for one in cases], []

    def calls(k):
        wrong.extend(
            k
            for _ in range(200)
            if not np.array_equal(device.run("hardswish", **cases[k])["out"], right[k])
        )

    threads = [threading.Thread(target=calls, args=(k,)) for k in range(len(cases))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


#: Work of a fresh process on each of numba's thread layers: simultaneous calls of two threads, and of a fork after them.
AT_ONCE = """
import os, threading
import numpy as np
import aclnn_viz as av

device, inputs = av.open_device("numba"), av.case("hardswish", shape=(140, 1000)).inputs
right = device.run("hardswish", **inputs)["out"]

def calls(count, wrong):
    for _ in range(count):
        if not np.array_equal(device.run("hardswish", **inputs)["out"], right):
            wrong.append(1)

wrong = []
threads = [threading.Thread(target=calls, args=(200, wrong)) for _ in range(2)]
for thread in threads:
    thread.start()
if (child := os.fork()) == 0:
    calls(3, own := [])
    os._exit(len(own))
for thread in threads:
    thread.join()
import numba
print(numba.threading_layer(), len(wrong), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.needs("numba")
@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_calls_at_once_and_after_a_fork_are_right_on_each_set_of_threads(layer):
    """Alone, workqueue ends a process that calls from two threads, and GNU OpenMP one that was forked after a call."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", AT_ONCE],
        env=os.environ | {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"numba has no {layer} here")
    assert done.stdout.split() == [layer, "0", "0"], done.stderr


@pytest.mark.parametrize("name", FUSED)
def test_inputs_in_another_order_are_taken_and_stay_as_they_are(name, written):
    case = av.case(name, dtype="float32")
    turned = {
        key: np.asfortranarray(value).astype(value.dtype.newbyteorder(">"))
        if isinstance(value, np.ndarray)
        else value
        for key, value in case.inputs.items()
    }
    before = {key: value.copy() for key, value in turned.items() if isinstance(value, np.ndarray)}
    found, usual = written.run(name, **turned), written.run(name, **case.inputs)
    assert all(np.array_equal(found[output], usual[output]) for output in usual)
    assert all(np.array_equal(turned[key], value) for key, value in before.items())


@pytest.mark.needs("numba")
@pytest.mark.parametrize(
    "change",
    [
        lambda array: array.astype(array.dtype.newbyteorder(">")),
        np.asfortranarray,
        lambda array: array.view(Part),
    ],
)
@pytest.mark.parametrize("name", ["hardswish", "swish"])
def test_calls_that_come_again_take_arrays_as_they_lie(name, change, device):
    """Foreign byte order, transposed, or another class: the first call and later ones."""
    inputs = av.case(name, shape=(6, 7)).inputs
    usual = device.run(name, **inputs)
    other = {
        key: change(value) if isinstance(value, np.ndarray) else value
        for key, value in inputs.items()
    }
    for _ in range(3):
        assert {key: value.tobytes() for key, value in device.run(name, **other).items()} == {
            key: value.tobytes() for key, value in usual.items()
        }


def test_cuts_cover_every_unit_once():
    for units, elements in ((1, 1), (7, 10**9), (1000, 10**6), (10**6, 10**6), (3, 0)):
        parts = loops.cuts(units, elements)
        number, first, last = parts.T.tolist()
        assert number == list(range(len(parts))) and len(parts) <= loops.PARTS_AT_MOST
        assert first == [0, *last[:-1]] and last[-1] == units


def test_a_failing_loop_fails_the_call(written):
    def broken(part, first, last):
        raise ZeroDivisionError(part)

    with pytest.raises(ZeroDivisionError):
        loops.over(loops.cuts(4, 4 * loops.PART), broken)


@pytest.mark.needs("numba")
def test_a_failing_part_of_a_compiled_loop_fails_the_call():
    def broken(part, first, last, wrong):
        if part == wrong:
            raise ZeroDivisionError

    parts = loops.cuts(4, 4 * loops.PART)
    loops.over(parts, broken, 4)
    for wrong in range(4):
        with pytest.raises(MemoryError, match="a loop gets the memory"):
            loops.over(parts, broken, wrong)


@pytest.mark.parametrize(
    ("name", "why"),
    [("gelu", "erf, for which there is no line"), ("avg_pool", "rows that lie apart")],
)
def test_an_operator_without_loops_whose_page_is_not_straight_is_refused(name, why, written):
    with pytest.raises(UnsupportedError, match=f"{why}.*by hand"):
        written.run(name, **av.case(name).inputs)
    assert not computed_by("numba", av.operator(name))


def _judged(name, device, every):
    """Assert that cases of the suite lie within the envelope of the plan of loops written from pages."""
    op, tried = av.operator(name), 0
    for number in range(0, len(suite_recipes(name)), every):
        case = case_at(name, number, 0)
        # the elements of a row
        lie_apart = case.inputs.get("dim", -1) not in (-1, np.ndim(case.inputs.get("output")) - 1)
        if lie_apart or sum(np.size(value) for value in case.inputs.values()) > SMALL:
            continue
        found, truth = device.run(op, **case.inputs), op.truth(**case.inputs)
        bounds = envelope(op, page_loops.PLAN, **case.inputs)
        assert [
            output
            for output in found
            if explain(found[output], truth[output], bounds[output]).not_explained
        ] == [], case
        tried += 1
    assert tried >= 2


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("name", FROM_PAGES)
@pytest.mark.sampled(6)
def test_loops_written_from_a_page_stay_within_the_envelope_of_their_plan(name, every, written):
    _judged(name, written, every)


def test_a_wrong_line_of_a_written_loop_is_found_wrong(written, monkeypatch):
    monkeypatch.setitem(page_loops.STEPS, "subtract", "{0} + {1}")
    with pytest.raises(AssertionError):
        _judged("tanh", written, 5)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", ["scaled_masked_softmax", "smooth_l1_loss"])
def test_compiled_loops_written_from_a_page_stay_within_it_too(name, device):
    _judged(name, device, 3)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", SWEPT)
def test_compiled_loops_stay_within_the_envelope_of_their_plan(name, device):
    op, plan = av.operator(name), registry.own("loops", name, "PLAN")
    numbers = range(len(suite_recipes(name)))
    for number in numbers if SOAK else random.Random(name).sample(numbers, len(numbers) // 2):
        case = case_at(name, number, 0)
        found, truth = device.run(op, **case.inputs), op.truth(**case.inputs)
        bounds = envelope(op, plan, **case.inputs)
        assert {
            output: explain(found[output], truth[output], bounds[output]).not_explained
            for output in found
        } == dict.fromkeys(found, 0)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_loops_are_those_that_are_written(name, device, monkeypatch):
    """Bit for bit: in float32 the sums of lanes, which NumPy adds in another order, are float64."""
    for dtype in ("float32", "bfloat16", "float16"):
        case = av.case(name, dtype=dtype)
        fast = device.run(name, **case.inputs)
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            patch.setattr(loops, "compiled", lambda loop: loop)
            slow = device.run(name, **case.inputs)
        assert {name: value.tobytes() for name, value in fast.items()} == {
            name: value.tobytes() for name, value in slow.items()
        }


@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", SWEPT)
def test_check_passes_compiled_loops(name, device):
    assert av.check(name, device, depth="quick").passed


@pytest.mark.needs("numba")
@pytest.mark.soak
@pytest.mark.parametrize("name", FUSED)
def test_check_passes_compiled_loops_when_it_looks_deep(name, device):
    assert av.check(name, device, depth="deep").passed


@pytest.mark.needs("numba")
def test_every_number_is_read_and_rounded_as_the_formats_have_it():
    def copy(values, widened, back):
        for i in range(widened.size):
            widened[i] = loops_read(values, i)
            loops_write(back, i, widened[i])

    loops_read, loops_write = loops.read, loops.write
    run = loops.compiled(copy)
    for fmt in FORMATS[:2]:
        numbers = np.arange(1 << 16, dtype=np.uint16)
        widened, back = np.empty(1 << 16, np.float32), np.empty(1 << 16, loops.BITS[fmt.numpy])
        run(numbers.view(loops.BITS[fmt.numpy]), widened, back)
        right = numbers.view(fmt.numpy).astype(np.float32)
        assert np.array_equal(widened, right, equal_nan=True)
        assert np.array_equal(back.view(fmt.numpy), round_to(right, fmt), equal_nan=True)
    # ties, and one below them
    halves = (np.arange(1 << 16, dtype=np.uint32) << 16 | 0x8000).view(np.float32)
    below = (halves.view(np.uint32) - 1).view(np.float32)
    for values in (halves, below):
        run(np.array(values), values, back := np.empty(1 << 16, np.uint16))
        assert np.array_equal(
            back.view(float_format("bfloat16").numpy), round_to(values, "bfloat16"), equal_nan=True
        )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_sums_over_parts_are_rounded_once(dtype):
    """Sums beside ties of the format, beyond its ends, and sums of nan."""
    bits = np.arange(0, 1 << 16, 61, dtype=np.uint32) << 16 | 0x8000
    with np.errstate(all="ignore"):
        ties = np.array(
            [
                *bits.view(np.float32).astype(np.float64),
                *(np.arange(-99, 99) + 0.5) * 2.0**-24,
                1e300,
            ]
        )
        sums = ties * np.stack(
            [np.ones(ties.size), np.resize([0.0, 2.0**-40, -(2.0**-40)], ties.size)]
        )
        right = round_to(sums.sum(axis=0), dtype)
        loops.add_up(sums, found := np.empty(ties.size, float_format(dtype).numpy))
    assert np.array_equal(found, right, equal_nan=True)


@pytest.mark.needs("numba")
def test_the_exponential_is_within_one_ulp():
    def all_of(values, results):
        for i in range(values.size):
            results[i] = exponential(values[i])

    exponential = loops.exponential
    values = np.append(
        np.linspace(-105, 90, 200_001), [np.nan, np.inf, -np.inf, 0.0, -0.0, 88.7229]
    ).astype(np.float32)
    loops.compiled(all_of)(values, found := np.empty_like(values))
    with np.errstate(all="ignore"):
        right = np.exp(values.astype(np.float64))
        near, apart = right.astype(np.float32), np.abs(found - right)
    known = np.isfinite(near)
    assert (apart[known] <= ulp(near, "float32")[known]).all()
    assert np.array_equal(found[~known], near[~known], equal_nan=True)
