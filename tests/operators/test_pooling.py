"""Windows of pooling against plain loops: their number, their elements, and the place of the largest."""

from math import ceil, floor

import numpy as np
import pytest

import aclnn_viz as av

SIZES = [
    (kernel, stride, padding, dilation)
    for kernel in (1, 2, 3)
    for stride in (1, 2, 3)
    for padding in range(kernel // 2 + 1)
    for dilation in (1, 2)
]


def begins(length, kernel, stride, padding, dilation, up):
    """Return the start of each window: PyTorch's rule, whose ceil mode starts none in the trailing padding."""
    reach = length + 2 * padding - dilation * (kernel - 1) - 1
    count = (ceil if up else floor)(reach / stride) + 1
    return [
        k * stride - padding
        for k in range(count - (up and (count - 1) * stride >= length + padding))
    ]


@pytest.mark.parametrize("up", [False, True])
def test_max_pooling_names_the_first_of_the_largest(up):
    for kernel, stride, padding, dilation in SIZES:
        x = np.random.default_rng(kernel).integers(0, 3, (2, 6, 7)).astype(np.float32)
        found = av.case(
            "max_pool_with_indices",
            self=x,
            kernelSize=(kernel,),
            stride=(stride,),
            padding=(padding,),
            dilation=(dilation,),
            ceilMode=up,
        ).inputs["indices"]
        rows, columns = (begins(n, kernel, stride, padding, dilation, up) for n in x.shape[1:])
        for plane, its in zip(x, found):

            def largest(r, c, plane=plane):
                return min(
                    (-plane[i, j], i * 7 + j)
                    for i in range(r, r + kernel * dilation, dilation)
                    if 0 <= i < 6
                    for j in range(c, c + kernel * dilation, dilation)
                    if 0 <= j < 7
                )[1]

            assert its.tolist() == [[largest(r, c) for c in columns] for r in rows]


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("override", [0, 5])
def test_average_pooling_gives_each_element_its_share(up, counted, override):
    op = av.operator("avg_pool")
    for kernel, stride, padding, _ in SIZES[::2]:
        rows, columns = (begins(n, kernel, stride, padding, 1, up) for n in (5, 4))
        grad, expected = (
            np.random.default_rng(0).standard_normal((1, len(rows), len(columns))),
            np.zeros((1, 5, 4)),
        )
        for p, r in enumerate(rows):
            for q, c in enumerate(columns):
                inside = [
                    (i, j)
                    for i in range(r, r + kernel)
                    if 0 <= i < 5
                    for j in range(c, c + kernel)
                    if 0 <= j < 4
                ]
                padded = (min(r + kernel, 5 + padding) - r) * (min(c + kernel, 4 + padding) - c)
                for i, j in inside:
                    expected[0, i, j] += grad[0, p, q] / (
                        override or (padded if counted else len(inside))
                    )
        found = op.backward(
            gradOutput=grad,
            self=np.zeros((1, 5, 4)),
            kernelSize=(kernel, kernel),
            stride=(stride,),
            padding=(padding, padding),
            ceilMode=up,
            countIncludePad=counted,
            divisorOverride=override,
            cubeMathType=0,
        )["gradInput"]
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
