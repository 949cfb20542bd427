"""What the cases of a check tried, and so what they did not: lengths, remainders, numbers, calls."""

from dataclasses import dataclass, field

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.dtypes import float_format
from aclnn_viz.words.speech import linked, message

DIVISORS = (2, 4, 8, 16, 32, 64)
NUMBERS = {
    "nan": lambda wide, fmt: np.isnan(wide).any(), "inf": lambda wide, fmt: np.isinf(wide).any(),
    "0": lambda wide, fmt: np.mean(wide == 0) not in (0.0, 1.0),  # zeros among others
    "-0.0": lambda wide, fmt: (np.signbit(wide) & (wide == 0)).any(),
    message("the largest number of its format"): lambda wide, fmt: (np.abs(wide) == fmt.largest).any(),
    message("subnormal numbers"): lambda wide, fmt: ((wide != 0) & (np.abs(wide) < 2.0**fmt.min_exponent)).any()}


@dataclass
class Tried:
    """Adds up what cases show; `calls` is how often the most repeated one was run, `shuffled` whether in another order."""

    elements: int = 0
    lengths: dict[str, set[int]] = field(default_factory=dict)
    numbers: dict[str, set[str]] = field(default_factory=dict)  # tensors by the kind of number that they held
    floats: list[str] = field(default_factory=list)
    calls: int = 1
    shuffled: bool = False

    def add(self, made: Case) -> None:
        op, bound = made.operator, made.operator.bind(made.inputs)
        for name, value in made.inputs.items():
            if isinstance(value, np.ndarray):
                self.elements = max(self.elements, value.size)
                if value.dtype.kind in "fV" and value.size:
                    self.floats += [name] * (name not in self.floats)
                    wide, fmt = value.astype(np.float64), float_format(value)
                    for kind, holds in NUMBERS.items():
                        if holds(wide, fmt):
                            self.numbers.setdefault(kind, set()).add(name)
        for name, length in sizes(op, bound).items():
            self.lengths.setdefault(name, set()).add(length)

    @property
    def untried(self) -> list[str]:
        """In words, each true of the cases that were added."""
        longest = ", ".join(f"{name} > {max(some):,}" for name, some in self.lengths.items())
        told = [message("tensors of more than {n:,} elements", n=self.elements), message("lengths beyond ({longest})", longest=longest)]
        missing = {name: first for name, some in self.lengths.items() if (first := _incomplete(some))}
        if missing:
            listed = [message("{length} by {divisor} and more", length=name, divisor=first) if first < DIVISORS[-1] else
                      message("{length} by {divisor}", length=name, divisor=first) for name, first in missing.items()]
            told.append(message("every remainder of {divisions}", divisions=linked("{some}, {more}", listed)))
        for kind in NUMBERS:
            without = [name for name in self.floats if name not in self.numbers.get(kind, ())]
            if without:
                told.append(message("{numbers} in {tensors}", numbers=kind, tensors=linked("{some}, {more}", without))
                            if len(without) < len(self.floats) else kind)
        if not self.shuffled:
            told.append(message("calls in another order"))
        return told + [message("more than {n} calls with the same inputs", n=self.calls)]


def arranged_sizes(op, bound: dict) -> dict[str, int | tuple[int, ...]]:
    """The lengths of bound parameters by the letters of the operator's shape patterns; a tuple for a starred letter."""
    return op.fitting(bound)[1]


def sizes(op, bound: dict) -> dict[str, int]:
    """The same, of a starred letter all lengths together."""
    return {name: int(np.prod(value, dtype=np.int64)) for name, value in arranged_sizes(op, bound).items()}


def _incomplete(lengths: set[int]) -> int | None:
    """The smallest divisor of which some remainder was not among lengths that are larger."""
    return next((d for d in DIVISORS if {n % d for n in lengths if n > d} != set(range(d))), None)
