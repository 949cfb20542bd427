"""Every public callable with a good call, and wrong kinds of its arguments."""

import contextlib
import importlib
import inspect
import re
import shutil
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
from cases.test_lists import atk
from machine import ROOT

import aclnn_viz as av
from aclnn_viz import accuracy, cases, checking, devices, dtypes, pictures, sweeps
from aclnn_viz.acl import HostAcl
from aclnn_viz.arrays import plan as plans_of_arrays
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.operators import products

MODULES = (
    "aclnn_viz",
    "aclnn_viz.accuracy",
    "aclnn_viz.accuracy.envelopes",
    "aclnn_viz.acl",
    "aclnn_viz.arrays.plan",
    "aclnn_viz.cases",
    "aclnn_viz.checking",
    "aclnn_viz.puzzles",
    "aclnn_viz.devices",
    "aclnn_viz.dtypes",
    "aclnn_viz.explorers",
    "aclnn_viz.devices.cpp",
    "aclnn_viz.operators.faults",
    "aclnn_viz.operators",
    "aclnn_viz.operators.plans",
    "aclnn_viz.pictures",
    "aclnn_viz.operators.products",
    "aclnn_viz.sweeps",
    "aclnn_viz.tiles",
    "aclnn_viz.verification.conventions",
    "aclnn_viz.verification.errata",
    "aclnn_viz.words",
    "derivations",
)

#: Callables for the kit alone: results that functions return, errors that they raise, parts of declarations.
MADE_BY_THE_KIT = set(
    """
    Attribution Envelope Explanation Measures Report Sweep Detective Puzzle AclError CapsuleError ConstraintWarning
    DeviceClosedError DeviceUnavailable FunctionUnavailable RefusedError UnsupportedError Peer NotSupported Attribute Operator Tensor Truth
    Fault Hazard HazardError Orders Run TileFault Tiling Program Platform Traced trace operators Convention Row Computation Contradiction Counterexample
    Erratum Evidence Finding Lemma Observation round_into FloatFormat Product Case Note Glossary Term Judgement Judged Prediction Predictions
    Costs Times CompileError CppKernel Project Source Museum Piece
""".split()
)

MANY = 10**30
#: Not walked: both are documented to raise KeyError, for a name without a value and for that of no theorem.
OTHERWISE = {"evaluate", "evidence"}

WRONG = (
    None,
    3,
    -1,
    0,
    1.5,
    float("nan"),
    True,
    "nonsense",
    "",
    b"bytes",
    (),
    [1],
    ["x"],
    {},
    {"x": 1},
    {1: "x"},
    object(),
    int,
    len,
    np.zeros(2),
    np.float16(1),
    np.array("x"),
    np.zeros(2, object),
    2 + 1j,
    Path("/dev/null/place"),
    MANY,
    "\0",
)

COUNTED = ("samples", "limit")
#: Not walked: the kit itself hands these in, or calls them back.
OWN = set(
    "prove.page launch.traced launch.without triage.progress check.progress sweep.progress".split()
)

#: What was asked, what was got, what to do.
THREE_PARTS = re.compile(r".+: got .*[;:].+", re.DOTALL)
OWN_ERRORS = (TypeError, ValueError, OSError, RuntimeError)


def square(xp, x):
    return {"y": x * x}


def public():
    """Return every callable of a documented module, by its dotted name, once."""
    found, seen = {}, set()
    for name in MODULES:
        module = importlib.import_module(name)
        offered = getattr(
            module,
            "__all__",
            [
                n
                for n, value in vars(module).items()
                if n[0] != "_" and getattr(value, "__module__", None) == name
            ],
        )
        for own in offered:
            value = getattr(module, own)
            if callable(value) and not isinstance(value, ModuleType) and id(value) not in seen:
                seen.add(id(value))
                found[f"{name}.{own}"] = value
    return found


def good_calls(tmp_path):
    """Return (callable, good arguments in order, good keywords) of every public callable and of public methods."""
    return [
        (
            call,
            given,
            defaults(call, given) | {key: one for each in named for key, one in each.items()},
        )
        for call, given, *named in some_calls(tmp_path)
    ]


