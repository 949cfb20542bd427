"""The command `mcp`: serve the answers of the command line to coding agents, by the Model Context Protocol.

Each tool runs one command with --json in a separate process, with limits of time and memory; the client gets the printed
data. So a tool and its command agree, and the end of such a process does not harm the server.

The judging process runs no code that a client names: kernels run in separate processes, modules are not searched in the
current folder (-P), and only folders of operators named by --operator at the server's start are opened.
"""

import json
import resource
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from aclnn_viz.children import Child, environment
from aclnn_viz.errors import invalid, problem

SECONDS, MEMORY = 300.0, 8 << 30  # limits of one command: seconds, bytes
PRINTED = 1 << 16  # most characters of a program's output that are shown
# most characters of a failed command's output, from its start and its end
LINES = 2000
SHORT_ANSWER = ("status", "passed", "verdict", "happened", "notes", "printed", "seed", "cause")


def mcp(options) -> int:
    """Serve the Model Context Protocol on standard input and output, for coding agents: operators, describe, check, explain, tolerance, why, tiles, cpp_run.

    A client starts this command itself. Ask describe for an operator's parameters, write a kernel that takes them by name, and check it;
    explain says where it is wrong. Kernels run in processes of their own, with limits; docs/agents.md says what is not defended. Nothing
    here runs on Atlas hardware: what is emulated says so.
    """
    try:
        from mcp.server import MCPServer
    except ImportError as error:
        raise invalid(
            "this command needs what the extra `mcp` installs",
            str(error),
            "pip install 'aclnn-viz[mcp]'",
        ) from None
    server = MCPServer("aclnn-viz", instructions=mcp.__doc__, log_level="ERROR")
    for tool in TOOLS:
        server.add_tool(tool, structured_output=True)
    if options.json:
        print(json.dumps({"tools": [tool.__name__ for tool in TOOLS]}))
        return 0
    try:
        server.run()
    except* BrokenPipeError:  # the client has closed its end
        pass
    return 0


