"""The numbers behind pictures of numeric error, by hand: errors, verdicts, provenance, axes and running statistics."""

import re

import numpy as np
import pytest
from pictures.error_samples import ATLAS, few

from aclnn_viz import case, open_device, operator
from aclnn_viz.accuracy.envelopes import Envelope, envelope, explain
from aclnn_viz.dtypes import FLOAT16, FLOAT32, FORMATS, ordinals, ulp
from aclnn_viz.pictures.errors import errors
from aclnn_viz.pictures.ordinal_axis import ordinal_axis, value_at
from aclnn_viz.pictures.provenance import Provenance, warning
from aclnn_viz.pictures.windows import windows

# Where numbers come from


@pytest.mark.parametrize(
    ("device", "measured"),
    [
        ("atlas:0", True),
        ("atlas:1 (custom AddCustom, RmsNorm)", True),
        ("host", False),
        ("atlas:0 (stand-in)", False),
        ("atlas:0 (stand-in; custom AddCustom)", False),
        ("prediction", False),
        ("capsule a.npz, recorded on atlas:0 at noon", False),
    ],
)
def test_only_an_atlas_measures(device, measured):
    source = Provenance("out", device)
    assert source.measured == measured and (device in warning({"": source})) != measured


def test_a_case_and_a_device_tell_their_provenance():
    with open_device("host", soc="Ascend910B2", cann="9.0") as device:
        source = Provenance.of(case("hardswish", seed=5), "out", device)
    assert source == Provenance("out of aclnnHardswishBackward", "host", "Ascend910B2", "9.0.0", 5)


# Errors by hand: float16 has spacing 2**-10 at 1 and 2**-9 at 2.


def test_ulps_are_measured_from_the_truth_and_steps_from_the_rounded_truth():
    e = few([1, 1 + 2**-10, 2], [1, 1 + 2**-11 + 2**-12, 2 - 2**-9])
    assert (e.ulps.tolist(), e.steps.tolist()) == ([0, 0.25, 2], [0, 0, 2])


def test_special_numbers_agree_or_are_infinitely_far():
    e = few([np.inf, np.nan, np.inf, np.nan, 1], [1e6, np.nan, 1, 1, np.nan])
    assert e.ulps.tolist() == [0, 0, np.inf, np.inf, np.inf] and e.differing == 3
    assert e.steps.tolist() == [0, 0, 0x7C00 - 0x3C00, np.inf, np.inf]
    assert e.finite.tolist() == [False] * 5


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
def test_finite_is_what_the_rounded_truth_is(fmt):
    edge = np.float64([1, fmt.largest, -fmt.largest])
    tie = fmt.largest + ulp(fmt.largest, fmt).item() / 2 if fmt.bits < 64 else fmt.largest
    above = np.nextafter(tie, 0)
    e = errors(np.ones(4, fmt.numpy), np.append(edge, above), ATLAS)
    assert e.finite.all()
    if fmt.bits < 64:
        assert not errors(np.ones(1, fmt.numpy), np.float64([tie]), ATLAS).finite.any()


def test_verdicts_are_those_of_explain():
    for name in ("hardswish", "rms_norm", "grid_sampler_2d"):
        op, inputs = operator(name), case(name, dtype="float16", seed=2).inputs
        truth, actual = op.truth(**inputs), op.backward(**inputs)
        for output, env in envelope(op, **inputs).items():
            wrong = actual[output].copy()
            wrong.reshape(-1)[::3] *= np.float16(1.01)
            counts = errors(wrong, truth[output], ATLAS, envelope=env).counts()
            said = explain(wrong, truth[output], env)
            assert list(counts.values()) == [said.explained, said.not_explained, said.undecided]
            assert counts["not explained"] > 0 or name == "grid_sampler_2d"


