"""The vendor's published Add of two 8192 x 8192 half matrices as jobs of the simulation, and its profile in us.

The kernel is restated from its description at the commit of each row; asc-devkit, examples/01_simd_cpp_api/
05_best_practices/00_vector_compute/add_high_performance: rows 2 to 4 were published for a kernel with one flag MTE3_MTE2.
"""

from aclnn_viz.tiles.simulation import Job

NAMES = ("task", "core", "V", "S", "MTE2", "MTE3")
# row: cores, elements of a tile, buffers, whether copies in wait for the vector unit alone, past the L2, reads in one bank group
ROWS = {
    "1": (1, 4096, 1, True, False, 2),
    "2": (48, 4096, 1, False, False, 2),
    "3": (48, 16384, 1, False, False, 2),
    "4": (48, 16384, 2, False, False, 2),
    "5": (48, 16384, 2, True, True, 2),
    "6": (48, 16256, 2, True, True, 1),
}
PROFILE = {
    "1": (6909.6, 6909.14, 761.65, 231.166, 6208.762, 2613.205),
    "2": (306.58, 297.14, 15.885, 8.219, 215.485, 54.33),
    "3": (268.5, 261.5, 12.845, 2.833, 184.369, 57.354),
    "4": (264.02, 257.56, 12.846, 2.796, 250.528, 84.988),
    "5": (187.68, 185.15, 12.846, 4.479, 175.997, 160.291),
    "6": (184.52, 178.49, 6.954, 3.424, 171.611, 121.442),
}
PROFILE = {row: dict(zip(NAMES, values)) for row, values in PROFILE.items()}


def jobs(row: str, rows: int = 8192) -> list:
    """Return jobs for tiles of two inbound copies, an Add and an outbound copy; `sets` of them may be active."""
    cores, tile, sets, split, past, factor = ROWS[row]
    return [
        _core((rows // cores + (c < rows % cores)) * 8192, tile, sets, split, past, factor)
        for c in range(cores)
    ]


def _core(total, tile, sets, split, past, factor):
    vector, into, out = [], [], []
    for k, start in enumerate(range(0, total, tile)):
        # the tile that had the same buffers before
        size, last = 2 * min(tile, total - start), max(k + 1 - sets, 0)
        free = (0, last, 2 * last, 0) if split else (0, last, 2 * last, last)
        into += [Job(free, 0, size, 0, past)] * 2
        vector.append(Job((0, 0, 2 * k + 2, last), 0, -(-size // 256) * factor))
        out.append(Job((0, k + 1, 2 * k + 2, last), 0, size))
    return [[], vector, into, out]


def reads(copies):
    """Return the vendor's data_copy: only copies of 128 KiB on 48 cores."""
    return [[[], [], [Job((0, 0, 0, 0), 0, 131072)] * copies, []] for _ in range(48)]
