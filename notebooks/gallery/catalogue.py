"""The catalogues of messages: `python -m notebooks.gallery.catalogue` brings each up to date and compiles it.

What a translator fills in is aclnn_viz/words/LANGUAGE/LC_MESSAGES/aclnn_viz.po; SHOWN names the folders and modules
all of whose words are translated. Messages come from calls of `tr`, `ntr`, `message` and `meant` in the kit and in the gallery,
from the front end, from the controls of these modules, and from what is declared: conventions and errata, faults and
puzzles.
"""

import importlib
import re
from datetime import UTC, datetime
from pathlib import Path

from aclnn_viz.devices.peers import PEERS
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.explorers.state import controls
from aclnn_viz.explorers.widget import FRONT
from aclnn_viz.operators import operators
from aclnn_viz.products import PRODUCTS
from aclnn_viz.tiles import programs
from aclnn_viz.words.speech import DOMAIN, LANGUAGES, PLACE
from babel.messages import Catalog, mofile, pofile
from babel.messages.extract import extract
from notebooks.gallery.declared import declared, steps
from notebooks.gallery.told import told

ROOT = PLACE.parents[1]
SPEECH, OWN = "words.speech import", PLACE / "speech.py"
MODULES = {
    "aclnn_viz/sweeps": "cards driving pictures place recipes reporting sources wording workers",
    "aclnn_viz/tiles": "buffers casts core fault hazards lanes reductions selection sync tensors",
    "aclnn_viz/verification": "check contract derived formulas kinks numeric peers rounding symbolic taylor"}
SHOWN = (*(f"aclnn_viz/{room}" for room in (
    "accuracy", "checking", "cli", "explorers", "faults", "operators/plans", "pictures", "tiles/faults",
    "verification/conventions", "verification/errata", "words")), "aclnn_viz/arrays/plan.py", "notebooks/gallery/pages.py",
    *(f"{folder}/{name}.py" for folder, names in MODULES.items() for name in names.split()))
KEYWORDS = {"tr": None, "message": None, "linked": None, "meant": (2,), "ntr": (1, 2)}
# The vendor's names of modes, as its documents write them.
MODES = {"bilinear", "nearest", "bicubic", "zeros", "border", "reflection", "none", "mean", "sum"}
WORD = re.compile(r"[^\W\d_]{2}")
WORDS = re.compile(r"[^\W\d_]{2}\w*")
NUMBERS = {"nan", "inf"}
FILE = re.compile(r"(?:ops-\w+ )?[\w.-]+(?:/[\w.-]+){2,}(?:, commit \w{7})?")  # of a published repository, as it is cited
WRITTEN = datetime(2026, 11, 22, tzinfo=UTC)  # the same file from the same messages
HEAD = "# Messages of explorers and pictures. Translations use the terms of aclnn_viz/words/terms.toml.\n#"


def names() -> set[str]:
    """Return what has one name in all languages: formats, products, devices, modes, parameters and outputs."""
    found = {"host", "atlas", *MODES, *PEERS, *(named.name for named in (*operators(), *FORMATS)),
             *(soc for product in PRODUCTS for soc in (product.example_soc, *product.cores)),
             *(program.name for op in operators() for program in programs(op.name))}
    return found.union(*({parameter.name for parameter in op.parameters} | {*op.outputs} for op in operators()))


def shown() -> list[Path]:
    """Return the modules that hold what people read: every one of these folders, whoever adds it."""
    return sorted({path for place in SHOWN for path in (
        (ROOT / place).rglob("*.py") if (ROOT / place).is_dir() else ROOT.glob(place))})


def messages(language: str) -> dict:
    """Return {message: places} of all modules that have any; a message with a plural is a pair."""
    found, kept = {}, names()
    speaking = [path for folder in ("aclnn_viz", "notebooks/gallery") for path in sorted((ROOT / folder).rglob("*.py"))
                if path == OWN or SPEECH in path.read_text("utf-8")]
    for path in [*speaking, *sorted(FRONT.glob("*.js"))]:
        how = "javascript" if path.suffix == ".js" else "python"
        with open(path, "rb") as file:
            for line, message, _, _ in extract(how, file, KEYWORDS, options={"encoding": "utf-8"}):
                found.setdefault(message, []).append((str(path.relative_to(ROOT)), line))
    for path in sorted((ROOT / "aclnn_viz/explorers").glob("*.py")):
        for text in texts_of_states(importlib.import_module(f"aclnn_viz.explorers.{path.stem}")) - kept:
            found.setdefault(text, []).append((str(path.relative_to(ROOT)), 1))
    for text, where in {**steps(), **declared(), **told()}.items():
        if not {*WORDS.findall(FILE.sub("", text))} <= NUMBERS | kept:
            found.setdefault(text, []).append((where, 1))
    return found


def texts_of_states(module) -> set[str]:
    """Return what the controls of the state that a module shows say in words: labels, groups, hints and options."""
    told = controls(module.State) if hasattr(module, "State") else []
    return {text for each in told for text in (each["label"], each["group"], each["help"], *(text for _, text in each["options"]))
            if WORD.search(text)}


def catalogue(language: str) -> Catalog:
    """Return the catalogue as it is in the repository; an empty one if there is none."""
    path = place(language, "po")
    if not path.exists():
        return Catalog(locale=language)
    with open(path, "rb") as file:
        return pofile.read_po(file, locale=language)


def place(language: str, kind: str) -> Path:
    return PLACE / language / "LC_MESSAGES" / f"{DOMAIN}.{kind}"


def update(language: str) -> list[str]:
    """Bring a catalogue up to date, compile it, and return the messages that wait for a translation."""
    old, new = catalogue(language), Catalog(
        language, header_comment=HEAD, project="aclnn-viz", version="0.1", msgid_bugs_address="aclnn-viz", last_translator="aclnn-viz",
        language_team="zh", charset="utf-8", fuzzy=False)
    for message, places in sorted(messages(language).items(), key=lambda one: (one[1][0], str(one[0]))):
        known = old.get(message)
        new.add(message, known.string if known else "", locations=places)
    new.creation_date = new.revision_date = WRITTEN
    with open(place(language, "po"), "wb") as file:
        pofile.write_po(file, new, width=120, include_lineno=False, omit_header=False)
    with open(place(language, "mo"), "wb") as file:
        mofile.write_mo(file, new)
    return [str(one.id) for one in new if one.id and not all(one.string if isinstance(one.string, tuple) else [one.string])]


if __name__ == "__main__":
    for language in LANGUAGES[1:]:
        waiting = update(language)
        print(f"{language}: {len(waiting)} messages wait for a translation", *waiting, sep="\n  ")
