"""Run published Ascend C sources, unchanged, on the tile machine: `python benchmarks/sources.py ROWS FOLDER...` prints the rows of
the table in benchmarks/reports/sources.md.

Each FOLDER is a checkout of a repository, called OWNER+NAME, with its commit in the file `.commit`. The file ROWS keeps each row
as soon as it is known, so that a run can continue. Three kinds of source are tried: an operator project (op_host beside
op_kernel), whose tiling function runs and whose kernel is launched with its struct; a kernel whose host calls PyTorch, on zeros;
and a program (a file with main, its kernels beside it) with scripts/gen_data.py, which makes its data, and verify_result.py,
which judges them. A project that brings an example (examples/*/run.sh) is judged by it: gen_data.py, main.cpp, whose call of the
operator the machine runs (example_acl.h), verify_result.py. Other projects are launched on arrays and compared with NumPy if
REFERENCES has their name. The sources are not kept.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import Pipe, Process
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from records import ROOT, kept, line

from aclnn_viz.tiles.compiler import CompileError
from aclnn_viz.tiles.cpp import cpp
from aclnn_viz.tiles.program import run
from aclnn_viz.tiles.projects import CODES, Project, fits

SECONDS, PROCESSES = 900, 3  # pre_layer_norm, of 41 million elements, takes 380 s and more
SKIP = re.compile(
    r"(?i)matmul|mmad|cube|hccl|reg_|simd_vf|simt|nddma|tensor_api|_l1|l0c|build_out|/\.|/build/|npuchk"
)
# sources for other units, or for Ascend 950
MATRIX = re.compile(
    r"\b(Mmad|LoadData|Nd2NzParams|__cube__|Fixpipe|MatmulImpl|Matmul<|__simd_vf__|AllocMutexID|catlass|pto)\b"
)


def scattered(function, x, indices, updates):
    made = x.copy()
    function.at(made, indices, updates)
    return made


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def fast_gelu_slope(x):
    part = sigmoid(1.702 * x)
    return part + 1.702 * x * part * (1 - part)


def normed(x, eps, gamma, beta):
    return beta + gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


# of an integral from 0 to 1: those of Gauss and Legendre
NODES, WEIGHTS = (
    (each + shift) / 2 for each, shift in zip(np.polynomial.legendre.leggauss(99), (1, 0))
)


def rows(x):
    return np.exp(x - x.max(-1, keepdims=True))


# Right results of named operators, computed from float64 inputs in the operator's order.
REFERENCES = {
    **{
        name.replace("_", ""): getattr(np, name)
        for name in "abs cos sin tan tanh sinh cosh sqrt exp log trunc negative equal not_equal greater greater_equal less "
        "less_equal logical_or logical_and logical_not reciprocal isfinite isinf add fmax heaviside tril triu".split()
    },
    "neg": np.negative,
    "vecadd": np.add,
    "sub": np.subtract,
    "div": np.divide,
    "asinh": np.arcsinh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "addcdiv": lambda x, a, b, v: x + v * a / b,
    "addcmul": lambda x, a, b, v: x + v * a * b,
    "clipbyvalue": np.clip,
    "myadd": lambda a, b, c: a + b + c,
    "asinhgrad": lambda y, dy: dy / np.cosh(y),
    "lerp": lambda a, b, w: a + w * (b - a),
    "fastgelu": lambda x: x * sigmoid(1.702 * x),
    "isclose": lambda a, b: np.isclose(a, b),
    "leakyrelu": lambda x: np.where(x > 0, x, 0 * x),
    "softmax": lambda x: rows(x) / rows(x).sum(-1, keepdims=True),
    "xlogy": lambda x, y: x * np.log(y),
    "gather": lambda x, indices, *_: np.take_along_axis(x, indices[..., None], 1),
    "scattermax": lambda x, indices, updates, *_: scattered(np.maximum, x, indices, updates),
    "scattersub": lambda x, indices, updates, *_: scattered(np.subtract, x, indices, updates),
    "mselossgrad": lambda a, b, d: 2 * (a - b) * d / a.size,
    "spence": lambda x: -(np.log1p(np.multiply.outer(x - 1, NODES)) / NODES) @ WEIGHTS,
    "mulmulreducemeandtwice": lambda a, b, scale, eps, gamma, beta: normed(
        a * b * scale, eps, gamma, beta
    ),
    "moeinitrouting": lambda x, experts, *_: x[
        np.argsort(experts.ravel(), kind="stable") // experts.shape[1]
    ],
    "fastgelugrad": lambda dy, x: dy * fast_gelu_slope(x),
}

# What an outer function of the vendor's makes of its inputs, before it calls the operator: its page in CANN's documentation.
OUTER = {
    "aclnnHistc": lambda x, low, high: (
        (x, *(each(x.ravel(), keepdims=True) for each in (np.min, np.max)))
        if low == high
        else (x, low, high)
    )
}

# Why a source does not agree, as reading it tells: by the first digits of its SHA-256.
READ = {
    "dd5875fc098c5063": "in half, |x| / (1 + e) + min(x, 0) cancels for x < 0, so that NumPy's half is refused, too",
    "9fa33803a76086c5": "in rows longer than a tile the kernel takes a queue's length from tileLength, which has no value",
    "bf032b2457386b4b": "the tiling function refuses float32, the format of the example",
    "8b16eea93ca87eba": "a list of inputs is not offered",
    "e1df9313e8d2396b": "the kernel takes the exponents -2, -1, -0.5, 0.5, 2, 3; the outer function gives the example's, 4.1, "
    "to another operator",
}


def tried(kind: Callable, place: Path) -> tuple[str, str]:
    """Return the verdict on a source, and its hazards or missing parts; all processes of a trial end after SECONDS."""
    mine, theirs = Pipe()
    work = Process(target=lambda: (os.setpgrp(), theirs.send(kind(place))))
    work.start()
    theirs.close()
    try:
        return mine.recv() if mine.poll(SECONDS) else ("no answer", f"within {SECONDS} s")
    except EOFError:
        return "not run", "ended without an answer"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(work.pid, signal.SIGKILL)
        work.join()


def kernel(place: Path) -> tuple[str, str]:
    """Return whether each entry of a kernel can be launched on zeros."""
    try:
        source, hazards = cpp(place), []
        for name in source.names:
            given = [
                np.zeros(1 << 14, np.int32) if kind[0] == "p" else 8
                for _, kind in source[name].parameters
            ]
            hazards += run(source[name], *given).hazards
    except Exception as error:
        return "not compiled" if isinstance(error, CompileError) else "compiles", said(error)
    return "launched", listed(hazards) or "no reference here"


def project(place: Path) -> tuple[str, str]:
    one = None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            one = opened(place)
            if verdict := example(place, one):
                return verdict
            combination = next(
                (k for k, dtype in enumerate(one.inputs[0].types) if dtype == np.float32), 0
            )
            rng = np.random.default_rng(0)
            shape = (8, 2048) if "custom" in one.name.lower() else (16, 128)
            given = [
                (np.abs(rng.standard_normal(shape)) + 1).astype(each.types[combination] or "f4")
                for each in one.inputs
            ]
            try:
                run = one.launch(*given)
            except ValueError as error:
                if "no shape function" not in str(error):
                    raise
                run = one.launch(*given, shapes=[given[0].shape] * len(one.outputs))
    except (CompileError, NotImplementedError) as error:
        return "not compiled", said(error)
    except Exception as error:
        return compiles(one) if one else ("not run", said(error))
    hazards = listed(run.hazards)
    return by_numpy(one, Called(given, [], list(run.outputs.values()), run.hazards), hazards)


# A script without the statements that fail, such as those of a library that is absent.
SKIPPING = """
import ast, sys
from types import ModuleType, SimpleNamespace
import ml_dtypes
tensorflow = ModuleType("tensorflow")  # for the name of a format alone
tensorflow.bfloat16 = SimpleNamespace(as_numpy_dtype=ml_dtypes.bfloat16)
sys.modules.setdefault("tensorflow", tensorflow)
sys.argv = sys.argv[1:]
pass_by = lambda one: one if isinstance(one, (ast.Return, ast.FunctionDef, ast.ClassDef)) else ast.Try(
    [one], [ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])], [], [])
