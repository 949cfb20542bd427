"""The puzzles of one operator, and mistakes in them."""
