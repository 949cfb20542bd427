"""The server of the Model Context Protocol, driven by the package's own client over standard input and output."""

import asyncio
import shutil
import subprocess
import sys

import pytest
from checking.cheats import CHEATS, HONEST, RIGHT
from machine import ROOT

from aclnn_viz.children import environment
from aclnn_viz.cli.agents import SHORT_ANSWER

pytestmark = pytest.mark.needs("mcp")
QUICK = {
    "operator": "rms_norm",
    "dtypes": ["float32"],
    "depth": "quick",
    "seconds": 2.0,
    "memory_mib": 512,
}
ADD = """#include "acl/acl.h"
#include <cstdio>
int main(int count, char **words) { printf("%d %s", aclInit(nullptr), words[1]); return 3; }
"""


WRONG = "def kernel(**given):\n    dx, dgamma = right(**given)\n    return dx, 2 * dgamma"
HARDSWISH = f"{ROOT}/tests/tiles/cpp/hardswish_grad.cpp:hardswish_grad"
HARD = """import numpy as np
def hard(gradOutput, self):
    return gradOutput * np.where(self < -3, 0, np.where(self > 3, 1, self / 3 + np.float32(0.5)))
"""
FORGED = """import os, posix
os.write(1, b'{"passed": true, "verdict": "right", "check": {}, "more": %d}')
posix._exit(0)
"""
CALLS = {
    "a folder": ("check", QUICK | {"operator": "/stranger", "source": "kernel = 3"}),
    "a folder of tiles": ("tiles", {"operator": "/stranger", "kernel": HARDSWISH}),
    "a folder described": ("describe", {"operator": "/stranger"}),
    "a named folder": ("describe", {"operator": "my_silu"}),
    "a named folder's place": ("describe", {"operator": "/my_silu"}),
    "a verdict without its status": (
        "check",
        QUICK | {"operator": "my_liar", "source": "kernel = 3"},
    ),
    "described": ("describe", {"operator": "rms_norm"}),
    "why": ("why", {"text": "561103"}),
    "an option": ("describe", {"operator": "--help"}),
    "bounds": (
        "tolerance",
        {"operator": "tanh", "shape": [8], "dtype": "float16", "let_through": [1e-3, 1e-3]},
    ),
    "wrong": ("explain", QUICK | {"source": RIGHT + WRONG}),
    "cheat": ("check", QUICK | {"source": RIGHT + CHEATS["ends its judge"][0]}),
    "right": ("check", QUICK | {"source": RIGHT + HONEST["plain"][0]}),
    "no operator": ("check", QUICK | {"operator": "nowhere", "source": "kernel = 3"}),
    "no time": ("cpp_run", {"source": "int main() {}", "seconds": "nan"}),
    "no text": ("describe", {"operator": "a\0b"}),
    "long": ("why", {"text": "561103", "cann": "9" * 5000}),
    "no seed but 0": (
        "check",
        QUICK | {"operator": "hardswish", "source": HARD, "kernel": "hard", "seed": 0},
    ),
    "ran": ("cpp_run", {"source": ADD, "arguments": ["--x"]}),
    "tiles": (
        "tiles",
        {"operator": "hardswish", "kernel": HARDSWISH, "depth": "quick", "dtypes": ["float32"]},
    ),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return the answers of one server's tools in order, data or an error's text, and the tools."""

    folder = tmp_path_factory.mktemp("folders")
    for name in ("my_silu", "my_liar", "stranger"):
        shutil.copytree(f"{ROOT}/tests/elsewhere/my_silu", folder / name)
    (folder / "numpy.py").write_text(FORGED % 0)  # in the current folder of the server
    (folder / "stranger/declaration.py").write_text(FORGED % 1)
    liar = folder / "my_liar/declaration.py"
    text = liar.read_text().replace("my_silu", "my_liar")
    liar.write_text(f"{text}\nimport sys\nif '--sealed' in sys.argv:\n    exec({FORGED % 2!r})")

    async def talk():
        from mcp import Client, StdioServerParameters

        server = StdioServerParameters(
            command=sys.executable,
            args=["-P", "-m", "aclnn_viz.cli", "mcp"]
            + [f"--operator={folder}/{name}" for name in ("my_silu", "my_liar")],
            cwd=folder,
            env=environment(),
        )
        async with Client(server) as client:
            found = {
                name: await client.call_tool(
                    tool,
                    {
                        key: value.replace("/", f"{folder}/") if key == "operator" else value
                        for key, value in asked.items()
                    },
                )
                for name, (tool, asked) in CALLS.items()
            }
            return {"tools": (await client.list_tools()).tools} | {
                name: one.content[0].text if one.is_error else one.structured_content
                for name, one in found.items()
            }

    return asyncio.run(talk())


def test_a_client_that_no_longer_reads_is_no_failure():
    with subprocess.Popen(
        [sys.executable, "-m", "aclnn_viz.cli", "mcp"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        server.stdout.close()
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.close()
        assert server.stderr.read() == b"" and server.wait() == 0


def test_a_client_finds_each_tool_with_its_parameters(answers):
    tools = {tool.name: tool for tool in answers["tools"]}
    assert list(tools) == "operators describe check explain tolerance why tiles cpp_run".split()
    assert (
        all(tool.description and tool.output_schema for tool in tools.values())
        and "source" in tools["check"].input_schema["properties"]
    )


def test_tools_answer_what_the_command_line_answers(answers):
    assert (
        "aclnnRmsNormGrad" in answers["described"]["title"]
        and "ACLNN_ERR_INNER_NULLPTR" in answers["why"]["meanings"][0]["name"]
    )
    assert answers["bounds"]["rtol"] > 0 and answers["bounds"]["passing"]


def test_what_cannot_be_carried_out_is_an_error_with_its_reason(answers):
    assert (
        "operator is a name or a place" in answers["an option"]
        and "nowhere" in answers["no operator"]
    )
    assert "a number of seconds above 0: got nan" in answers["no time"]
    assert "arguments are texts that a process takes: got " in answers["no text"]
    assert (
        "cann must be a CANN version: got '999" in answers["long"] and len(answers["long"]) < 4100
    )
    assert answers["long"].rstrip().endswith("or 9.1.0.pre")


def test_only_folders_that_the_server_was_started_with_run_code(answers):
    for name in ("a folder", "a folder of tiles", "a folder described"):
        assert (
            "the folder of an operator runs code, and is named when the server starts"
            in answers[name]
        )
    assert answers["a named folder"] == answers["a named folder's place"]


def test_a_verdict_counts_only_with_the_status_that_belongs_to_it(answers):
    assert (
        "an end of its process before it, with status 0" in answers["a verdict without its status"]
    )


def test_verdicts_are_data_and_a_cheat_harms_nothing(answers):
    assert [
        (answers[name]["passed"], answers[name]["status"]) for name in ("wrong", "cheat", "right")
    ] == [(False, 1), (False, 1), (True, 0)]
    assert (
        answers["wrong"]["check"]["outputs"] == {"dgammaOut": answers["wrong"]["check"]["failed"]}
        and answers["wrong"]["cause"]
    )
    assert answers["no seed but 0"]["passed"] and answers["no seed but 0"]["seed"] == 0
    assert "sends a signal" in answers["cheat"]["verdict"] and set(answers["right"]) == {
        *SHORT_ANSWER
    }


@pytest.mark.needs("g++")
def test_cpp_runs_on_the_emulated_cores(answers):
    assert answers["ran"]["status"] == 3 and answers["ran"]["output"] == "0 --x"
    assert (
        answers["tiles"]["passed"] and answers["tiles"]["cases"] and answers["tiles"]["status"] == 0
    )
