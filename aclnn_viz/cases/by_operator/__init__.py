"""Rules by which the cases of single operators are drawn, beyond the declaration."""
