"""The emulated kernels for calls that pass the vendor's checks although no formula covers them."""

from importlib import import_module

import numpy as np
import pytest
from acl_program import Program, inputs_of, uniform

from aclnn_viz import operator
from aclnn_viz.acl import HostAcl

RMS, SAMPLER, LOSS, NORM = (
    "aclnnRmsNormGrad",
    "aclnnGridSampler2DBackward",
    "aclnnCrossEntropyLossGrad",
    "aclnnGroupNormSwishGrad",
)
A2, NEW = "Ascend910B2", "Ascend950PR_9579"
POISON = b"\xa5"


def poisoned(array):
    return set(array.tobytes()) == set(POISON)


def reference(name, **inputs):
    """Return float64 outputs of the formula at 50 digits."""
    given = {key: value for key, value in inputs.items() if value is not None}
    return {
        key: np.asarray(value, np.float64)
        for key, value in import_module(f"reference.{name}").backward(**given).items()
    }


def usual(name):
    """Return the formula's outputs for the usual inputs."""
    return reference(operator(name).name, **inputs_of(name)[0])


def run(name, *, soc=A2, cann="9.1", synchronise=0, outputs=None, **inputs):
    """Run an operator with some inputs replaced; return its outputs and the records."""
    program = Program(HostAcl(soc=soc, cann=cann)).start()
    arguments, made = program.arguments(name, inputs, outputs)
    program.queue(name, arguments)
    assert program.acl.aclrtSynchronizeStream(program.stream) == synchronise
    found = {key: program.fetch(tensor) for key, tensor in made.items()}
    program.finish()
    return found, program.acl.misuse


def close(found, expected):
    # float32 sums of a few terms of size 1: a few units of 2**-24
    return np.allclose(found, expected, rtol=0, atol=32 * 2**-24)


# Cross entropy

LOGITS = inputs_of(LOSS)[0]


def loss(**replaced):
    return reference("cross_entropy_loss", **(LOGITS | replaced))["xGradOut"]


def test_an_unknown_reduction_is_none():
    grad = uniform(7, 4)
    found, misuse = run(LOSS, reduction="avg", gradLoss=grad)
    assert close(found["xGradOut"], loss(reduction="none", gradLoss=grad))
    assert "reduction must be none, mean or sum" in misuse[0]


def test_a_scalar_is_read_as_a_vector_for_none():
    """One number was allocated, four are read: the kernel reads the bytes behind it, here poison."""
    found, misuse = run(LOSS, reduction="none")
    grad = np.frombuffer(np.float32(0.5).tobytes() + 12 * POISON, np.float32)
    assert close(found["xGradOut"], loss(reduction="none", gradLoss=grad))
    assert len(misuse) == 2 and "gradLoss must be (N,) for reduction none" in misuse[0]
    assert "reads gradLoss: 12 bytes outside the allocation of 4 bytes" in misuse[1]


def test_a_vector_is_read_as_a_scalar_for_mean():
    found, misuse = run(LOSS, gradLoss=np.float32([0.5, 9, 9, 9]))
    assert close(found["xGradOut"], loss()) and len(misuse) == 1


def test_a_scalar_of_one_axis_is_right():
    found, misuse = run(LOSS, gradLoss=np.float32([0.5]))
    assert close(found["xGradOut"], loss()) and misuse == []


def test_a_target_of_two_axes_is_read_from_its_start():
    found, misuse = run(LOSS, target=np.int64([[0, 2, 1], [2, 9, 9], [9, 9, 9], [9, 9, 9]]))
    assert close(found["xGradOut"], loss()) and "target must be (N,)" in misuse[0]


def test_a_weight_of_another_type_is_read_as_float():
    weight = np.float32([1, 2, 3])
    found, misuse = run(LOSS, weightOptional=weight.view(np.int32))
    assert close(found["xGradOut"], loss(weightOptional=weight))
    assert len(misuse) == 1 and "weightOptional must be FLOAT" in misuse[0]


def test_label_smoothing_writes_nothing_on_a2():
    found, misuse = run(LOSS, labelSmoothing=0.25)
    assert poisoned(found["xGradOut"])
    assert len(misuse) == 1 and "labelSmoothing must be 0 on this product" in misuse[0]