def defaults(call, given):
    """Return the remaining parameters with their defaults."""
    later = [*inspect.signature(call).parameters.values()][len(given) :]
    return {
        each.name: each.default
        for each in later
        if each.default is not each.empty and f"{named(call)}.{each.name}" not in OWN
    }


def some_calls(tmp_path):
    op, x = (
        av.operator("hardswish"),
        {"gradOutput": np.ones(2, np.float16), "self": np.float16([1, 2])},
    )
    norm = av.operator("rms_norm")
    case = av.case("hardswish", shape=(2,))
    host = av.open_device("host")
    actual, truth = op.backward(**x)["out"], op.truth(**x)["out"]
    bound = accuracy.envelope(op, **x)["out"]
    report = av.compare(actual, truth)
    errors = pictures.errors(actual, truth, pictures.Provenance("out", "host"))
    right = lambda **inputs: op.backward(**inputs)  # noqa: E731
    wrong = lambda **inputs: {"out": np.zeros_like(inputs["self"])}  # noqa: E731
    program = av.tiles.programs("hardswish")[0]
    run = av.tiles.launch(program, cores=1, **av.case("hardswish", shape=(4,)).inputs)
    from sympy import symbols

    import derivations
    from aclnn_viz import explorers, puzzles
    from aclnn_viz.accuracy.envelopes import verdicts
    from aclnn_viz.operators import faults, plans
    from aclnn_viz.verification import conventions, errata

    i = symbols("i", integer=True)
    held = devices.Capsule(ROOT / "notebooks/capsules/predicted_a2.capsule")
    places = iter(range(10**6))
    result = av.check(op, wrong, shapes=[(2,)], dtypes=["float32"])
    picture = pictures.error_plot(errors)

    def placed(call):
        """Return a function that writes into a new place at each call with the folder of the walk."""
        return lambda *a, **k: call(
            *(tmp_path / f"{next(places)}.json" if one is tmp_path else one for one in a), **k
        )

    return [
        (av.operator, ["hardswish"]),
        (av.operators, []),
        (av.case, ["hardswish"], {"dtype": "float32", "seed": 0, "shape": (2,), "self": 1.0}),
        (av.case, ["rms_norm"], {"shape": (2, 4), "gamma_ndim": 1, "epsilon": 1e-6}),
        (
            av.case,
            ["grid_sampler_2d"],
            {
                "shape": (1, 1, 2, 2),
                "grid_shape": (2, 2),
                "interpolationMode": 0,
                "outputMask": (True, True),
                "alignCorners": False,
            },
        ),
        (
            av.case,
            ["cross_entropy_loss"],
            {
                "shape": (2, 3),
                "reduction": "mean",
                "ignoreIndex": -100,
                "labelSmoothing": 0.0,
                "target": 0,
            },
        ),
        (
            av.case,
            ["group_norm_swish"],
            {"shape": (1, 2, 2), "numGroups": 2, "dataFormatOptional": "NCHW"},
        ),
        (av.load, [np_file(tmp_path)]),
        (
            av.open_device,
            ["host"],
        ),
        (av.compare, [actual, truth]),
        (
            av.check,
            [op, right],
            {"dtypes": ["float32"], "shapes": [(2,)], "allow_unsupported": True, "time_limit": 0.2},
        ),
        (
            av.sweep,
            [[{"operator": "hardswish", "shape": (2,)}]],
            {"store": ":memory:"},
        ),
        (sweeps.report, [store_of(tmp_path)]),
        (av.cpp_sample, [op, case]),
        (av.predict, [op, case], {"versions": ["9.1"]}),
        (av.prove, ["hardswish"]),
        (av.derive, [square, ("x",), (), {"x": ("n",)}]),
        (av.judge, [op, x, {"mine": actual}]),
        (explorers.explore, ["hardswish"]),
        (explorers.explorers, []),
        (explorers.subject_of, ["hardswish"]),
        (op.backward, [], x),
        (op.truth, [], x),
        (op.forward, [], {"self": x["self"]}),
        (op.describe, []),
        (norm.backward, [], av.case(norm, shape=(2, 4)).inputs),
        (op.bind, [x]),
        (op.layout, ["self"]),
        (
            accuracy.attribute_errors,
            [actual, lambda **given: np.asarray(op.truth(**given)["out"]), x],
            {"samples": 1},
        ),
        (accuracy.disagreements, [report]),
        (report.to_json, []),
        (accuracy.envelope, [op, Plan()], x),
        (accuracy.explain, [actual, truth, bound]),
        (verdicts, [actual, truth, bound]),
        (accuracy.measure, [actual, truth]),
        (accuracy.sweep, [lambda v: v, lambda v: v, "float16"]),
        (accuracy.sweep_factor, ["hardswish", "float16"], {"plan": Plan()}),
        (HostAcl, [], {"memory": 1 << 20}),
        (no_cann, [], {"root": "/dev/null/place", "custom": None}),
        (
            Plan,
            [],
            {"name": "mine"},
        ),
        (Plan().settle, [actual]),
        (Plan().output, ["out", truth, dtypes.FLOAT16]),
        (plans_of_arrays.round_away, [truth, dtypes.FLOAT16]),
        (checking.load_kernel, ["math:sqrt"]),
        (
            placed(checking.write_suite),
            [op, tmp_path],
            {"seed": 0, "shapes": [(2,)], "dtypes": ["float32"]},
        ),
        (
            checking.given,
            ["hardswish", {name: np.float32([0, 0]) for name in ("gradOutput", "self", "out")}],
        ),
        (checking.read_and_check, [op, case_folder(tmp_path, result)], {"allow_unsupported": True}),
        (puzzles.puzzle, ["rms_dx"]),
        (puzzles.puzzles, []),
        (puzzles.detective, ["long_rows"]),
        (
            placed(cases.write),
            [tmp_path, [case]],
            {"seed": 0, "force": False},
        ),
        (cases.read, [atk(tmp_path)]),
        (puzzles.tile_puzzles, []),
        (puzzles.tile_detectives, []),
        (puzzles.detectives, []),
        (puzzles.progress, []),
        (puzzles.puzzle("rms_dx").hint, [1]),
        (puzzles.puzzle("rms_dx").check, [right]),
        (puzzles.detective("long_rows").accuse, ["divided by n - 1"]),
        (
            placed(result.counterexample.write),
            [tmp_path],
            {"force": False},
        ),
        (devices.Capsule, [ROOT / "notebooks/capsules/predicted_a2.capsule"]),
        (devices.list_devices, [], {"root": "/dev/null/place", "timeout": 1.0}),
        (
            placed(devices.record),
            [host, [(op, x)], tmp_path],
            {"force": False},
        ),
        (host.run, [op], x),
        (held.run, [next(held.cases())[0]], next(held.cases())[1]),
        (dtypes.float_format, ["float16"]),
        (dtypes.ulp, [1.0, "float16"]),
        (dtypes.round_to, [1.0, "float16"]),
        (dtypes.ordinals, [actual, "float16"]),
        (dtypes.ordinal_distance, [actual, actual, "float16"]),
        (faults.faults, ["hardswish"]),
        (plans.run, [op, Plan()], x),
        (plans.preset, [op, "A2", "9.1"]),
        (plans.predicting, ["A2", "9.1"]),
        (pictures.Provenance, ["out", "host", "Ascend910B2", "9.1.0", 0]),
        (pictures.Provenance.of, [case, "out", host]),
        (
            pictures.errors,
            [actual, truth, pictures.Provenance("out", "host")],
        ),
        (pictures.error_plot, [errors]),
        (pictures.error_runs, [{"host": errors}]),
        (picture.figure, ["light"]),
        (picture.png, ["dark"]),
        (
            pictures.Picture,
            [("one",), (), "text"],
        ),
        (products.product_of, ["A2"]),
        (products.soc_of, ["A2"]),
        (products.version_of, ["9.1"]),
        (plans.plan_of, [op, "A2"]),
        (dtypes.numbers, ["values", [1.0]]),
        (products.Version.parse, ["9.1"]),
        (products.Version, [9, 1, 0]),
        (av.tiles.programs, ["hardswish"]),
        (av.tiles.faults, ["hardswish"]),
        (
            av.tiles.launch,
            [program],
            {"soc": "A2", "cores": 1, **av.case("hardswish", shape=(4,)).inputs},
        ),
        (
            av.tiles.explore,
            [program],
            {"limit": 2, "cores": 1, **av.case("hardswish", shape=(4,)).inputs},
        ),
        (av.tiles.timeline, [run]),
        (
            av.tiles.cpp,
            [ROOT / "tests/tiles/cpp/add_custom.cpp"],
            {"include": [ROOT]},
        ),
        (av.tiles.Platform.of, ["A2"]),
        (conventions.conventions, [op]),
        (conventions.recompute, [[]]),
        (conventions.text_table, [[]]),
        (av.why, [561103]),
        (av.museum, ["karpathy/llm.c#763"]),
        (av.same_bits, ["hardswish", av.operator("hardswish").backward]),
        (checking.triage, [run_of(tmp_path)]),
        (
            av.tolerance,
            ["hardswish"],
            {"shape": (3,), "dtype": "float16", "cases": [case], "self": 1.0},
        ),
        (conventions.to_json, [[]]),
        (av.glossary, ["tail"]),
        (av.language, ["en"]),
        (errata.errata, []),
        (errata.recompute, [[]]),
        (errata.text_table, [[]]),
        (errata.to_json, [[]]),
        (derivations.proves_equal, [i, i], {"in_range": {i: (0, 3)}}),
        (derivations.chapters, []),
        (derivations.theorems, []),
    ]


