"""Tile programs, by operator."""
