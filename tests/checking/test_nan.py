"""The origin of a nan or an infinity: its line is named, in NumPy, PyTorch, tile programs and C++."""

import json
from pathlib import Path

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.words.messages import in_language

pytestmark = pytest.mark.usefixtures("unexplained")
KERNELS = Path(__file__).parent / "not_finite"
ROWS, LARGE = np.float32([[1, 2, 3, 4], [0, 0, 0, 0]]), np.float32([[0.5, -2, 200, 1]])
EVEN = np.float32([[1, 1, 1, 1]])
# kernel: operator, inputs, part of the line that makes the first nan, and its operands
PYTHON = {
    "normalized": ("rms_norm", {"x": ROWS}, "y = x / root", "x = 0, root = 0"),
    "moments": ("layer_norm", {"input": EVEN}, "np.sqrt(", "= -0.001"),
    "masked": (
        "log_softmax",
        {"output": np.float32([[-1, -0.5], [-2e30, -2e30]])},
        "kept - kept.max(",
        "kept = -inf",
    ),
    "entropy": (
        "binary_cross_entropy_with_logits",
        {"self": np.float32([[1, -200]]), "target": np.float32([[1, 0]])},
        "np.log(p)",
        "p = 0",
    ),
    "grown": ("softplus", {"self": LARGE * 5, "threshold": 2e3}, "grown / (1.0", "grown = inf"),
    "rest": ("hardswish", {"self": np.float32([[1, 3.25]])}, "np.empty_like", "never written"),
    "left": ("hardswish", {"self": np.float32([[1, -4, 3.5]])}, "np.empty(", "never written"),
    "overwritten": ("silu", {"self": EVEN}, "np.divide(gradOutput, self - self", "self - self = 0"),
    "kept": ("silu", {"self": EVEN}, "np.empty_like", "never written"),
    "paired": ("silu", {"self": EVEN}, "g / (x - x)", "x - x = 0"),
}
TORCH = {
    "grown": ("silu", {"self": LARGE}, "x.exp()", "x = 200"),
    "rows": ("rms_norm", {"x": ROWS}, "y = x / torch", "x = 0"),
    "rest": ("hardswish", {"self": np.float32([[1, 3.25]])}, "torch.empty_like", "never written"),
    "forward": ("silu", {"self": LARGE}, "large = x.exp()", "x = 200"),
    "backward": ("silu", {"self": LARGE}, "e = x.exp()", "x = 200"),
}
TILES = {
    "exponential": ("silu", {"self": LARGE}, "Exp(work", "[0] = 200"),
    "logarithm": ("tanh", {"output": np.float32([[0.5, 0]])}, "Ln(o, x", "[0] = 0"),
    "half_filled": ("tanh", {"output": LARGE[:, [0] * 16]}, "Muls(work", "never written"),
}
CPP = {
    "ratio": ("hardswish", {"self": np.float32([[1, 0]])}, "Div(work, x, x, n)", "= 0"),
    "root": ("sigmoid", {"output": np.float32([[0.5, -0.25]])}, "Sqrt(work, y, n)", "= -0.25"),
}


@pytest.mark.parametrize(
    "file, name, row",
    [
        pytest.param(file, name, row, marks=marks, id=name)
        for file, rows, marks in (
            ("numpy_kernels.py", PYTHON, ()),
            ("torch_kernels.py", TORCH, pytest.mark.needs("torch")),
            ("tile_kernels.py", TILES, ()),
            ("kernels.cpp", CPP, pytest.mark.needs("g++")),
        )
        for name, row in rows.items()
    ],
)
def test_the_line_that_makes_the_first_is_named(file, name, row):
    operator, inputs, code, operands = row
    shape = next(value for value in inputs.values() if np.ndim(value)).shape
    case = av.case(operator, shape=shape, **inputs)
    result = av.check(operator, f"{KERNELS / file}:{name}", cases=[case])
    nan = result.nan
    line = (KERNELS / file).read_text("utf-8").splitlines()[nan.line - 1]
    assert code in line and operands in nan.lines[0] and nan.file == str(KERNELS / file)
    assert not any(text.endswith(": ") or "none" in text for text in nan.lines)


def test_the_line_of_an_object_is_named():
    class Divided:
        def __call__(self, /, gradOutput, **inputs):
            return gradOutput / np.zeros(2, np.float32)

    nan = av.check("silu", Divided(), cases=[av.case("silu", shape=(1, 2))]).nan
    assert nan.file == __file__ and "gradOutput / np.zeros(2, np.float32)" in nan.lines[0]


def test_what_ends_the_nan_of_an_input_is_named():
    case = av.case("silu", shape=(1, 2), self=np.float32([[np.nan, 1]]))
    result = av.check("silu", f"{KERNELS / 'numpy_kernels.py'}:clipped", cases=[case])
    nan = result.nan
    assert (
        nan.line == 0 and "instead of nan" in nan.lines[0] and "np.fmax(self, -88)" in nan.lines[-1]
    )
    assert json.loads(result.to_json())["nan"]["lines"][0] in str(nan) in str(result)
    assert "np.fmax" in result.to_html()
    with in_language("zh"):
        assert "其余的终止于：numpy_kernels.py第" in str(result)
    case = av.case("silu", shape=(1, 2))
    no_source = eval("lambda gradOutput, self: gradOutput * float('nan')")
    unseen = av.check("silu", no_source, cases=[case])
    assert unseen.failed and unseen.nan is None
    assert av.check("silu", lambda gradOutput, self: gradOutput, cases=[case]).nan is None
