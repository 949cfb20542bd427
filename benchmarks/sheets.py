"""Contact sheets of the built site: `python benchmarks/sheets.py` after `make site`; look at every sheet that changed.

Each lesson and each explorer in four forms (light, dark, 820 pixels wide, a phone), a sheet for each form, in build/sheets.
"""

import io
import sys
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SITE, SHEETS = ROOT / "build" / "site", ROOT / "build" / "sheets"
FORMS = {
    "light": ("light", 1280),
    "dark": ("dark", 1280),
    "narrow": ("light", 820),
    "phone": ("dark", 390),
}
TILE, ACROSS, TALL = (
    480,
    5,
    900,
)  # pixels of a tile's width, tiles in a row, pixels of a page's height that are shown


def places() -> dict[str, list[Path]]:
    """The pages by sheet: lessons of both editions, explorers, the others."""
    pages = [
        path for path in sorted(SITE.rglob("*.html")) if path.parent not in (SITE, SITE / "zh")
    ]
    kind = {"live": "explorers", "notebooks": "lessons", "zh": "chinese"}
    found: dict[str, list[Path]] = {}
    for path in pages:
        parts = path.relative_to(SITE).parts
        found.setdefault(kind.get(parts[0], "guides"), []).append(path)
    return found


def shot(browser, path: Path, scheme: str, width: int) -> Image.Image:
    """The page as it opens, of an explorer all of it, as wide as a tile and with its name."""
    page = browser.new_context(
        offline=True, color_scheme=scheme, viewport={"width": width, "height": TALL}
    ).new_page()
    page.goto(path.as_uri())
    if path.parent.name == "live":
        page.wait_for_function(
            "Number(document.querySelector('.aclnn-explorer')?.dataset.revision) > 0"
        )
    whole = Image.open(io.BytesIO(page.screenshot(full_page=path.parent.name == "live")))
    page.context.close()
    small = whole.resize((TILE, max(1, whole.height * TILE // whole.width)))
    ImageDraw.Draw(small).text((4, small.height - 14), path.stem, fill="red")
    return small


def sheet(tiles: list[Image.Image]) -> Image.Image:
    rows = [tiles[k : k + ACROSS] for k in range(0, len(tiles), ACROSS)]
    heights = [max(tile.height for tile in row) + 8 for row in rows]
    made = Image.new("RGB", (ACROSS * (TILE + 8), sum(heights)), "grey")
    for number, row in enumerate(rows):
        for k, tile in enumerate(row):
            made.paste(tile, (k * (TILE + 8), sum(heights[:number])))
    return made


def main(asked: list[str]) -> None:
    """Make the sheets, those alone whose names (such as explorers-dark) are asked for."""
    SHEETS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        for kind, paths in places().items():
            for form, (scheme, width) in FORMS.items():
                if not asked or f"{kind}-{form}" in asked:
                    sheet([shot(browser, path, scheme, width) for path in paths]).save(
                        SHEETS / f"{kind}-{form}.png"
                    )
                    print(SHEETS / f"{kind}-{form}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
