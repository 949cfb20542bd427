"""Collect the browser's parts of interactive pictures (explorers): scripts, style sheet, and their translated words."""

import re
from functools import cache
from pathlib import Path

from aclnn_viz.pictures.palette import DRAWING, KINDS
from aclnn_viz.words.messages import language_here, tr

FRONT = Path(__file__).parent / "front"
BUNDLE = "d3.js"  # third-party packages, bundled by make front
SCRIPTS = tuple(
    "kit.js canvas.js paths.js formulas.js hand.js marks.js frame.js stage.js narrow.js panels.js".split()
)
LAB = (*SCRIPTS, "steps.js", "live.js")
MESSAGE = re.compile(r'\btr\("([^"\\]+)"')


@cache
def script(names=LAB) -> str:
    return "\n".join((FRONT / name).read_text("utf-8") for name in (BUNDLE, *names))


def style() -> str:
    """Return the style sheet, after the colours and sizes that it uses, for both themes."""

    def rule(where, values):
        return (
            f"{where}.aclnn-explorer {{ "
            + " ".join(f"--ae-own-{name}: {value};" for name, value in values.items())
            + " }\n"
        )

    sizes = {name: DRAWING[name] for name in ("columns", "width")}
    light, dark = ({str(k): kind[at] for k, kind in enumerate(KINDS)} for at in (1, 2))
    themes = rule("", DRAWING["light"] | sizes | light) + rule(
        '[data-jp-theme-light="false"] ', DRAWING["dark"] | dark
    )
    return themes + (FRONT / "style.css").read_text("utf-8")


def wording(names=SCRIPTS) -> dict:
    """Return the scripts' messages by English text, and the language of the translations; nothing for English."""
    said = {
        message: tr(message) for message in MESSAGE.findall(script(names)) if tr(message) != message
    }
    return {"lang": language_here(), "texts": said} if said else {}
