"""Tile puzzles: the loops and the programs agree, and parts of programs are judged however they are written."""

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.puzzles import puzzle
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.puzzles.tiles import machine

# What the programs of the kit do with the same numbers.


@pytest.mark.parametrize("total", [1, 8, 99, 1999, 50000])
def test_a_core_begins_where_the_program_lets_it_begin(total):
    tiling = av.tiles.launch(
        av.tiles.programs("hardswish")[0], cores=7, **av.case("hardswish", shape=(total,)).inputs
    ).tiling
    core = np.arange(tiling.blockDim, dtype=np.float64)
    first = solution_of(puzzle("core_first")).function(core, total, tiling.blockDim, tiling.align)
    assert first.tolist() == [
        k * tiling.blockLength + min(k, tiling.formerNum) * tiling.align for k in core
    ]
    assert first[0] == 0 and first[-1] < total


@pytest.mark.parametrize("rows", [1, 7, 64, 100])
def test_rows_are_dealt_as_the_program_deals_them(rows):
    run = av.tiles.launch(
        av.tiles.programs("rms_norm")[0], cores=7, **av.case("rms_norm", shape=(rows, 4)).inputs
    )
    held = solution_of(puzzle("rows_of_core")).function(np.arange(7.0), rows, 7)
    assert held.sum() == rows and (held > 0).sum() == run.cores and held[0] == run.tiling.span


@pytest.mark.parametrize(("columns", "twice"), [(64, False), (9000, True)])
def test_a_row_moves_what_the_machine_counts(columns, twice):
    """The machine counts gamma, rstd and dgamma as well: one row is the difference of two runs."""
    program, one, two = (
        av.tiles.programs("rms_norm")[0],
        *(av.case("rms_norm", shape=(rows, columns)) for rows in (1, 2)),
    )
    runs = [av.tiles.launch(program, cores=1, **case.inputs) for case in (one, two)]
    assert (runs[0].tiling.tileLength < columns) == twice
    moved = solution_of(puzzle("row_traffic")).function(
        np.array([float(columns)]), runs[0].tiling.tileLength, 4
    )
    more = runs[1].gm_bytes - runs[0].gm_bytes - moved.item()
    # gamma is loaded twice for a row that is cut, dgamma stored
    assert more == (columns * 4 * 3 if twice else 0)


# A part of a program as a learner would write it.


def by_two_copies(self, start, count):
    out = self.outQue.DeQue(self.T)
    block = 32 // self.T.itemsize
    whole = count // block * block
    machine_copies(self.outGm, out, start, whole, count - whole, self.T.itemsize)
    self.outQue.FreeTensor(out)


def machine_copies(target, out, start, whole, rest, size):
    from aclnn_viz.tiles.ascendc import DataCopy, DataCopyExtParams, DataCopyPad

    if whole:
        DataCopy(target[start], out, whole)
    DataCopyPad(target[start + whole], out[whole], DataCopyExtParams(1, rest * size, 0, 0, 0))


def raising(self, start, count):
    return self.outQueue


def test_a_part_passes_however_it_is_written():
    assert puzzle("hardswish_copy_out").check(by_two_copies).passed


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (raising, "raises AttributeError"),
        (lambda self, start, count: self.outQue.DeQue(self.T), "never freed"),
    ],
)
def test_other_trouble_with_a_part_is_reported(answer, text):
    result = puzzle("hardswish_copy_out").check(answer)
    assert not result.passed and text in str(result), result


def test_a_part_that_hangs_is_left_behind(monkeypatch):
    monkeypatch.setattr(machine, "SECONDS", 0.2)
    result = puzzle("hardswish_copy_out").check(
        lambda self, start, count: __import__("time").sleep(3)
    )
    assert not result.passed and "does not return within 0.2 s" in result.text


def test_only_a_run_that_does_not_end_is_the_last():
    """Words of an error decide nothing."""

    def answer(self, *args):
        raise RuntimeError("does not return within")

    one = puzzle("hardswish_copy_out")
    result = one.check(answer)
    assert f"of {len(one.judge.runs) * len(machine.SCHEDULES)} runs" in result.text