tree = ast.parse(open(sys.argv[0]).read())
for part in [tree, *(one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))]:
    part.body = list(map(pass_by, part.body))
exec(compile(ast.fix_missing_locations(tree), sys.argv[0], "exec"), {"__name__": "__main__"})
"""

# ---- The example that a project brings along -------------------------------------------------------------------------------

ACL = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*["<][^">]*\b(?:acl|aclnn|aclnnop|hccl|aclnn_\w+|acl_\w+)(?:/[^">]*)?(?:\.h)?[">]',
    re.M,
)


def example(place: Path, one) -> tuple[str, str] | None:
    """Return the verdict of a project's example: its data, its program, whose call the machine runs, and its script that judges.

    Return None if there is no example, or its data cannot be made here.
    """
    found = next(
        (
            folder
            for folder in sorted(place.glob("examples/*"))
            if all((folder / name).exists() for name in ("run.sh", "main.cpp", "gen_data.py"))
        ),
        None,
    )
    if not found:
        return None
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "example")
        shutil.copytree(found, folder)
        for name in ("build", "input", "output", "call"):
            (folder / name).mkdir(exist_ok=True)
        steps = read(folder / "run.sh")
        case = ["case1"] * ("$case_name" in steps)
        judges = re.findall(r"python3? +(verify_result\S*\.py)([^\n`;|#]*)", steps)
        data = python(folder, "gen_data.py", *case)
        own = not data.returncode
        if re.search(r"ret=`python3? +gen_data\.py.*?`.*\./execute\w+ +\$ret", steps, re.S):
            case = data.stdout.split()  # the generator tells the program a shape
        if not own:
            python(folder, "-c", SKIPPING, "gen_data.py", *case)
        made = compiled_example(folder)
        if made.returncode:
            return "example not compiled", said(made.stderr)
        judges = [[script, *more.split()] for script, more in judges] if own else []

        def judged(cores: int | None) -> tuple[str, str]:
            return judged_example(folder, ["./example", *case], one, judges, cores)

        answer = judged(8)
        if not answer[0].startswith("agrees"):
            # as on the device: all its cores, allocations of whole pages, no checks of a debug build
            one.padding, one.unchecked = PAGE, True
            with contextlib.suppress(ValueError):  # a host that cannot tile for so many cores
                why = f"on all cores, with {PAGE} bytes behind each tensor, InitBuffer unchecked"
                return better(answer, judged(None), why)
        return answer


def better(answer: tuple[str, str], other: tuple[str, str], why: str) -> tuple[str, str]:
    """Return the second answer, with the reason, if it agrees, else the first."""
    verdict, hazards = other
    return (verdict, "; ".join(filter(None, (hazards, why)))) if verdict[:6] == "agrees" else answer


def compiled_example(folder: Path) -> subprocess.CompletedProcess:
    """Compile an example's main.cpp with our header in the place of CANN's."""
    text = read(folder / "main.cpp")
    names = dict.fromkeys(re.findall(r"\b(acl\w+)GetWorkspaceSize\s*\(", text))
    operators = "".join(f"EXAMPLE_OPERATOR({name})\n" for name in names)
    (folder / "main.cpp").write_text(
        '#include "example_acl.h"\n' + operators + ACL.sub("//", text), "utf-8"
    )
    command = "g++ -std=c++17 -w -fpermissive main.cpp -o build/example -I".split()
    return ran(folder, *command, Path(__file__).parent)


PAGE = 4096  # bytes behind a tensor that a second try allows to read: the device allocates pages


def judged_example(
    folder: Path, command: list[str], one, judges: list[list[str]], cores: int | None
) -> tuple[str, str]:
    """Return the verdict of a compiled example, whose calls run on the machine, by its scripts or else by NumPy."""
    calls = calls_of(folder, command, one, cores)
    hazards = listed(each for call in calls for each in call.hazards)
    if not calls:
        return "compiles", "the example ends before it calls the operator"
    made = [each for each in (folder / "output").glob("*.bin") if "golden" not in each.name]
    if not judges or not made:  # some write nothing that their script could judge
        return by_numpy(one, calls[-1], hazards)
    for words in judges:  # a README that misnames the output
        if len(made) == 1 and words[1:] and not (folder / words[1]).exists():
            words[1] = str(made[0])
    judged = [python(folder, *words) for words in judges]
    words = " ".join(each.stdout + each.stderr for each in judged)
    wrong = any(each.returncode for each in judged) or re.search(r"(?i)fail|error", words)
    return by_script(not wrong and re.search("(?i)pass|success", words), words, hazards)


def by_script(fine, words: str, hazards: str) -> tuple[str, str]:
    """Return the verdict of scripts, with the hazards, or the end of their words if they find differences."""
    if fine:
        return "agrees with its script", hazards
    return "differs", hazards or words.strip()[-150:].replace("\n", " ")


def by_numpy(one, call: "Called", hazards: str) -> tuple[str, str]:
    """Return whether the outputs of a call are those of NumPy."""
    reference = REFERENCES.get(re.sub(r"custom|_|v\d+$", "", one.name.lower()))
    if reference is None:
        return "launched", hazards or "no reference here"
    try:
        with np.errstate(all="ignore"):
            right = np.asarray(
                reference(
                    *[
                        each if each.dtype.kind in "iu" else each.astype("f8")
                        for each in call.inputs
                    ],
                    *call.values,
                )
            )
    except (TypeError, ValueError, IndexError):
        return "launched", hazards or "other inputs than those of the reference"
    made = call.outputs[0]
    if made.size != right.size:
        return "launched", hazards or f"{made.size} elements, not {right.size}"
    near = 1e-2 if any(each.dtype.itemsize == 2 for each in call.inputs) else 1e-4
    close = np.allclose(made.astype("f8").ravel(), right.ravel(), near, near, equal_nan=True)
    return ("agrees" if close else "differs") + " with NumPy" * close, hazards


def calls_of(folder: Path, command: list[str], one, cores: int | None) -> "list[Called]":
    """Run an example; return its calls of the operator, which run on the machine."""
    calls, called = [], folder / "call"
    (asks, asked), (answered, answers) = os.pipe(), os.pipe()
    program = subprocess.Popen(
        command,
        cwd=folder / "build",
        pass_fds=[asked, answered],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            "EXAMPLE_CALL": str(called),
            "EXAMPLE_TO": str(asked),
            "EXAMPLE_FROM": str(answered),
        },
    )
    os.close(asked), os.close(answered)
    try:
        while os.read(asks, 1):
            calls.append(machine_call(called, one, cores))
            os.write(answers, b"\0")
    finally:
        os.close(asks), os.close(answers)
        program.kill()
        program.wait()
    return calls


@dataclass
class Called:
    """A call of an operator: what it took, copies of its inputs, and what it made."""

    inputs: list
    values: list
    outputs: list
    hazards: list


def machine_call(called: Path, one, cores: int | None) -> Called:
    """Launch a kernel with the arguments of an example's call, and write its outputs."""
    given, files = arguments_of(called)
    tensors = [value for value in given if isinstance(value, np.ndarray)]
    taken = [parameter.name for parameter in one.inputs]
    fresh = [parameter for parameter in one.outputs if parameter.name not in taken]
    rest, results = given[: len(given) - len(fresh)], given[len(given) - len(fresh) :]
    inputs, attributes = rest[: len(taken)], rest[len(taken) :]
    # an outer function may take an attribute before an input that is a scalar
    objects = [each for each in rest if isinstance(each, np.ndarray | np.generic)]
    if len(objects) == len(taken):
        inputs = objects
        attributes = [each for each in rest if not isinstance(each, np.ndarray | np.generic)]
    # the combination in OpDef of these formats, the first if none fits
    given = [*zip((*one.inputs, *fresh), (*inputs, *results))]
    pairs = [pair for pair in given if isinstance(pair[1], np.ndarray)]
    places = range(max(len(each.types) for each in one.inputs or one.outputs))
    k = next((place for place in places if fits(place, pairs)), 0)
    arrays = [
        value
        if value is None or isinstance(value, np.ndarray)
        else np.atleast_1d(np.asarray(value, each.types[k] if each.types else None))
        for each, value in zip(one.inputs, inputs)
    ]
    formats = [each.types[min(k, len(each.types) - 1)] for each in one.outputs]
    one.formats = lambda _: formats  # of this call, where inputs alone do not tell
    one.zeroed, one.in_place = True, not fresh  # the example copies zeros there
    shapes = [
        arrays[taken.index(each.name)].shape
        if each.name in taken
        # an output that the example leaves out is None
        else getattr(results[fresh.index(each)], "shape", (8,))
        for each in one.outputs
    ]
    values = {
        each.name: value.item() if isinstance(value, np.generic) else value
        for each, value in zip(one.attributes, attributes)
    }
    name = re.findall(r"(\w+)GetWorkspaceSize\(", read(called.parent / "main.cpp"))[0]
    arrays = list(OUTER.get(name, lambda *same: same)(*arrays))
    outer = read(*one.folder.glob("op_host/aclnn*.cpp"))
    if "l0op::BroadcastTo" in outer and all(each is not None for each in arrays):
        arrays = [np.ascontiguousarray(each) for each in np.broadcast_arrays(*arrays)]
    # the memories of the inputs, which a kernel may change
    held = []
    one._memories = lambda *each: held.append(Project._memories(one, *each)) or held[0]
    run = one.launch(*arrays, shapes=shapes, cores=cores, **values)
    made = {id(value): memory.array for value, memory in zip(arrays, held[0][0]) if memory}
    present = [value for value in arrays if value is not None]
    made |= {id(value): run.outputs[each.name] for each, value in zip(fresh, results)}
    for value, file in zip(tensors, files):
        if id(value) in made:
            # an outer function casts to the format of its output
            np.ascontiguousarray(made[id(value)]).astype(value.dtype).tofile(file)
    # an operator without outputs changes its first input
    outputs = [memory.array for memory in held[0][1]] or [made[id(present[0])]]
    return Called(present, list(values.values()), outputs, run.hazards)


