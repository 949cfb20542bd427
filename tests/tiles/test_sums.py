"""The orders of sums are the published ones, to the bit."""

import numpy as np
import pytest
from reference import ascendc_sums as judge
from small_kernels import buffer, gm, ran, sync

from aclnn_viz.tiles.ascendc import *  # noqa: F403
from together import in_one

SIZES = {np.float32: 64, np.float16: 128}
E = HardEvent


def numbers(count, dtype, seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype)


def summed(call, given, results):
    """What `call(dst, src)` leaves in the first `results` elements."""
    dtype, size = given.dtype, given.dtype.itemsize

    def kernel(x, y):
        pipe = TPipe()
        # which may be the work buffer, too
        src, dst = buffer(pipe, dtype, given.size), buffer(pipe, dtype, max(results, 512))
        DataCopyPad(src, gm(x, dtype), DataCopyExtParams(1, given.size * size, 0, 0, 0))
        sync(E.MTE2_V)
        call(dst, src)
        sync(E.V_MTE3)
        DataCopyPad(gm(y, dtype), dst, DataCopyExtParams(1, results * size, 0, 0, 0))

    result = ran(kernel, given, size=results, dtype=dtype, schedule="late")
    assert result.kinds == []
    return result.y


def same(actual, expected):
    assert actual.tobytes() == np.asarray(expected, actual.dtype).tobytes()


@in_one
@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 63, 64, 65, 100, 128, 129, 1000, 4099])
def test_reduce_sum_by_count(dtype, count):
    given = numbers(count, dtype, count)
    same(
        summed(lambda dst, src: ReduceSum(dst, src, src, count), given, 1),
        [judge.reduce_sum_count(list(given), SIZES[dtype])],
    )


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize(("mask", "repeats"), [(64, 1), (64, 3), (5, 4), (33, 9), (64, 255)])
def test_sums_by_repeats(dtype, mask, repeats):
    lanes = SIZES[dtype]
    given = numbers(repeats * lanes, dtype, mask + repeats)
    same(
        summed(lambda dst, src: ReduceSum(dst, src, dst, mask, repeats, 8), given, 1),
        [judge.reduce_sum_mask(list(given), mask, lanes)],
    )
    same(
        summed(lambda dst, src: WholeReduceSum(dst, src, mask, repeats, 1, 1, 8), given, repeats),
        judge.whole_reduce_sum(list(given), mask, lanes),
    )
    same(
        summed(
            lambda dst, src: RepeatReduceSum(dst, src, repeats, mask, 1, 1, 1, 8), given, repeats
        ),
        judge.whole_reduce_sum(list(given), mask, lanes),
    )
    same(
        summed(
            lambda dst, src: BlockReduceSum(dst, src, repeats, lanes, 1, 1, 8), given, 8 * repeats
        ),
        judge.block_reduce_sum(list(given), lanes),
    )
    same(
        summed(
            lambda dst, src: PairReduceSum(dst, src, repeats, lanes, 1, 1, 8),
            given,
            repeats * lanes // 2,
        ),
        judge.pair_reduce_sum(list(given)),
    )


def test_a_running_sum_adds_one_repeat_after_another():
    given, expected = numbers(64 * 20, np.float32, 3), np.zeros(64, np.float32)
    for repeat in given.reshape(20, 64):
        expected = expected + repeat

    def running(dst, src):
        Duplicate(dst, 0.0, 64)
        PipeBarrier(PIPE_V)
        Add(dst, src, dst, 64, 20, BinaryRepeatParams(1, 1, 1, 0, 8, 0))

    same(summed(running, given, 64), expected)


@pytest.mark.parametrize("count", [1, 3, 65, 1000])
def test_extremes(count):
    given = numbers(count, np.float32, count)
    same(summed(lambda dst, src: ReduceMax(dst, src, dst, count), given, 1), [given.max()])
    same(summed(lambda dst, src: ReduceMin(dst, src, dst, count), given, 1), [given.min()])


def test_the_orders_differ_from_each_other():
    """Else a test of one would pass with the other."""
    draws = [list(numbers(4099, np.float32, seed)) for seed in range(8)]
    orders = (
        lambda x: judge.reduce_sum_count(x, 64),
        judge.pairs,
        lambda x: np.add.accumulate(x)[-1],
        lambda x: judge.reduce_sum_count(x, 128),
    )
    assert len({tuple(float(order(x)) for x in draws) for order in orders}) == len(orders)


def test_a_zero_keeps_its_sign():
    same(
        summed(lambda dst, src: ReduceSum(dst, src, src, 3), np.float32([-0.0, -0.0, -0.0]), 1),
        [np.float32(-0.0)],
    )
