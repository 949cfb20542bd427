"""What a colour means in a stage, the same in all of them: kinds of marks by their role, of which `drawing.toml` has the colours.

GUIDE     thin and grey     an axis, a border, an empty frame
READ      blue              what forward read, saved or takes away: what the sentence speaks of
NEGATIVE  green             the other sign of it
MOVED     orange            what is in the hand: what you choose, drag or play
GRADIENT  magenta           the gradient that comes back
INK       black or white    what arrives, such as the gradient of an output
PALE      light grey        what was before, or is still to come
WRONG     red, with ✗ or stripes   what is wrong
"""

GUIDE, READ, NEGATIVE, MOVED, GRADIENT, PALE, INK, WRONG = range(4, 12)
