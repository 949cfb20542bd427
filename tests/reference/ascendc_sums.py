"""Sums of Ascend C, one addition after another, written from the pages ReduceSum, ReduceRepeat and ReduceDataBlock.

`lanes` is a list of 64 numbers of float32 or 128 of float16, None where the mask leaves one out; each addition rounds
to the numbers' own type.
"""


def pairs(lanes):
    """Neighbours (1 + 2), (3 + 4), ..., then neighbours of those, until one is left; one without a partner goes on."""
    while len(lanes) > 1:
        nxt = []
        for k in range(0, len(lanes), 2):
            a, b = lanes[k], lanes[k + 1] if k + 1 < len(lanes) else None
            nxt.append(a if b is None else b if a is None else a + b)
        lanes = nxt
    return lanes[0]


def repeats(numbers, lanes):
    """Cut into repeats; the last is filled up with lanes that are left out."""
    cut = [list(numbers[k : k + lanes]) for k in range(0, len(numbers), lanes)]
    cut[-1] += [None] * (lanes - len(cut[-1]))
    return cut


def reduce_sum_count(numbers, lanes):
    """A tree in each repeat, then the repeats one after the other."""
    total = None
    for repeat in repeats(numbers, lanes):
        one = pairs(repeat)
        total = one if total is None else total + one
    return total


def reduce_sum_mask(numbers, mask, lanes):
    """A tree in each repeat of `mask` lanes, then a tree of the repeats."""
    return pairs(
        [pairs(repeat[:mask] + [None] * (lanes - mask)) for repeat in repeats(numbers, lanes)]
    )


def whole_reduce_sum(numbers, mask, lanes):
    """One sum for each repeat."""
    return [pairs(repeat[:mask] + [None] * (lanes - mask)) for repeat in repeats(numbers, lanes)]


def block_reduce_sum(numbers, lanes):
    """Eight sums for each repeat, one for each block of 32 bytes."""
    block = lanes // 8
    return [pairs(list(numbers[k : k + block])) for k in range(0, len(numbers), block)]


def pair_reduce_sum(numbers):
    """The sums of neighbours."""
    return [numbers[k] + numbers[k + 1] for k in range(0, len(numbers), 2)]
