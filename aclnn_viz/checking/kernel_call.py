"""Call a user's kernel safely: with a time limit, on copies of the inputs, and with any kind of returned arrays."""

import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from numbers import Number
from pathlib import Path

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.checking.judge import Prepared, documented, judge
from aclnn_viz.checking.meter import KERNEL, METER
from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.errors import DeviceClosedError, DeviceRefusal, printable
from aclnn_viz.storage.cases import StoredError
from aclnn_viz.storage.foreign_arrays import as_array, is_number
from aclnn_viz.storage.output_memory import FILL
from aclnn_viz.words.messages import Message, commas, linked, message

# the kernel or a capsule does not support this case
REFUSALS = (NotImplementedError, StoredError)
# guard bytes on either side of each input, and their value: a nan in every floating format, -1 in
# integers
GUARD, CANARY = 64, 0xFF
FRAMES = 5  # most frames of a traceback that are shown
FOLDER = Path(__file__).parent
LONGEST = 500  # most characters of an exception's text and of an output's name
OTHERS = 50  # unrequested outputs that are named; further ones are counted
NOTHING = message("returns None where an array is expected")
# fill bytes that give finite, distinct numbers in every format; tolerance to recognise them
FILLS, SAME = (0x3F, 0x41), 0.02
APART = 3  # if two truths differ by more allowed errors than this, right outputs for them differ
BLOCKS = 8  # blocks of each size that NumPy keeps for reuse
REUSED = 2**16  # elements of an output whose memory is reused
KEPT = message("leaves {n} of {all} elements unwritten, the first {place}")
ADDED = message("adds to memory that it never cleared, in {n} of {all} elements, the first {place}")
# cases repeated in another order by a deep check; repetitions of a single case
AGAIN, TIMES = 40, 20


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one call: its outputs as NumPy arrays, or its fault.

    `fatal`: calling the kernel again is useless. `refused`: the kernel does not support this case. `by_code`: a device said so
    by an error code, which is `misbehaviour` if its product computes the case. `trace` says where an error was raised.
    """

    outputs: dict[str, np.ndarray] | None
    misbehaviour: str = ""
    fatal: bool = False
    refused: bool = False
    by_code: bool = False
    trace: str = ""


def run(kernel: Callable, case: Case, seconds: float | None, names: Sequence[str] = ()) -> Outcome:
    """Call `kernel(**case.inputs)`; `names` are the expected outputs, by default those that the case requests.

    Without a limit the call stays in this thread, as devices require; a kernel that fails because it calls a device from
    another thread is called again in this one.
    """
    guarded = {name: Guarded(value) for name, value in case.arrays.items()}
    copies = case.inputs | {name: guard.copy for name, guard in guarded.items()}
    METER.add(KERNEL, case)
    returned, error, finished = METER.timed(lambda: _limited(lambda: kernel(**copies), seconds))
    if isinstance(error, DeviceClosedError) and seconds is not None:
        returned, error, finished = _limited(lambda: kernel(**copies), None)
    if not finished:
        return Outcome(
            None, message("does not return within {seconds:g} s", seconds=seconds), fatal=True
        )
    if isinstance(error, REFUSALS):
        return Outcome(None, printable(str(error))[:LONGEST] or type(error).__name__, refused=True)
    if error is not None:
        trace = _trace(error)
        # the call failed before a line of the kernel ran
        uncalled = isinstance(error, TypeError) and not trace
        said = next(
            (
                message("{name}: {what}", name=type(error).__name__, what=part)
                for part in error.args
                if isinstance(part, Message)
            ),
            _in_words(error),
        )
        did = (
            message(
                "cannot be called with the keywords {keywords}: {error}; if the names differ, state them with signature=, or --signature MINE=VENDORS,...",
                keywords=commas(copies),
                error=said,
            )
            if uncalled
            else message("raises {error}", error=said)
        )
        return Outcome(None, did, by_code=isinstance(error, DeviceRefusal), trace=trace)
    try:
        outputs = _as_expected(returned, case, names)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        # reading a returned object of any class may raise anything, even SystemExit
        text = next((part for part in problem.args if isinstance(part, Message)), None)
        return Outcome(
            None,
            text
            or message("returns something that cannot be read: {error}", error=_in_words(problem)),
        )
    changed: dict[str, list[str]] = {}
    for name, guard in guarded.items():
        changed.setdefault(guard.changed(), []).append(name)
    did = [
        message("{change} {inputs}", change=what, inputs=commas(names))
        for what, names in changed.items()
        if what
    ]
    return Outcome(outputs, linked("{some} and {more}", did) if did else "")


def outputs_alone(kernel: Callable, case: Case) -> dict[str, np.ndarray] | None:
    """Return the outputs of a kernel on copies of the inputs, None if it fails; other faults are not checked."""
    copies = case.inputs | {
        name: value.copy() if value.flags.c_contiguous else Guarded(value).copy
        for name, value in case.arrays.items()
    }
    METER.add(KERNEL, case)
    try:
        return _as_expected(METER.timed(lambda: kernel(**copies)), case)
    except (Exception, SystemExit):
        return None


def repeats(kernel: Callable, case: Case, first: Mapping, seconds: float | None) -> str:
    """Return the difference between the first call and a second one with other memory, or ""."""
    again = run(filled(kernel, case, FILLS[0]), case, seconds).outputs
    if again is None:
        return message("is not deterministic: the second call with the same inputs fails")
    differing = [
        name
        for name in first
        if name not in again or not np.array_equal(first[name], again[name], equal_nan=True)
    ]
    if not differing:
        return ""
    return fault_of_memory(kernel, case, seconds) or message(
        "is not deterministic: {outputs} differs between two calls",
        outputs=commas(differing),
    )


def remembers(kernel: Callable, ready: Prepared, first: Mapping, seconds: float | None) -> str:
    """Call the kernel again with half of the gradient negated; say which outputs wrongly stay equal, or ""."""
    case = ready.case
    turned = {n: np.array(case.arrays[n]) for n in case.operator.upstream if n in case.arrays}
    for value in turned.values():
        value.flat[value.size // 2 :] *= -1
    other = replace(case, inputs=case.inputs | turned)
    reference = case.operator.backward(**other.inputs)
    changed = [miss.output for miss in judge(ready, reference) if miss.excess > APART]
    again = run(kernel, other, seconds).outputs if changed else None
    same = [name for name in changed if again and bits_alike(again.get(name), first[name])]
    return (
        message(
            "keeps a result: {outputs} stays as it was when half of {inputs} changes its sign",
            outputs=commas(same),
            inputs=commas(turned),
        )
        if same
        else ""
    )


def filled(kernel: Callable, case: Case, byte: int) -> Callable:
    """Return a kernel before whose run the memory of outputs, and what NumPy reuses, is filled with `byte`."""
    elements = {prod(result.documented_shape) for result in documented(case).values()}

    def call(**inputs):
        token = FILL.set(byte)
        try:
            for size in (width * n for n in elements if n <= REUSED for width in (2, 4, 8)):
                # NumPy reuses these freed blocks with their contents
                [np.full(size, byte, np.uint8) for _ in range(BLOCKS)]
            return kernel(**inputs)
        finally:
            FILL.reset(token)

    return call


def fault_of_memory(kernel: Callable, case: Case, seconds: float | None) -> str:
    """Return which output keeps or adds to its memory's old contents, with the first element, or ""."""
    low, high = (run(filled(kernel, case, byte), case, seconds).outputs for byte in FILLS)
    for name in documented(case) if low and high else ():
        if name not in low or name not in high or low[name].shape != high[name].shape:
            continue
        first, second = (each[name].astype(np.float64) for each in (low, high))
        for dtype in {low[name].dtype, np.dtype(np.float32), np.dtype(np.float64)}:
            before, after = (
                float(np.full(dtype.itemsize, byte, np.uint8).view(dtype)[0]) for byte in FILLS
            )
            kept = np.isclose(first, before, SAME) & np.isclose(second, after, SAME)
            added = np.isclose(second - first, after - before, SAME) & ~kept
            for mask, text in ((added, ADDED), (kept, KEPT)):
                if mask.any():
                    at = ", ".join(map(str, np.argwhere(mask)[0]))
                    return message(text.key, n=mask.sum(), all=mask.size, place=f"{name}[{at}]")
    return ""


