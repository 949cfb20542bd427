"""Tile programs written from pages: right on the suite and on random shapes, in every order, without a hazard; refusals."""

import numpy as np
import pytest
from judged import DTYPES, SCHEDULES, judged, unexplained
from machine import SOAK

import aclnn_viz as av
from aclnn_viz.arrays.lines import NotStraight
from aclnn_viz.cases.suites import suite
from aclnn_viz.operators import registry
from aclnn_viz.tiles import default

WRITTEN = [
    op.name
    for op in av.operators()
    if not registry.file("tiles", op.name) and av.tiles.programs(op)
]


def program(name):
    (found,) = av.tiles.programs(name)
    return found


def test_most_operators_of_single_elements_and_rows_have_one():
    assert (
        set(
            """
tanh selu softplus swish hardtanh softmax log_softmax scaled_masked_softmax mse_loss
binary_cross_entropy_with_logits
""".split()
        )
        <= set(WRITTEN)
        and len(WRITTEN) >= 20
    )


def test_five_inputs_have_events_for_all_their_buffers():
    case = av.case(
        "binary_cross_entropy_with_logits", shape=(6, 12), gradOutput_shape=(1, 12), reduction=1
    )
    assert sum(np.size(value) > 1 for value in case.inputs.values()) == 5
    judged(program("binary_cross_entropy_with_logits"), case, cores=1)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.sampled(3)
def test_the_suite_lies_within_the_envelope_in_every_order(name):
    tried = refused = 0
    for number, (_, case) in enumerate(suite(name)):
        if case.dtype != "float64" and max(map(np.size, case.inputs.values())) <= 3000:
            try:
                judged(
                    program(name),
                    case,
                    schedule=SCHEDULES[number % 4],
                    cores=(48, 7, 1)[number % 3],
                )
                tried += 1
            except NotImplementedError:
                last = np.ndim(next(iter(case.inputs.values()))) - 1
                # a softmax over another axis adds up rows
                refused += case.inputs.get("dim", -1) in (-1, last)
    assert tried > 3 * refused


@pytest.mark.parametrize("cores", [1, 2])
def test_an_overflow_warns_in_no_order(cores):
    inputs = {
        name: np.full_like(value, -3e38)
        for name, value in av.case("silu", shape=(9,)).inputs.items()
    }
    for schedule in SCHEDULES:
        run = av.tiles.launch(program("silu"), schedule=schedule, cores=cores, **inputs)
        assert not run.hazards and not run.outputs["gradInput"].any()


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.sampled(4)
def test_tails_and_many_tiles_have_the_same_bits_in_every_order(name):
    rank = 4 if name == "scaled_masked_softmax" else 2
    for size in (1, 63, 65, 4097 if SOAK else 1025):
        case = av.case(name, seed=size, dtype=DTYPES[size % 3], shape=(*(1,) * (rank - 2), 9, size))
        first = judged(program(name), case, cores=5).outputs
        for schedule in ("late", 0, 1):
            run = av.tiles.launch(program(name), schedule=schedule, cores=5, **case.inputs)
            assert not run.hazards and all(
                run.outputs[key].tobytes() == first[key].tobytes() for key in first
            )


def test_several_tiles_of_one_core_are_right():
    case = av.case("tanh", shape=(40_000,))
    run = judged(program("tanh"), case, cores=1, schedule="late")
    assert run.tiling.total > 3 * run.tiling.step


def test_a_tensor_of_no_elements_runs_on_no_core():
    assert judged(program("sigmoid"), av.case("sigmoid", shape=(0, 3))).cores == 0


@pytest.mark.parametrize(
    ("name", "step", "other"),
    [("threshold", "greater", "greater_equal"), ("hardtanh", "less_equal", "less")],
)
def test_a_wrong_instruction_is_found_wrong(name, step, other, monkeypatch):
    monkeypatch.setitem(default.WITH_NUMBER, step, default.WITH_NUMBER[other])
    case = av.case(name)
    assert unexplained(program(name), case, av.tiles.launch(program(name), **case.inputs).outputs)


def test_a_missing_barrier_is_a_hazard(monkeypatch):
    """Otherwise no test shows that the machine checks written programs."""
    case, write = av.case("tanh"), default._written
    monkeypatch.setattr(
        default,
        "_written",
        lambda *given: write(*given).replace("        PipeBarrier(PIPE_V)\n", ""),
    )
    run = av.tiles.launch(program("tanh"), **case.inputs)
    assert {hazard.kind for hazard in run.hazards} == {"missing barrier"} and "x0" in run.hazards[
        0
    ].source


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("softmax", {"dim": 0}, "rows that lie apart"),
        (
            "l1_loss",
            {"shape": (4, 6), "target": np.ones((4, 1), np.float32)},
            "other axes than the leading ones",
        ),
        ("softmax", {"shape": (1, 20_000)}, "a tile holds 4096"),
        ("elu", {"dtype": "float64"}, "a vector core takes"),
    ],
)
def test_what_it_does_not_do_is_refused_with_the_reason(name, options, why):
    case = av.case(name, **options)
    with pytest.raises(NotImplementedError, match=why):
        av.tiles.launch(program(name), **case.inputs)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gelu", "erf, for which there is no instruction"),
        ("swi_glu", "several axes"),
        ("deep_norm", "a sum over rows"),
    ],
)
def test_a_page_that_is_not_straight_has_none_and_the_reason_is_known(name, why):
    assert av.tiles.programs(name) == ()
    with pytest.raises(NotStraight, match=why):
        default.tiling(None, name, av.case(name).inputs)


def test_check_takes_it_as_a_kernel():
    result = av.check("selu", program("selu"), depth="quick")
    assert result.passed and not result.unsupported