def test_label_smoothing_works_on_950():
    found, misuse = run(LOSS, soc=NEW, labelSmoothing=0.25)
    assert close(found["xGradOut"], loss(labelSmoothing=0.25)) and misuse == []


@pytest.mark.parametrize("soc", [A2, NEW])
def test_zloss_is_never_computed(soc):
    found, misuse = run(
        LOSS,
        soc=soc,
        gradZlossOptional=np.asarray(1, np.float32),
        lseSquareScaleForZloss=0.5,
        lseForZlossOptional=uniform(1, 4),
    )
    assert close(found["xGradOut"], loss())
    assert len(misuse) == 1 and "lseSquareScaleForZloss must be 0" in misuse[0]


@pytest.mark.parametrize("target", [-1, 3, 2**40])
def test_a_target_outside_leaves_the_output_on_a2(target):
    found, misuse = run(LOSS, target=np.int64([0, target, 1, 2]))
    assert poisoned(found["xGradOut"])
    assert "target must lie in [0, C)" in misuse[0] and "outputs stay as they were" in misuse[1]


@pytest.mark.parametrize(("target", "ignored"), [(-1, -100), (3, -100), (-100, -100)])
def test_a_target_outside_stops_950(target, ignored):
    found, misuse = run(
        LOSS, soc=NEW, synchronise=507035, target=np.int64([0, target, 1, 2]), ignoreIndex=ignored
    )
    assert poisoned(found["xGradOut"]) and any("target" in text for text in misuse)


@pytest.mark.parametrize(("soc", "ignored"), [(A2, -100), (A2, 2), (A2, 7), (NEW, 2), (NEW, 7)])
def test_ignored_targets_are_in_order(soc, ignored):
    target = np.int64([0, ignored, 1, 2])
    found, misuse = run(LOSS, soc=soc, target=target, ignoreIndex=ignored)
    assert close(found["xGradOut"], loss(target=target, ignoreIndex=ignored)) and misuse == []


def test_int32_targets_are_taken_on_950():
    found, misuse = run(LOSS, soc=NEW, target=LOGITS["target"].astype(np.int32))
    assert close(found["xGradOut"], loss()) and misuse == []


# RMS norm


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 1, 1, 1), (3, 1, 1)])
def test_rstd_needs_one_number_a_row(shape):
    rstd = inputs_of(RMS)[0]["rstd"]
    found, misuse = run(RMS, rstd=rstd.reshape(shape))
    assert close(found["dxOut"], usual(RMS)["dxOut"]) and misuse == []


def test_rstd_may_lack_axes_of_length_1():
    given = {
        "dy": uniform(0, 3, 1, 4),
        "x": uniform(1, 3, 1, 4),
        "rstd": uniform(2, 3, low=0.5, high=2),
        "gamma": uniform(3, 4),
    }
    found, misuse = run(RMS, **given, outputs={"dxOut": ((3, 1, 4), np.float32)})
    expected = reference("rms_norm", **given | {"rstd": given["rstd"].reshape(3, 1)})
    assert close(found["dxOut"], expected["dxOut"]) and close(
        found["dgammaOut"], expected["dgammaOut"]
    )
    assert misuse == []


def test_rstd_may_hold_one_number_where_x_is_one_row():
    given = {"dy": uniform(0, 4), "x": uniform(1, 4), "rstd": np.float32([1.5])}
    found, misuse = run(RMS, **given, outputs={"dxOut": ((4,), np.float32)})
    expected = reference("rms_norm", **inputs_of(RMS)[0] | given)
    assert close(found["dxOut"], expected["dxOut"]) and misuse == []


def test_no_rows_give_nan_on_950():
    empty = {"dy": uniform(0, 0, 4), "x": uniform(1, 0, 4), "rstd": uniform(2, 0)}
    found, misuse = run(RMS, soc=NEW, **empty, outputs={"dxOut": ((0, 4), np.float32)})
    assert np.isnan(found["dgammaOut"]).all() and found["dxOut"].shape == (0, 4)
    assert len(misuse) == 1 and "fills dgammaOut with nan" in misuse[0]


# Grid sampler


