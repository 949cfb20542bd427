"""The look of all pictures: a light and a dark theme, and the styles of the kinds of marks."""

from types import SimpleNamespace

from aclnn_viz.pictures.palette import DRAWING, KINDS

# each kind of mark: (light colour, dark colour, dash of the line, marker, hatch)
SERIES = tuple(kind[1:] for kind in KINDS)


class Theme(SimpleNamespace):
    """The colours of one theme, by the names of `drawing.toml`; `index` is its column in SERIES."""

    def rc(self, besides=()) -> dict:
        """Return Matplotlib's settings, with a fixed font so that a picture is the same on every machine.

        The fonts `besides` supply missing letters.
        """
        return DRAWING["matplotlib"] | {
            "font.family": ["DejaVu Sans", *besides],
            "hatch.linewidth": DRAWING["line"]["hatch"],
            **{name: getattr(self, colour) for name, colour in DRAWING["coloured"].items()},
        }


THEMES = {name: Theme(index=index, **DRAWING[name]) for index, name in enumerate(("light", "dark"))}
