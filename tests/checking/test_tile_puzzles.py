"""Tile puzzles: the loops and the programs agree."""

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.puzzles import puzzle
from aclnn_viz.puzzles.solutions import solution_of

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
