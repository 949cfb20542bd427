"""Run operator projects as the vendor's msopgen lays them out: `op_host` with definition and tiling function, `op_kernel` with
the kernel.

The host's sources are compiled against headers of our own into a program that describes the operator and tiles one call. The
kernel is compiled for the types of that call, and launched with the cores, the key, the workspace and the struct that the
tiling function chose.
"""

import os
import re
import resource
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.children import Child
from aclnn_viz.errors import invalid, mistyped, place_of, problem, shown
from aclnn_viz.operators import operator
from aclnn_viz.operators.products import SOC
from aclnn_viz.storage.readers import SOURCES
from aclnn_viz.tiles import program
from aclnn_viz.tiles.compiler import CompileError, above, options_of
from aclnn_viz.tiles.cpp import NOISE, SECONDS, CppKernel, compiled, cpp, entries_of, snake
from aclnn_viz.tiles.memory import GlobalMemory
from aclnn_viz.tiles.platforms import Platform, bfloat16_t, c_name
from aclnn_viz.tiles.program import Program, Run, Tiling

# Number of ge::DataType for each format, and its name: graph/types.h of metadef.
TYPES = {
    np.dtype(name): (code, f"DT_{said}")
    for name, code, said in (
        ("float32", 0, "FLOAT"),
        ("float16", 1, "FLOAT16"),
        ("int8", 2, "INT8"),
        ("int32", 3, "INT32"),
        ("uint8", 4, "UINT8"),
        ("int16", 6, "INT16"),
        ("uint16", 7, "UINT16"),
        ("uint32", 8, "UINT32"),
        ("int64", 9, "INT64"),
        ("uint64", 10, "UINT64"),
        ("float64", 11, "DOUBLE"),
        ("bool", 12, "BOOL"),
        ("complex64", 16, "COMPLEX64"),
        (bfloat16_t, 27, "BF16"),
    )
}
CODES = {code: dtype for dtype, (code, _) in TYPES.items()}
HOST = (
    "seconds",
    "padding",
    "zeroed",
    "in_place",
    "unchecked",
)  # options of CppKernel that describe the host
OPTIONAL = 1  # value of ParamType in OpDef for an optional parameter
# A source that includes one of these headers only registers operators, or calls others (layer 0, aclnn).
CALLS_ONLY = re.compile(r'#\s*include\s*[<"](?:aclnn\w*|opdev|level[02]|op_api|acl)/')
ABSENT = {
    r"\bTCubeTiling\b|MultiCoreMatmulTiling|\bmatmul_tiling\b": "the matrix unit's tiling (matmul_tiling)",
    r"\bMc2\w*Tiling\b|\bHCCL\b|\bhccl": "communication between devices (HCCL)",
}


@dataclass(frozen=True)
class Parameter:
    """An input, an output or an attribute of OpDef; `types` are the formats of each combination, `letter` an attribute's kind."""

    name: str
    optional: bool = False
    types: tuple[np.dtype | None, ...] = ()
    letter: str = ""


