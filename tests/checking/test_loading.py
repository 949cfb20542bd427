"""Kernels that the command line names."""

import pytest

from aclnn_viz.checking import check, load_kernel

KERNEL = """
import numpy as np
MIDDLE = 3
def hardswish(gradOutput, self):
    x = self.astype(np.float64)
    slope = np.where(x < -3, 0, np.where(x <= MIDDLE, x / 3 + 0.5, 1))
    return (gradOutput.astype(np.float64) * slope).astype(self.dtype)
"""


def test_a_function_of_a_file_is_checked(tmp_path):
    (tmp_path / "mine.py").write_text(KERNEL)
    assert check("hardswish", load_kernel(f"{tmp_path}/mine.py:hardswish")).passed


@pytest.mark.parametrize("name", ["mine.py", "no_such_module:f", "math:no_such_function", "math:pi", "no/file.py:f"])
def test_a_name_that_leads_nowhere_is_refused(name):
    with pytest.raises(ValueError, match="FILE.py:FUNCTION"):
        load_kernel(name)
