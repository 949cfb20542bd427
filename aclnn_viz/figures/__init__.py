"""Pictures: pure functions from data to a Matplotlib Figure, one file an operator, each with its text twin."""
