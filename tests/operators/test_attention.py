"""Attention: hidden scores of each sparse mode, masks of bits, grouped heads, reserved tensors, and refusals."""

import numpy as np
import pytest

import aclnn_viz as av

OP = av.operator("flash_attention_score")
# 3 queries, 5 keys: 1 marks a score that counts; a single key has weight 1 whatever its score, and no gradient
SHOWN = {
    2: "00000 11000 11100",
    3: "11100 11110 11111",
    4: "11110 01111 00111",
    6: "11100 11110 11111",
}


def shown(**options):
    """Return where the gradient of one head's position shift is not 0."""
    found = OP.backward(**av.case(OP, shape=(1, 1, 3, 4), dropMaskOptional=None, **options).inputs)[
        "dpseOut"
    ]
    return " ".join("".join(str(int(n != 0)) for n in row) for row in found[0, 0])


@pytest.mark.parametrize("mode", SHOWN)
def test_a_mode_hides_what_the_document_draws(mode):
    assert shown(sparseMode=mode) == SHOWN[mode]


def test_a_prefix_is_seen_by_all_queries_and_a_window_moves_with_its_ends():
    assert shown(sparseMode=6, prefixOptional=(4,)) == "11110 11110 11111"
    assert shown(sparseMode=4, preTokens=0, nextTokens=0) == "00000 00000 00000"
    assert shown(sparseMode=4, preTokens=1, nextTokens=0) == "01100 00110 00011"


def test_a_mask_of_bits_keeps_the_lowest_bit_first():
    bits = np.array([0b00000101, 0b1], np.uint8)  # elements 0, 2 and 8 of 3 x 3
    inputs = av.case(
        OP,
        shape=(1, 1, 3, 4),
        keyIn_shape=(1, 1, 3, 4),
        dropMaskOptional=bits,
        keepProb=0.5,
        attenMaskOptional=None,
    ).inputs
    whole = OP.backward(**inputs | {"dropMaskOptional": None, "keepProb": 1.0})
    dy = np.zeros_like(inputs["dy"])
    dy[0, 0, 2, 0] = 1.0
    found = OP.backward(**inputs | {"dy": dy})["dvOut"][0, 0, :, 0]
    weights = OP.backward(**inputs | {"dy": dy, "dropMaskOptional": None, "keepProb": 1.0})[
        "dvOut"
    ][0, 0, :, 0]
    assert found[:2].tolist() == [0.0, 0.0] and found[2] == np.float32(2.0) * weights[2]
    assert whole["dvOut"].all()
    with pytest.raises(
        ValueError, match="one axis of at least 2 bytes, a bit for each of 9 elements"
    ):
        OP.backward(**inputs | {"dropMaskOptional": bits[:1]})


@pytest.mark.parametrize("layout", ["BSND", "BSH", "SBH"])
def test_layouts_hold_the_same_numbers(layout):
    inputs = av.case(OP, sparseMode=3, keepProb=0.75).inputs

    def laid(x):
        x = {"SBH": np.moveaxis(x, 2, 0)}.get(layout, np.swapaxes(x, 1, 2))
        return x if layout == "BSND" else x.reshape(*x.shape[:2], -1)

    moved = {
        name: laid(inputs[name])
        for name in ("query", "keyIn", "value", "dy", "attentionInOptional")
    }
    found, plain = OP.backward(**inputs | moved | {"inputLayout": layout}), OP.backward(**inputs)
    assert all(
        np.array_equal(found[name], laid(plain[name])) for name in ("dqOut", "dkOut", "dvOut")
    )
    assert np.array_equal(found["dpseOut"], plain["dpseOut"])


def test_a_group_of_heads_adds_up_in_its_key():
    inputs = av.case(
        OP, shape=(1, 4, 3, 4), attenMaskOptional=None, pseShiftOptional=None, dtype="float64"
    ).inputs
    alone = {name: np.repeat(inputs[name], 2, axis=1) for name in ("keyIn", "value")}
    found, each = OP.backward(**inputs), OP.backward(**inputs | alone)
    assert np.array_equal(found["dqOut"], each["dqOut"])
    for name in ("dkOut", "dvOut"):
        assert np.allclose(
            found[name], each[name].reshape(1, 2, 2, 5, 4).sum(axis=2), rtol=1e-13, atol=0
        )


def test_a_row_that_sees_nothing_has_no_gradient():
    inputs = av.case(OP, shape=(1, 1, 4, 3), keyIn_shape=(1, 1, 2, 3), sparseMode=3).inputs
    out = OP.backward(**inputs)
    assert (
        not out["dqOut"][0, 0, :2].any()
        and out["dqOut"][0, 0, 3].any()
        and not inputs["softmaxSumOptional"][0, 0, :2].any()
    )


def test_without_keys_there_is_no_softmax():
    with pytest.raises(ValueError, match="keyIn must have at least one key: got shape"):
        av.case(OP, keyIn_shape=(2, 2, 0, 4), attenMaskOptional=None, pseShiftOptional=None)


@pytest.mark.parametrize(
    "change, match",
    [
        (
            {"paddingMaskOptional": np.ones(1, np.float32)},
            "paddingMaskOptional is reserved: it must be None",
        ),
        ({"headNum": 3}, "headNum must be a multiple of N2|query must have shape"),
        ({"keepProb": 0.5}, "be 1 without dropMaskOptional"),
        ({"sparseMode": 5}, "prefixOptional must have B = 2 numbers of 2 to 5"),
        ({"sparseMode": 3}, "attenMaskOptional must have shape"),
        ({"preTokens": 0, "nextTokens": 0}, "must be 1 outside of preTokens and nextTokens"),
        ({"sparseMode": 1, "attenMaskOptional": None}, "sparseMode 1 takes attenMaskOptional"),
        ({"attenMaskOptional": np.zeros((1, 4, 3, 5), bool)}, "must be \\(B,N,Sq,Skv\\)"),
        (
            {"attenMaskOptional": np.zeros((2048, 2048), bool), "sparseMode": 2},
            "is the compressed mask",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change, match):
    with pytest.raises(ValueError, match=match):
        OP.backward(**av.case(OP).inputs | change)