def test_the_expected_width_is_never_above_the_bound():
    env = Envelope(
        np.zeros(2, np.float16),
        np.float64([1, 3]) * 2**-10,
        np.float64([2, 2]) * 2**-10,
        np.zeros(2, bool),
    )
    assert few([1, 1], [1, 1], envelope=env).expected.tolist() == [1, 2]


def test_an_envelope_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"must have one shape: got \(2,\), \(2,\) and \(3,\)"):
        few([1, 1], [1, 1], envelope=Envelope(*(np.zeros(3),) * 4))


def test_inputs_are_looked_up_where_they_broadcast_in_place():
    e = few(
        [[1, 2], [3, 4]],
        [[1, 2], [3, 5]],
        inputs={
            "x": np.arange(4.0).reshape(2, 2),
            "rstd": np.float32([[7], [8]]),
            "gamma": np.ones(2),
            "epsilon": 1e-6,
        },
    )
    assert (e.worst, e.index(e.worst), e.inputs_at(e.worst)) == (3, (1, 1), {"x": 3, "rstd": 8})


# The axis of values


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
def test_ordinals_have_a_way_back(fmt):
    values = np.float64([-fmt.largest, -1.5, -fmt.smallest_subnormal, 0, 2.0**-14, 3])
    assert value_at(ordinals(values.astype(fmt.numpy)), fmt).tolist() == values.tolist()


def test_equal_room_for_every_number_and_a_gap_around_zero():
    axis = ordinal_axis(ordinals(np.float16([-4, -1, 0, 1, 4])), FLOAT16)
    far, near, zero, *rest = axis.x(ordinals(np.float16([-4, -1, 0, 1, 4])))
    assert (
        [zero, *rest] == [0, -near, -far]
        and near - far == 2 * 1024
        and -near == axis.gap == 0.05 * 4 * 1024
    )


def test_ticks_increase_and_lie_where_their_labels_say():
    places = ordinals(np.float32([-3e4, -1e-5, 1e-5, 3e4]))
    axis = ordinal_axis(places, FLOAT32)
    at, labels = (list(each) for each in zip(*axis.ticks()))
    ascii_ = str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")
    plain = [
        float(re.sub("10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])", "1e", label).translate(ascii_)) for label in labels
    ]
    assert len(at) >= 5 and sorted(at) == at and 0.0 in plain
    assert axis.x(ordinals(np.float32(plain))).tolist() == at


def test_a_short_axis_gets_round_numbers_and_one_value_one_tick():
    assert ordinal_axis(ordinals(np.float16([1.5, 1.9])), FLOAT16).ticks()[0][1] == "1.52"
    assert ordinal_axis(ordinals(np.float16([1.5])), FLOAT16).ticks()[0][1] == "1.5"


# Running statistics


def test_windows_by_hand():
    truth = np.float64([*range(1, 17), -1, 0, 0])
    w = windows(few(truth + np.arange(19) * 2**-9, truth))
    assert (w.size, w.count.tolist()) == (8, [1, 2, 8, 8, 8])
    assert w.first.tolist() == [-1, 0, 1, 5, 9] and w.last.tolist() == [-1, 0, 8, 12, 16]
    e = few(truth + np.arange(19) * 2**-9, truth)
    assert w.median.tolist()[2] == np.median(e.ulps[:8]) and w.maximum[4] == e.ulps[8:16].max()


def test_a_running_line_breaks_at_zero():
    e = few([-1, 0, 1, 2], [-1, 0, 1, 2])
    w, axis = windows(e), ordinal_axis(e.place, FLOAT16)
    x, y = w.curve(w.median, axis)
    assert np.isnan(x).sum() == np.isnan(y).sum() == 3
    # negative, zero, positive: the last line has a length of its own
    parts = x.reshape(3, 4)[:, :3]
    assert np.allclose(parts[:2].mean(1), axis.x(e.place)[:2]) and (
        parts[2, 0],
        parts[2, 2],
    ) == tuple(axis.x(e.place)[2:])
    assert (np.ptp(parts, axis=1) > 0.01 * np.ptp(axis.x(e.place))).all()
