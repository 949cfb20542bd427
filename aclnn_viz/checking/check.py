"""`check`: decide whether a kernel is right, by running it on test cases of an operator, or from outputs that another program
wrote to files.

A wrong kernel gets a small counterexample and, if found, the mistake that explains its numbers.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from numbers import Real
from pathlib import Path

import numpy as np

from aclnn_viz.cases import Case, case, files, read
from aclnn_viz.cases.lists import CaseList
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.counterexample import dumped, shrink
from aclnn_viz.checking.evidence import Evidence, KernelUnderTest, examine, examine_deeper
from aclnn_viz.checking.judge import judge, prepared
from aclnn_viz.checking.kernel import as_kernel, differences
from aclnn_viz.checking.meter import Budget, memory_given_back
from aclnn_viz.checking.result import CheckResult, conclude, smallest
from aclnn_viz.checking.scope import (
    Depth,
    Ready,
    Scope,
    deeper,
    depth_named,
    few,
    nothing_left,
)
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import (
    flag,
    function,
    invalid,
    listed,
    mistyped,
    need,
    place_of,
    shown,
    whole,
)
from aclnn_viz.notebook import noted
from aclnn_viz.operators import Operator, operator
from aclnn_viz.storage.foreign_arrays import array_of, as_array, stored_bytes
from aclnn_viz.storage.readers import machine_memory
from aclnn_viz.words.messages import message

TRIALS = "aclnn_viz.checking.tile_trials"  # loaded only for tile programs
JUDGED = 40  # judging a stored case takes the memory of so many arrays of its size


def check(
    op,
    kernel=None,
    seed: int = 0,
    *,
    soc: str | None = None,
    cann: str | None = None,
    dtypes=None,
    where=None,
    shapes=None,
    limits=None,
    plan=None,
    beyond: bool = False,
    allow_unsupported: bool = False,
    cases=None,
    depth: str = "normal",
    time_limit: float | None = None,
    call_limit: float | None = None,
    progress: Callable | None = None,
    signature: str | Mapping[str, str] | None = None,
) -> CheckResult:
    """Decide whether a kernel is right; show where it first goes wrong, and the likeliest mistake.

    Parameters
    ----------
    op : Operator, str or path
        An operator, or its name. The path of a dump (`counterexample.write(path)`, or
        `aclnn-viz check OP --write path`) checks a kernel only on its cases; without a kernel, it
        judges the outputs in the dump.
    kernel : callable, Device, Capsule, str or path
        `kernel(**inputs)` takes the vendor's parameters and returns a dict by the vendor's output
        names, or an array or tuple in the vendor's order; arrays of NumPy, torch or any library
        that supports DLPack. For unsupported cases it raises NotImplementedError (or
        `av.NotSupported`). A kernel may also be "FILE.py:FUNCTION", "FILE.cpp:ENTRY" (Ascend C), a
        device or its name, such as "host", "atlas:1" or "torch", or a capsule, whose cases are
        judged; cases that a device refuses are not judged. The path of a folder of cases means
        the outputs in that folder.
    seed : int
        The same seed draws the same cases.
    soc, cann : str, optional
        The product and the CANN version whose operator sets the standard, by default Atlas A2 and 9.1.
    dtypes : sequence of str, optional
        The formats to judge.
    where : dict of str to value, optional
        The required value of an attribute, or a list of values; for an optional tensor None
        (absent) or True (given).
    shapes : sequence of tuple of int, optional
        Shapes for `av.case` instead of the suite's.
    limits : dict of str to int or tuple, optional
        The greatest number of elements of a tensor, or a shape of greatest lengths (None: any).
    plan : Plan or str, optional
        The kernel's intended precision: a Plan, or "device" for the product's; by default any
        precision from float32 arithmetic on.
    beyond : bool
        Judge also cases that the formula covers but the vendor's operator refuses.
    allow_unsupported : bool
        Let a kernel pass although it does not support some cases.
    cases : sequence of Case or path, optional
        Cases to judge instead of the suite, or the file of a test list for `av.cases.read` (ATK's
        .json).
    depth : {"quick", "normal", "deep"}
        "quick" takes a second or two, "deep" about a minute: it adds tensors of up to 2^21
        elements, long axes, every remainder by up to 64, nan, infinities, zeros of both signs, the
        ends of each format, and calls repeated in another order.
    time_limit : float, optional
        Seconds after which no new case starts; by default it follows from the depth.
    call_limit : float, optional
        Seconds after which a call is abandoned; by default it follows from the depth.
    progress : callable, optional
        `progress(iterable, total)` may show a bar.
    signature : str or dict of str to str, optional
        The call of a kernel with other parameters: "aten", "torch.autograd", "liger", the
        prototype of a C function, for a kernel "LIBRARY.so:FUNCTION", or a mapping of the kernel's
        names to the vendor's.

    Returns
    -------
    CheckResult
        Its `passed` is true for a right kernel. `unsupported` counts unsupported cases, and
        `untried` lists what the depth did not try.

    Raises
    ------
    ValueError
        For an unknown operator or device, for options that no case satisfies and for an incomplete
        dump.
    TypeError
        For a kernel that cannot be called.
    CallError
        A TypeError, for a kernel that cannot take the call of its signature; it is not judged.

    Notes
    -----
    An error code of a device is right if its product does not compute the case, and wrong if it
    does. Except for "quick", a tile program that is right on all cases is tried on short and long
    rows with tails, on fewer and more cores than rows, in small buffers and in other orders, and on
    a short case in all orders; `result.trials` lists these.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> result = check("rms_norm", lambda **inputs: av.operator("rms_norm").backward(**inputs))
    >>> result.passed
    True
    """
    asked = {
        "soc": soc,
        "cann": cann,
        "dtypes": dtypes,
        "where": where,
        "shapes": shapes,
        "limits": limits,
        "plan": plan,
        "beyond": beyond,
    }
    seed = whole("seed", seed)
    flag("allow_unsupported", allow_unsupported)
    level = depth_named(depth)
    level = replace(level, seconds=_seconds("time_limit", time_limit, level.seconds))
    call_limit = _seconds("call_limit", call_limit, level.call)
    progress = noted if progress is None else function("progress", progress)
    dump = None
    if files.names_cases(op):
        if kernel is None:
            return read_and_check(None, op, allow_unsupported=allow_unsupported, **asked)
        op, dump = _dumped(op, cases)
    op = operator(op)
    with (
        memory_given_back(level.name == "deep"),
        as_kernel(kernel, op, signature, soc, cann) as kernel,
        np.errstate(all="ignore"),
    ):
        if kernel.folder:
            return read_and_check(op, kernel.folder, allow_unsupported=allow_unsupported, **asked)
        device = kernel.device
        if device is not None:
            asked |= {"soc": soc or device.soc or None, "cann": cann or device.cann or None}
            allow_unsupported, call_limit = True, None
            if dump is None and cases is None and hasattr(device, "cases"):
                dump = _recorded(device, op)
        start = time.monotonic()
        # also judge dumped cases that the operator refuses, unless a product is named
        if dump is not None:
            asked["beyond"] = flag("beyond", beyond) or not (soc or cann)
        scope = Scope.of(op, **asked)
        scope.notes.extend(differences(device or kernel.function, op))
        if cases is not None:
            dump = _listed(cases, op, scope, seed)
        ready = _telling_first(scope, seed, level) if dump is None else scope.among(dump)
        tested = KernelUnderTest(kernel.function, scope, call_limit)
        evidence, trials = _tried(tested, ready, seed, level, dump is None, start, progress)
        wrong = smallest([run for run in evidence.seen if run.misses])
        small = shrink(wrong, tested, Budget(level.shrinking)) if wrong and dump is None else None
        return conclude(
            evidence,
            seed,
            scope,
            tested,
            small=small,
            seconds=time.monotonic() - start,
            allowed=allow_unsupported,
            device=device is not None,
            depth=level,
            trials=trials,
        )


def _seconds(name: str, limit, usual: float) -> float:
    limit = usual if limit is None else limit
    if isinstance(limit, bool) or not isinstance(limit, Real) or not 0 < float(limit) < 1e9:
        raise mistyped(f"{name} is a number of seconds", shown(limit), "pass such as 60.0")
    return float(limit)


def _tried(tested, ready, seed: int, level: Depth, suite: bool, start: float, progress):
    """Run a kernel on cases and, for a whole suite, on those that its depth adds."""
    evidence, trials = examine(tested, ready, level.seconds, progress, level.enough), None
    if suite and level.name == "deep" and not evidence.failed:
        end = start + level.seconds
        examine_deeper(evidence, tested, deeper(tested.scope, seed), end, progress)
    if suite and tested.tiles and level.trials and not evidence.failed:
        trials = import_module(TRIALS).try_tiles(tested, seed, level.trials, evidence)
    return evidence, trials


def _telling_first(scope: Scope, seed: int, level: Depth) -> list[Ready]:
    """Return the cases of a suite, the most telling first; for a quick check only these."""
    ready = scope.cases(seed)
    first = few(ready)
    return (
        first
        if level.name == "quick"
        else [*first, *(later for later in ready if later not in first)]
    )


def _dumped(path, cases) -> tuple[Operator, list[tuple[Recipe, Case]]]:
    """Return the operator and the cases of a dump."""
    if cases is not None:
        raise invalid(
            "a kernel is checked on one set of cases",
            f"those of {path} and those of cases=",
            "leave out one of them",
        )
    op, _, entries = files.read_cases(path)
    return op, [(Recipe(op.name, {"folder": entry.folder}), entry.case) for entry in entries]


def _recorded(capsule, op: Operator) -> list[tuple[Recipe, Case]]:
    """Return the cases of an operator in a capsule."""
    recorded_cases = [
        Case(op, inputs, float_format(inputs[op.like]).name, 0)
        for other, inputs in capsule.cases()
        if other.name == op.name
    ]
    if not recorded_cases:
        raise invalid(
            f"the capsule must hold cases of {op.name}", capsule.name, "check another operator"
        )
    return [
        (Recipe(op.name, {"capsule": number}), recorded_case)
        for number, recorded_case in enumerate(recorded_cases)
    ]


def _listed(cases, op: Operator, scope: Scope, seed: int) -> list[tuple[Recipe, Case]]:
    """Return the cases of a test list, or of a sequence."""
    if isinstance(cases, (str, Path)):
        cases = read(cases, op, seed)
    if isinstance(cases, CaseList):
        scope.left_out.update(cases.left_out)
        scope.notes.extend(cases.notes)
        names = cases.names
    else:
        cases = listed("cases", cases, Case)
        names = range(len(cases))
    if other := next((each for each in cases if each.operator.name != op.name), None):
        raise mistyped(f"cases are those of {op.name}", repr(other)[:80], "make them with av.case")
    return [(Recipe(op.name, {"case": name}), each) for name, each in zip(names, cases)]


def write_suite(op, folder, seed: int = 0, force: bool = False, **asked) -> Path:
    """Write the inputs of an operator's suite into a new or empty folder, and return it.

    Raises FileExistsError for a folder with contents; `force` replaces a folder of cases with its outputs. `asked` are the
    options of `check` that select cases.

    >>> import tempfile
    >>> sorted(path.name for path in (write_suite("hardswish", tempfile.mkdtemp()) / "000").iterdir())
    ['in', 'out']
    """
    op = operator(op)
    cases = (dumped(ready, {}) for ready in Scope.of(op, **asked).cases(seed))
    return files.write_cases(folder, op, cases, seed, force)


def read_and_check(op, folder, *, allow_unsupported: bool = False, **asked) -> CheckResult:
    """Judge and diagnose the outputs that a program left in a folder of cases, or those in a capsule.

    For `op` None the cases name the operator. A missing output is a fault of the kernel. Cases without any output were not run
    and are not judged, or count as unsupported if that is allowed. `asked`, the options of `check`, select cases. Raises
    ValueError for a place without cases, for cases of other operators, and if no output is found.
    """
    flag("allow_unsupported", allow_unsupported)
    op_read, seed, cases = files.read_cases(folder, op if op is None else operator(op))
    scope = Scope.of(
        op_read,
        **asked | {"beyond": asked.get("beyond") or not (asked.get("soc") or asked.get("cann"))},
    )
    evidence, silent, counted = Evidence(), 0, False
    for entry in cases:
        if not scope.admits(entry.case):
            continue
        counted = True
        for complaint in entry.unreadable.values():
            evidence.misbehaviour.setdefault(
                message("wrote {complaint}", complaint=complaint), entry.folder
            )
        recipe = Recipe(op_read.name, {"folder": entry.folder})
        ready = Ready(scope, recipe, None, entry.case.seed, entry.case)
        if allow_unsupported and not entry.outputs and not entry.unreadable:
            evidence.refused.append(ready)
            continue
        if entry.outputs:
            evidence.seen.append(CaseRun.of(ready.prepare(), entry.outputs))
            evidence.tried.add(entry.case)
        # where a mask switches all outputs off, none is missing
        elif not entry.unreadable:
            silent += bool(op_read.arrange_backward(**entry.case.inputs).results)
    if silent:
        evidence.unrun = message(
            "{n} cases have no output: they were not run, and are not judged", n=silent
        )
    if not counted:
        raise nothing_left(scope)
    if not evidence.seen and not evidence.misbehaviour:
        raise invalid(
            "outputs are read from DIR/000/out/NAME.npy or NAME.bin",
            f"none in {folder}",
            f"write {', '.join(op_read.outputs)} of at least one case",
        )
    return conclude(evidence, seed, scope, allowed=allow_unsupported)


def given(op, named: Mapping[str, object], plan=None) -> CheckResult:
    """Judge one case in a user's files, such as a failing test; `named` maps the vendor's names to files or values.

    Tensors and outputs are FILE (.npy, .npz), or `FILE:DTYPE:N,M` for raw numbers; `golden.OUTPUT` is the test's expectation,
    judged, too. Raises ValueError for an unknown name, a missing tensor and values that do not fit.

    >>> import tempfile; from aclnn_viz import case
    >>> made, folder = case("tanh", shape=(2, 3)), tempfile.mkdtemp()
    >>> for name, value in (made.inputs | made.operator.backward(**made.inputs)).items(): np.save(f"{folder}/{name}", value)
    >>> given("tanh", {name: f"{folder}/{name}.npy" for name in ("gradOutput", "output", "gradInput")}).passed
    True
    """
    op = operator(op)
    need(named, Mapping, "files have names", 'pass such as {"x": "x.bin:float16:4,16"}')
    parameters = {p.name for p in op.parameters}
    known = {*parameters, *op.outputs, *(f"golden.{name}" for name in op.outputs)}
    if unknown := [name for name in named if name not in known]:
        raise invalid(
            f"files are named as {', '.join(sorted(known))}",
            ", ".join(map(repr, unknown)),
            "use the vendor's names",
        )
    values = {
        name: value if name in op.attributes else _from_file(name, value)
        for name, value in named.items()
    }
    inputs = {name: value for name, value in values.items() if name in parameters}
    missing = [
        p.name
        for p in op.parameters
        if p.kind == "tensor" and not p.optional and p.name not in inputs
    ]
    if missing or not any(name in values for name in op.outputs):
        raise invalid(
            "a case in files has all tensors and an output",
            f"no {', '.join(missing) or 'output'}",
            "name their files, too",
        )
    scope = Scope.of(op, plan=plan, beyond=True)
    ready = prepared(Recipe(op.name, {"files": len(named)}), case(op, **inputs), scope.judged_by)
    evidence, notes = Evidence(), []
    outputs = {name: values[name] for name in op.outputs if name in values}
    shown_ = replace(
        ready, expected={name: part for name, part in ready.expected.items() if name in outputs}
    )
    evidence.seen.append(CaseRun.of(shown_, outputs))
    evidence.tried.add(ready.case)
    for name in op.outputs:
        if (golden := values.get(f"golden.{name}")) is not None and name in ready.expected:
            wrong = judge(replace(ready, expected={name: ready.expected[name]}), {name: golden})
            notes.append(
                message(
                    "golden.{output} is wrong itself: {problem}",
                    output=name,
                    problem=wrong[0].problem,
                )
                if wrong
                else message("golden.{output} is right within rounding", output=name)
            )
    result = conclude(evidence, 0, scope)
    return replace(result, notes=(*result.notes, *notes))


def _from_file(name: str, value) -> np.ndarray:
    if not isinstance(value, (str, Path)):
        return as_array(value, name)
    place = place_of(str(value).rsplit(":", 2)[0])
    if place.is_file() and (size := stored_bytes(place)) > (most := machine_memory() // JUDGED):
        raise invalid(
            f"this machine judges arrays of at most {most} bytes",
            f"{name} with {size}",
            "cut a part out of the case, along axes that the operator treats alike",
        )
    return array_of(str(value))
