"""Run a kernel on more cases after its check, to tell explanations apart; they are chosen and judged as in the check."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod

from aclnn_viz.checking.judging import judge
from aclnn_viz.checking.observing import Seen
from aclnn_viz.checking.running import run
from aclnn_viz.checking.scope import Ready, Scope

SHARED = 5  # where other programs use the same core, processor time passes more slowly than the clock


class Budget:
    """How long a search may take: so many seconds of processor time, and at most `SHARED` times as many by the clock."""

    def __init__(self, seconds: float):
        self.end, self.latest = time.thread_time() + seconds, time.monotonic() + SHARED * seconds
        self.look = 0.0  # when processor time is read again: reading it costs ten times as much as reading the clock

    @property
    def over(self) -> bool:
        now = time.monotonic()
        if now < self.look:
            return False
        left = min(self.end - time.thread_time(), self.latest - now)
        self.look = now + left  # it cannot run faster
        return left < 0

    def within(self, items: Iterable) -> Iterator:
        for item in items:
            if self.over:
                return
            yield item


@dataclass(eq=False)
class Asking:
    """A kernel, what it is judged on, and the seconds after which a call is given up (None: never).

    `lost`: a call did not return, and goes on beside all others; the kernel is not asked again.
    """

    kernel: Callable
    scope: Scope
    limit: float | None = None
    lost: bool = False

    def on(self, ready: Ready, most: float = float("inf")) -> Seen | None:
        """Run the kernel on a case and judge it. None where the operator does not take the case, the scope leaves it out, its
        outputs have more than `most` elements, or the kernel returns nothing (`lost`: it hangs).

        The kernel runs first, for the truth takes longer to compute.
        """
        if self.lost:
            return None
        try:
            made = ready.case
            results = made.operator.arrange_backward(**made.operator.bind(made.inputs)).results
            if sum(prod(one.documented_shape) for one in results.values()) > most or self.scope.reason(made):
                return None
            outcome = run(self.kernel, made, list(results), self.limit)
            self.lost, outputs = outcome.fatal, outcome.outputs
            if outputs is None:
                return None
            one = ready.prepare()
        except (ValueError, TypeError, ZeroDivisionError, IndexError):  # which the operator does not take
            return None
        return Seen(one, outputs, judge(one, outputs))
