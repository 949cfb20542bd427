"""Judge an Ascend C kernel on files: inputs and golden outputs, as test scripts leave them (.npy, or bytes with a format and a
shape).
"""

import json
from collections.abc import Sequence
from functools import partial

import numpy as np

from aclnn_viz.errors import invalid
from aclnn_viz.storage.foreign_arrays import array_of
from aclnn_viz.tiles.advice import advice
from aclnn_viz.tiles.cpp import CppKernel
from aclnn_viz.tiles.memory import NARROW, GlobalMemory
from aclnn_viz.tiles.precision import cause
from aclnn_viz.tiles.program import Run, poisoned, run
from aclnn_viz.tiles.projects import TYPES, Project
from aclnn_viz.words.messages import tr


class Files:
    """The verdict on a kernel that ran on files: its hazards, and for each output the distance from its golden file."""

    def __init__(self, run, golden: list, rtol: float):
        self.hazards, self.warnings, self.run = run.hazards, run.warnings, run
        self.cause, self.advice = None, []
        self.approximate, self.rtol, self.outputs = run.approximate, rtol, []
        for (name, output), right in zip(list(run.outputs.items())[-len(golden) :], golden):
            with np.errstate(all="ignore"):
                wide, wanted = (array.astype(np.float64) for array in (output, right))
                wrong = ~np.isclose(wide, wanted, rtol, rtol, equal_nan=True)
            places = np.argwhere(wrong)
            self.outputs.append(
                (
                    name,
                    len(places),
                    output.size,
                    *(
                        part
                        for place in map(tuple, places[:1].tolist())
                        for part in (place, output[place].item(), right[place].item())
                    ),
                )
            )
        self.passed = not self.hazards and all(not wrong for _, wrong, *_ in self.outputs)

    def to_json(self) -> str:
        return json.dumps(
            {
                "passed": self.passed,
                "hazards": [str(hazard) for hazard in self.hazards],
                "cause": self.cause,
                "advice": self.advice,
                "warnings": [str(warning) for warning in self.warnings],
                "outputs": [
                    dict(zip(("name", "wrong", "of", "first", "got", "golden"), output))
                    for output in self.outputs
                ],
            },
            indent=1,
        )

    def __str__(self) -> str:
        lines = [str(hazard) for hazard in (*self.hazards, *self.warnings)]
        for name, wrong, size, *first in self.outputs:
            lines.append(
                tr(
                    "{name}: all {n} elements within rtol = atol = {rtol} of the golden file",
                    name=name,
                    n=size,
                    rtol=self.rtol,
                )
                if not wrong
                else tr(
                    "{name}: {wrong} of {n} elements beyond rtol = atol = {rtol} of the golden file, the first at {place}: {got} "
                    "instead of {golden}",
                    name=name,
                    wrong=wrong,
                    n=size,
                    rtol=self.rtol,
                    place=first[0],
                    got=first[1],
                    golden=first[2],
                )
            )
        lines += map(tr, [*[self.cause] * bool(self.cause), *self.advice])
        return "\n".join([*lines, tr("ok") if self.passed else tr("FAILED")])


def on_files(
    kernel: CppKernel | Project,
    inputs: Sequence[str],
    golden: Sequence[str],
    values: Sequence[str],
    rtol: float,
    *,
    cores: int | None = None,
    schedule="eager",
) -> Files:
    """Run a kernel or a project on files, FILE.npy or FILE:DTYPE:SHAPE; `values` are NAME=VALUE.

    Raise ValueError for a file that contradicts its shape, and for more arguments than the kernel takes.
    """
    if not 0 <= rtol < np.inf:
        raise invalid(
            "a tolerance is a finite number from 0 on", f"{rtol}", "pass such as --rtol 0.001"
        )
    inputs, golden = ([*map(_typed, paths)] for paths in (inputs, golden))
    numbers = {name: value_of(text) for name, text in (word.partition("=")[::2] for word in values)}

    left = partial(_left, kernel, inputs, golden, numbers, cores, schedule)

    def judged(**how) -> Files:
        return Files(left(**how), golden, rtol)

    found = judged()
    found.advice = [*advice(left, found.run)]
    if not found.hazards and not found.passed:
        narrow = any(array.dtype in NARROW for array in (*inputs, *golden))
        found.cause = cause(lambda **how: judged(**how).passed, found.approximate, narrow)
    return found


def _left(kernel, inputs: list, golden: list, numbers: dict, cores, schedule, **how) -> Run:
    """Run a kernel or a project on the arrays of files; return the run."""
    if isinstance(kernel, Project):
        return kernel.launch(
            *inputs,
            shapes=[array.shape for array in golden],
            cores=cores,
            schedule=schedule,
            **how,
            **numbers,
        )
    tensors = iter(
        [
            *(array.copy() for array in inputs),
            *(
                GlobalMemory(f"output {place}", poisoned(array.shape, array.dtype), False)
                for place, array in enumerate(golden)
            ),
        ]
    )
    names = [name for name, _ in kernel.parameters]
    given = [numbers[name] if name in numbers else next(tensors, None) for name in names]
    if unused := len([*tensors, *numbers.keys() - names]):
        raise invalid(
            f"{kernel.__name__} takes {', '.join(names)}",
            f"{unused} more than it takes",
            "pass inputs, then golden files, in their order, and numbers as --set NAME=VALUE",
        )
    return run(kernel, *given, cores=1 if cores is None else cores, schedule=schedule, **how)


def _typed(text: str) -> np.ndarray:
    """Return the array of a file, in a type that kernels have."""
    if (array := array_of(text)).dtype not in TYPES:
        raise invalid(
            "a file holds one of " + ", ".join(dtype.name for dtype in TYPES),
            f"{array.dtype} in {text}",
            "convert it",
        )
    return array


def value_of(text: str):
    """Return the value of a text: a number, a truth value, a list of numbers, or the text.

    >>> value_of("3"), value_of("[1, 2]"), value_of("mean")
    (3, [1, 2], 'mean')
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # numbers and nesting may be beyond Python's limits
        return text
