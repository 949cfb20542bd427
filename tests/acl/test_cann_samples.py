"""The vendor's samples in C++ on the stand-in, which notices that one misreads its data."""

import os
import subprocess

import pytest
from in_child import stand_in
from standin.build import SEEDS, build, compile_program

pytestmark = pytest.mark.needs("g++")


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