def named(
    returned, names: Sequence[str], every: Sequence[str] = (), taken: Callable | None = None
) -> dict[str, np.ndarray]:
    """Return outputs by name from a dict, or from an array or sequence in the vendor's order; they are copies, or as `taken`
    returns.

    A list of numbers counts as an array. Outputs in `every` that `names` does not request may be present or None, and are
    dropped: PyTorch computes some masked ones.

    >>> named(np.float32([1]), ["out"])
    {'out': array([1.], dtype=float32)}
    """
    if returned is None:
        raise TypeError(NOTHING)
    asked = names
    if isinstance(returned, Mapping) and len(returned) <= len(names) + OTHERS:
        outputs = {
            name if name in names else printable(str(name)[:LONGEST]): value
            for name, value in returned.items()
        }
    else:
        returned = tuple(returned.values()) if isinstance(returned, Mapping) else returned
        numbers = isinstance(returned, list) and all(
            isinstance(part, (Number, list)) for part in returned
        )
        several = isinstance(returned, (tuple, list)) and not (numbers and len(names) == 1)
        parts = returned if several else (returned,)
        if several and len(parts) == len(every) and set(names) <= set(every):
            names = every
        if len(parts) != len(names):
            text = {
                "n": len(parts),
                "right": len(names),
                "outputs": commas(names),
            }
            raise ValueError(
                message("returns {n} output instead of {right}: {outputs}", **text)
                if len(parts) == 1
                else message("returns {n} outputs instead of {right}: {outputs}", **text)
            )
        outputs = dict(zip(names, parts))
    # an unrequested output instead of a requested one is a fault
    if outputs.keys() >= set(asked):
        outputs = {
            name: value for name, value in outputs.items() if name in asked or name not in every
        }
    for name, value in outputs.items():
        if value is None:
            raise TypeError(
                message(
                    "returns None for {output}; leave an output that is not asked for out of the dict",
                    output=name,
                )
            )
    return {name: (taken or to_numpy)(value) for name, value in outputs.items()}


