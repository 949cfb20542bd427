"""Limits for the search for the mistake in a wrong kernel, each with its reason. `meter` counts runs."""

# Fresh cases with other numbers, and mixed cases with other options, that must confirm an
# explanation; a false one rarely passes all.
FRESH, MIXED = 6, 16
# Most mixed cases that are drawn; an operator refuses some.
DRAWN = 50
# Mixed cases on which an edit of the reader's kernel must be right: some wrong edits show only with
# rare options.
MENDED = 100
# Elements of a fresh case at most, because kernels may be slow.
ELEMENTS = 2000
# Most candidate explanations that are shown, or tried under a condition.
SHOWN = 6
# Most failing cases to which a number is fitted, or which are described; further ones are alike.
SEVERAL = 8
# An edit that is right in NumPy runs again in the compiling library on so many cases, because
# compiling is slow.
COMPILED = 3
# Most loop iterations and bytes of a call of an edited kernel, which may never end. A loop over
# windows of 7 x 7 at each of ELEMENTS elements takes 98,000 iterations.
TURNS, MEMORY = 100_000, 2**30
# Share of a search's runs for edits of the reader's kernel, before changes of the kit's page are
# tried; twice this share afterwards, if no change of the page explains the kernel.
MENDING = 0.25
# Share of a search's runs for fresh cases; limited, because some kernels compile again for each
# shape.
FRESHLY = 0.4
# Most runs to find the lengths at which an unexplained kernel is wrong, and the share of a search
# kept for them.
DEPENDENCE, LATE = 4000, 0.1
# Most elements of a case of another length; lengths drawn to test a property that all wrong
# lengths share.
LONGEST, BREAKING = 20_000, 12
# A run of a page that executes more lines than this counts as several runs.
LINES = 90
