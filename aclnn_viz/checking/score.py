"""The score of the checker itself: every named fault through `check`, and through tests as they are usually written.

The usual tests compare float32 outputs with `numpy.allclose`, on inputs that are random, that are ones, or that are
drawn as in the vendor's case tables: every tensor on its own, saved tensors included, only the modes of those tables.
"""

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

import numpy as np

from aclnn_viz.cases import Case, case
from aclnn_viz.checking.diagnosis import diagnose
from aclnn_viz.checking.examining import examine
from aclnn_viz.checking.faulty import faulty_kernel
from aclnn_viz.faults import Fault, faults
from aclnn_viz.operators import operator, operators

TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}  # tighter ones refuse right float32 kernels on the vendor-like inputs
USUAL_CASES = 5
SHAPES = {"hardswish": (8, 16), "rms_norm": (8, 16), "grid_sampler_2d": (2, 3, 8, 8), "cross_entropy_loss": (16, 8),
          "group_norm_swish": (2, 4, 4, 4)}


@dataclass(frozen=True)
class FaultScore:
    """What became of one named fault: whether `check` caught it, the name it gave, and which usual tests caught it."""

    operator: str
    fault: str
    caught: bool
    named: str | None
    first_failure: float | None
    usual: dict[str, bool]

    @property
    def right_name(self) -> bool:
        return self.named == self.fault

    @property
    def wrong_name(self) -> bool:
        return self.named not in (None, self.fault)


@dataclass(frozen=True)
class Score:
    """The scores of all faults; prints as a table, one row an operator.

    The median time is that to the first counterexample, with the preparation of the cases.
    """

    faults: tuple[FaultScore, ...]

    @property
    def passed(self) -> bool:
        """Every fault caught, nine of ten named, none named wrongly, in a median of under two seconds."""
        return bool(self.faults) and all(one.caught and not one.wrong_name for one in self.faults) \
            and sum(one.right_name for one in self.faults) >= 0.9 * len(self.faults) and self.median < 2.0

    @property
    def median(self) -> float:
        times = [one.first_failure for one in self.faults if one.first_failure is not None]
        return statistics.median(times) if times else float("inf")

    def __str__(self) -> str:
        header = ("operator", "faults", "caught", "named", "wrong name", "median time", *(
            f"allclose, {name}" for name in USUAL))
        names = list(dict.fromkeys(one.operator for one in self.faults))
        rows = [self._row(name, [one for one in self.faults if one.operator == name]) for name in names]
        rows.append(self._row("all", self.faults))
        lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        missed = [f"{one.operator}: {one.fault!r} {'is not caught' if not one.caught else f'is called {one.named!r}'}"
                  for one in self.faults if not one.caught or not one.right_name]
        return "\n".join(lines + missed)

    def _row(self, name: str, some) -> tuple[str, ...]:
        count = len(some)
        return (name, str(count), str(sum(one.caught for one in some)), str(sum(one.right_name for one in some)),
                str(sum(one.wrong_name for one in some)), f"{Score(tuple(some)).median:.3f} s",
                *(str(sum(one.usual[usual] for one in some)) for usual in USUAL))

    def _repr_html_(self) -> str:
        rows = [line.strip("|").split("|") for line in str(self).splitlines() if line.startswith("|")]
        cells = ["".join(f"<td>{cell.strip()}</td>" for cell in row) for row in rows if "---" not in row[0]]
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"

    def to_json(self) -> str:
        return json.dumps({"passed": self.passed, "median": self.median, "faults": [
            asdict(one) | {"right_name": one.right_name} for one in self.faults]}, indent=1)


def score(names: Iterable | None = None, seed: int = 0, progress: Callable | None = None) -> Score:
    """Run every named fault of the operators (all of them by default) through `check` and through the usual tests.

    `progress(iterable, total)` may show a bar.
    """
    todo = [(operator(name), fault) for name in (names or operators()) for fault in faults(operator(name).name)]
    return Score(tuple(_score(op, fault, seed) for op, fault in (progress(todo, len(todo)) if progress else todo)))


