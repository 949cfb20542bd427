"""Whether a row's bits depend on its batch: detected, with the reason, in NumPy, PyTorch, tile programs and C++."""

import json
from pathlib import Path

import pytest

import aclnn_viz as av
from aclnn_viz import cli

KERNELS = Path(__file__).parent / "bits"
NUMPY, TILES, CPP = (
    KERNELS / name for name in ("numpy_kernels.py", "tile_kernels.py", "kernels.cpp")
)
CUT, PATH, LIBRARY, ATOMIC = (
    "sum is split",
    "takes another branch",
    "the library adds",
    "atomic additions",
)
# operator, kernel, the cause of changed bits, and a part of the reason with a part of its line
CHANGING = [
    ("softmax", NUMPY, "blocks", "another batch", CUT, "product[:, start"),
    ("softmax", NUMPY, "product", "another batch", LIBRARY, "@ ones"),
    ("softmax", NUMPY, "large", "another batch", PATH, "product.astype"),
    ("softmax", NUMPY, "scaled", "other values in other rows", "computed from other rows", ""),
    ("softmax", NUMPY, "seasoned", "another call", "changes state", ""),
    ("softmax", KERNELS / "torch_kernels.py", "product", "another batch", LIBRARY, "torch.matmul"),
    ("softmax", KERNELS / "torch_kernels.py", "split", "another batch", CUT, "piece.sum(-1)"),
    ("softmax", TILES, "parts", "another batch", CUT, "ReduceSum(part, o[start]"),
    ("softmax", TILES, "added", "another number of cores", ATOMIC, "DataCopyPad(target"),
    ("silu", TILES, "behind", "another batch", PATH, "Div(o, g, o"),
    ("sigmoid", CPP, "behind", "another batch", PATH, "Muls(o, y_, -1"),
    ("sigmoid", CPP, "many", "another number of cores", PATH, "Mul(o, y_, y_"),
]
STAYING = [
    *(("softmax", NUMPY, name) for name in ("plain", "by_row", "in_groups", "halves")),
    *(("softmax", KERNELS / "torch_kernels.py", name) for name in ("plain", "wide")),
    *((name, None, "tiles") for name in ("hardswish", "rms_norm", "cross_entropy_loss")),
    ("hardswish", None, "host"),
    ("sigmoid", CPP, "even"),
]


def rows(table):
    """Yield the rows whose tools are there; PyTorch and C++ need some."""
    marks = {"torch_kernels.py": "torch", "kernels.cpp": "g++"}
    for row in table:
        tool = marks.get(getattr(row[1], "name", ""))
        yield pytest.param(*row, marks=[pytest.mark.needs(tool)] if tool else [])


@pytest.mark.parametrize("operator, file, name, what, reason, code", [*rows(CHANGING)])
def test_what_changes_the_bits_is_named_with_its_reason(operator, file, name, what, reason, code):
    result = av.same_bits(operator, f"{file}:{name}")
    assert result.holds is False and result.where[0].what == what
    said = result.where[0].reason
    assert reason in said and code in said and what in str(result)


@pytest.mark.parametrize("operator, file, name", [*rows(STAYING)])
@pytest.mark.sampled(2)
def test_bits_that_stay_are_no_fault(operator, file, name):
    kernel = f"{file}:{name}" if file else name
    result = av.same_bits(operator, av.tiles.programs(operator)[0] if name == "tiles" else kernel)
    assert result.holds and not result.where and "another batch" in result.tried


def test_the_command_ends_with_1_where_bits_change(capsys):
    words = ["check", "softmax", f"{NUMPY}:large", "--same-bits", "--json"]
    assert cli.main(words) == 1
    found = json.loads(capsys.readouterr().out)["where"][0]
    assert found["rows"] == 8 and found["output"] == "out"
    assert cli.main(["check", "softmax", f"{NUMPY}:plain", "--same-bits", "--depth", "deep"]) == 2


def test_a_result_that_the_whole_batch_is_part_of_is_not_compared():
    assert av.same_bits("embedding", av.operator("embedding").backward).holds is None


def test_every_machine_compares_the_same_runs():
    calls = []

    def kernel(**inputs):
        calls.append(inputs)
        return av.operator("softmax").backward(**inputs)

    result = av.same_bits("softmax", kernel)
    assert len(calls) == 44 and len(result.tried) == 5