class Project:
    """One operator of a folder: `inputs`, `outputs` and `attributes` of its OpDef, its `kernel` file and its tiling function.

    `op` selects an operator if a folder defines several, `defines` and `include` are as in `cpp`; `left_out` lists the sources
    that only register or call operators; options of the host are as in CppKernel. Raise FileNotFoundError or ValueError for a
    missing part, CompileError with the compiler's text, and NotImplementedError for tilings of the matrix unit and of HCCL.
    """

    seconds, padding, zeroed, in_place, unchecked = SECONDS, 0, False, False, False

    def __init__(
        self,
        folder,
        op: str | None = None,
        defines: Mapping[str, str] | None = None,
        include: Sequence = (),
    ):
        self.defines, self.include = dict(defines or {}), [place_of(one) for one in include]
        folder = place_of(folder).resolve()
        hosts = [host for host in _own(folder, "op_host") if (host.parent / "op_kernel").is_dir()]
        if len(hosts) != 1:
            raise invalid(
                "a project has one folder with op_host and op_kernel",
                f"{len(hosts)} in {folder.name}",
                "name such a folder",
            )
        self.folder = hosts[0].parent
        texts = {one: one.read_text("utf-8", "replace") for one in _own(hosts[0], "*.c[cp]*")}
        sources = [one for one, text in texts.items() if not CALLS_ONLY.search(text)]
        self.left_out = tuple(one.name for one in texts if one not in sources)
        text = "\n".join(texts[one] for one in sources)
        plain = NOISE.sub(lambda match: match[0] if match[0][0] == '"' else "", text)
        for pattern, what in ABSENT.items():
            if re.search(pattern, plain):
                raise NotImplementedError(
                    problem(
                        "the kit runs tiling functions of vector kernels",
                        what,
                        "give the struct yourself: av.tiles.cpp(FILE)[ENTRY].program(op, tiling)",
                    )
                )
        options = [
            *options_of(self.defines, self.include),
            f"-I{hosts[0]}",
            f"-I{self.folder / 'op_kernel'}",
            "-DOP_TILING_LIB",
            "-DACLNN_VIZ_HOST",
        ]
        first, *others = [(one, f'#include "{one}"\n') for one in sources] or [(hosts[0], "")]
        objects = [compiled(one, "host.h", text, [*options, "-c"]) for one, text in others]
        try:
            self.host = compiled(first[0], "tile.h", first[1], options, objects)
        except CompileError as error:
            more = _defining(hosts[0]) if "undefined reference" in str(error) else []
            if not more:
                raise
            objects += [
                compiled(one, "host.h", f'#include "{one}"\n', [*options, "-c"]) for one in more
            ]
            self.host = compiled(first[0], "tile.h", first[1], options, objects)
        self._describe(op)

    def _describe(self, op: str | None):
        """Store the host's description of an operator."""
        described = self._asked()
        names = [words[1] for words in described if words[0] == "op"]
        if op not in names and (op is not None or len(names) != 1):
            raise invalid(
                f"a project defines an operator (OP_ADD): {', '.join(names) or 'none'}",
                shown(op),
                "name one of these",
            )
        self.name = op or names[0]
        self.inputs, self.outputs, self.attributes = [], [], []
        mine = False
        for words in described:
            if words[0] == "op":
                mine = words[1] == self.name
            elif mine and words[0] == "attribute":
                self.attributes.append(Parameter(words[1], words[3] == "1", (), words[2]))
            elif mine:
                getattr(self, words[0] + "s").append(
                    Parameter(
                        words[1],
                        int(words[2]) == OPTIONAL,
                        tuple(CODES.get(int(code)) for code in words[3:]),
                    )
                )

    @cached_property
    def kernel(self) -> tuple[Path, str]:
        """Return the file and the entry of the kernel."""
        files = [file for file in _own(self.folder / "op_kernel", "*") if file.suffix in SOURCES]
        called = snake(self.name)
        for file in sorted(files, key=lambda source: source.stem not in called):
            entries = entries_of(file)
            if fitting := [name for name in entries if name in called] or (
                list(entries) if file.stem in called else []
            ):
                return file, fitting[0]
        raise invalid(
            f"op_kernel has an entry {called[0]}",
            f"none in {', '.join(file.name for file in files) or 'it'}",
            "name the kernel as OpDef names the operator",
        )

    def tiled(
        self, platform: Platform, inputs: Sequence, outputs: Sequence, attributes: Sequence
    ) -> tuple[Tiling, list[tuple]]:
        """Return the tiling function's choices for a call, and the shape of each output.

        `inputs` are arrays or None, `outputs` pairs of shape (None: to be inferred) and dtype, `attributes` values or None.
        """
        words, content = (
            [platform.GetCoreNumAiv(), platform.cores // 2 or 1, platform.GetCoreMemSize()],
            [],
        )
        for array in inputs:
            if array is None:
                words += [28, -1, 0]
            else:
                words += [TYPES[array.dtype][0], array.ndim, *array.shape, array.nbytes]
                content.append(np.ascontiguousarray(array).tobytes())
        for shape, dtype in outputs:
            words += [TYPES[dtype][0], *((-1,) if shape is None else (len(shape), *shape))]
        for parameter, value in zip(self.attributes, attributes):
            words += self._attribute(parameter, value)
        shapes = []
        for kind, *rest in self._asked(
            self.name,
            question=" ".join(map(str, words)).encode("utf-8") + b"\n" + b"".join(content),
        ):
            if kind == "shape":
                shapes.append(tuple(map(int, rest)))
            elif kind == "failed":
                raise invalid(
                    f"the host of {self.name} tiles this call",
                    "a failure of " + " ".join(rest),
                    "give inputs that it takes",
                )
            else:
                (cores, key, workspace), data = map(int, rest[:3]), bytes.fromhex("".join(rest[3:]))
        return Tiling(cores, workspace, key=key, data=data), shapes

    def _attribute(self, parameter: Parameter, value) -> list:
        if value is None:
            return ["-"]
        try:
            match parameter.letter:
                case "b" | "i":
                    return [parameter.letter, int(value)]
                case "f":
                    return ["f", float(value)]
                case "s":
                    return ["s", len(value.encode("utf-8")), value]
                case letter:
                    return [letter, len(value), *map(int if letter == "I" else float, value)]
        except (TypeError, ValueError, AttributeError):
            raise mistyped(
                f"attribute {parameter.name} is of kind {parameter.letter} (OpDef)",
                shown(value),
                "pass such a value",
            ) from None

    def _asked(self, *words: str, question: bytes = b"") -> list[list[str]]:
        """Return the lines of the host program's answer, split into words."""
        with tempfile.TemporaryFile("w+b") as report, tempfile.TemporaryFile("w+b") as complaints:
            with Child(
                [self.host, str(report.fileno()), *words],
                limits={resource.RLIMIT_FSIZE: 64 << 20},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=[report.fileno()],
            ) as host:
                try:
                    host.communicate(question, SECONDS)
                except subprocess.TimeoutExpired:
                    raise invalid(
                        f"the host of {self.folder.name} answers within {SECONDS:g} s",
                        "no answer: it may never end",
                        "look at its tiling function",
                    ) from None
            report.seek(0), complaints.seek(max(complaints.seek(0, os.SEEK_END) - 300, 0))
            text, said = (file.read().decode("utf-8", "replace") for file in (report, complaints))
        if host.returncode:
            raise invalid(
                f"the host of {self.folder.name} runs to its end",
                f"status {host.returncode} {said}",
                "look at its tiling function; an optional input that is not given is a null pointer",
            )
        return [line.split() for line in text.splitlines()]

    def compiled(self, inputs: Sequence, outputs: Sequence) -> CppKernel:
        """Return the kernel compiled for the formats of a call."""
        file, entry = self.kernel
        defines = {said: str(code) for code, said in TYPES.values()} | self.defines
        taken = {parameter.name for parameter in self.inputs}
        for place, (parameter, dtype) in enumerate(
            zip((*self.inputs, *self.outputs), (*inputs, *outputs))
        ):
            name = parameter.name.upper() + "_REF" * (
                place >= len(self.inputs) and parameter.name in taken
            )
            if dtype is not None:
                defines |= {
                    f"DTYPE_{name}": c_name(dtype),
                    f"ORIG_DTYPE_{name}": TYPES[dtype][1],
                    f"FORMAT_{name}": "FORMAT_ND",
                }
        folders = [*self.include, self.folder / "op_kernel", self.folder / "op_host"]
        kernel = cpp(file, defines, folders)[entry]
        for name in HOST:
            setattr(kernel, name, getattr(self, name))
        return kernel

    def formats(self, inputs: Sequence) -> list[np.dtype]:
        """Return the formats of the outputs, from OpDef's combination that matches the inputs' formats."""
        places = range(
            max((len(parameter.types) for parameter in (*self.inputs, *self.outputs)), default=0)
        )
        for place in places:
            if fits(place, zip(self.inputs, inputs)):
                return [
                    parameter.types[min(place, len(parameter.types) - 1)]
                    for parameter in self.outputs
                ]
        raise invalid(
            f"{self.name} takes a combination of formats of its OpDef",
            ", ".join("none" if array is None else c_name(array.dtype) for array in inputs),
            "pass arrays of one of these: "
            + "; ".join(
                ", ".join(
                    c_name(parameter.types[place])
                    for parameter in self.inputs
                    if place < len(parameter.types) and parameter.types[place]
                )
                for place in places
            ),
        )

    def launch(
        self,
        *inputs,
        shapes: Sequence | None = None,
        soc: str = SOC,
        cores: int | None = 8,
        **named,
    ) -> Run:
        """Tile and run one call with arrays (or None) for the inputs of OpDef and attributes by name; the Run has the outputs.

        `shapes` are the outputs' shapes if the project infers none. Further keywords are those of `av.tiles.run`. Raise the
        errors of `tiled`, and TypeError for inputs or attributes that OpDef lacks.
        """
        attributes = [named.pop(parameter.name, None) for parameter in self.attributes]
        unknown = named.keys() - signature(program.run).parameters.keys()
        if len(inputs) != len(self.inputs) or unknown:
            raise mistyped(
                f"{self.name} takes {', '.join(parameter.name for parameter in (*self.inputs, *self.attributes))}",
                f"{len(inputs)} inputs" + f" and {', '.join(unknown)}" * bool(unknown),
                "pass each input, None for one left out",
            )
        inputs = [None if array is None else np.ascontiguousarray(array) for array in inputs]
        platform, dtypes = Platform.of(soc, cores), self.formats(inputs)
        wanted = [None] * len(dtypes) if shapes is None else shapes
        tiling, inferred = self.tiled(platform, inputs, [*zip(wanted, dtypes)], attributes)
        sizes = shapes or inferred
        if len(sizes) != len(dtypes):
            raise invalid(
                f"{self.name} has outputs {', '.join(parameter.name for parameter in self.outputs)}",
                "no shape function",
                "pass shapes=",
            )
        memories, results = self._memories(inputs, sizes, dtypes)
        kernel = self.compiled([None if array is None else array.dtype for array in inputs], dtypes)
        kernel.key = tiling.key
        return program.run(
            kernel,
            *memories,
            *results,
            program.workspace_of(tiling),
            tiling.data,
            soc=soc,
            cores=tiling.blockDim,
            **named,
        )

    def _memories(self, inputs: Sequence, shapes: Sequence, dtypes: Sequence) -> tuple[list, list]:
        """Return the memories of inputs and of outputs; an output with an input's name shares its memory."""
        memories = [
            None if array is None else GlobalMemory(parameter.name, array.copy(), True)
            for parameter, array in zip(self.inputs, inputs)
        ]
        again = {parameter.name for parameter in self.outputs}
        held = {memory.name: memory for memory in memories if memory and memory.name in again}
        for memory in held.values():
            memory.read_only = False
        return memories, [
            held.get(parameter.name)
            or GlobalMemory(parameter.name, program.poisoned(shape, dtype), False)
            for parameter, shape, dtype in zip(self.outputs, shapes, dtypes)
        ]

    def program(self, op) -> Program:
        """Return the project as a tile program of an operator of the kit, for `av.check`.

        Inputs, outputs and attributes of OpDef match the operator's by name, else by order.
        """
        op = operator(op)
        tensors, values = (
            [parameter.name for parameter in op.parameters if parameter.kind == "tensor"],
            list(op.attributes),
        )
        inputs, outputs = (
            _paired(self, self.inputs, tensors),
            _paired(self, self.outputs, list(op.outputs)),
        )
        # an attribute that the operator lacks keeps its default
        attributes = [plain(parameter.name, values) for parameter in self.attributes]

        def tiling(platform, **bound) -> Tiling:
            results = op.arrange_backward(**bound).results
            kinds = [
                (results[name].documented_shape, results[name].format.numpy)
                if name in results
                else ((0,), np.dtype(np.float32))
                for name in outputs
            ]
            return self.tiled(
                platform,
                [bound[name] for name in inputs],
                kinds,
                [bound.get(name) for name in attributes],
            )[0]

        order = [(tensors + list(op.outputs)).index(name) for name in (*inputs, *outputs)]
        return Program(
            op.name, self.name, tiling, _OfProject(self, order), Plan(), text=self.folder.name
        )


def _own(folder: Path, pattern: str) -> list[Path]:
    """Return the source files of a folder, without hidden files and copies from a build."""
    return [
        path
        for path in sorted(folder.rglob(pattern))
        if not any(part[0] == "." or part == "build_out" for part in path.relative_to(folder).parts)
    ]


def fits(place: int, pairs: Iterable[tuple[Parameter, np.ndarray | None]]) -> bool:
    """Return whether arrays have the formats of a combination of OpDef."""
    return all(
        array is None or len(parameter.types) <= place or parameter.types[place] == array.dtype
        for parameter, array in pairs
    )


def plain(name: str, names: list[str]) -> str | None:
    """Return the one of `names` that equals this name up to capitals, underscores and a final "out".

    >>> plain("grad_input", ["gradInputOut", "gradWeightOut"])
    'gradInputOut'
    """
    same = {re.sub(r"_|(?<=.)out$", "", known.lower()): known for known in names}
    return same.get(re.sub(r"_|(?<=.)out$", "", name.lower()))


def _paired(project: Project, mine: Sequence[Parameter], theirs: list[str]) -> list[str]:
    """Return the operator's name of each parameter of a project."""
    names = [plain(parameter.name, theirs) for parameter in mine]
    if None not in names and len(set(names)) == len(names):
        return names
    if len(mine) > len(theirs):
        raise mistyped(
            f"{project.name} has the parameters of the operator: {', '.join(theirs)}",
            ", ".join(parameter.name for parameter in mine),
            "name them as the operator does",
        )
    return theirs[: len(mine)]


class _OfProject:
    """The kernel of a project, compiled for the formats of each launch."""

    def __init__(self, project: Project, order: list[int]):
        self.project, self.order = project, order
        file, entry = project.kernel
        self.__name__, self.kernel = entry, None
        self.__code__ = SimpleNamespace(
            co_filename=str(file), co_firstlineno=entries_of(file)[entry][0]
        )

    def __call__(self, *arguments):
        self.kernel()

    def opened(self, machine, arguments):
        *memories, workspace, tiling = arguments
        pointers = [memories[place] for place in self.order]
        formats = [None if memory is None else memory.array.dtype for memory in pointers]
        count = len(self.project.inputs)
        self.kernel = self.project.compiled(formats[:count], formats[count:])
        self.kernel.key = tiling.key
        return self.kernel.opened(machine, [*pointers, workspace, tiling.data])


def _defining(host: Path) -> list[Path]:
    """Return the sources of the repository, outside the folder `host`, with the names of headers that its files include."""
    files = [one.read_text("utf-8", "replace") for one in _own(host, "*.*")]
    names = {Path(name).stem for text in files for name in re.findall(r'#include "(.+)"', text)}
    places = [
        (above(host / name, f"{name}{end}"), f"{name}{end}")
        for name in sorted(names)
        for end in (".cpp", ".cc")
    ]
    return [place / name for place, name in places if place and place != host]