def arguments_of(called: Path) -> tuple[list, list[Path]]:
    """Return the arguments of an example's call, and the file of each tensor."""
    given, files = [], []
    for text in (called / "call").read_text("utf-8").splitlines():
        match json.loads(text):
            case ["tensor", code, shape]:
                files.append(called / str(len(files)))
                given.append(np.fromfile(files[-1], CODES[code]).reshape(shape))
            case ["scalar", code, numbers]:
                given.append(np.frombuffer(bytes(numbers), CODES[code])[0])
            case [_, value]:
                given.append(value)
    return given, files


def opened(place: Path) -> Project:
    """Return the project of a folder; for several operators the first."""
    try:
        return Project(place)
    except ValueError as error:
        several = re.search(r"\(OP_ADD\): (\w+),", str(error))
        if not several:
            raise
        return Project(place, several[1])


def compiles(one) -> tuple[str, str]:
    """Return whether a failing project's kernel compiles in the formats of its first combination."""
    dtypes = [
        [next(filter(None, each.types[:1]), np.dtype("f4")) for each in part]
        for part in (one.inputs, one.outputs)
    ]
    try:
        one.compiled(*dtypes)
    except Exception as error:
        return "not compiled", said(error)
    return "compiles", "host and kernel; the call has inputs that it does not mean"


