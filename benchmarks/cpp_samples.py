"""The sample programs in the vendor's documents, compiled unchanged and run with CANN emulated: `python benchmarks/cpp_samples.py REPO...`.

Each REPO is a clone of a public repository that has documents of operators (ops-nn, ops-cv, ops-math, ops-transformer), named as
OWNER/NAME=FOLDER. Of each operator of the kit the C++ block with a function main is taken out of `docs/aclnn....md`; nothing of it
is kept. Writes benchmarks/reports/cpp_samples.md: what each printed, and whether the outputs are within the vendor's standard of the truth.
"""

import hashlib
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from records import REPORTS, git, line

import aclnn_viz as av
from aclnn_viz.devices import whole
from aclnn_viz.devices.serving import Emulator

BLOCK = re.compile(r"```[Cc](?:pp|\+\+)?[^\n]*\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"(?:is|=|:)\s*(-?(?:\d+\.\d+(?:e[+-]?\d+)?|nan|inf|\d+))\s*$", re.MULTILINE)
TARGET = REPORTS / "cpp_samples.md"
HEAD = """# Sample programs of the vendor's documents

Written by `benchmarks/cpp_samples.py`: the C++ program in each operator's document, compiled unchanged and run with CANN emulated
(Ascend910B2, CANN 9.1). "Numbers" counts what it printed. "Outputs": "printed" where these numbers hold the certified truth of each
output for the inputs of the program, as far as format and six decimals go; "pass" where what the operator wrote is within the
vendor's standard (single benchmark). GroupNorm's gradInput is zero but for rounding, 1e-7 beside terms of 1: no float32 kernel is within the
standard of its truth. The sample of FlashAttentionScoreGrad prints halves as floats. Nothing ran on Atlas hardware.

"""


def samples(repositories: dict[str, Path]):
    """Of each operator whose document is there: (operator, repository, commit, path, text of the program or None)."""
    for name, folder in repositories.items():
        commit = git("rev-parse", "HEAD", folder=folder)
        paths = git("ls-tree", "-r", "--name-only", "HEAD", folder=folder).splitlines()
        for op in av.operators():
            found = [
                path
                for path in paths
                if path.endswith(f"docs/{op.aclnn_name}.md") and not path.startswith("experimental")
            ]
            for path in found[:1]:
                programs = [
                    one
                    for one in BLOCK.findall(git("show", f"HEAD:{path}", folder=folder))
                    if re.search(r"\bmain\s*\(", one)
                ]
                yield op, name, commit, path, programs[0] if programs else None


def judged(op, text: str, folder: Path) -> tuple[str, int, str, str]:
    """The exit status, how many numbers were printed, whether outputs are within the standard, and what was said."""
    (file := folder / f"{op.aclnn_name}.cpp").write_text(text, "utf-8")
    try:
        program = whole.build([file])
    except ValueError as error:
        lines = [line for line in str(error).splitlines() if "error" in line]
        return "2", 0, "", (lines or [str(error)])[-1].replace(f"{folder}/", "")
    emulator, seen = Emulator("Ascend910B2", "9.1"), []
    plain = emulator.acl.backward

    def noted(name, inputs):
        seen.append(
            (
                name,
                {
                    key: np.array(value) if isinstance(value, np.ndarray) else value
                    for key, value in inputs.items()
                },
                outputs := plain(name, inputs),
            )
        )
        return outputs

    emulator.acl.backward = noted
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        left = whole.run(program, (), emulator, 30, (output, output))
        output.seek(0)
        printed = output.read()
    verdicts, shown = [], np.array([float(one) for one in NUMBER.findall(printed)])
    for name, inputs, outputs in seen:
        truth = av.operator(name).truth(**inputs)
        whole_of = all(holds(shown, truth[key], outputs[key].dtype) for key in outputs)
        verdicts += [("printed" if whole_of else "not printed")]
        verdicts += [
            av.compare(outputs[key], truth[key]).verdicts["single benchmark"].outcome
            for key in outputs
        ]
    said = left.sentences or [
        line for line in printed.splitlines() if "ERROR" in line or "failed" in line
    ]
    return str(left.status), len(shown), ", ".join(sorted(set(verdicts))), said[0] if said else ""


def holds(shown: np.ndarray, truth: np.ndarray, dtype) -> bool:
    """Whether the printed numbers hold those of an output one after the other, as far as its format and six decimals go."""
    flat = np.asarray(truth, np.float64).ravel()
    near = 1e-5 if dtype == np.float32 else 1e-2
    return any(
        np.allclose(shown[at : at + flat.size], flat, rtol=near, atol=2e-6, equal_nan=True)
        for at in range(len(shown) - flat.size + 1)
    )


def main(words: list[str]) -> None:
    repositories = {
        name: Path(folder) for name, _, folder in (word.partition("=") for word in words)
    }
    rows, commits = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for op, name, commit, path, text in samples(repositories):
            commits[name] = commit
            status, count, within, said = (
                judged(op, text, Path(folder))
                if text
                else ("", "", "", "no program in the document")
            )
            digest = hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""
            rows.append(
                line(
                    f"`{op.aclnn_name}`",
                    f"{name} `{path}`",
                    digest,
                    status,
                    count,
                    within,
                    said.replace("|", "/")[:220],
                )
            )
            print(rows[-1], end="", flush=True)
    read = "".join(f"- {name}, commit {commit}\n" for name, commit in sorted(commits.items()))
    table = "| Operator | Document | SHA-256 | Status | Numbers | Outputs | Said |\n| --- | --- | --- | ---: | ---: | --- | --- |\n"
    TARGET.write_text(HEAD + read + "\n" + table + "".join(sorted(rows)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
