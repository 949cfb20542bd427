"""Find a font of this machine for words beyond the Latin alphabet, such as Chinese, and give advice without one."""

import logging
import re
from dataclasses import replace
from functools import cache, wraps

from aclnn_viz.pictures.palette import DRAWING
from aclnn_viz.tables import WIDE
from aclnn_viz.words.messages import english

FILES = re.compile(
    r"(?i)cjk|sourcehan|notosanssc|wqy|msyh|pingfang|hiragino|simhei|droidsansfallback|arialuni"
)
HINT = (
    "No font with Chinese glyphs was found here, so this figure is in English: "
    "install one, such as the package fonts-noto-cjk."
)


@cache
def chinese() -> str:
    """Return the first font of this machine that has Chinese glyphs, or an empty text."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    # Matplotlib caches its list of fonts: a font may be newer than the list
    if not (known := _known(fontManager)):
        for path in filter(FILES.search, findSystemFonts()):
            fontManager.addfont(path)
        known = _known(fontManager)
    # a font without a bold face also serves for titles, without Matplotlib's warning per picture
    if known:
        logging.getLogger("matplotlib.font_manager").addFilter(
            lambda record: "font weight" not in record.getMessage()
        )
    return known[0] if known else ""


def _known(manager) -> list[str]:
    names = {font.name for font in manager.ttflist}
    return [name for name in DRAWING["fonts"] if name in names]


def wanted(picture) -> list[str]:
    """Return the fonts that a picture's words need beyond those of all pictures."""
    return [chinese()] if _wide(picture) and chinese() else []


def drawn(picture) -> bool:
    """Return whether this machine has a glyph for every letter of a picture."""
    return not _wide(picture) or bool(chinese())


def legible(make):
    """Return a function that makes its picture in English, with a hint, if no font has the other language's glyphs."""

    @wraps(make)
    def made(*args, **given):
        picture = make(*args, **given)
        if not drawn(picture):
            with english():
                picture = make(*args, **given)
            picture = replace(picture, notices=(*picture.notices, HINT))
        return picture

    return made


def _wide(picture) -> bool:
    said = (
        picture.title,
        picture.warning,
        *picture.headline,
        *picture.notices,
        *(panel.title for panel in picture.panels),
    )
    return any(map(WIDE.search, said))