def listed(hazards) -> str:
    return "; ".join(sorted({f"{each.kind} (line {each.line})" for each in hazards}))


def read(*files: Path) -> str:
    return "\n".join(one.read_text("utf-8", "replace") for one in files)


def python(where: Path, *words) -> subprocess.CompletedProcess:
    return ran(where, sys.executable, *words)


def ran(where: Path, *command) -> subprocess.CompletedProcess:
    return subprocess.run(
        [*map(str, command)],
        cwd=where,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def scenario(text: str) -> str:
    """Return the first scenario that a README names."""
    first = re.search(r"^ *SCENARIO=(\d)", text, re.M)
    return "1" if "SCENARIO_NUM" in text else first[1] if first else "0"


def scripts(folder: Path):
    """Return the README's commands that generate data and judge the output; None if none judges."""
    text = read(*folder.glob("README.md"), *folder.glob("run.sh"))
    calls = [
        re.split("[#;`]", re.sub(r"\$\{?\w+\}?", scenario(text), one))[0].split()
        for one in re.findall(r"python3? +(\S*scripts/(?:gen_data|verify_result)\.py[^\n&]*)", text)
    ]
    generate = next((one for one in calls if "gen_data" in one[0]), ["scripts/gen_data.py"])
    return generate, next((one for one in calls if "verify" in one[0]), None)


# hazards after which a core stops
STOPPED = r"beyond|full|format|not init|queue|too many|of no bytes|deadlock|unpaired|ended"


def program(place: Path) -> tuple[str, str]:
    """Run a program by its README: generate data, run, verify, in a copy of its folder."""
    # always the same path, so that the same source is compiled once
    own = hashlib.sha256(str(place).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), "aclnn_viz_sources", own, place.parent.name)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        shutil.copytree(place.parent, folder)
        for name in ("input", "output", "build/input", "build/output"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        generate, verify = scripts(folder)
        where = folder / ("build" if generate[0].startswith("..") else "")
        made = read(*folder.glob("CMakeLists.txt"))
        defines = ["-D", "SCENARIO_NUM=1"] * ("SCENARIO_NUM" in made)
        about = read(*folder.glob("README.md"))
        defines += ["-D", f"SCENARIO={scenario(about)}"] * bool(
            re.search(r"^ +SCENARIO=", made, re.M) or 'set(SCENARIO "0"' in made
        )
        if (where / generate[0]).exists() and (made := python(where, *generate)).returncode:
            made = python(where, "-c", SKIPPING, *generate)
            if made.returncode:
                return "not run", "gen_data.py: " + made.stderr.strip().rpartition("\n")[2][:150]
        others = [
            part
            for one in folder.glob("*.[ca][ps]*" if place.suffix == ".cpp" else "*.cpp")
            if one.name != place.name
            for part in ("--with", one)
        ]

        def verdict(*more: str) -> tuple[str, str]:
            return judged_run(
                folder, where, place.name, [*defines, *more, "-I", folder, *others], verify
            )

        found = verdict()
        if found[0] == "differs":  # a program may rely on zeros that CANN does not promise
            why = "where memory of aclrtMalloc holds zeros (-D ACLNN_VIZ_ZEROED)"
            return better(found, verdict("-D", "ACLNN_VIZ_ZEROED"), why)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judged_run(folder: Path, where: Path, name: str, options: list, verify) -> tuple[str, str]:
    """Run a program of a folder in `where`; return the verdict of the script that judges, or else of the program's words."""
    ran = python(where, "-m", "aclnn_viz.cli", "cpp", "run", folder / name, "--json", *options)
    left = SimpleNamespace(status=ran.returncode, hazards=[], output="", said=[ran.stderr])
    if ran.stdout:
        left = json.loads(ran.stdout, object_hook=lambda one: SimpleNamespace(**one))
    hazards = listed(left.hazards)
    if left.status not in (0, 1) or left.status and not hazards or "program ended" in hazards:
        text = "; ".join(left.said) or left.output.strip()
        return "not run", said(text) if "error" in text else text[-200:].replace("\n", " ")
    golden, judge = where / "output" / "golden.bin", folder / "scripts" / "verify_result.py"
    made = [one for one in sorted(golden.parent.glob("*.bin")) if one != golden]
    if verify is None and made and golden.exists() and judge.exists():
        verify = [judge, made[0], golden]
    if verify is None:
        if re.search(STOPPED, hazards) or re.search(r"(?i)fail|\berror", left.output):
            return "differs", hazards or "by its own words"
        passed = re.search(r"(?i)pass|success", left.output)
        words = "agrees by its own words" if passed else "runs"
        return words, hazards or "has no script that judges"
    judged = python(where, *verify)
    if judged.returncode and "ModuleNotFoundError" in judged.stderr:
        judged = python(where, "-c", SKIPPING, *verify)
    fine = not judged.returncode and not re.search(r"(?i)fail|\[error", judged.stdout)
    return by_script(fine, judged.stdout + judged.stderr, hazards)


def said(error) -> str:
    text = str(error)
    errors = re.findall(r"error: ([^\n]*)", text)
    return (errors[0] if errors else text.replace("\n", " "))[:170]


def sources(root: Path):
    """Yield (kind, place, files) of each source, without files whose content occurred before."""
    for folder in sorted(root.rglob("op_kernel")):
        place = folder.parent
        if not (place / "op_host").is_dir() or SKIP.search(str(folder)):
            continue
        if re.search("#include.*torch", read(*place.glob("op_host/*.cpp"))):
            for file in sorted(folder.glob("*.cpp")):
                text = read(file, *folder.rglob("*.h"))
                if "__global__" in text and not MATRIX.search(text):
                    yield kernel, file, [file]
        else:
            yield (
                project,
                place,
                [
                    one
                    for one in sorted(folder.rglob("*"))
                    if one.suffix in (".cpp", ".h") and "/." not in str(one)
                ],
            )
    for place in sorted(
        {one.parent for one in root.rglob("*.asc")}
        | {one.parent.parent for one in root.rglob("gen_data.py")}
    ):
        if SKIP.search(str(place)) or (place / "op_kernel").exists():
            continue
        files = sorted((*place.glob("*.asc"), *place.glob("*.cpp"), *place.glob("*.h")))
        mains = [
            one for one in files if one.suffix != ".h" and re.search(r"\bmain\s*\(", read(one))
        ]
        about = read(*place.glob("README.md"))
        if (
            len(mains) == 1
            and not MATRIX.search(read(*files))
            and ("Atlas A2" in about or not re.search("Atlas|Ascend 950", about))
        ):
            yield program, mains[0], files


def public(path: Path, folders):
    """Try each source that has no row in a file, several at once, and print all rows in the order of the folders."""
    found = {}
    for root in (Path(folder).resolve() for folder in folders):
        commit = (root / ".commit").read_text("utf-8").strip()[:10]
        for kind, place, files in sources(root):
            digest = hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:16]
            cells = [root.name.replace("+", "/"), commit, str(place.relative_to(root)), digest]
            found.setdefault(digest, (kind, place, [*cells, kind.__name__]))
    with kept(path) as (rows, add), ProcessPoolExecutor(PROCESSES) as pool:
        known = [row[:5] for row in rows]
        left = {
            pool.submit(tried, kind, place): cells
            for kind, place, cells in found.values()
            if cells not in known
        }
        for one in as_completed(left):
            add([*left[one], *one.result()])
        made = {row[3]: row for row in rows}
    for digest in found:
        *cells, verdict, missing = made[digest]
        if verdict[:6] != "agrees":
            missing = "; ".join(filter(None, (missing, READ.get(digest))))
        cells += verdict, missing
        print(line(*(one.replace("|", "\\|") for one in cells)), end="")


if __name__ == "__main__":
    public(Path(sys.argv[1]), sys.argv[2:])
