"""The catalogues of messages: `python -m notebooks.gallery.catalogue` brings each up to date.

A translator fills in aclnn_viz/words/LANGUAGE.po; catalogue.toml lists the modules whose words are all translated. Messages
come from calls of `tr`, `ntr`, `message`, `told` and `meant` in the kit and in the gallery, from the front end, from the controls of
these modules, and from declarations (conventions and errata, faults and puzzles, commands).
"""

import importlib
import re
from functools import cache
from io import BytesIO
from pathlib import Path

from babel.messages import Catalog, pofile
from babel.messages.extract import extract

from aclnn_viz.devices.peers import PEERS
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.explorers.fields import TABLES, table
from aclnn_viz.explorers.scripts import FRONT
from aclnn_viz.explorers.state import controls
from aclnn_viz.operators import operators
from aclnn_viz.operators.products import PRODUCTS
from aclnn_viz.tables import table_beside
from aclnn_viz.tiles import programs
from aclnn_viz.words.messages import LANGUAGES, PLACE
from notebooks.gallery.declared import declared, of_faults, steps

ROOT = PLACE.parents[1]
IMPORTED, OWN = "words.messages import", PLACE / "messages.py"
SHOWN = table_beside(__file__, "catalogue.toml")["shown"]
KEYWORDS = {"tr": None, "message": None, "linked": None, "meant": (2,), "ntr": (1, 2)}
TOLD = [{"told": (k,)} for k in range(2, 16)]  # all its texts
# The vendor's names of modes in its documents.
MODES = {"bilinear", "nearest", "bicubic", "zeros", "border", "reflection", "none", "mean", "sum"}
WORD = re.compile(r"[^\W\d_]{2}")
WORDS = re.compile(r"[^\W\d_]{2}\w*")
NUMBERS = {"nan", "inf"}
# a cited file of a published repository
FILE = re.compile(r"(?:ops-\w+ )?[\w.-]+(?:/[\w.-]+){2,}(?:, commit \w{7})?")
# A head that tools for catalogues require; Babel's head would change with its version.
HEAD = r"""# Translations use the terms of terms.toml, beside this file.
msgid ""
msgstr "Language: {}\nContent-Type: text/plain; charset=utf-8\nPlural-Forms: {}\n"
"""


def names() -> set[str]:
    """Return words with one name in all languages: formats, products, devices, modes, parameters and outputs."""
    found = {
        "host",
        "atlas",
        *MODES,
        *PEERS,
        *(named.name for named in (*operators(), *FORMATS)),
        *(soc for product in PRODUCTS for soc in (product.example_soc, *product.cores)),
        *(program.name for op in operators() for program in programs(op.name)),
    }
    return found.union(
        *({parameter.name for parameter in op.parameters} | {*op.outputs} for op in operators())
    )


def shown() -> list[Path]:
    """Return the modules that hold texts for people: every module in these folders."""
    return sorted({path for place in SHOWN for path in ROOT.glob(place)})


def explorer_files() -> list[Path]:
    """Return the modules that hold explorers' texts, operators' last."""
    folder = ROOT / "aclnn_viz" / "explorers"
    return [*sorted(folder.glob("*.py")), *sorted(folder.glob("by_operator/*.py"))]


def module_of(path: Path):
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


@cache
def messages() -> dict:
    """Return {message: file} of all modules with messages; a message with a plural is a pair."""
    found, kept = {}, names() - {"value"}  # "value" is a name and also a word
    speaking = [
        path
        for folder in ("aclnn_viz", "notebooks/gallery")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path == OWN or IMPORTED in path.read_text("utf-8")
    ]
    for path in [*speaking, *sorted(FRONT.glob("*.js"))]:
        how = "javascript" if path.suffix == ".js" else "python"
        for keywords in (
            (KEYWORDS, *TOLD) if b"told(" in (source := path.read_bytes()) else (KEYWORDS,)
        ):
            for _, message, _, _ in extract(how, BytesIO(source), keywords):
                found.setdefault(message, path.relative_to(ROOT))
    for path in explorer_files():
        for text in texts_of_states(module_of(path)) - kept:
            found.setdefault(text, path.relative_to(ROOT))
    for text in texts_of_controls() - kept:
        found.setdefault(text, Path("aclnn_viz/explorers/controls.toml"))
    for text, where in {**steps(), **declared(), **of_faults()}.items():
        if not {*WORDS.findall(FILE.sub("", text))} <= NUMBERS | kept:
            found.setdefault(text, where)
    return found


def texts_of_controls() -> set[str]:
    """Return the texts of `controls.toml`: labels, groups, hints and options."""
    found = set()
    for one in (
        own | {"label": own.get("label", name)} for t in TABLES for name, own in table(t).items()
    ):
        said = [
            one.get(key, "") for key in ("label", "group", "help") if key not in one.get("kept", ())
        ]
        said += [text for _, text in one.get("options", ()) if not one.get("names")]
        found |= {text[-1] if isinstance(text, list) else text for text in said}
    return {text for text in found if WORD.search(text)}


def texts_of_states(module) -> set[str]:
    """Return the texts of a module's controls: labels, groups, hints and options."""
    found = controls(module.State) if hasattr(module, "State") else []
    return {
        text
        for each in found
        for text in (
            each["label"],
            each["group"],
            each["help"],
            *(getattr(text, "key", text) for _, text in each["options"]),
        )
        if WORD.search(text)
    }


def catalogue(language: str) -> Catalog:
    """Return the catalogue in the repository."""
    return pofile.read_po(BytesIO(place(language).read_bytes()), locale=language)


def place(language: str) -> Path:
    return PLACE / f"{language}.po"


def updated(language: str) -> Catalog:
    """Return the catalogue with the current messages: new ones without translation, and without unused ones."""
    made, today = catalogue(language), Catalog()
    for message in messages():
        today.add(message)
    made.update(today, no_fuzzy_matching=True)
    return made


def text(made: Catalog) -> bytes:
    """Return the text of a catalogue: sorted messages and translations only."""
    for message in made:
        message.flags.clear()
    file = BytesIO()
    pofile.write_po(
        file,
        made,
        width=0,
        no_location=True,
        omit_header=True,
        sort_output=True,
        ignore_obsolete=True,
    )
    return HEAD.format(made.locale, made.plural_forms).encode() + file.getvalue().replace(
        b"\n\n", b"\n"
    )


if __name__ == "__main__":
    for language in LANGUAGES[1:]:
        made = updated(language)
        place(language).write_bytes(text(made))
        waiting = [
            f"{messages()[one.id]}: {one.id}"
            for one in made
            if one.id and not "".join(one.string or "")
        ]
        print(f"{language}: {len(waiting)} messages wait for a translation", *waiting, sep="\n  ")
