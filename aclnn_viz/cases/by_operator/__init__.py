"""How the cases of single operators are drawn, beyond what the declaration says."""
