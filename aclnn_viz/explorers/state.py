"""Describe the state of an interactive picture (explorer), a frozen dataclass whose fields are controls with limits.

Each field carries its control: label, group, and either options or limits. The same description validates what Python code
sets and lays out the controls in the browser, so the two cannot disagree.
"""

import json
from dataclasses import field, fields
from math import inf
from urllib.parse import parse_qsl, urlencode

from aclnn_viz.errors import invalid, mistyped, problem
from aclnn_viz.words.messages import message, tr


class StateError(ValueError):
    """A value that the explorer cannot show; `field` names the control that shows the message."""

    def __init__(self, field_name: str, asked: str, got: str, fix: str):
        super().__init__(problem(asked, got, fix))
        self.field, self.said = (
            field_name,
            message("{asked}: got {got}; {fix}", asked=asked, got=got, fix=fix),
        )

    @classmethod
    def of(cls, field_name: str, error: Exception) -> "StateError":
        """Return the StateError that shows another package's error, already in
        three parts, beside a field's control.
        """
        made = cls(field_name, "", "", "")
        made.args, made.said = (str(error),), str(error)
        return made


def control(start, label: str, group: str, help: str = "", **more):
    """Return a field with a control: one of a few `options` (value: text), a flag, or a number from `low` to `high`.

    With `names`, options have the same texts in all languages; `owners` restricts an option to a value of the field `of`, and
    `named` holds the texts of the first options by values of that field. A number goes back to its start when its field `of`
    changes. An index is `below` the field with its size, and shrinks with it. Where the flag `without` is set, a control has no
    effect. What `moves` alone is an index, or the number of an option, for a page without Python.
    """
    kind = {bool: "flag", int: "whole", float: "real"}.get(type(start), "choice")
    kind = "choice" if "options" in more else kind
    more = {"step": 1} | more if kind == "whole" else more
    described = {"kind": kind, "label": label, "group": group, "help": help} | more
    return field(default=start, metadata={"control": described})


def vendors(made):
    """Return a control whose label, the vendor's name of a parameter, is not translated."""
    return field(
        default=made.default, metadata={"control": made.metadata["control"] | {"kept": ("label",)}}
    )


def controls(state_class) -> list[dict]:
    """Return the controls of a state class in the order of its fields, for the front end."""
    described = []
    for entry in fields(state_class):
        if control := entry.metadata.get("control"):
            options = [*map(list, control.get("options", {}).items())]
            owners = [control["owners"].get(value) for value, _ in options if "owners" in control]
            described.append(
                control
                | {
                    "field": entry.name,
                    "options": options,
                    "initial": entry.default,
                    "owners": owners,
                }
            )
    return described


def worded(described: list[dict]) -> list[dict]:
    """Return controls with their texts in the chosen language."""
    return [
        control
        | {
            name: tr(control[name])
            for name in ("label", "group", "help")
            if control[name] and name not in control.get("kept", ())
        }
        | {
            "options": [
                [value, text if control.get("names") else tr(text)]
                for value, text in control["options"]
            ]
        }
        for control in described
    ]


def check_indices(state) -> None:
    """Raise StateError for the first index of a state that is not below its size."""
    described = {control["field"]: control for control in controls(type(state))}
    for name, control in described.items():
        if (size := control.get("below")) and getattr(state, name) >= (
            count := getattr(state, size)
        ):
            raise StateError(
                name,
                message(
                    "{name} must be a whole number below {count}, the value of {axis}",
                    name=name,
                    count=count,
                    axis=described[size]["label"],
                ),
                f"{getattr(state, name)}",
                message("choose {values}", values=f"{'0 to ' * (count > 1)}{count - 1}"),
            )


def check_choices(state) -> None:
    """Raise StateError for the first field whose option is only for another value of the field that its control names
    in `of`.
    """
    for control in controls(type(state)):
        if control["owners"]:
            name, of, owners = control["field"], getattr(state, control["of"]), control["owners"]
            there = [
                value
                for (value, _), owner in zip(control["options"], owners)
                if owner in (None, of)
            ]
            if getattr(state, name) not in there:
                raise StateError(
                    name,
                    message(
                        "{name} of {of} must be one of {values}",
                        name=name,
                        of=of,
                        values=", ".join(map(repr, there)),
                    ),
                    shown(getattr(state, name)),
                    message("choose one"),
                )


