"""Limits for the search for the mistake in a wrong kernel, each with its reason. `meter` counts runs."""

# Fresh cases with other numbers, and with mixed options, on which an explanation must hold: false ones rarely survive so many.
FRESH, MIXED = 6, 16
# Mixed cases drawn for these at most, because an operator refuses some.
DRAWN = 50
# Mixed cases on which an edit of the reader's kernel must be right: only rare options show some wrong edits.
MENDED = 100
# Elements of a fresh case at most, because kernels may be slow.
ELEMENTS = 2000
# At most so many candidates that agree with all failing cases are shown, or tried under a condition.
SHOWN = 6
# At most so many failing cases are used to fit a number, and described; the others resemble them.
SEVERAL = 8
# Cases on which an edit that works with NumPy's functions is repeated with the compiling library, which takes long.
COMPILED = 3
# Loop iterations in one call of an edited kernel, and bytes that it may allocate, because an edit may make either endless.
# Windows of 7 x 7 over ELEMENTS need so many.
TURNS, MEMORY = 100_000, 2**30
# The share of a search spent on edits of the reader's kernel before changes of the page; twice as much if no change explains it.
MENDING = 0.25
# The share of a search spent on calls of the kernel on fresh cases: some kernels are recompiled for each shape.
FRESHLY = 0.4
# Runs at most to find the lengths at which an unexplained kernel is wrong, and the share reserved for them.
DEPENDENCE, LATE = 4000, 0.1
# Elements of a case of another length, and lengths drawn to contradict a common property of the others.
LONGEST, BREAKING = 20_000, 12
# Lines that a page executes; on a page with more, each run counts as several.
LINES = 90
