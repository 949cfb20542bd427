"""Four operators of folders elsewhere, each of two files: what a declaration can say is enough for every part of the kit."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from in_child import in_child

import aclnn_viz as av
from aclnn_viz.cases import default
from aclnn_viz.cases.deep import deep
from aclnn_viz.explorers import default as explorers
from aclnn_viz.verification import numeric, rates

ELSEWHERE = Path(__file__).parent / "elsewhere"
#: Of each page five mistakes, and what the verdict names of each.
MISTAKES = {
    "my_swiglu": (("yGrad * b * slope", "yGrad * slope"), ("yGrad * a * s", "yGrad * a"), ("1.0 + a *", "1.0 - a *"),
                  ("[yGrad * b * slope, yGrad * a * s]", "[yGrad * a * s, yGrad * b * slope]"), ("axis=1)}", "axis=2).reshape(x.shape)}")),
    "my_softmax": (("gradOutput * output, axis", "gradOutput, axis"), ("(gradOutput - xp", "(gradOutput + xp"), ("output * (grad", "(grad"),
                   ("xp.sum(gradOutput", "xp.mean(gradOutput"), ("gradOutput * output, axis=1", "gradOutput * output, axis=2")),
    "my_avg_pool": (("return float(kernelSize[0] * kernelSize[1])", "return float(kernelSize[0])"), ("+ padding[0]", "+ padding[0]"),
                    ("if countIncludePad:", "if not countIncludePad:"), ("* stride - padding + k", "* stride + k"),
                    ("share * xp.astype(inside, self.dtype)", "share")),
    "my_embedding": (("indices != paddingIdx", "indices == indices"), ("if scaleGradByFreq:", "if not scaleGradByFreq:"),
                     ("kept / xp.take(counts", "kept * xp.take(counts"), ("rows = grad * factor", "rows = grad + factor"),
                     ("xp.scatter_add(target, indices,", "xp.scatter_add(target, numWeights - 1 - indices,")),
}
NAMES = tuple(MISTAKES)


@pytest.fixture(params=NAMES)
def op(request):
    return av.operator(ELSEWHERE / request.param)


def mistaken(op, before, after):
    text = Path(op.page.__file__).read_text()
    head, backward, rest = text.rpartition("\ndef backward")
    edited = text.replace(before, after) if before not in rest else head + backward + rest.replace(before, after)
    page = ModuleType("page")
    exec(compile(edited, op.page.__file__, "exec"), page.__dict__)
    return replace(op, page=page).backward


def test_two_files_have_at_most_80_lines(op):
    files = sorted(Path(op.page.__file__).parent.glob("*.py"))
    assert [path.name for path in files] == ["declaration.py", "page.py"]
    assert sum(len(path.read_text().splitlines()) for path in files) <= 80
    assert max(len(line) for path in files for line in path.read_text().splitlines()) <= 128
