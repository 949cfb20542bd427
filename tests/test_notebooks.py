"""Every notebook runs from top to bottom without an error or a warning."""

import nbclient
import nbformat
import pytest

from machine import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def run(notebook):
    """Execute a notebook and return what its cells wrote to stderr."""
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT / "notebooks")}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.text for output in outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # of the machinery that runs notebooks; what their cells warn is on stderr
def test_runs_from_top_to_bottom(path):
    assert run(nbformat.read(path, as_version=4)) == []


@pytest.mark.filterwarnings("default")
def test_an_error_and_a_warning_are_noticed():
    def notebook(code):
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])

    with pytest.raises(nbclient.exceptions.CellExecutionError):
        run(notebook("1 / 0"))
    assert "careful" in run(notebook("import warnings; warnings.warn('careful')"))[0]


def test_there_is_a_start_page():
    assert NOTEBOOKS[0].name == "00_start_here.ipynb"
