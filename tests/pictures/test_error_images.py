"""Pictures of numeric error equal, in both themes, the stored images that a person has inspected.

`python -m pictures.test_error_images` in tests/ redraws the stored images, which a person then inspects.
"""

import sys
from pathlib import Path

import pytest
from matplotlib.testing.compare import compare_images
from pictures.error_samples import PICTURES
from pictures.panel_samples import sample

from aclnn_viz.pictures import style

BASELINE = Path(__file__).parent / "baseline"
DPI = 52
# Root mean square of the difference, of 255. The Matplotlib of constraints.txt draws the same picture to the bit; the
# smallest mark of these pictures, when it is missing, gives more than 2.
TOLERANCE = 1.5
DRAWN = PICTURES | {"panels": sample}


def save(figure, path):
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    return str(path)


def differs(figure, name, theme, folder):
    """Return the message of compare_images for a figure and the stored image; it writes beside its files."""
    stored = folder / "stored.png"
    stored.write_bytes((BASELINE / f"{name}-{theme}.png").read_bytes())
    return compare_images(str(stored), save(figure, folder / "drawn.png"), TOLERANCE)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("theme", style.THEMES)
@pytest.mark.sampled(2)
def test_a_picture_is_the_one_that_was_looked_at(name, theme, tmp_path):
    assert differs(DRAWN[name]().figure(theme), name, theme, tmp_path) is None


def without(kind, index=-1):
    """Return a change that removes one artist, by default the last of its kind, from the first axes or the figure."""

    def change(figure):
        (getattr(figure.axes[0], kind) if figure.axes else figure.texts)[index].remove()

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("error_plot", without("lines")),  # the rule at the maximum
        ("error_plot", without("texts", -2)),  # its name, before the title
        ("error_plot", without("collections")),  # an envelope
        ("error_runs", without("lines", 1)),
        ("panels", without("lines", 1)),
        ("nothing", lambda figure: figure.texts[1].remove()),
    ],
)
@pytest.mark.sampled(1)
def test_a_changed_picture_is_rejected(name, change, tmp_path):
    figure = DRAWN[name]().figure()
    change(figure)
    assert "did not match" in (differs(figure, name, "light", tmp_path) or "the same")


if __name__ == "__main__":
    for each, make in DRAWN.items():
        for theme in style.THEMES:
            sys.stdout.write(save(make().figure(theme), BASELINE / f"{each}-{theme}.png") + "\n")
