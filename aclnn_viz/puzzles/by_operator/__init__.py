"""The puzzles of one operator, and their usual mistakes."""
