"""A detective case on layer norm in tiles."""

from aclnn_viz.puzzles.symptoms import table
from aclnn_viz.puzzles.tiles.detective import TileDetective

ROW = {"normalizedShape": (20,)}

TILE_DETECTIVES = (
    TileDetective(
        6,
        "seventy_rows",
        "layer_norm",
        "The sixty-fifth row",
        "A core may have any number of rows. With sixty-four it is right, with sixty-five it is not.",
        (
            ("64 rows, 1 core", {"shape": (64, 20), "cores": 1} | ROW),
            ("65 rows, 1 core", {"shape": (65, 20), "cores": 1} | ROW),
            ("65 rows, 2 cores", {"shape": (65, 20), "cores": 2} | ROW),
        ),
        table,
        (
            "mean of a tile",
            "slots in the wrong order",
            "sums of the last group",
            "no weight forgotten",
        ),
        (
            "Which outputs are wrong, and which of them is a sum over the rows?",
            "Two cores have 33 rows at most, and all is well.",
            "Rows are treated in groups of 64. What has the second group still in hand from the first?",
        ),
        "sums of the last group",
    ),
)