@pytest.mark.parametrize("mask", [(True, False), (False, True)])
def test_what_is_masked_out_is_not_written(mask):
    found, misuse = run(SAMPLER, outputMask=mask)
    expected = usual(SAMPLER)
    for want, name in zip(mask, ("inputGrad", "gridGrad")):
        assert close(found[name], expected[name]) if want else poisoned(found[name])
    assert misuse == []


def test_a_null_mask_computes_nothing():
    found, misuse = run(SAMPLER, outputMask=None)
    assert poisoned(found["inputGrad"]) and poisoned(found["gridGrad"])
    assert len(misuse) == 1 and "outputMask must be given" in misuse[0]


def test_a_null_mask_passes_null_tensors():
    program = Program(HostAcl()).start()
    program.queue(SAMPLER, [None, None, None, 0, 0, False, None, None, None])
    program.finish()
    assert program.acl.misuse == [
        f"{SAMPLER}: phase 1 was given null pointers, and nothing is computed"
    ]


def test_old_libraries_look_at_two_entries_of_a_mask():
    found, misuse = run(SAMPLER, cann="9.0", outputMask=(True, False, True))
    assert close(found["inputGrad"], usual(SAMPLER)["inputGrad"])
    assert poisoned(found["gridGrad"]) and misuse == []


def test_double_is_computed_in_double():
    inputs, shapes = inputs_of(SAMPLER, np.float64)
    found, misuse = run(SAMPLER, **inputs, outputs=shapes)
    assert np.allclose(
        found["inputGrad"], reference("grid_sampler_2d", **inputs)["inputGrad"], rtol=0, atol=2**-48
    )
    assert misuse == []


# Group norm with swish


@pytest.mark.parametrize(("dtype", "off"), [(np.float32, "zero"), (np.float16, "untouched")])
def test_gradients_that_are_switched_off(dtype, off):
    inputs, shapes = inputs_of(NORM, dtype)
    found, misuse = run(NORM, **inputs | {"dgammaIsRequire": False}, outputs=shapes)
    assert poisoned(found["dgammaOut"]) if off == "untouched" else (found["dgammaOut"] == 0).all()
    assert (found["dbetaOut"] != 0).all() and not poisoned(found["dbetaOut"]) and misuse == []


def test_the_data_format_is_not_read():
    found, misuse = run(NORM, dataFormatOptional="NHWC")
    assert close(found["dxOut"], usual(NORM)["dxOut"]) and misuse == []


def test_num_groups_is_narrowed():
    found, misuse = run(NORM, numGroups=2**32 + 2)
    assert close(found["dxOut"], usual(NORM)["dxOut"]) and misuse == []


def test_an_output_of_another_shape_is_written_densely():
    found, misuse = run(NORM, outputs={"dxOut": ((24,), np.float32)})
    expected = usual(NORM)["dxOut"].ravel()
    assert close(found["dxOut"], expected)
    assert len(misuse) == 1 and "dxOut must have the shape of x" in misuse[0]


def test_an_output_that_is_too_small_loses_its_end():
    found, misuse = run(NORM, outputs={"dxOut": ((20,), np.float32)})
    expected = usual(NORM)["dxOut"].ravel()
    assert close(found["dxOut"], expected[:20]) and len(misuse) == 1


# Strided outputs of generated operators


def test_a_generated_operator_ignores_the_strides_of_an_output():
    """The strided view would leave its 16 elements; the dense result starts at its first."""
    program = Program(HostAcl()).start()
    arguments, _ = program.arguments(RMS)
    address = program.put(np.full(16, 77, np.float32))
    arguments[4] = program.view(
        address, (3, 4), np.float32, strides=(8, 2), offset=3, storage=(16,)
    )
    program.launch(RMS, arguments)
    expected = np.full(16, 77.0)
    expected[3:15] = usual(RMS)["dxOut"].ravel()
    assert close(program.get(address, 16, np.float32), expected)
    assert len(program.acl.misuse) == 1 and "outputs must be contiguous" in program.acl.misuse[0]


def test_closeness_rejects_a_wrong_answer():
    assert not close(np.float32([1.0]), [1 + 1e-5]) and not poisoned(np.float32([0]))