def check_points(state, rows: int, columns: int) -> None:
    """Convert a state's `moved` to a tuple of (row, column, x, y); raise StateError for any other list."""
    if not isinstance(state.moved, (list, tuple)):
        raise StateError(
            "moved", "moved must be a list of (row, column, x, y)", repr(state.moved), "pass a list"
        )
    object.__setattr__(state, "moved", tuple(_point(point, rows, columns) for point in state.moved))


def _point(point, rows: int, columns: int) -> tuple:
    try:
        row, column, x, y = point
        inside = 0 <= row < rows and 0 <= column < columns
        if inside and row == int(row) and column == int(column) and abs(x) < inf and abs(y) < inf:
            return int(row), int(column), float(x), float(y)
    except (TypeError, ValueError, OverflowError):
        pass
    raise StateError(
        "moved",
        "each moved point is (row, column, x, y), on the grid and finite",
        repr(point),
        f"choose a row below {rows} and a column below {columns}",
    )


def check_names(state_class, values: dict) -> None:
    """Raise TypeError for a name that the state lacks."""
    known = [entry.name for entry in fields(state_class)]
    for name in values:
        if name not in known:
            raise mistyped(
                f"{state_class.__name__} takes {', '.join(known)}", shown(name), "use one of these"
            )


def build(state_class, values: dict):
    """Return the state with these values, and defaults for missing ones.

    Raise TypeError for a name that the state lacks, StateError for a value that does not fit.
    """
    check_names(state_class, values)
    known = {entry.name: entry for entry in fields(state_class)}
    fitted = {
        name: _fitted(name, value, known[name].metadata.get("control"))
        for name, value in values.items()
    }
    return state_class(**fitted)


def changed(state) -> dict:
    """Return the values of a state that differ from the defaults, as arguments of `av.explore`."""
    return {
        entry.name: value
        for entry in fields(state)
        if (value := getattr(state, entry.name)) != entry.default
    }


def state_text(state) -> str:
    """Return the values of a state that differ from the defaults as the text of a link; `read_state` reads it."""
    return urlencode(
        {name: json.dumps(value, separators=(",", ":")) for name, value in changed(state).items()}
    )


def read_state(text: str) -> dict:
    """Return the values in the text of a link, with or without its #; raise ValueError for another text.

    >>> read_state("#rotate=30.0&paddingMode=1")
    {'rotate': 30.0, 'paddingMode': 1}
    """
    try:
        pairs = parse_qsl(
            text.removeprefix("#"),
            keep_blank_values=True,
            strict_parsing=bool(text.removeprefix("#")),
        )
        return {name: json.loads(value) for name, value in pairs if name != "lang"}
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise invalid(
            "a state is what a link has after its #, such as rotate=30.0&paddingMode=1",
            shown(text),
            'copy it by "Copy link"',
        ) from None


def shown(value) -> str:
    """Return a value for a message, only the start of a long one.

    >>> shown("x" * 1000) == "'" + 56 * "x" + "..."
    True
    """
    return brief(repr(value), 60)


def brief(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _fitted(name: str, value, control: dict | None):
    if control is None:
        return value
    check = {"choice": _option, "flag": _boolean, "whole": _number, "real": _number}[
        control["kind"]
    ]
    return check(name, value, control)


def _option(name, value, control):
    for option in control["options"]:
        # a browser writes 3.0 as 3
        same = type(option) is type(value) or type(option) is float and type(value) is int
        if same and option == value:
            return option
    raise StateError(
        name,
        message(
            "{name} must be one of {values}",
            name=name,
            values=", ".join(map(repr, control["options"])),
        ),
        shown(value),
        message("choose one"),
    )


def _boolean(name, value, control):
    if isinstance(value, bool):
        return value
    raise StateError(
        name,
        message("{name} must be True or False", name=name),
        shown(value),
        message("tick or clear the box"),
    )


def _number(name, value, control):
    low, high, is_whole = control["low"], control["high"], control["kind"] == "whole"
    ends = {"name": name, "low": low, "high": high}
    asked = (
        message("{name} must be a whole number from {low} to {high}", **ends)
        if is_whole
        else message("{name} must be a number from {low} to {high}", **ends)
    )
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < inf
    if not number or is_whole and value != int(value):
        raise StateError(
            name,
            asked,
            message("nothing") if value is None else shown(value),
            message("type a number that this field takes"),
        )
    if not low <= value <= high:
        raise StateError(
            name,
            asked,
            shown(value),
            message("raise it to {end}", end=low)
            if value < low
            else message("lower it to {end}", end=high),
        )
    return int(value) if is_whole else float(value)
