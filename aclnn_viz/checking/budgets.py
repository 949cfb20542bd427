"""Limit how much a search for the mistake in a wrong kernel may try: each limit once, with the reason for it. Runs are counted
by `meter`.
"""

# Fresh cases with other numbers, and with mixed options, on which an explanation must hold: false ones seldom survive so many.
FRESH, MIXED = 6, 16
# Mixed cases that are drawn for these at most: an operator does not take all of them.
DRAWN = 50
# Mixed cases on which an edit of the reader's kernel must be right: the options that a wrong edit gets wrong are rare.
MENDED = 100
# Elements of a fresh case at most: kernels may be slow.
ELEMENTS = 2000
# Candidates that agree with all failing cases and are shown, or tried under a condition.
SHOWN = 6
# Failing cases from which a number is fitted, and that are described: the others are like them.
SEVERAL = 8
# Cases on which an edit that mends with NumPy's functions is tried with those of a library that compiles, which takes long.
COMPILED = 3
# Turns of all loops of one call of an edited kernel, and bytes that it may allocate: an edit may make either endless. Windows of
# 7 x 7 over ELEMENTS take so many.
TURNS, MEMORY = 100_000, 2**30
# The share of a search that goes to edits of the reader's kernel first: twice as much if no change of the page explains it.
MENDING = 0.25
# The share of a search that calls of the kernel on fresh cases may take: some kernels are compiled anew for each shape.
FRESHLY = 0.4
# Runs at most for the lengths at which a kernel is wrong, if nothing explains it, and the share that is left for them then.
DEPENDENCE, LATE = 4000, 0.1
# Elements of a case of another length, and lengths that are drawn to break what the others have in common.
LONGEST, BREAKING = 20_000, 12
# Lines that a page executes: of one with more each run counts for several.
LINES = 90
