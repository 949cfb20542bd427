"""The numbers behind pictures of numeric error, by hand: errors, verdicts, provenance, axes and running statistics."""

import numpy as np
import pytest
from pictures.error_samples import ATLAS, few

from aclnn_viz import case, open_device, operator
from aclnn_viz.accuracy.envelopes import Envelope, envelope, explain
from aclnn_viz.dtypes import FORMATS, ulp
from aclnn_viz.pictures.error_plot import running
from aclnn_viz.pictures.errors import errors
from aclnn_viz.pictures.provenance import Provenance, warning

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


def test_ulps_are_measured_from_the_truth():
    e = few([1, 1 + 2**-10, 2], [1, 1 + 2**-11 + 2**-12, 2 - 2**-9])
    assert e.ulps.tolist() == [0, 0.25, 2]


def test_special_numbers_agree_or_are_infinitely_far():
    e = few([np.inf, np.nan, np.inf, np.nan, 1], [1e6, np.nan, 1, 1, np.nan])
    assert e.ulps.tolist() == [0, 0, np.inf, np.inf, np.inf] and e.differing == 3
    assert e.finite.tolist() == [False] * 5


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
def test_finite_is_what_the_rounded_truth_is(fmt):
    edge = np.float64([1, fmt.largest, -fmt.largest])
    tie = fmt.largest + ulp(fmt.largest, fmt).item() / 2 if fmt.bits < 64 else fmt.largest
    assert errors(np.ones(4, fmt.numpy), np.append(edge, np.nextafter(tie, 0)), ATLAS).finite.all()
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
    assert e.where(e.worst) == "[1, 1] (x = 3, rstd = 8)"


# The axis of values, and running statistics


def test_a_truth_of_0_stands_beside_the_least_other_one():
    e = few([-4, 0, 0.5, np.inf, np.nan], [-4, 0, 0.5, np.inf, np.nan])
    assert e.size_of_truth[:4].tolist() == [4, 0.5, 0.5, 1e200] and not e.placed[4]


def test_windows_by_hand():
    truth = np.float64([*range(16, 0, -1), -17, 0])
    e = few(truth + np.arange(18) * 2**-9, truth)
    x, height = running(e, np.max, e.ulps, 1e9)
    assert x.tolist() == [1, 8, 9, 17]  # the first window also has the 0, drawn at 1
    assert height.tolist() == [
        *[e.ulps[[17, *range(8, 16)]].max()] * 2,
        *[e.ulps[[*range(8), 16]].max()] * 2,
    ]
    assert running(e, np.median, e.ulps, 0.5)[1].max() == 0.5
