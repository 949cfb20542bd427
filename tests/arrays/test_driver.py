"""The driver: blocks and threads change nothing, sums are pairwise in a fixed order, memory stays in the cache."""

import tracemalloc

import numpy as np
import pytest
from machine import sampled
from together import in_one

from aclnn_viz import case, operator
from aclnn_viz.arrays import driver, numpy_arrays
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.sums import PairwiseSum, tree

SHAPES = {
    "hardswish": (70, 90),
    "rms_norm": (70, 90),
    "grid_sampler_2d": (3, 5, 20, 20),
    "cross_entropy_loss": (70, 90),
    "group_norm_swish": (9, 6, 10, 10),
    "scaled_masked_softmax": (7, 2, 30, 15),
    "rotary_position_embedding": (7, 2, 15, 30),
    "grid_sampler_3d": (3, 5, 4, 10, 10),
}
ALL = pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)


def outputs(op, monkeypatch, block, threaded):
    monkeypatch.setattr(driver, "BLOCK_ELEMENTS", block)
    monkeypatch.setattr(driver, "THREADED_ELEMENTS", threaded)
    return op.backward(**case(op, shape=SHAPES.get(op.name, (70, 90))).inputs)


@ALL
def test_threads_change_no_bit(op, monkeypatch):
    alone, together = (outputs(op, monkeypatch, 400, threaded) for threaded in (1 << 60, 0))
    assert all(np.array_equal(alone[name], together[name]) for name in alone)


@ALL
@pytest.mark.sampled(2)
def test_blocks_change_only_the_last_digit(op, monkeypatch):
    whole = outputs(op, monkeypatch, 1 << 60, 1 << 60)
    for block in (*[1] * bool(op.chapter), 37, 400, 5000):
        for name, value in outputs(op, monkeypatch, block, 1 << 60).items():
            scale = np.max(np.abs(whole[name]))
            np.testing.assert_allclose(
                value, whole[name], rtol=0, atol=4 * 2.0**-24 * scale, err_msg=f"{name} {block}"
            )


@ALL
def test_every_block_is_within_its_budget(op, monkeypatch):
    seen = []
    page = op.page.backward

    def spy(xp, **inputs):
        seen.append(max(v.size for k, v in inputs.items() if hasattr(v, "size")))
        return page(xp, **inputs)

    monkeypatch.setattr(op.page, "backward", spy)
    outputs(op, monkeypatch, 2000, 1 << 60)
    assert len(seen) > 2 and max(seen) <= 2000


def test_non_contiguous_inputs_give_the_same_bits():
    for op in sampled(__name__):
        inputs = case(op, shape=SHAPES.get(op.name, (70, 90))).inputs
        strided = {
            k: np.repeat(v[..., None], 3, -1)[..., 1] if isinstance(v, np.ndarray) else v
            for k, v in inputs.items()
        }
        reversed_ = {
            k: v[::-1].copy()[::-1] if isinstance(v, np.ndarray) and v.ndim else v
            for k, v in inputs.items()
        }
        expected = op.backward(**inputs)
        for variant in (strided, reversed_):
            assert any(
                not v.flags.c_contiguous for v in variant.values() if isinstance(v, np.ndarray)
            )
            assert all(np.array_equal(a, expected[k]) for k, a in op.backward(**variant).items())


def test_inputs_are_not_modified():
    for op in sampled(__name__):
        inputs = case(op).inputs
        before = {k: v.copy() for k, v in inputs.items() if isinstance(v, np.ndarray)}
        op.backward(**inputs)
        assert all(
            np.array_equal(inputs[k], v, equal_nan=v.dtype.kind == "f") for k, v in before.items()
        )


EMPTY = [
    ("hardswish", (0, 3), {"out": (0, 3)}),
    ("rms_norm", (0, 4), {"dxOut": (0, 4), "dgammaOut": (4,)}),
    ("rms_norm", (3, 0), {"dxOut": (3, 0), "dgammaOut": (0,)}),
    ("grid_sampler_2d", (0, 2, 3, 3), {"inputGrad": (0, 2, 3, 3), "gridGrad": (0, 6, 5, 2)}),
    ("grid_sampler_2d", (2, 0, 3, 3), {"inputGrad": (2, 0, 3, 3), "gridGrad": (2, 6, 5, 2)}),
    ("cross_entropy_loss", (0, 3), {"xGradOut": (0, 3)}),
    ("group_norm_swish", (0, 4, 3), {"dxOut": (0, 4, 3), "dgammaOut": (4,), "dbetaOut": (4,)}),
    ("group_norm_swish", (2, 4, 0), {"dxOut": (2, 4, 0), "dgammaOut": (4,), "dbetaOut": (4,)}),
]


