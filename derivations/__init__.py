"""Backward formulas derived and proved for symbolic sizes."""

from derivations.proving import proves_equal

__all__ = ["proves_equal"]
