"""Rules for the content of all files of the repository."""

import json
import re
import subprocess

import pytest
from machine import ROOT

LONGEST_CELL = 8
# Lines that choose the language of an edition do not count as lines of a cell.
AROUND = re.compile(
    r'^(?:import aclnn_viz as av\n(?=av.language\("zh"\)\n\n))?av.language\("zh"\)\n',
    re.MULTILINE,
)
# Paths of one machine and hosts of package registries, written so that no pattern finds itself.
MACHINE_TEXT = re.compile(
    r"/(?:work|root|home/\w+)/|file:[/]{3}|[/]simple\b|(?:index|extra-index)[-]url|find[-]links"
    r"|pythonhosted[.]org|pypi[.]org|npmjs[.]org|deb[.]debian[.]org|anaconda[.]org"
)


def cell_faults(notebook):
    """Yield the faults of a notebook's cells."""
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            if cell.get("execution_count") is None:
                yield f"cell {number} has not run"
            if (
                len(re.findall(r"^.*\S", AROUND.sub("", "".join(cell["source"])), re.M))
                > LONGEST_CELL
            ):
                yield f"cell {number} is long"


def tracked_texts():
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listing.split("\0")):
        yield (
            name,
            (ROOT / name).read_bytes().decode(errors="replace") if (ROOT / name).is_file() else "",
        )


def test_notebooks_have_run_and_their_cells_are_short():
    notebooks = {
        str(path.relative_to(ROOT)): json.loads(path.read_text())
        for path in (ROOT / "notebooks").glob("**/[0-9]*.ipynb")
    }
    assert {"notebooks/00_start_here.ipynb", "notebooks/zh/02_hardswish.ipynb"} <= notebooks.keys()
    assert {
        name: faults for name, book in notebooks.items() if (faults := list(cell_faults(book)))
    } == {}


@pytest.mark.needs("git")
def test_no_file_names_a_machine_or_a_registry():
    found = {
        name: match[0] for name, text in tracked_texts() if (match := MACHINE_TEXT.search(text))
    }
    assert found == {}


def test_a_cell_that_has_not_run_and_a_long_one_are_noticed():
    cells = [
        {"source": ["x\n"] * 9, "cell_type": "code", "execution_count": 1},
        {"source": "x", "cell_type": "code"},
        {"source": ["x\n"] * 8, "cell_type": "code", "execution_count": 1},
    ]
    assert list(cell_faults({"cells": cells})) == ["cell 0 is long", "cell 1 has not run"]


@pytest.mark.parametrize(
    "text", ["cd /" + "root/x", "https://pypi" + ".org", "pip --index" + "-url=x"]
)
def test_a_machine_path_or_a_registry_is_noticed(text):
    assert MACHINE_TEXT.search(text) and not MACHINE_TEXT.search(
        "/usr/local/Ascend, 127.0.0.1, http://www.apache.org"
    )
