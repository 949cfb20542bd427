"""Run published Ascend C sources, unchanged, on the tile machine: `python benchmarks/sources.py FOLDER... >
benchmarks/reports/sources.md`.

Each FOLDER is a checkout of a repository, called OWNER+NAME, with its commit in the file `.commit`. Two kinds of source are
tried: an operator project (op_host beside op_kernel), whose tiling function runs and whose kernel is launched on arrays, and
is compared with NumPy if REFERENCES has its name; and a program (a file with main, its kernels beside it) with
scripts/gen_data.py, which makes its data, and verify_result.py, which judges them. The sources are not kept.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from multiprocessing import Process, Queue
from pathlib import Path

import numpy as np
from records import ROOT, line

SECONDS = 90
SKIP = re.compile(
    r"(?i)matmul|mmad|cube|hccl|reg_|simd_vf|simt|nddma|tensor_api|_l1|l0c|build_out|/\.|/build/|npuchk"
)
# sources for other units, or for Ascend 950
MATRIX = re.compile(
    r"\b(Mmad|LoadData|Nd2NzParams|__cube__|Fixpipe|MatmulImpl|Matmul<|__simd_vf__|AllocMutexID)\b"
)


def rows(x):
    return np.exp(x - x.max(-1, keepdims=True))


# Right results of named operators, computed from float64 inputs in the operator's order.
REFERENCES = {
    **{
        name.replace("_", ""): getattr(np, name)
        for name in "abs cos sin tan tanh sinh cosh sqrt exp log trunc negative equal not_equal greater greater_equal less "
        "less_equal logical_or logical_and logical_not reciprocal".split()
    },
    "neg": np.negative,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "swish": lambda x: x / (1 + np.exp(-x)),
    "addcdiv": lambda x, a, b, v: x + v * a / b,
    "addcmul": lambda x, a, b, v: x + v * a * b,
    "clipbyvalue": lambda x, low, high: np.clip(x, low, high),
    "gcd": lambda a, b: np.gcd(a.astype(int), b.astype(int)),
    "angle": lambda x: np.where(x < 0, np.pi, 0),
    "add": lambda a, b: a + b,
    "myadd": lambda a, b, c: a + b + c,
    "vecadd": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "div": lambda a, b: a / b,
    "fmax": lambda a, b: np.fmax(a, b),
    "sinh": np.sinh,
    "asinh": np.arcsinh,
    "notequal": lambda a, b: a != b,
    "lessequal": lambda a, b: a <= b,
    "asinhgrad": lambda y, dy: dy / np.cosh(y),
    "lerp": lambda a, b, w: a + w * (b - a),
    "fastgelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "heaviside": lambda x, v: np.heaviside(x, v),
    "isclose": lambda a, b: np.isclose(a, b),
    "leakyrelu": lambda x: np.where(x > 0, x, 0 * x),
    "softmax": lambda x: rows(x) / rows(x).sum(-1, keepdims=True),
    "tril": np.tril,
    "triu": np.triu,
    "xlogy": lambda x, y: x * np.log(y),
    "mselossgrad": lambda a, b, d: 2 * (a - b) * d / a.size,
    "adds": lambda x: x + 2,
    "fastgelugrad": lambda dy, x: (
        dy
        * (
            1 / (1 + np.exp(-1.702 * x))
            + 1.702 * x * np.exp(-1.702 * x) / (1 + np.exp(-1.702 * x)) ** 2
        )
    ),
}


def tried(kind: str, place: Path) -> tuple[str, str]:
    """Return the verdict on a source, and its hazards or missing parts; a separate process ends after SECONDS."""
    answers = Queue()
    work = Process(target=lambda: answers.put(KINDS[kind](place)))
    work.start()
    try:
        return answers.get(timeout=SECONDS)
    except Exception:
        return "no answer", f"within {SECONDS} s"
    finally:
        work.kill()
        work.join()


def project(place: Path) -> tuple[str, str]:
    from aclnn_viz.tiles.compiler import CompileError
    from aclnn_viz.tiles.projects import Project

    one = None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            one = opened(place, Project)
            called = re.sub(r"custom|_|v\d+$", "", one.name.lower())
            reference = REFERENCES.get(called)
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
    hazards = listed((each.kind, each.line) for each in run.hazards)
    if reference is None:
        return "launched", hazards or "no reference here"
    try:
        with np.errstate(all="ignore"):
            right = np.asarray(reference(*(each.astype(np.float64) for each in given)))
    except TypeError:
        return "launched", hazards or "other inputs than those of the reference"
    made = next(iter(run.outputs.values()))
    if made.size != right.size:
        return "launched", hazards or f"{made.size} elements, not {right.size}"
    size = max((each.dtype.itemsize for each in given if each.dtype.kind == "f"), default=4)
    close = np.allclose(
        made.astype(np.float64).ravel(),
        right.ravel(),
        *((1e-2, 1e-2) if size == 2 else (1e-4, 1e-4)),
        equal_nan=True,
    )
    return ("agrees" if close else "differs") + " with NumPy" * close, hazards


def opened(place: Path, Project):
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
        [(each.types[:1] or [np.dtype("f4")])[0] or np.dtype("f4") for each in part]
        for part in (one.inputs, one.outputs)
    ]
    try:
        one.compiled(*dtypes)
    except Exception as error:
        return "not compiled", said(error)
    return "compiles", "host and kernel; the call has inputs that it does not mean"


def listed(hazards) -> str:
    return "; ".join(sorted({f"{kind} (line {line})" for kind, line in hazards}))


def read(*files: Path) -> str:
    return "\n".join(one.read_text("utf-8", "replace") for one in files)


def python(where: Path, *words) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=where,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def scripts(folder: Path):
    """Return the README's commands that generate data and judge the output; None if none judges."""
    text = read(*folder.glob("README.md"), *folder.glob("run.sh"))
    calls = [
        re.sub(r"\$\{?\w+\}?", "1" if "SCENARIO_NUM" in text else "0", one)
        .split("#")[0]
        .split(";")[0]
        .split("`")[0]
        .split()
        for one in re.findall(r"python3? +(\S*scripts/(?:gen_data|verify_result)\.py[^\n&]*)", text)
    ]
    generate = next((one for one in calls if "gen_data" in one[0]), ["scripts/gen_data.py"])
    return generate, next((one for one in calls if "verify" in one[0]), None)


