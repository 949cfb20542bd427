"""The samples in Python through the adapter print what the C++ originals print on the same libraries."""

import contextlib
import importlib
import io
import os
import subprocess

import pytest
from in_child import StandIn, in_child, stand_in
from standin.build import SEEDS, build, compile_program

from aclnn_viz.acl import CannAcl

pytestmark = pytest.mark.needs("g++")
LAYOUTS = pytest.mark.parametrize("layout", ["8.x", "9.x"])
ORIGINALS = {
    "hardswish": "aclnnHardswishBackward",
    "rms_norm": "aclnnRmsNormGrad",
    "grid_sampler_2d": "aclnnGridSampler2DBackward",
}


def in_python(name, root):
    """Run a sample: its status, its lines, and what the stand-in noted."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = importlib.import_module(f"aclnn_viz.acl.by_operator.{name}").main(CannAcl(root))
    notes = StandIn(root)
    return status, printed.getvalue(), notes.misuse, notes.live


@LAYOUTS
@pytest.mark.parametrize("name", ORIGINALS)
@pytest.mark.sampled(2)
def test_samples_print_what_their_originals_print(tmp_path, name, layout):
    root = stand_in(layout)
    program = compile_program(SEEDS / f"{ORIGINALS[name]}.cpp", root, tmp_path / "sample")
    original = subprocess.run([program], capture_output=True, text=True, check=True, env=os.environ)
    assert in_child(lambda: in_python(name, root)) == (0, original.stdout, [], "")
    assert original.stdout.count(" is: ") > 3


@LAYOUTS
@pytest.mark.parametrize("name", ["cross_entropy_loss", "group_norm_swish"])
def test_the_other_samples_run(name, layout):
    """One original misreads its data, the other lies in the documents alone."""
    root = stand_in(layout)
    status, text, misuse, live = in_child(lambda: in_python(name, root))
    assert (status, misuse, live) == (0, [], "") and text.count(" is: ") > 3


def test_the_original_that_misreads_its_data_is_noticed(tmp_path):
    """The vendor's sample passes float32 bytes as ACL_BF16, and a target of which only half is allocated."""
    report, root = tmp_path / "report", stand_in()
    program = compile_program(SEEDS / "aclnnCrossEntropyLossGrad.cpp", root, tmp_path / "sample")
    assert (
        subprocess.run(
            [program], capture_output=True, env=os.environ | {"STANDIN_REPORT": str(report)}
        ).returncode
        == 0
    )
    first, second = report.read_text().splitlines()
    assert "beyond its allocation of 8 bytes" in first + second and "target[1] =" in first + second


def test_a_compiler_that_fails_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr("standin.build.OBJECTS", tmp_path)
    monkeypatch.setattr("standin.build.COMPILER", "false")
    with pytest.raises(RuntimeError, match="false -std"):
        build(tmp_path / "root")
