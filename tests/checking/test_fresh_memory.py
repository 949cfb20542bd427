"""Output memory that a kernel does not write, or adds to: named with its element, for C, `out=` and NumPy."""

import shutil
import subprocess

import numpy as np
import pytest
from together import in_one

from aclnn_viz.checking import check

pytestmark = pytest.mark.usefixtures("unexplained")

PLANES = "int64_t N, int64_t C, int64_t H, int64_t W, int64_t Ho, int64_t Wo"
POOL = f"const float *gradOutput, const int32_t *indices, float *gradInput, {PLANES}"
SWISH = "const float *gradOutput, const float *self, float *out, int64_t n"
C = f"""#include <cstdint>
extern "C" void pool({POOL}) {{
  for (int64_t p = 0; p < N * C; ++p) {{
    float *plane = gradInput + p * H * W;
    for (int64_t i = 0; CLEAR && i < H * W; ++i) plane[i] = 0;
    for (int64_t i = p * Ho * Wo; i < (p + 1) * Ho * Wo; ++i) plane[indices[i]] += gradOutput[i];
  }}
}}
extern "C" void swish({SWISH}) {{
  for (int64_t i = 0; i < n; ++i) {{
    float x = self[i], s = x < -3 ? 0 : x > 3 ? 1 : x / 3 + 0.5f;
    if (CLEAR || s != 0) out[i] = gradOutput[i] * s;
  }}
}}
"""
ASKED = {"dtypes": ["float32"], "depth": "quick"}
ADDS, LEAVES = "adds to memory that it never cleared", "unwritten, the first out"


@pytest.mark.needs("g++")
def test_of_a_c_function(tmp_path):
    (tmp_path / "k.cpp").write_text(C)
    for clear in (0, 1):
        library = tmp_path / f"{clear}.so"
        how = ["-shared", "-fPIC", f"-DCLEAR={clear}", "-o", library, tmp_path / "k.cpp"]
        subprocess.run([shutil.which("g++"), *how], check=True)
        for name, op, declared, text in (
            ("pool", "max_pool_with_indices", POOL, ADDS),
            ("swish", "hardswish", SWISH, LEAVES),
        ):
            prototype = f"void {name}({declared});"
            result = check(op, f"{library}:{name}", signature=prototype, **ASKED)
            assert result.passed == bool(clear)
            assert clear or text in result.cause and result.counterexample


def pooled(out, gradOutput, indices):
    flat = out.reshape(-1, np.prod(out.shape[-2:]))
    places = indices.reshape(len(flat), -1)
    for plane, at, grads in zip(flat, places, gradOutput.reshape(places.shape)):
        np.add.at(plane, at, grads.astype(out.dtype))


def slopes(x):
    return np.where(x < -3, 0, np.where(x > 3, 1, x / 3 + np.float32(0.5)))


def into_out(gradOutput, self, out):
    slope = slopes(self.astype(np.float32))
    np.multiply(gradOutput.astype(np.float32), slope, out=out, where=slope != 0, casting="unsafe")


def cleared(gradOutput, self, out):
    out[...] = 0
    into_out(gradOutput, self, out)


def in_empty(gradOutput, self):
    out, slope = np.empty(self.shape, np.float32), slopes(self.astype(np.float32))
    np.multiply(gradOutput.astype(np.float32), slope, out=out, where=slope != 0)
    return out.astype(self.dtype)


NAMES = {name: name for name in ("gradOutput", "self", "out")}
POOLED = {"out": "gradInput", "gradOutput": "gradOutput", "indices": "indices"}


@in_one
@pytest.mark.parametrize(
    "op, kernel, signature, text",
    [
        ("hardswish", into_out, NAMES, LEAVES),
        ("hardswish", cleared, NAMES, ""),
        ("hardswish", in_empty, None, LEAVES),
        ("max_pool_with_indices", pooled, POOLED, ADDS),
    ],
)
def test_of_a_function(op, kernel, signature, text):
    result = check(op, kernel, signature=signature, **ASKED)
    assert result.passed == (not text) and text in result.cause
