"""The committed outputs of lessons: one command writes them, and a test compares them with a new run.

`python -m notebooks.gallery.outputs [NAME ...]` runs lessons and writes their outputs into them; `make lessons` runs all. A
NAME is the start of lessons' names, such as 04 for both editions and zh/04 for the Chinese edition, which is made from the
English one and the texts in zh/04_grid_sampler_2d.md.
"""

import base64
import hashlib
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from math import isclose
from pathlib import Path

import nbclient
import nbformat
from jupyter_client import AsyncKernelClient
from jupyter_client.manager import start_new_async_kernel
from jupyter_core.utils import run_sync

from aclnn_viz.errors import invalid, problem
from aclnn_viz.words.messages import LANGUAGES
from notebooks.gallery.pictures import SAME, distance, small

LESSONS = Path(__file__).resolve().parents[1]
PRELUDE = (Path(__file__).parent / "prelude.py").read_text(encoding="utf-8")
# Texts that differ between runs: addresses, durations, times, temporary folders, and how many
# runs of a tile program a check makes.
PASSING = [
    (r"0x[0-9a-f]{6,}", "0x..."),
    (r"(?a:\b)\d+(\.\d+)? (s|ms|µs)(?a:\b)", "... s"),
    (r"/tmp/[\w./-]*/", "/tmp/.../"),
    (r"(run as a tile program: |作为数据块程序：)(\d+ runs|运行\d+次).*", r"\1..."),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "..."),
]
MARK = re.compile(r"^<!-- (\S+ \w+) -->\n", re.MULTILINE)  # mark before each text of a translation
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?|[-+]?\d+e[-+]?\d+")
# Largest differences between processors, whose exp and log differ in a last bit: a value hardly
# changes, an error may become another one. All else is equal without AVX-512.
NEAR = {"value": 1e-3, "error": 0.1}


def lessons(language: str = LANGUAGES[0]) -> list[Path]:
    """Return the notebooks of an edition in learning order; a translation has one per file of texts, existing or not."""
    return sorted(
        LESSONS.glob("*.ipynb")
        if language == LANGUAGES[0]
        else (path.with_suffix(".ipynb") for path in (LESSONS / language).glob("*.md"))
    )


def editions(path: Path) -> dict[str, Path]:
    """Return the languages of a notebook's lesson, English first."""
    return {
        language: each
        for language in LANGUAGES
        for each in lessons(language)
        if each.name == path.name
    }


def language_of(path: Path) -> str:
    """Return the language of a notebook: its folder's name, or English."""
    return path.parent.name if path.parent.name in LANGUAGES else LANGUAGES[0]


def read(path: Path):
    """Return a notebook."""
    return nbformat.read(path, as_version=4)


def mark(cell) -> str:
    """Return the mark of a cell's translation: its id, and a digest of the English text."""
    return f"{cell.id} {hashlib.sha256(cell.source.encode()).hexdigest()[:8]}"


def choosing(code: str, language: str) -> str:
    """Return the first cell of a lesson with a line that sets its language, whatever the machine's language.

    >>> choosing("import aclnn_viz as av\\nop", "zh")
    'import aclnn_viz as av\\nav.language("zh")\\nop'
    """
    line, choice = "import aclnn_viz as av\n", f'av.language("{language}")\n'
    return code.replace(line, line + choice, 1) if line in code else f"{line}{choice}\n{code}"


