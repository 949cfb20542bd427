"""A detective case (find the mistake of a kernel whose source is hidden) on an Ascend C kernel, run on given cores in a given
order.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from aclnn_viz.cases import Case, case
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import Prepared, prepared
from aclnn_viz.operators.faults.fault import diff_of
from aclnn_viz.pictures.marks import record
from aclnn_viz.puzzles.detective import Detective
from aclnn_viz.tiles import TileFault, faults, launch
from aclnn_viz.words.messages import kept, message, named

# options of an experiment that belong to the launch, not to the case
LAUNCH = ("cores", "schedule")


@record
class TileDetective(Detective):
    """A detective case on tiles; `kernel` also takes `cores` and `schedule` of av.tiles.launch, and names no hazard."""

    def with_fault(self, name: str) -> Callable:
        """Return this operator's program with a named fault."""
        return outputs_of(self._fault(name).broken(self.operator))

    def _fault(self, name: str) -> TileFault:
        return next(one for one in faults(self.operator) if one.name == name)

    def _evidence(self, name: str) -> list[str]:
        found = self._fault(name)
        lines = [
            message("the mistake is {name!r}: {story}", name=named(name), story=kept(found.story)),
            message("the emulated machine reports: {hazard}", hazard=kept(found.shows)),
        ]
        return [*lines, *diff_of(found.changes).splitlines()]

    @cached_property
    def prepared(self) -> list[tuple[str, Prepared]]:
        """Return (label, data) of the experiments; the inputs also hold `cores` and `schedule` of the run."""
        found = []
        for label, options in self.experiments:
            made = {name: value for name, value in options.items() if name not in LAUNCH}
            one = prepared(Recipe(self.operator, options), case(self.operator, **made))
            inputs = one.case.inputs | {name: options[name] for name in LAUNCH if name in options}
            found.append(
                (
                    label,
                    replace(
                        one, case=Case(one.case.operator, inputs, one.case.dtype, one.case.seed)
                    ),
                )
            )
        return found


def outputs_of(program) -> Callable:
    """Return a program as a kernel that hides hazards and returns its outputs."""
    return lambda cores=None, schedule="eager", **inputs: (
        launch(program, cores=cores, schedule=schedule, traced=False, **inputs).outputs
    )
