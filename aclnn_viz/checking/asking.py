"""A kernel that can be asked more, after the cases of its check: on others that count, judged as those were."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod

from aclnn_viz.checking.judging import judge
from aclnn_viz.checking.observing import Seen
from aclnn_viz.checking.running import run
from aclnn_viz.checking.scope import Ready, Scope

SHARED = 5


class Budget:
    """Seconds of one core that a search may take; where others share the core, so many times as long by the clock."""

    def __init__(self, seconds: float):
        self.end, self.latest = time.thread_time() + seconds, time.monotonic() + SHARED * seconds
        self.look = 0.0  # when the processor's clock is read again: that of the wall costs a tenth

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
        """What the kernel returns on a case; None where there is no such case, or none that counts or has at most so
        many elements, and where the kernel returns nothing, or is lost.

        The kernel comes first: to find out what is right takes longer.
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
