"""The explorers of single operators: their numbers and pictures."""
