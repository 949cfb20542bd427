"""The pictures in README: explorers as in JupyterLab, and a plot of numeric error."""

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image

import aclnn_viz as av
from aclnn_viz.pictures import Provenance, error_plot, errors

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "notebooks" / "pictures"
EXPLORERS = ("grid_sampler_2d",)
CELL = 'import aclnn_viz as av\n\nav.explore("{name}")'
# the cell for the Chinese README; its picture's name ends in .zh
CHINESE = CELL.replace("\n\n", '\n\nav.language("zh")\n')
SIZE = {"width": 1280, "height": 1500}  # browser window, large enough for the whole cell
# largest difference of equal pictures: fonts and antialiasing cause 0.01, another state 0.1 and
# more
SAME = 0.06
COLOURS = 256  # colours of a palette, which reduce a picture to a third


@contextmanager
def opened() -> Iterator[tuple]:
    """Yield a JupyterLab in its light theme and a headless Chromium."""
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    from laboratory import chromium, laboratory

    with (
        tempfile.TemporaryDirectory() as folder,
        laboratory(Path(folder)) as server,
        chromium() as browser,
    ):
        yield browser, server


@contextmanager
def shown(browser, server, name: str, cell: str = CELL) -> Iterator:
    """Yield a notebook with a cell that opens the explorer `name`, and the explorer below it."""
    from laboratory import Notebook

    notebook = Notebook(browser, server, f"{name}.ipynb", cell.format(name=name))
    try:
        notebook.page.set_viewport_size(SIZE)
        notebook.page.wait_for_selector(".aclnn-explorer canvas", timeout=60_000)
        notebook.page.wait_for_function(
            "() => document.querySelector('.aclnn-explorer').dataset.revision > 0"
        )
        yield notebook
    finally:
        notebook.close()


def screenshot(notebook) -> bytes:
    """Return the PNG of the first cell of a notebook."""
    notebook.page.wait_for_timeout(500)  # wait for fonts and layout
    return small(notebook.page.locator(".jp-Notebook .jp-Cell").first.screenshot())


def error_picture() -> bytes:
    """Return the PNG of README's example, run with the emulator instead of the device."""
    op, case = av.operator("rms_norm"), av.case("rms_norm", dtype="bfloat16", shape=(64, 512))
    with av.open_device("host") as device:
        out, truth = device.run(op, **case.inputs)["dxOut"], op.truth(**case.inputs)["dxOut"]
        return small(error_plot(errors(out, truth, Provenance.of(case, "dxOut", device))).png())


def small(png: bytes, colours: int = COLOURS) -> bytes:
    """Return a PNG with a palette."""
    held = io.BytesIO()
    plain = Image.open(io.BytesIO(png)).convert("RGB")
    plain.quantize(colours, kmeans=1, dither=Image.Dither.NONE).save(held, "png", optimize=True)
    return held.getvalue()


def distance(one: bytes, other: bytes) -> float:
    """Return the distance of two pictures, as a share of the range of grey.

    Both are scaled to 64 x 64 cells, so that fonts and page heights hardly count; the distance is the largest mean difference
    of a 4 x 4 block of cells.
    """
    first, second = (
        np.asarray(
            Image.open(io.BytesIO(png)).convert("L").resize((64, 64), Image.Resampling.BOX), float
        )
        for png in (one, other)
    )
    return float(abs(first - second).reshape(16, 4, 16, 4).mean(axis=(1, 3)).max() / 255)


def write() -> list[Path]:
    """Write every picture, and return the paths; without Chromium the pictures of explorers stay unchanged."""
    PICTURES.mkdir(exist_ok=True)
    made = {"error_plot": error_picture()}
    if shutil.which("chromium"):
        with opened() as (browser, server):
            for name, (suffix, cell) in product(EXPLORERS, (("", CELL), (".zh", CHINESE))):
                with shown(browser, server, name, cell) as notebook:
                    made[name + suffix] = screenshot(notebook)
    else:
        print(
            "no chromium: the pictures of explorers stay as they are (Debian: apt-get install chromium)"
        )
    for name, png in made.items():
        (PICTURES / f"{name}.png").write_bytes(png)
    return [PICTURES / f"{name}.png" for name in made]