# hazards after which a core stops
STOPPED = r"beyond|full|format|not init|queue|too many|of no bytes|deadlock|unpaired|ended"


def verdict_of(where: Path, verify, output: str, hazards) -> tuple[str, str]:
    """Return the verdict of the judging script on a program's run, or else the program's words."""
    if verify is None:
        if re.search(STOPPED, hazards):
            return "differs", hazards
        if re.search(r"(?i)fail|\berror", output):
            return "differs", hazards or "by its own words"
        return (
            "agrees by its own words" if re.search(r"(?i)pass|success", output) else "runs"
        ), hazards or "has no script that judges"
    judged = python(where, *verify)
    fine = not judged.returncode and not re.search(r"(?i)fail|\[error", judged.stdout)
    return "agrees with its script" if fine else "differs", hazards or (
        "" if fine else (judged.stdout + judged.stderr).strip()[-150:].replace("\n", " ")
    )


def program(place: Path) -> tuple[str, str]:
    """Run a program by its README: generate data, run, verify, in a copy of its folder."""
    # one path for all, so that the same source is compiled once
    with contextlib.ExitStack() as gone:
        folder = Path(tempfile.gettempdir(), "aclnn_viz_sources", place.parent.name)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place.parent, folder)
        gone.callback(shutil.rmtree, folder, True)
        (build := folder / "build").mkdir(exist_ok=True)
        for name in ("input", "output"):
            (build / name).mkdir(exist_ok=True)
            (folder / name).mkdir(exist_ok=True)
        generate, verify = scripts(folder)
        where = build if generate[0].startswith("..") else folder
        made = read(*folder.glob("CMakeLists.txt"))
        defines = ["-D", "SCENARIO_NUM=1"] * ("SCENARIO_NUM" in made)
        defines += ["-D", "SCENARIO=0"] * ('set(SCENARIO "0"' in made)
        if (where / generate[0]).exists() and (made := python(where, *generate)).returncode:
            return "not run", "gen_data.py: " + made.stderr.strip().rpartition("\n")[2][:150]
        others = [
            part
            for one in folder.glob("*.cpp")
            if one.name != place.name
            for part in ("--with", one)
        ]
        ran = python(
            where,
            "-m",
            "aclnn_viz.cli",
            "cpp",
            "run",
            folder / place.name,
            "--json",
            *defines,
            "-I",
            folder,
            *others,
        )
        left = (
            json.loads(ran.stdout)
            if ran.stdout
            else {"status": ran.returncode, "hazards": [], "output": "", "said": [ran.stderr]}
        )
        hazards = listed((one["kind"], one["line"]) for one in left["hazards"])
        if (
            left["status"] not in (0, 1)
            or left["status"] == 1
            and not hazards
            or "program ended" in hazards
        ):
            text = "; ".join(left["said"]) or left["output"].strip()
            return "not run", said(text) if "error" in text else text[-200:].replace("\n", " ")
        golden, judge = where / "output" / "golden.bin", folder / "scripts" / "verify_result.py"
        made = [one for one in sorted(golden.parent.glob("*.bin")) if one != golden]
        if verify is None and made and golden.exists() and judge.exists():
            verify = [judge, made[0], golden]
        return verdict_of(where, verify, left["output"], hazards)


KINDS = {"project": project, "program": program}


def said(error) -> str:
    text = str(error)
    errors = re.findall(r"error: ([^\n]*)", text)
    return (errors[0] if errors else text.replace("\n", " "))[:170]


def sources(root: Path):
    """Yield (kind, place, files) of each source, without files whose content occurred before."""
    for folder in sorted(root.rglob("op_kernel")):
        place = folder.parent
        if (place / "op_host").is_dir() and not SKIP.search(str(folder)):
            yield (
                "project",
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
            yield "program", mains[0], files


def public(folders):
    print(
        "| repository | commit | source | SHA-256 | kind | verdict | hazards, or what is missing |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    seen: set[str] = set()
    for root in (Path(folder).resolve() for folder in folders):
        commit = (root / ".commit").read_text("utf-8").strip()[:10]
        for kind, place, files in sources(root):
            digest = hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()
            if digest in seen:
                continue
            seen.add(digest)
            verdict, missing = tried(kind, place)
            cells = (
                root.name.replace("+", "/"),
                commit,
                str(place.relative_to(root)),
                digest[:16],
                kind,
                verdict,
                missing,
            )
            print(line(*(one.replace("|", "\\|") for one in cells)), end="", flush=True)


if __name__ == "__main__":
    public(sys.argv[1:])
