"""Builds the stand-in for CANN's libraries: a root with `lib64/` and `include/`, as CANN installs them."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from standin import generic

HERE = Path(__file__).resolve().parent
SEEDS = HERE / "seeds"
# compiled once per state of the sources, for any root
OBJECTS = HERE.parents[1] / "build" / "standin"
COMPILER = shutil.which("g++")

OPERATORS = {
    "nn": ("hardswish", "rms_norm", "cross_entropy", "group_norm_swish"),
    "cv": ("grid_sampler",),
}
LAYOUTS = {
    "8.x": {
        "runtime": "ascendcl",
        "operators": {"opapi": OPERATORS["nn"] + OPERATORS["cv"]},
        "cann": "8.1.0",
    },
    "9.x": {
        "runtime": "acl_rt",
        "operators": {f"opapi_{k}": v for k, v in OPERATORS.items()},
        "cann": "9.1.0",
    },
}


def _run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def _kept(key: tuple, suffix: str, *command: object) -> Path:
    """Return the compiler's result, stored by key and compiler."""
    OBJECTS.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr((Path(COMPILER).resolve(), *key)).encode()).hexdigest()
    path = OBJECTS / f"{digest[:24]}{suffix}"
    with open(path.with_suffix(".lock"), "wb") as lock:
        # another worker of the tests waits instead of building the same
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            mine = path.with_suffix(".new")
            _run(COMPILER, *command, "-o", mine)
            os.replace(mine, path)
    return path


def _compiled(source: Path, include: Path, *flags: str) -> Path:
    read = [source, *sorted((HERE / "src").glob("*.h")), *sorted(include.rglob("*.h"))]
    return _kept(
        (source.name, flags, [path.read_bytes() for path in read]),
        ".o",
        "-std=c++17",
        *flags,
        f"-I{include}",
        "-c",
        source,
    )


def _object(
    name: str, flags: tuple[str, ...], include: Path = HERE / "include", source: Path | None = None
) -> Path:
    return _compiled(
        source or HERE / "src" / f"{name}.cpp",
        include,
        "-O0",
        "-fPIC",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{HERE / 'src'}",
        *flags,
    )


