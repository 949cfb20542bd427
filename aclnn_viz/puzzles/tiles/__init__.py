"""Puzzles and detective cases on tile programs, the numbers of a tiling and parts of kernels."""