def edition(path: Path):
    """Return the lesson for the notebook at a path, without its own outputs; raise ValueError for a stale text.

    A translation is the English notebook with the texts of the file beside it, one per Markdown cell, and a line that sets
    its language.
    """
    if language_of(path) == LANGUAGES[0]:
        return read(path)
    notebook, texts = read(LESSONS / path.name), path.with_suffix(".md")
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.source = choosing(first.source, language_of(path))
    _, *parts = MARK.split(texts.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    wanted, given = [*map(mark, cells)], parts[::2]
    if wanted != given:
        lacking = Counter(wanted) - Counter(given)
        raise invalid(
            "each text is marked with the English cell that it translates",
            f"{', '.join(Counter(given) - Counter(wanted)) or 'nothing more'} in {texts}",
            f"translate each cell as it is today and mark it {', '.join(lacking)}"
            if lacking
            else "take it out",
        )
    for cell, text in zip(cells, parts[1::2]):
        cell.source = text.rstrip("\n")
    return notebook


@contextmanager
def kernel(**environment) -> Iterator[AsyncKernelClient]:
    """Yield a kernel that runs lessons one after another, and its client; the reader's puzzle progress is untouched.

    A new client per lesson would first spend a fifth of a second on old messages.
    """
    with tempfile.TemporaryDirectory() as folder:
        manager, client = run_sync(start_new_async_kernel)(
            cwd=str(LESSONS),
            env=os.environ
            | {"ACLNN_VIZ_DATA": folder, "COLUMNS": "120", "ACLNN_VIZ_LANG": "en"}
            | environment,
            # Silence the warning about transport, which stays on this machine; keep the reader's
            # history clean; show PyTorch's recorded values; skip garbage collection, a tenth of
            # the time.
            extra_arguments=[
                "--log-level=ERROR",
                "--HistoryManager.enabled=False",
                "--IPKernelApp.exec_lines=import gc; gc.set_threshold(50_000)",
                "--IPKernelApp.exec_lines=__import__('sys').modules['torch'] = None",
            ],
        )
        try:
            yield client
        finally:
            client.stop_channels()
            run_sync(manager.shutdown_kernel)(now=True)


def executed(
    notebook, client: AsyncKernelClient, language: str = LANGUAGES[0], pictures: bool = True
):
    """Return a notebook with its outputs for a commit, in a language; raise CellExecutionError.

    Names of an earlier lesson in the kernel are deleted, imports stay. Without `pictures` these are empty, which halves the
    work; their descriptions stay.
    """
    notebook.cells.insert(
        0, nbformat.v4.new_code_cell(f"{PRELUDE}language({language!r})\ndraw({pictures})")
    )
    running = nbclient.NotebookClient(
        notebook,
        client.parent,
        timeout=300,
        coalesce_streams=True,
        record_timing=False,
        store_widget_state=False,
    )
    running.kc = client
    running.execute()
    del notebook.cells[0]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
            if "text" in output:
                output.text = settled(output.text)
            if {"text/html", "text/markdown"} & output.get("data", {}).keys():
                # no reader sees the fields of an object
                output.data.pop("text/plain", None)
            for kind, value in output.get("data", {}).items():
                if kind.startswith("text/"):
                    output.data[kind] = settled(value)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def settled(text: str) -> str:
    """Return a text without transient parts: addresses and durations.

    >>> settled("<f at 0x7f0d3af805d0>, 12.5 ms")
    '<f at 0x...>, ... s'
    """
    for pattern, name in PASSING:
        text = re.sub(pattern, name, text)
    return text


def stale(committed, fresh, pictures: bool = True) -> Iterator[str]:
    """Yield the cells of a committed notebook whose outputs differ from a new run's, and the differences."""
    for number, (old, new) in enumerate(zip_longest(committed.cells, fresh.cells)):
        shown = [cell.get("outputs", []) if cell else [] for cell in (old, new)]
        if len(shown[0]) != len(shown[1]):
            yield f"cell {number}: {len(shown[0])} outputs are committed, today there are {len(shown[1])}"
        for one, other in zip(*shown):
            yield from (f"cell {number}: {what}" for what in _apart(one, other, pictures))


def _apart(old, new, pictures: bool) -> Iterator[str]:
    kinds = [
        {"stream": output.text} if "text" in output else output.get("data", {})
        for output in (old, new)
    ]
    if kinds[0].keys() != kinds[1].keys():
        yield f"{sorted(kinds[0])} is committed, today it is {sorted(kinds[1])}"
        return
    for kind, (one, other) in ((kind, (kinds[0][kind], kinds[1][kind])) for kind in kinds[0]):
        if kind == "image/png":
            if (
                pictures
                and (apart := distance(base64.b64decode(one), base64.b64decode(other))) > SAME
            ):
                yield f"a picture is {apart:.2f} apart"
        elif lines := differing(one, other):
            yield "{!r} is committed, today it is {!r}".format(*lines)


def differing(one: str, other: str) -> tuple[str, str] | None:
    """Return the first lines of two texts that differ by more than processors' last bits."""
    for left, right in zip_longest(one.splitlines(), other.splitlines(), fillvalue=""):
        numbers = [NUMBER.findall(line) for line in (left, right)]
        words = [" ".join(NUMBER.sub(" # ", line).split()) for line in (left, right)]
        if words[0] != words[1] or not all(map(_near, *numbers)):
            return left, right
    return None


def _near(one: str, other: str) -> bool:
    # isclose also takes infinities: 1.8e+308 becomes infinite
    return isclose(float(one), float(other), rel_tol=NEAR["error" if "e" in one else "value"])


def write(path: Path, client: AsyncKernelClient) -> None:
    """Run a lesson in a kernel, and write it with its outputs."""
    notebook = executed(edition(path), client, language_of(path))
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if png := output.get("data", {}).get("image/png"):
                output.data["image/png"] = base64.b64encode(small(base64.b64decode(png))).decode()
    nbformat.write(notebook, path)


def main(asked: list[str]) -> None:
    """Write the lessons whose names start with the given ones, all for none; end the process if no lesson does."""
    begin = tuple(asked) or ""
    wanted = [
        [
            path
            for path in editions(lesson).values()
            if any(
                name.startswith(begin) for name in (path.relative_to(LESSONS).as_posix(), path.name)
            )
        ]
        for lesson in lessons()
    ]
    if not any(wanted):
        sys.exit(
            problem(
                "a name is how a lesson begins",
                " ".join(asked),
                "pass such as 04 or zh/04, whose texts are zh/04_....md",
            )
        )
    for chosen in filter(None, wanted):
        with kernel() as client:
            for path in chosen:
                write(path, client)
                print(f"{path.relative_to(LESSONS)}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