def to_numpy(value) -> np.ndarray:
    """Return a copy, in native byte order, of an array of NumPy, torch (bfloat16 too), or any DLPack library; else raise
    TypeError.
    """
    try:
        array = np.asarray(as_array(value))
    except Exception as error:  # any library may raise anything
        raise TypeError(
            message(
                "returns {kind}, which NumPy cannot take: {error}",
                kind=type(value).__name__,
                error=_in_words(error),
            )
        ) from error
    if not is_number(array.dtype):
        text = (
            message("an array of dtype {dtype}", dtype=array.dtype)
            if isinstance(value, np.ndarray)
            else type(value).__name__
        )
        raise TypeError(message("returns {kind} where an array of numbers is expected", kind=text))
    # a copy, because a kernel may reuse its arrays
    return array.astype(array.dtype.newbyteorder("="))


def _as_expected(returned, case: Case, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Return the outputs by name, reading uint16 bits as bfloat16 where that is expected."""
    outputs = named(returned, names or [*documented(case)], case.operator.outputs)
    if all(value.dtype != np.uint16 for value in outputs.values()):
        return outputs
    expected = documented(case)
    return {
        name: as_array(value, floating=True)
        if name in expected and expected[name].format is BFLOAT16
        else value
        for name, value in outputs.items()
    }


def _trace(error: BaseException) -> str:
    """Return the lines of the kernel's own files that led to an error."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).parent not in (FOLDER, FOLDER.parent / "tiles")
    ]
    return linked(
        "{some}\n{more}",
        [
            message(
                "{file}, line {line}, in {function}: {code}",
                file=frame.filename,
                line=frame.lineno,
                function=frame.name,
                code=frame.line,
            )
            for frame in frames[-FRAMES:]
        ],
    )


def _in_words(error: BaseException) -> str:
    return printable(" ".join("".join(traceback.format_exception_only(error)).split())[:LONGEST])


class Guarded:
    """A copy of an array with guards around it and in the gaps of a strided one, where reads find nan."""

    def __init__(self, value: np.ndarray):
        self.value = value
        gaps = 1 + (value.ndim == 1 and value.strides[0] != value.itemsize)
        # keep the order of axes in memory
        strides = np.empty_like(value).strides if gaps == 1 else (2 * value.itemsize,)
        count = gaps * value.nbytes
        self._memory = np.full(count + 2 * GUARD, CANARY, np.uint8)
        self.copy = np.ndarray(value.shape, value.dtype, self._memory, GUARD, strides)
        self.copy[...] = value
        self._before = self._memory.copy()

    def changed(self) -> str:
        """Return what the kernel changed in it, bit by bit, or ""."""
        if np.array_equal(self._memory, self._before):
            return ""
        written = self.copy.tobytes() != self.value.tobytes()
        return message("modifies its input") if written else message("writes outside its input")


def _limited(call: Callable, seconds: float | None):
    """Call in a thread, which is abandoned if it takes too long, because Python cannot stop it."""
    box: dict = {}

    def work():
        try:
            with np.errstate(all="ignore"):
                box["returned"] = call()
        except BaseException as error:  # a kernel may raise anything, SystemExit included
            box["error"] = error

    if seconds is None:
        work()
        if isinstance(box.get("error"), KeyboardInterrupt):  # Ctrl-C stops the check
            raise box["error"]
        return box.get("returned"), box.get("error"), True
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return box.get("returned"), box.get("error"), not thread.is_alive()


def repeated(
    kernel: Callable, ran: Sequence[tuple[Prepared, dict]], limit: float | None, end: float
) -> tuple[str, str, int, bool]:
    """Run cases again in reverse order, and the first many times, until a time on the clock.

    Return the fault and its case, the number of repeats, and whether all ran in another order.
    """
    others = ran[:AGAIN][::-1]
    done = 0
    for ready, first in [*others, *ran[:1] * TIMES]:
        if time.monotonic() > end:
            break
        again, done = run(kernel, ready.case, limit).outputs, done + 1
        differing = [
            name
            for name, value in first.items()
            if again is None or not bits_alike(again.get(name), value)
        ]
        if differing:
            text = message(
                "is not deterministic: {outputs} differs when the same inputs come again later",
                outputs=commas(differing),
            )
            return text, str(ready.recipe), done, True
    return (
        "",
        "",
        max(done - len(others) + 1, 0) if ran else 0,
        len(others) > 1 and done >= len(others),
    )


def bits_alike(a, b) -> bool:
    """Return whether arrays have equal bits, counting all nans as equal."""
    return (
        a is not None
        and a.shape == b.shape
        and a.dtype == b.dtype
        and bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | (a != a) & (b != b)))
    )