def build(
    root: Path,
    layout: str = "8.x",
    *,
    missing: tuple[str, ...] = (),
    missing_driver: bool = False,
    stubs: bool = False,
    float_cross_entropy: bool = False,
    all_in_one: bool = False,
    custom: bool = False,
    headers: bool = True,
    header_edit: tuple[str, str, str] | None = None,
) -> Path:
    """Build a root and return it.

    layout: "8.x" (libascendcl, libnnopbase, libopapi) or "9.x" (libacl_rt, libnnopbase, libopapi_nn, libopapi_cv).
    missing: symbols that no library exports. missing_driver: the runtime depends on an absent libascend_hal.so.
    stubs: every call answers 100039, as in `devlib/`. float_cross_entropy: header and library take float attributes.
    all_in_one: "9.x" also has the deprecated libopapi.so. headers: False leaves `include/` empty, as on runtime images.
    custom: `opp/vendors/customize/op_api/lib/libcust_opapi.so` exports aclnnHardswishBackward with the open interval.
    header_edit: (header, old, new) changes an installed header after the libraries were built.
    """
    plan = LAYOUTS[layout]
    include, lib64 = root / "include", root / "lib64"
    shutil.copytree(HERE / "include", include)
    lib64.mkdir()
    others = defaultdict(list)
    for op in generic.without_their_own():
        (include / "aclnnop" / op.header).write_text(generic.header(op))
        others[op.library.removeprefix("ops-")].append(op)
    if layout == "8.x":  # 8.1 has no aclFinalizeReference
        _edit(include / "acl/acl_rt.h", "aclError aclFinalizeReference(uint64_t *refCount);\n", "")
    if float_cross_entropy:
        _edit(include / "aclnnop/aclnn_cross_entropy_loss_grad.h", "double ", "float ")

    flags = {
        "state": (
            f'-DSTANDIN_DEFAULT_CANN="{plan["cann"]}"',
            *(["-DSTANDIN_STUB"] if stubs else []),
        ),
        "runtime": ("-DSTANDIN_SPLIT",) if layout == "9.x" else (),
    }
    names = [
        "state",
        "runtime",
        "memory",
        "nnopbase",
        "tensors",
        *OPERATORS["nn"],
        *OPERATORS["cv"],
    ]
    with ThreadPoolExecutor(2) as pool:
        objects = dict(zip(names, pool.map(lambda name: _object(name, flags.get(name, ())), names)))
    made = {}
    for kind, ops in others.items():
        (source := root / f"{kind}.cpp").write_text(generic.source(ops))
        made[kind] = _object(kind, (), source=source)
        source.unlink()
    if float_cross_entropy:
        objects["cross_entropy"] = _object("cross_entropy", ("-DSTANDIN_CE_REAL=float",), include)

    script = root / "symbols.map"
    script.write_text(
        "{ global: *; local: " + "".join(f"{symbol}; " for symbol in missing) + "};\n"
    )

    def link(library: Path, parts: list[Path], *needs: str, origin: str = "$ORIGIN") -> None:
        made = _kept(
            (library.name, missing, parts, needs, origin),
            ".so",
            "-shared",
            f"-Wl,-soname,{library.name}",
            f"-Wl,-rpath,{origin}",
            *([f"-Wl,--version-script={script}"] if missing else []),
            *parts,
            f"-L{lib64}",
            "-Wl,--no-as-needed",
            *(f"-l{need}" for need in needs),
        )
        shutil.copy(made, library)

    driver = lib64 / "libascend_hal.so"
    if missing_driver:
        link(driver, [])
    link(
        lib64 / f"lib{plan['runtime']}.so",
        [objects[part] for part in ("state", "runtime", "memory")],
        *(["ascend_hal"] if missing_driver else []),
    )
    driver.unlink(missing_ok=True)
    link(lib64 / "libnnopbase.so", [objects["nnopbase"], objects["tensors"]], plan["runtime"])
    operators = plan["operators"] | (LAYOUTS["8.x"]["operators"] if all_in_one else {})
    for name, parts in operators.items():
        more = [part for kind, part in made.items() if name in ("opapi", f"opapi_{kind}")]
        link(
            lib64 / f"lib{name}.so",
            [objects[part] for part in parts] + more,
            "nnopbase",
            plan["runtime"],
        )
    if custom:
        vendors = root / "opp" / "vendors"
        (vendors / "customize/op_api/lib").mkdir(parents=True)
        (vendors / "config.ini").write_text("load_priority=customize\n")
        link(
            vendors / "customize/op_api/lib/libcust_opapi.so",
            [_object("hardswish", ("-DSTANDIN_OPEN_INTERVAL",))],
            "nnopbase",
            plan["runtime"],
            origin="$ORIGIN/../../../../../lib64",
        )
    script.unlink()
    if header_edit:
        _edit(include / header_edit[0], *header_edit[1:])
    if not headers:
        shutil.rmtree(include)
        include.mkdir()
    return root


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    if old not in text:
        raise ValueError(f"text to replace: not found in {path}: {old!r}; look at the header")
    path.write_text(text.replace(old, new))


def compile_program(source: Path, root: Path, program: Path, *flags: str) -> Path:
    """Compile and link a C++ program against a root, as the vendor's pages say, and return the executable."""
    compiled = _compiled(source, root / "include", *(flags or ("-Wno-write-strings",)))
    lib64 = root / "lib64"
    libraries = sorted(path.name[3:-3] for path in lib64.glob("lib*.so"))
    _run(
        COMPILER,
        compiled,
        "-o",
        program,
        f"-L{lib64}",
        f"-Wl,-rpath,{lib64}",
        *(f"-l{name}" for name in libraries),
    )
    return program