def run_of(tmp_path):
    """Return a dumped run, of level L1 with statistics alone."""
    shutil.unpack_archive(
        ROOT / "tests/checking/dumped/model_L1_statistics_statistics.tar.xz", tmp_path / "run"
    )
    return tmp_path / "run"


def np_file(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(2, np.float32))
    return tmp_path / "x.npy"


def store_of(tmp_path):
    return av.sweep([{"operator": "hardswish", "shape": (2,)}], store=tmp_path / "store").store


def case_folder(tmp_path, result):
    return result.counterexample.write(tmp_path / "one case")


def no_cann(**named):
    """Call CannAcl on a machine without CANN."""
    with contextlib.suppress(devices.DeviceUnavailable):
        av.acl.CannAcl(**named)


def named(function):
    return getattr(function, "__qualname__", repr(function))


def inner_errors(function, arguments, keywords, kinds=WRONG):
    """Yield errors that are no answer in three parts, for each argument of a wrong kind in turn."""
    places = [*range(len(arguments)), *keywords]
    everything = named(function) == "recompute"  # None requests all of them
    for place in places:
        good = arguments[place] if isinstance(place, int) else keywords[place]
        for wrong in kinds:
            if (
                callable(wrong)
                and callable(good)
                or wrong is MANY
                and place in COUNTED
                or (everything and wrong is None)
            ):
                continue  # its errors are its own, and it is slow
            args, kws = list(arguments), dict(keywords)
            (args if isinstance(place, int) else kws)[place] = wrong
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", devices.ConstraintWarning)
                    answer = function(*args, **kws)
                if inspect.isgenerator(answer):
                    next(answer, None)
                if hasattr(answer, "close"):
                    answer.close()
            except OWN_ERRORS + (NotImplementedError,) as error:
                # with its own words on what and where
                system = isinstance(error, OSError) and error.errno
                if not system and not THREE_PARTS.fullmatch(str(error)):
                    yield f"{place}={wrong!r:.40}: {type(error).__name__}: {str(error)[:150]}"
            except Exception as error:
                yield f"{place}={wrong!r:.40}: {type(error).__name__}: {str(error)[:150]}"