@pytest.mark.parametrize("name,shape,expected", EMPTY)
def test_empty_inputs_give_empty_maps_and_zero_sums(name, shape, expected):
    out = operator(name).backward(**case(name, shape=shape).inputs)
    assert {k: v.shape for k, v in out.items()} == expected
    assert not any(v.any() for v in out.values())


class Term(str):
    def __add__(self, other):
        return Term("({}{})".format(*sorted((self, other), key=lambda text: text.strip("("))))


@in_one
@pytest.mark.parametrize("count", range(1, 27))
def test_blocks_of_a_power_of_two_make_the_tree_over_all_terms(count):
    terms = np.array([Term(letter) for letter in "abcdefghijklmnopqrstuvwxyz"[:count]], object)
    whole = tree(terms)
    for block in (1, 2, 4, 8):
        running = PairwiseSum()
        for at in range(0, count, block):
            running.add(tree(terms[at : at + block]))
        assert running.total() == whole, block
    if count == 7:
        assert whole == "(((ab)(cd))((ef)g))"


def test_sums_of_float32_are_carried_in_float64():
    xp = NumPyArrays()
    tall = np.full((1 << 16, 3), np.float32(0.1))
    assert np.array_equal(xp.sum(tall[:, 0]), np.float32(65536 * float(np.float32(0.1))))
    assert xp.mean(tall).dtype == xp.sum(tall, axis=1).dtype == np.float32
    # perhaps a part of a sum, which must not be rounded
    assert xp.sum(tall, axis=0).dtype == np.float64
    assert np.array_equal(xp.sum(tall, axis=0), np.full(3, float(np.float32(0.1)) * 65536))
    assert xp.mean(tall, axis=0, keepdims=True).shape == (1, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scatter_add_adds_equal_indices_in_every_channel(dtype):
    target = np.arange(8, dtype=dtype).reshape(2, 4)
    values = np.array([[1, 2, 3], [10, 20, 30]], dtype)
    out = NumPyArrays().scatter_add(target, np.array([0, 3, 0]), values)
    assert out.tolist() == [[4, 1, 2, 5], [44, 5, 6, 27]] and out.dtype == dtype


@pytest.mark.soak
def test_memory_of_a_large_rms_norm_stays_below_64_mib():
    inputs = case("rms_norm", dtype="bfloat16", shape=(4096, 4096)).inputs
    tracemalloc.start()
    out = operator("rms_norm").backward(**inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - sum(value.nbytes for value in out.values()) < 64 << 20


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_where_selects_the_bits_that_numpy_selects(dtype):
    rng = np.random.default_rng(0)
    for shapes in (
        ((5, 7), (5, 7), (5, 7)),
        ((5, 1), (1, 7), (7,)),
        ((3,), (3,), ()),
        ((0, 4), (0, 4), (4,)),
        ((), (3,), (3,)),
    ):
        chosen = np.asarray(rng.random(shapes[0]) < 0.5)
        x, y = (
            np.asarray(rng.choice([np.nan, -np.nan, -0.0, 0.0, np.inf, 5e-324, 1.5], shape))
            for shape in shapes[1:]
        )
        with np.errstate(invalid="ignore"):
            x, y = x.astype(dtype), y.astype(dtype)
        expected, found = np.where(chosen, x, y), NumPyArrays().where(chosen, x, y)
        assert (
            found.dtype == expected.dtype
            and found.shape == expected.shape
            and found.tobytes() == expected.tobytes()
        )


def test_where_takes_numbers_and_conditions_as_numpy_does():
    """An edited page may pass any of them."""
    x, chosen = np.float32([1, 2]), np.array([True, False])
    for given in (
        (chosen, 1.0, x),
        (chosen, x, 0.0),
        (np.float32([0, 3]), x, -x),
        (True, x, -x),
        (chosen[0], x, -x),
    ):
        found, expected = NumPyArrays().where(*given), np.where(*given)
        assert np.array_equal(found, expected) and found.dtype == expected.dtype


def test_scattering_a_channel_at_a_time_adds_in_the_same_order(monkeypatch):
    rng, target = np.random.default_rng(0), np.zeros((3, 11), np.float32)
    index, values = rng.integers(0, 11, 500), rng.standard_normal((3, 500)).astype(np.float32)
    together = NumPyArrays().scatter_add(target, index, values)
    monkeypatch.setattr(numpy_arrays, "VALUES_BY_INDEX", 0)
    assert (
        np.array_equal(NumPyArrays().scatter_add(target, index, values), together)
        and together.any()
    )
