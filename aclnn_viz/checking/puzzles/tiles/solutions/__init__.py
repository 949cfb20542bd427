"""Solutions of the puzzles on tile programs, and the usual mistakes."""
