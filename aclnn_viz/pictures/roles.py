"""The meanings of colours, equal in all stages: kinds of marks by role; `drawing.toml` has the colours.

GUIDE     thin and grey     an axis, a border, an empty frame
READ      blue              numbers that forward read, saved or removed, the topic of the sentence
NEGATIVE  green             the opposite sign of these
MOVED     orange            objects that you choose, drag or play
GRADIENT  magenta           the gradient that comes back
INK       black or white    incoming numbers, such as the gradient of an output
PALE      light grey        earlier or later numbers
WRONG     red, with ✗ or stripes   mistakes
"""

GUIDE, READ, NEGATIVE, MOVED, GRADIENT, PALE, INK, WRONG = range(4, 12)