async def answer(
    words: list[str],
    given: str = "",
    seconds: float = SECONDS,
    source: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """Return a command's JSON and its exit status; raise an error with the command's text if it could not run.

    `source` is (name of a file, text); the file is written to the command's folder.
    """
    from anyio.to_thread import run_sync

    started: list[Child] = []
    try:
        return await run_sync(
            partial(_run, words, given, seconds, source, started), abandon_on_cancel=True
        )
    finally:
        # end the processes of a call that was cancelled, or that lost its client
        for process in started:
            process.end()


def _run(words: list[str], given: str, seconds: float, source, started: list) -> dict[str, Any]:
    from mcp.server.mcpserver.exceptions import ToolError

    # arguments of a program follow "--"
    at = words.index("--") if "--" in words else len(words)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if source:
                Path(folder, source[0]).write_text(source[1], "utf-8")
            process = Child(
                [sys.executable, "-P", "-m", "aclnn_viz.cli", *words[:at], "--json", *words[at:]],
                environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                cwd=folder if source else None,
            )
        except (OSError, ValueError) as error:
            # the system refuses a NUL, a lone surrogate, and too long arguments
            raise ToolError(
                problem(
                    "arguments are texts that a process takes",
                    str(error),
                    "leave out special characters, or pass fewer arguments",
                )
            ) from None
        started.append(process)
        try:
            with suppress(ProcessLookupError):
                # the limit holds for the command alone; its child processes have separate limits
                resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
            said, errors = process.communicate(given, seconds)
        except subprocess.TimeoutExpired:
            raise ToolError(
                problem(
                    f"a command ends within {seconds:g} s",
                    "no end",
                    "ask for less, or give it more seconds",
                )
            ) from None
        finally:
            process.end()
            started.remove(process)
    try:
        answered = json.loads(said)
        content = answered if isinstance(answered, dict) else {"found": answered}
        if not _belongs(process.returncode, content):
            raise ValueError
    except ValueError:
        if len(errors) > 2 * LINES:
            errors = f"{errors[:LINES]}...{errors[-LINES:]}"
        raise ToolError(
            errors
            or problem(
                "a command answers in JSON", f"status {process.returncode}", "look at its arguments"
            )
        ) from None
    return content | {"status": process.returncode}


def _belongs(status: int, content: dict) -> bool:
    """Return whether an exit status fits a command's content: the content's `status`, else 0 for passed, 1 for not."""
    if "status" in content:
        return content["status"] == status
    return status in (0, 1) and content.get("passed", not status) is (not status)


def _words(**options) -> list[str]:
    """Return the given options of a command, each as one word, so that no value is read as an option."""
    found = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            if one is True:
                found.append(flag)
            elif one is not None and one is not False and one != "":
                found.append(f"{flag}={one}")
    return found


def _plain(name: str, text: str) -> str:
    """Return a word that is no option."""
    from mcp.server.mcpserver.exceptions import ToolError

    if not text or text.startswith("-"):
        raise ToolError(
            problem(
                f"{name} is a name or a place",
                repr(text),
                "pass a name that `operators` lists, or a path",
            )
        )
    return text


def _operator(text: str) -> str:
    """Return the name of an operator of the kit, or a folder that --operator named; refuse any other folder."""
    from mcp.server.mcpserver.exceptions import ToolError

    from aclnn_viz.operators import registry

    folders = registry.outside()
    if text in folders:
        return str(folders[text])
    if {"/", "\\"} & {*_plain("operator", text)}:
        if (folder := Path(text).resolve()) not in folders.values():
            raise ToolError(
                problem(
                    "the folder of an operator runs code, and is named when the server starts",
                    text,
                    "pass a name that `operators` lists, or start the server with --operator FOLDER",
                )
            )
        return str(folder)
    return text


def _shape(lengths: list[int] | None) -> str:
    return lengths and ",".join(map(str, lengths)) + "," * (len(lengths) == 1)


async def operators() -> dict[str, Any]:
    """List the operators: short names, the vendor's names, which of their files are their own."""
    return await answer(["operators"])


async def describe(operator: str) -> dict[str, Any]:
    """Describe an operator (short or vendor name): parameters in the vendor's order with shapes, formats and defaults; its outputs."""
    return await answer(["describe", _operator(operator)])


async def explain(
    operator: str,
    kernel: str = "kernel",
    source: str = "",
    dtypes: list[str] = [],
    where: dict[str, Any] = {},
    shapes: list[list[int]] = [],
    soc: str = "",
    cann: str = "",
    depth: str = "normal",
    seed: int | None = None,
    seconds: float = 20.0,
    memory_mib: int = 2048,
    allow_unsupported: bool = False,
) -> dict[str, Any]:
    """As check, with all that is known of a wrong kernel: the smallest counterexample, where it is wrong, which edit of the formula explains its numbers."""
    words = [
        "check",
        _operator(operator),
        _plain("kernel", f"source.py:{kernel}" if source else kernel),
        "--sealed",
        *_words(
            dtypes=",".join(dtypes),
            where=[f"{key}={value!r}" for key, value in where.items()],
            shape=[_shape(one) for one in shapes],
            soc=soc,
            cann=cann,
            depth=depth,
            seed=seed,
            seconds=seconds,
            memory=memory_mib,
            allow_unsupported=allow_unsupported,
        ),
    ]
    return await answer(words, source=("source.py", source) if source else None)


async def check(**options) -> dict[str, Any]:
    """Tell whether a kernel in Python is right: passed, a verdict, what it did besides computing, the likeliest cause.

    kernel is FILE.py:FUNCTION, or with source (the text of a file) FUNCTION alone. It takes the vendor's parameters by name and returns the
    outputs as a dict by name or a tuple in order. It runs in a process of its own and may not read what the kit knows of operators. The seed
    is drawn unless given. seconds is for a call.
    """
    found = await explain(**options)
    return {name: found[name] for name in SHORT_ANSWER}


check.__signature__ = signature(explain)


async def tolerance(
    operator: str,
    shape: list[int] | None = None,
    dtype: str = "float32",
    plan: str = "",
    seed: int = 0,
    let_through: list[float] | None = None,
) -> dict[str, Any]:
    """Return the tightest rtol and atol that no right kernel breaks; with let_through [rtol, atol] which named faults that pair lets pass.

    plan is a product such as A2, or the order of sums: sequential, pairwise, blocked, shuffled.
    """
    pair = ["--let-through", *map(str, let_through)] if let_through else []
    return await answer(
        [
            "tolerance",
            _operator(operator),
            *_words(shape=_shape(shape), dtype=dtype, plan=plan, seed=seed),
            *pair,
        ]
    )


async def why(text: str, soc: str = "", cann: str = "") -> dict[str, Any]:
    """Say what a status code or a pasted log means and what most often caused it; unknown lines are said to be unknown."""
    return await answer(["why", *_words(soc=soc, cann=cann), "-"], text)


async def tiles(
    operator: str, kernel: str, source: str = "", dtypes: list[str] = [], depth: str = "normal"
) -> dict[str, Any]:
    """Run an Ascend C kernel as an operator on the emulated cores: hazards at its lines, then whether its numbers are right.

    kernel is FILE.cpp:ENTRY or the folder of a project; with source (the text of a file) ENTRY alone.
    """
    place, _, entry = (f"source.cpp:{kernel}" if source else _plain("kernel", kernel)).partition(
        ".cpp:"
    )
    words = [
        "cpp",
        "check",
        f"{place}.cpp" if entry else place,
        *_words(op=_operator(operator), entry=entry, dtypes=",".join(dtypes), depth=depth),
    ]
    return await answer(words, source=("source.cpp", source) if source else None)


async def cpp_run(
    file: str = "main.cpp",
    source: str = "",
    arguments: list[str] = [],
    defines: list[str] = [],
    include: list[str] = [],
    soc: str = "",
    seconds: float = 60.0,
) -> dict[str, Any]:
    """Build and run a whole C++ program, host and kernels, with CANN emulated: its status, output, hazards, misuse of the C API.

    file is a path, or with source (the text of a file) only its name. The program itself is not confined. Of what it prints the
    first 65,536 characters are returned.
    """
    words = [
        "cpp",
        "run",
        _plain("file", Path(file).name if source else file),
        *(f"-D{one}" for one in defines),
        *(f"-I{one}" for one in include),
        *_words(soc=soc, seconds=seconds),
        "--",
        *arguments,
    ]
    found = await answer(
        words,
        seconds=min(max(0.0, seconds), 1e6) + 2 * SECONDS,
        source=(Path(file).name, source) if source else None,
    )
    return found | {name: found[name][:PRINTED] for name in ("output", "errors")}


TOOLS = operators, describe, check, explain, tolerance, why, tiles, cpp_run
