"""Responses of one element: slopes and Jacobians against differences of the forward operator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from panelled_explorer import computed, mark, panel, stage

import aclnn_viz as av
from aclnn_viz.explorers import attention, default, losses, norms, planes, response, softmax
from aclnn_viz.operators import registry
from aclnn_viz.pictures.marks import Dots

STEP = 1e-6


def test_every_operator_has_a_stage_by_its_declaration():
    found = {}
    for op in av.operators():
        found.setdefault(response.stage_of(op)[0], set()).add(op.name)
    assert found[norms] == set(
        "batch_norm deep_norm group_norm group_norm_swish layer_norm rms_norm".split()
    )
    assert found[losses] == {"cross_entropy_loss", "nll_loss"}
    assert found[attention] == {"flash_attention_score"}
    assert found[softmax] == {"softmax", "scaled_masked_softmax", "log_softmax"}
    assert {name for name in found[planes] if not registry.file("explorer", name)} == set(
        "avg_pool embedding ge_glu glu max_pool_with_indices reflection_pad_2d replication_pad_2d "
        "rotary_position_embedding swi_glu upsample_bicubic_2d upsample_bilinear_2d upsample_nearest_2d".split()
    )


@pytest.mark.parametrize("name, held", [("prelu", "weight"), ("l1_loss", "target"), ("gelu", "")])
def test_a_slope_says_what_it_is_of_and_what_is_held(name, held):
    subject, data, found = stage(name)
    assert list(found.held) == [held] * bool(held)
    assert panel(subject.show(data), "slope").x.label == "self" + "".join(
        f", at {key} = {found.held[key].item():.4g}" for key in found.held
    )


def test_kinks_are_those_of_the_declaration_and_move_with_it():
    subject, data, found = stage("hardtanh", min=-0.5, max=0.25)
    assert found.kinks.tolist() == [-0.5, 0.25]
    assert [found.beside_kink(k) for k in (0, 1)] == [(0.0, 1.0), (1.0, 0.0)]
    dots = mark(subject.show(data), "slope", Dots, "slope at the point itself")
    assert_array_equal(dots.x, found.kinks)
    assert_array_equal(
        dots.y,
        av.operator("hardtanh").backward(
            gradOutput=np.ones(2), self=found.kinks, min=-0.5, max=0.25
        )["out"],
    )
    assert stage("l1_loss")[2].kinks[0] == pytest.approx(
        av.case("l1_loss").inputs["target"].flat[0]
    )


def test_the_weights_are_the_jacobian_of_the_forward_operator():
    op = av.operator("glu")
    x, made = np.random.default_rng(1).standard_normal((1, 6)), default.of(op)

    def forward(k, step):
        return op.forward(self=x + step * np.eye(1, 6, k))["y"][0]

    differences = [(forward(k, STEP) - forward(k, -STEP)) / (2 * STEP) for k in range(6)]
    case = av.case(op, "float64", shape=(1, 6), self=x)
    found = response.response(default.XP, op, case.inputs, made.state())
    assert_allclose(found.weights[:, 0], np.transpose(differences), atol=1e-8)
    assert_array_equal(found.gradient, case.inputs[found.upstream])


def test_the_plane_that_is_shown_is_that_of_the_tensors():
    for k in range(2):
        subject, data, found = stage("max_pool_with_indices", plane=k)
        upstream = data.inputs[next(iter(subject.operator(data.state).upstream))]
        assert_array_equal(found.gradient, upstream.reshape(-1, *upstream.shape[-2:])[k])


def test_what_is_switched_off_is_not_drawn():
    subject, data = computed("grid_sampler_3d", outputMask="− +")
    assert all(one.name != "volume" for one in subject.panels(data))
