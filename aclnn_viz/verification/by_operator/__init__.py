"""Functions that recompute the errata and conventions of single operators."""
