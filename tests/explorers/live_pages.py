"""A saved page against the kit: the picture that its JavaScript makes of random states, in node, and Python's."""

import json
import re
import subprocess
from contextlib import suppress
from functools import cache
from unittest.mock import patch

import numpy as np
from machine import SOAK

from aclnn_viz.explorers import live, subject_of
from aclnn_viz.explorers.state import StateError, build, controls
from aclnn_viz.pictures.panels import described

NUMBER = re.compile(r"-?\d[\d.]*(?:e[-+]\d+)?(?<!\.)")
RUN = """
globalThis.document = { getElementById: () => null };
SCRIPT
console.log(JSON.stringify(given.map((values) => {
  const { panels, headline, arrays, values: taken } = pictureOf(shown, values, "en", BEFORE ?? values);
  const numbers = ({ data, shape }) => ({ data: Array.from(data, String), shape });
  const drawn = (mark) => Object.fromEntries(
    Object.entries(mark).map(([field, name]) => [field, arrays[name] ? numbers(arrays[name]) : name]));
  return { panels: panels.map((panel) => ({ ...panel, marks: panel.marks.map(drawn) })), headline, values: taken };
})));
"""
STEPS_JS = (live.FRONT / "steps.js").read_text("utf-8")


def saved_at(name: str, **values) -> tuple:
    """Return (subject, state, page) of an explorer; a page takes up to some seconds, less with few combinations."""
    subject = subject_of(name)
    state = build(subject.state, values)
    with patch.object(live, "COMBINATIONS_HELD", live.COMBINATIONS_HELD if SOAK else 6):
        return subject, state, live.saved(subject, state, subject.compute(state))


saved = cache(saved_at)  # at its opening


def page_of(page: str) -> dict:
    return json.loads(re.search(r"^const content = (.*);$", page, re.MULTILINE)[1])


def in_node(page: str, states: list[dict], folder, before=None) -> list[dict]:
    """Return a page's view of states, after that of `before`: panels with their marks' numbers, headline, shown state."""
    script = re.search(r'<script type="module">\n(.*)\n</script>', page, re.DOTALL)[1]
    script = re.sub(
        r'^openLive\(document.getElementById\("here"\), (.*)\);$',
        r"const shown = opened(\1);",
        script,
        flags=re.MULTILINE,
    )
    # the script comes last, as its own words stay
    return said_by_node(
        RUN.replace("BEFORE", json.dumps(before)).replace("SCRIPT", script.replace("</", "<\\/")),
        folder,
        states,
    )


def said_by_node(script: str, folder, given=None):
    """Return what a script logs as JSON, which has `given`."""
    (folder / "given.json").write_text(json.dumps(given))
    (folder / "run.mjs").write_text(
        f"""import {{ readFileSync }} from "node:fs";
const given = JSON.parse(readFileSync("given.json"));
{script}""",
        "utf-8",
    )
    ran = subprocess.run(
        ["node", "run.mjs"], cwd=folder, check=True, timeout=600, stdout=subprocess.PIPE
    )
    return json.loads(ran.stdout)


def computed(jobs: dict, folder) -> dict:
    """Return the numbers of traces in node: {name: numbers} of {name: (namespace, traced array, inputs by name)}."""
    tables, functions, given = {}, [], {}
    for k, (name, (xp, made, inputs)) in enumerate(jobs.items()):
        functions.append(
            f"{json.dumps(name)}: (($) => {{const T = tables[{k}]; return ({xp.script({'y': made})})($).y;}})"
        )
        tables[k] = {table: np.frombuffer(raw, kind) for (kind, raw), table in xp.tables.items()}
        given[name] = inputs
    said = said_by_node(
        f"""{STEPS_JS}
const number = (text) => Number(text.replace("inf", "Infinity")), all = (lists) => Object.fromEntries(
  Object.entries(lists).map(([name, texts]) => [name, Float64Array.from(texts, number)]));
const tables = given.tables.map(all);
const functions = {{{",".join(functions)}}}, said = {{}};
for (const [name, one] of Object.entries(functions)) {{
  const made = one(all(given.inputs[name]));
  said[name] = Array.from(typeof made === "object" ? made : [made], (value) => (Object.is(value, -0) ? "-0" : String(Number(value))));
}}
console.log(JSON.stringify(said));""",
        folder,
        {
            "tables": [
                {name: list(map(str, values.tolist())) for name, values in one.items()}
                for one in tables.values()
            ],
            "inputs": {
                name: {
                    key: [str(each) for each in np.ravel(np.float64(value)).tolist()]
                    for key, value in one.items()
                }
                for name, one in given.items()
            },
        },
    )
    return {name: np.float64([float(each) for each in values]) for name, values in said.items()}


