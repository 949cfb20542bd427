"""Scalar references of the five operators at 50 digits: they judge the kernels and share no code with them.

Every module has `forward(**inputs)`, `backward(**inputs)` and `terms(**inputs)`. Keywords are the vendor's parameter
names; arrays of any floating dtype are taken at their exact values; results are dicts, keyed by the vendor's output
names, of NumPy object arrays of mpmath numbers.

`terms` returns S, the scale of an element's rounding error: the sum of the absolute values of the terms that make up
the element, plus, for each intermediate that is itself a sum, |d element / d intermediate| times the sum of the
absolute values of its parts. A float32 result is right when it is within 8 u S of `backward`, u = 2^-24, as long as
nothing underflows: S knows no smallest number.
"""
