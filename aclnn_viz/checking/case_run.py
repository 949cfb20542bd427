"""Keep one run of a kernel (the test case and the outputs), and test whether changed formulas give the same outputs, to explain
a mistake.

The page is evaluated in float64. A kernel that computes in float32, stores 16 bits or adds up in another order differs from it
by rounding. Where rounding may decide a comparison inside the page, it is also evaluated in float32 and on slightly moved
inputs.
"""

import sys
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.cases import Case
from aclnn_viz.checking.conditions import Traits
from aclnn_viz.checking.judge import Expected, Miss, Prepared, bound, judge
from aclnn_viz.checking.meter import METER, PAGE
from aclnn_viz.dtypes import float_format, round_to, ulp
from aclnn_viz.operators.arrangement import prelude_of
from aclnn_viz.operators.faults.edits import distance, sources
from aclnn_viz.words.messages import message

# If a variant computed in float64 differs from the kernel in at most this share of elements, or in
# TWO elements, it is also computed in float32 and on inputs moved in their last digit.
FEW_SHARE, TWO = 0.1, 2
# A wrong formula may amplify rounding errors: a variant matches the kernel up to so many allowed
# errors.
ORDERS = 16.0
# ulps by which two 16-bit outputs may differ: one may have been rounded before a change, such as a
# factor, the other after
STEPS = 1.51
SLACK = 8.0  # tolerance of `loose`, in unit roundoffs of the largest value
SINGLE = 2.0**-24
LETTERS = 10  # letters of a description that weigh as much as one of a formula
FORGOTTEN = 3
# distance from results on slightly moved inputs that still counts as equal, in their spread
SPREAD = 2.0
SOME = 8  # elements in which two candidates rarely agree by chance


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel to compare with: a page, with changes of its inputs and outputs.

    `bound` changes the vendor's inputs, `arrays` the page's inputs, `outputs` its results, given the arrays; only the outputs
    in `only` count.
    """

    page: Callable[[], ModuleType]
    bound: Callable[[dict], dict] | None = None
    arrays: Callable[[dict], dict] | None = None
    outputs: Callable[[dict, dict], dict] | None = None
    only: frozenset[str] | None = None


def _widened(array, single: bool, nudge: float):
    if array is None or array.dtype.kind in "iub":
        return array if array is None else array.copy()
    wide = array.astype(np.float32 if single else np.float64)
    return wide * (1.0 + nudge) if nudge else wide


class _Quick(NumPyArrays):
    """NumPy with its own sums: thousands of pages run, and their order of sums does not matter."""

    def __getattr__(self, name):
        function = vars(self)[name] = getattr(np, name)
        return function

    where = staticmethod(np.where)  # for few elements faster than `where` of NumPyArrays

    @staticmethod
    def _total(x, axis, keepdims):
        return np.sum(x, axis=axis, keepdims=keepdims)


class _Single(_Quick):
    """A namespace in which coordinates requested in float64 are float32."""

    float64 = np.dtype(np.float32)


_DOUBLE, _SINGLE = _Quick(), _Single()


def is_single(outputs: dict[str, np.ndarray]) -> bool:
    """Return whether float64 outputs hold only float32 numbers, so that the kernel computes in float32.

    >>> is_single({"y": np.float64([0.5, np.float32(0.1)])}), is_single({"y": np.float64([0.1])})
    (True, False)
    """
    with np.errstate(all="ignore"):
        return bool(outputs) and all(
            value.dtype == np.float64
            and np.array_equal(value, value.astype(np.float32).astype(np.float64), equal_nan=True)
            for value in outputs.values()
        )


def _nearly(same: np.ndarray) -> bool:
    return np.count_nonzero(~same) <= max(FEW_SHARE * same.size, TWO)


def _everywhere(same: dict[str, np.ndarray]) -> bool:
    return all(part.all() for part in same.values())


@dataclass(frozen=True, eq=False)
class CaseRun:
    """A case, the kernel's outputs for it, and their errors."""

    prepared: Prepared
    outputs: dict[str, np.ndarray]
    misses: Sequence[Miss]
    # effect of intermediate rounding to 16 bits, relative to the largest value of an output
    slack: float = 0.0

    @classmethod
    def of(cls, prepared: Prepared, outputs: dict[str, np.ndarray]) -> "CaseRun":
        """Return the judged run of a kernel's outputs."""
        return cls(prepared, outputs, judge(prepared, outputs))

    @property
    def wrong(self) -> frozenset[str]:
        """The names of the wrong outputs."""
        return frozenset(miss.output for miss in self.misses)

    @property
    def loose(self) -> "CaseRun":
        """The same run with a wider tolerance: for results rounded to the 16 bits of its inputs, or else to float32."""
        unit = float_format(self.dtype).unit_roundoff if self.narrow else SINGLE
        return replace(self, slack=SLACK * unit)

    @cached_property
    def arranged(self):
        return self.case.operator.arrange_backward(**bound(self.case))

    @property
    def case(self) -> Case:
        return self.prepared.case

    @property
    def expected(self) -> dict[str, Expected]:
        return self.prepared.expected

    @property
    def dtype(self) -> str:
        return self.case.dtype

    @cached_property
    def traits(self) -> Traits:
        return Traits.of(self.case)

    @cached_property
    def usable(self) -> bool:
        """Whether values can be compared: all outputs exist with the right shape and dtype, and all tensors have elements."""
        expected = self.expected
        return (
            self.outputs.keys() == expected.keys()
            and all(
                value.shape == expected[name].truth.shape and value.dtype == expected[name].dtype
                for name, value in self.outputs.items()
            )
            and all(array is None or array.size for array in self.arranged.arrays.values())
        )

    @cached_property
    def wanted(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """For each output in the page's shape: the kernel's values, and the tolerance for other values.

        A tolerance of inf means that nothing can be said.
        """
        single, wanted = is_single(self.outputs), {}
        for name, value in self.outputs.items():
            expected, shape, fmt = (
                self.expected[name],
                self.arranged.results[name].shape,
                float_format(value),
            )
            wide = value.astype(np.float64)
            unit = fmt.unit_roundoff if fmt.bits > 16 and not single else SINGLE
            with np.errstate(all="ignore"):
                size = np.where(np.isfinite(wide), np.abs(wide), 0.0)
                allowed = expected.allowed * (2.0**29 if single else 1.0)
                largest = np.max(size, initial=0.0)
                near = ORDERS * allowed + unit * (128 * size + 16 * largest)
                near += STEPS * ulp(size, fmt) if fmt.bits == 16 else 0.0
                near += self.slack * largest
            wanted[name] = (
                wide.reshape(shape),
                np.where(expected.undecided, np.inf, near).reshape(shape),
            )
        return wanted

    @cached_property
    def truth(self) -> dict[str, np.ndarray]:
        """The right values without their certificate."""
        return {name: part.truth.astype(np.float64) for name, part in self.expected.items()}

    @cached_property
    def subtle(self) -> bool:
        """Whether the kernel's error is so small that the right page matches it."""
        return bool(self.misses) and self.agrees(self.truth)

    @cached_property
    def right_in_float32(self) -> bool:
        """Whether float64 outputs are right to float32's precision, because the kernel computes in float32."""
        return self.dtype == "float64" and all(
            np.max(np.abs(value - self.truth[name]), initial=0.0)
            <= 16 * SINGLE * np.max(np.abs(self.truth[name]), initial=0.0)
            for name, value in self.outputs.items()
        )

    @cached_property
    def _faint(self) -> frozenset[str]:
        """The names of wrong outputs that agree with the right page, or with truth, within a search's tolerance."""
        if self.slack or not self.misses:
            return frozenset()
        page = Variant(lambda: self.case.operator.page)
        if self._gives(page, self.computed(page)):
            return self.wrong
        return frozenset(name for name in self.wrong if self.agrees(self.truth, frozenset([name])))

    @cached_property
    def finite(self) -> bool:
        return all(np.isfinite(wide).all() for wide, _ in self.wanted.values())

    @cached_property
    def _trace(self) -> tuple[Counter, dict[str, set[str]]]:
        """How often the right page executes each line on the case's inputs, and the floating tensors' names in each function
        that it calls.
        """
        page, lines, floats = self.case.operator.page, Counter(), {}
        files = {module.__file__ for module, _ in sources(page)}

        def watch(frame, event, _):
            if frame.f_code.co_filename not in files:
                return None
            lines[frame.f_code.co_filename, frame.f_lineno] += 1
            known = floats.setdefault(frame.f_code.co_name, set())
            if event == "return":
                known |= {
                    name
                    for name, value in frame.f_locals.items()
                    if isinstance(value, np.ndarray) and value.dtype.kind == "f"
                }
            return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            self.computed(Variant(lambda: page))
        finally:
            sys.settrace(before)
        return lines, floats

    @property
    def executed(self) -> Set[tuple[str, int]]:
        """The lines that the right page executes on the case's inputs, with their files, including those of inner functions."""
        return self._trace[0].keys()

    @property
    def steps(self) -> int:
        """The number of lines that the right page executes, which is the case's cost in a search."""
        return self._trace[0].total()

    @property
    def floats(self) -> dict[str, set[str]]:
        """The names of floating tensors by function that the right page calls on the case's inputs."""
        return self._trace[1]

    @cached_property
    def _wide(self) -> dict[str, np.ndarray | None]:
        """The page's arrays in float64, read-only because a page must not write into them."""
        arrays = {name: _widened(array, False, 0.0) for name, array in self.arranged.arrays.items()}
        for array in arrays.values():
            if array is not None:
                array.flags.writeable = False
        return arrays

    def computed(
        self, variant: "Variant", single: bool = False, nudge: float = 0.0
    ) -> dict[str, np.ndarray]:
        """Return the outputs of a page's backward on the case's inputs; may raise anything.

        `single` computes in float32; `nudge` moves floating inputs by this relative amount.
        """
        op, xp, page = self.case.operator, _SINGLE if single else _DOUBLE, variant.page()
        arranged, values_bound = self.arranged, bound(self.case)
        if variant.bound:
            values_bound = variant.bound(values_bound)
            arranged = op.arrange_backward(**values_bound)
        arrays = (
            {name: _widened(array, single, nudge) for name, array in arranged.arrays.items()}
            if (variant.bound or single or nudge)
            else self._wide
        )
        METER.add(PAGE, self.case)
        with np.errstate(all="ignore"):
            before = arrays
            if variant.arrays:
                arrays = variant.arrays(arrays)
            if arranged.prelude is not None:
                arrays = arrays | prelude_of(page.PRELUDE, values_bound)(xp, arrays)
            values = page.backward(xp, **arrays, **arranged.attributes)
            return variant.outputs(values, before) if variant.outputs else values

    def matches(self, variant: "Variant") -> bool:
        """Return whether a variant computes the kernel's outputs.

        It is evaluated in float64. If only a few elements differ, rounding may have decided a comparison inside the page, or
        grown. These elements may agree instead in float32, on inputs moved in their last digit, between such results, or with
        the page computed like truth.
        """
        if variant.only is not None and not self.wrong <= variant.only:
            return False  # the variant leaves the other outputs right
        try:
            values = self.computed(variant)
            return self._gives(variant, values) and self._is_wrong(values, self._faint)
        except Exception:  # a broken page may raise anything
            return False

    def _gives(self, variant: "Variant", values: dict) -> bool:
        same = self._same(values, variant.only)
        if _everywhere(same):
            return True
        if self.finite and not all(map(_nearly, same.values())):
            return False
        step, others = self._step, []
        for single, nudge in ((True, 0.0), (False, step), (False, -step)):
            others.append(self.computed(variant, single, nudge))
            other = self._same(others[-1], variant.only)
            same = {name: part | other[name] for name, part in same.items()}
            if _everywhere(same):
                return True
        same = {name: part | self._between(name, others) for name, part in same.items()}
        return _everywhere(same) or self._as_truth(variant, same)

    def _between(self, name: str, some: list[dict]) -> np.ndarray:
        """Return the mask where a kernel's output lies between a page's results `some` on slightly moved inputs."""
        wide, near = self.wanted[name]
        values = [np.asarray(values_of[name], np.float64).reshape(wide.shape) for values_of in some]
        low, high = np.min(values, axis=0), np.max(values, axis=0)
        with np.errstate(all="ignore"):
            apart = SPREAD * (high - low) + near
            return (wide >= low - apart) & (wide <= high + apart)

    def _as_truth(self, variant: "Variant", same: dict[str, np.ndarray]) -> bool:
        """Return whether the variant in truth's precision agrees with the kernel wherever `same` is false."""
        if variant.bound or variant.arrays or variant.outputs:
            return False
        page = replace(self.case.operator, page=variant.page())
        sharp = self._same(page.truth(**self.case.inputs), variant.only)
        return _everywhere({name: part | sharp[name] for name, part in same.items()})

    @property
    def _step(self) -> float:
        """The relative amount by which the kernel's own rounding may move inputs."""
        return 2.0**-50 if self.dtype == "float64" and not is_single(self.outputs) else 2.0**-22

    def agrees(self, values: dict[str, np.ndarray], only: frozenset[str] | None = None) -> bool:
        """Return whether values by output, of any shape, equal the kernel's up to its rounding."""
        return _everywhere(self._same(values, only))

    def explained_by(self, values: dict[str, np.ndarray]) -> bool:
        """Return whether values equal the kernel's, and are wrong where the kernel is."""
        return self.agrees(values) and self._is_wrong(values, self._faint)

    def _same(self, values: dict, only: frozenset[str] | None = None) -> dict[str, np.ndarray]:
        """Return by output (in `only`, or all) where values equal the kernel's; nowhere for an output with too many elements."""
        places = {}
        for name, (wide, near) in self.wanted.items():
            if only is not None and name not in only:
                continue
            value = np.asarray(values[name], np.float64)
            try:  # NumPy repeats an array with fewer elements when it stores it
                value = (
                    value.reshape(wide.shape)
                    if value.size == wide.size
                    else np.broadcast_to(value, wide.shape)
                )
            except ValueError:
                return {name: np.zeros(1, bool)}
            with np.errstate(all="ignore"):
                same = (
                    (np.abs(value - wide) <= near)
                    | (value == wide)
                    | np.isnan(value) & np.isnan(wide)
                )
                # a 16-bit output may overflow
                if not same.all() and self.outputs[name].dtype.itemsize == 2:
                    same |= (
                        round_to(value, float_format(self.outputs[name])).astype(np.float64) == wide
                    )
            places[name] = same | np.isinf(near)
            if self.finite and not _nearly(places[name]):
                return {name: places[name]}
        return places

    def _is_wrong(self, values: dict, outputs: frozenset[str]) -> bool:
        """Return whether `values` of these outputs are wrong, mostly in the same elements as the kernel's."""
        if not outputs:
            return True
        rounded = {}
        for name, part in self.expected.items():
            with np.errstate(all="ignore"):
                rounded[name] = np.asarray(
                    round_to(
                        np.asarray(values[name], np.float64).reshape(part.truth.shape),
                        float_format(part.dtype),
                    )
                )
        wrong = {miss.output: miss.wrong for miss in judge(self.prepared, rounded)}
        return all(
            miss.output in wrong
            and 2 * (miss.wrong & wrong[miss.output]).sum()
            >= (miss.wrong | wrong[miss.output]).sum()
            for miss in self.misses
            if miss.output in outputs
        )

    @property
    def narrow(self) -> bool:
        """Whether any output has 16 bits."""
        return any(value.dtype.itemsize == 2 for value in self.outputs.values())

    @property
    def elements(self) -> int:
        return sum(value.size for value in self.outputs.values())

    @property
    def size(self) -> int:
        return sum(part.truth.size for part in self.expected.values())


@dataclass(frozen=True, eq=False)
class Candidate:
    """A change of the right kernel: its kind, and a test whether it computes a run's outputs.

    `where` is the line of the page, `before` and `after` its old and new text; for other changes `after` describes it, and the
    others are empty. `texts()` returns all three. `name` is the fault's, if it has one.
    """

    kind: str
    texts: Callable[[], tuple[str, str, str]] = field(repr=False)
    test: Callable[[CaseRun], bool] = field(repr=False)
    name: str = ""

    def __getattr__(self, name: str) -> str:
        """Return `where`, `before` or `after`, made on first use, because most candidates are rejected before."""
        if name not in ("where", "before", "after"):
            raise AttributeError(name)
        vars(self).update(zip(("where", "before", "after"), self.texts()))
        return vars(self)[name]

    def same(self, run: CaseRun) -> bool:
        """Return whether the change gives a run's outputs."""
        try:
            return self.test(run)
        except Exception:
            # a broken page may raise anything, for instance for a missing axis or input
            return False

    @property
    def size(self) -> int:
        """The size of the change, to prefer the smaller of two equal ones: words and text by their length.

        An omission is likelier than a confused name.
        """
        if not self.before:
            return len(self.after) // LETTERS
        return (
            min(distance(self.before, self.after), FORGOTTEN)
            if self.kind in ("factor", "statement")
            else distance(self.before, self.after) + (self.kind == "name")
        )

    @property
    def brief(self) -> str:
        return self.name or (
            message("{place}, {after}", place=self.where, after=self.after)
            if self.where
            else self.after
        )

    def __str__(self) -> str:
        if self.name:
            return message("your kernel behaves as {fault}", fault=self.name)
        if not self.before:
            return self.after
        if self.kind == "sum":  # an edit of a sum leaves the text of the line as it was
            return message(
                "your kernel behaves as if {place}, read\n    {after}",
                place=self.where,
                after=self.after,
            )
        return message(
            "your kernel behaves as if {place}, read\n    {after}\n  instead of\n    {before}",
            place=self.where,
            after=self.after,
            before=self.before,
        )


def cheapest_first(failing: Sequence[CaseRun]) -> list[CaseRun]:
    """Return the failing runs in an order that rejects wrong candidates fast, because thousands are tried.

    First come the run with the fewest executed lines, the smallest and one of middle size (each with at least SOME elements). A
    nan agrees with many wrong candidates, so finite outputs come first.
    """
    usable = [run for run in failing if run.usable]
    if not usable:
        return list(failing)
    some = [run for run in usable if run.size >= SOME] or usable
    some = [run for run in some if run.finite] or some
    first = dict.fromkeys(
        (min(leaders(some), key=lambda run: run.steps), some[0], some[len(some) // 2])
    )
    return [*first, *(run for run in failing if run not in first)]


def leaders(failing: Sequence[CaseRun]) -> list[CaseRun]:
    """Return the first failing case of each mode, which mostly determines the lines that the page executes."""
    first: dict[str, CaseRun] = {}
    for run in failing:
        first.setdefault(
            repr({name: value for name, value in run.traits.choices.items() if name != "dtype"}),
            run,
        )
    return list(first.values())