def random_states(subject, state, page: str, count: int, seed: int = 0) -> list[dict]:
    """Return random states of a page's movable fields, with ends of the sliders."""
    rng, start = np.random.default_rng(seed), vars(state)
    written, found = page_of(page), []
    variants = [[int(at) for at in key.split(",") if at] for key in written["variants"]]
    while len(found) < count:
        variant = variants[rng.integers(len(variants))]
        values = start | {
            field: options[at] for (field, options), at in zip(written["options"].items(), variant)
        }
        for c in controls(subject.state):
            if (field := c["field"]) not in written["alive"] or field in written["options"]:
                continue
            if c.get("moves") and c["kind"] == "whole":
                values[field] = int(rng.integers(c["low"], c["high"] + 1))
            elif c.get("moves"):
                values[field] = c["options"][rng.integers(len(c["options"]))][0]
            elif c.get("below"):
                values[field] = int(rng.integers(start[c["below"]]))
            else:
                steps = round((c["high"] - c["low"]) / c["step"])
                values[field] = float(
                    rng.choice(
                        [
                            c["low"],
                            c["high"],
                            c["initial"],
                            *[
                                round(c["low"] + c["step"] * k, 6)
                                for k in rng.integers(0, steps, 5)
                            ],
                        ]
                    )
                )
        if "moved" in values:
            x, y = rng.choice([*rng.uniform(-2.5, 2.5, 2), 1.0, -1.0, 0.0], 2).tolist()
            values["moved"] = [
                [values.get("row", 0), values.get("column", values.get("element")), x, y]
            ] * int(rng.integers(2))
        with suppress(StateError), np.errstate(all="ignore"):  # refused states are not compared
            subject.inputs(build(subject.state, values))
            found.append(values)
    return found


def differences(subject, values: dict, shown: dict, close: float) -> list:
    """Return differences of page and Python: texts must be equal, numbers within `close` of the largest beside them."""
    data = subject.compute(build(subject.state, values))
    arrays, panels = described(subject.panels(data))
    wrong = [
        pair
        for pair in zip(
            [line for line in subject.told(data) if line], shown["headline"], strict=True
        )
        if not alike(*pair)
    ]
    for want, got in zip(panels, shown["panels"], strict=True):
        marks = [mark for mark in got["marks"] if there(mark)]
        wanted = [mark for mark in want["marks"] if there(mark, arrays)]
        kinds, drawn = ([mark["mark"] for mark in each] for each in (wanted, marks))
        if kinds != drawn:
            wrong.append((want["name"], kinds, drawn))
            continue
        parts = [({"title": want["title"]}, got), *((want[axis], got[axis]) for axis in "xy")]
        for one, two in [*zip(wanted, marks), *parts]:
            for field, value in one.items():
                value, other = (
                    arrays.get(value, value) if isinstance(value, str) else value,
                    two[field],
                )
                if not same(value, other, close):
                    wrong.append((want["name"], one.get("mark"), field, value, other))
    return wrong


def alike(one: str, two: str) -> bool:
    """Return whether texts are equal, except for errors that are only the rounding of a truth in float64."""
    plain, other = ([float(each) for each in NUMBER.findall(text)] for text in (one, two))
    return (
        one == two
        or NUMBER.sub("", one) == NUMBER.sub("", two)
        and np.allclose(plain, other, rtol=0, atol=1e-12)
    )


def there(mark, arrays=None) -> bool:
    """Return whether a mark of the page, or of Python's `arrays`, has a place; an absent mark has nan in all places."""
    place = next((mark[name] for name in ("x", "at", "x0") if name in mark), 0.0)
    place = arrays[place] if isinstance(place, str) else place
    values = np.float64(
        place["data"] if isinstance(place, dict) else np.nan if place is None else place
    )
    return not values.size or bool(np.isfinite(values).any())


def same(value, other, close: float) -> bool:
    if isinstance(value, np.ndarray):
        with np.errstate(over="ignore"):
            one, two = (
                np.float32(value),
                np.float32([float(each) for each in other["data"]]).reshape(other["shape"]),
            )
        with np.errstate(all="ignore"):
            size = np.max(np.abs(one), where=np.isfinite(one), initial=0.0)
        return one.shape == two.shape and np.allclose(
            one, two, rtol=close, atol=close * size, equal_nan=True
        )
    if isinstance(value, float) and not isinstance(other, bool) and other is not None:
        return np.isclose(value, other, rtol=max(close, 1e-6), atol=1e-6)
    if isinstance(value, (list, tuple)):
        return len(value) == len(other) and all(
            same(one, two, close) for one, two in zip(value, other)
        )
    return value == other
