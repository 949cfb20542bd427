"""The scalar types of Ascend C by their C++ names, as NumPy dtypes; `float32` stands for C++ `float`."""

import ml_dtypes
import numpy as np

from aclnn_viz.errors import problem

half = np.dtype(np.float16)
bfloat16_t = np.dtype(ml_dtypes.bfloat16)
float32 = np.dtype(np.float32)
int8_t, int16_t, int32_t, int64_t = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8_t, uint16_t, uint32_t, uint64_t = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))

NAMES = {half: "half", bfloat16_t: "bfloat16_t", float32: "float", np.dtype(bool): "bool"} | {
    kind: f"{kind.name}_t" for kind in (int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t)}


def c_name(dtype: np.dtype) -> str:
    """Return the C++ name of a type.

    >>> c_name(float32), c_name(half)
    ('float', 'half')
    """
    return NAMES[np.dtype(dtype)]


def fitting(op, inputs: dict) -> tuple[dict, dict]:
    """The bound inputs and the results of a call that vector cores can take; NotImplementedError for float64."""
    bound = op.bind(inputs)
    results = op.arrange_backward(**bound).results
    wide = [name for name, value in bound.items() if getattr(value, "dtype", None) == np.float64]
    if wide:
        raise NotImplementedError(problem("a vector core takes float16, bfloat16 and float32",
                                          f"float64 in {', '.join(wide)}", "pass a narrower format"))
    return bound, results