def _score(op, fault: Fault, seed: int) -> FaultScore:
    wrong = faulty_kernel(op, fault)
    evidence = examine(op, wrong, seed, time_limit=60.0)
    failing = [one for one in evidence.seen if one.misses]
    diagnosis = diagnose(op, evidence.seen, silent=evidence.silent) if failing else None
    name = diagnosis.name if diagnosis and diagnosis.confident else None
    usual = {label: any(_caught(wrong, one) for one in draw(op, seed)) for label, draw in USUAL.items()}
    return FaultScore(op.name, fault.name, bool(failing), name, evidence.first_failure, usual)


def _caught(kernel: Callable, one: Case) -> bool:
    """Whether a test with allclose fails; an error is a failure, too."""
    truth = one.operator.truth(**one.inputs)
    try:
        with np.errstate(all="ignore"):
            outputs = kernel(**one.inputs)
            return any(name not in outputs or not np.allclose(outputs[name], truth[name], equal_nan=True, **TOLERANCE)
                       for name in truth)
    except (ValueError, IndexError):
        return True


def random_cases(op, seed: int) -> list[Case]:
    """Normal gradients and parameters in the default mode, saved tensors from the forward pass, float32."""
    rng = np.random.default_rng(seed)
    grid = {"grid": rng.uniform(-1, 1, (2, 6, 5, 2)).astype(np.float32)} if op.name == "grid_sampler_2d" else {}
    plain = {"self": rng.standard_normal((8, 16)).astype(np.float32)} if op.name == "hardswish" else {}
    return [case(op, seed=seed + k, shape=SHAPES[op.name], **grid, **plain) for k in range(USUAL_CASES)]


def ones_cases(op, seed: int) -> list[Case]:
    """Every floating tensor that a caller gives is ones, and saved tensors come from the forward pass."""
    names = {"hardswish": ("gradOutput", "self"), "rms_norm": ("dy", "x", "gamma"),
             "grid_sampler_2d": ("gradOutput", "input", "grid"),
             "cross_entropy_loss": ("gradLoss", "input", "weightOptional"),
             "group_norm_swish": ("dy", "x", "gamma", "beta")}[op.name]
    target = {"target": 1} if op.name == "cross_entropy_loss" else {}
    return [case(op, seed=seed, shape=SHAPES[op.name], **target, **dict.fromkeys(names, 1.0))]


def vendor_cases(op, seed: int) -> list[Case]:
    """As the vendor's tables draw them: uniform, saved tensors on their own, no reflection, no bicubic."""
    rng, shape = np.random.default_rng(seed), SHAPES[op.name]

    def uniform(low, high, *lengths):
        return rng.uniform(low, high, lengths).astype(np.float32)

    made = []
    for k in range(USUAL_CASES):
        if op.name == "grid_sampler_2d":
            given = {"grid": uniform(-5, 5, 2, 6, 5, 2), "interpolationMode": k % 2, "paddingMode": k // 2 % 2,
                     "alignCorners": k % 3 == 0}
        elif op.name == "rms_norm":
            given = {"x": uniform(-5, 5, *shape), "dy": uniform(-5, 5, *shape), "rstd": uniform(0, 5, shape[0], 1)}
        elif op.name == "cross_entropy_loss":
            given = {"logProb": uniform(-10, -1e-9, *shape), "reduction": ("mean", "sum", "none")[k % 3]}
        elif op.name == "group_norm_swish":
            names = {"x": shape, "dy": shape, "gamma": (4,), "beta": (4,), "mean": (2, 2), "rstd": (2, 2)}
            given = {name: uniform(-5, 5, *lengths) for name, lengths in names.items()} | {
                "numGroups": 2, "swishScale": float(rng.uniform(0.1, 2))}
        else:
            given = {"self": uniform(-5, 5, *shape), "gradOutput": uniform(-5, 5, *shape)}
        made.append(case(op, seed=seed + k, shape=shape, **given))
    return made


USUAL = {"random": random_cases, "ones": ones_cases, "vendor-like": vendor_cases}
