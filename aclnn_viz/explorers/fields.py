"""Controls of interactive pictures (explorers) from `controls.toml`, with the options that products and operators decide."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from aclnn_viz.dtypes import FORMATS
from aclnn_viz.explorers.state import control
from aclnn_viz.operators import operators
from aclnn_viz.operators.products import CANN, PRODUCTS, SOC, VERSIONS
from aclnn_viz.words.messages import meant

TABLES = tomllib.loads(Path(__file__).with_name("controls.toml").read_text("utf-8"))
COMPUTED = {
    "dtype": {"options": {f.name: f.name for f in FORMATS}},
    "operator": {"options": {op.name: op.name for op in operators()}},
    "soc": {"start": SOC, "options": {p.example_soc: p.example_soc for p in PRODUCTS}},
    "cann": {"start": CANN, "options": {v: v for v in VERSIONS}},
}


def listed(name: str, **given: dict) -> list[tuple]:
    """Return (field, control) of a table in `controls.toml`; `given` holds computed parts by field."""
    return [
        (field, _made({"label": field} | COMPUTED.get(field, {}) | own | given.get(field, {})))
        for field, own in table(name).items()
    ]


def table(name: str) -> dict:
    """Return the settings of each field of a table; a setting that a field
    lacks comes from the table named by `like`.
    """
    own = TABLES[name]
    like, group = table(own["like"]) if "like" in own else {}, {"group": own.get("group", "")}
    return {
        field: group | like.get(field, {}) | said
        for field, said in own.items()
        if isinstance(said, dict)
    }


def _made(how: dict):
    texts = {name: _text(how.pop(name, "")) for name in ("label", "group", "help")}
    if "options" in how:
        how["options"] = {value: _text(text) for value, text in dict(how["options"]).items()}
    return control(how.pop("start", next(iter(how.get("options", ())), None)), **texts, **how)


def _text(said):
    return meant(said[0], said[1]) if isinstance(said, list) else said


def stated(name: str, **given: dict):
    """Return a decorator that makes a class a frozen dataclass, whose first fields are the controls of a table."""

    def made(state: type) -> type:
        fields = listed(name, **given)
        for field, one in fields:
            setattr(state, field, one)
        types = {field: type(one.default) for field, one in fields}
        state.__annotations__ = types | getattr(state, "__annotations__", {})
        return dataclass(frozen=True)(state)

    return made
