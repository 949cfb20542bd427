"""Tile puzzles: what is right passes, each usual mistake is refused and named; the loops, and the programs, agree."""

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.puzzles import puzzle, puzzles, tile_puzzles
from aclnn_viz.puzzles.pictures import picture
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.puzzles.tiles import machine
from aclnn_viz.puzzles.verdict import right_answer

NAMES = [one.name for one in tile_puzzles()]
NUMBERS = [one.name for one in tile_puzzles() if one.cases]
PARTS = [one.name for one in tile_puzzles() if not one.cases]
MISTAKES = [(one.name, mistake) for one in tile_puzzles() for mistake in solution_of(one).mistakes]


def test_there_are_enough_of_both_kinds():
    assert len(NAMES) >= 12 and len(PARTS) >= 3
    assert len({*NAMES, *(one.name for one in puzzles())}) == len(NAMES) + len(puzzles())


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_passes_in_the_lines_that_are_promised(name):
    one, solution = puzzle(name), solution_of(puzzle(name))
    result = one.check(solution.function)
    assert result.passed, result
    assert f"{one.lines} expected" in result.text


@pytest.mark.parametrize("name", NAMES)
def test_a_puzzle_is_whole(name, folder):
    one, mistakes = puzzle(name), solution_of(puzzle(name)).mistakes
    assert (
        len({mistake.name for mistake in mistakes}) == len(mistakes) >= 3
        and len(set(one.hints)) >= 3
    )
    assert one.title in str(one) and one.task.endswith(".") and "for " in one.specification
    assert one._repr_html_().count("<code>") == str(one).count("`") / 2
    result = one.check(lambda *args, **inputs: None)
    assert (
        not result.passed
        and not result.begun
        and "hint(1)" in str(result)
        and not list(folder.iterdir())
    )
    if one.cases:
        assert picture(one).text.startswith(one.title)
    else:
        with pytest.raises(ValueError, match="a picture is of a puzzle whose answer is numbers"):
            picture(one)


@pytest.mark.parametrize(
    ("name", "mistake"), MISTAKES, ids=lambda value: getattr(value, "name", value)
)
@pytest.mark.sampled(5)
def test_a_usual_mistake_fails_and_is_named(name, mistake):
    result = puzzle(name).check(solution_of(puzzle(name)).wrong(mistake))
    assert not result.passed and result.mistake == mistake.name, result
    assert mistake.why in result.text and "hint(1)" in result.text


@pytest.mark.parametrize("name", NUMBERS)
def test_the_specification_passes_and_a_wrong_answer_gets_no_name(name):
    one = puzzle(name)
    assert one.check(one.spec).passed
    result = one.check(
        lambda **inputs: tuple(part + 0.5 for part in right_answer(one, inputs).values())
    )
    assert (
        not result.passed and result.mistake is None and "none of the usual mistakes" in result.text
    )


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

    one = puzzle(PARTS[0])
    result = one.check(answer)
    assert f"of {len(one.judge.runs) * len(machine.SCHEDULES)} runs" in result.text
