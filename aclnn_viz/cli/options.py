"""Add the options of each command from commands.toml."""

import argparse

from aclnn_viz.errors import problem
from aclnn_viz.tables import table_beside
from aclnn_viz.words.messages import tr

OPTIONS = table_beside(__file__, "commands.toml")


def given(text: str) -> str:
    """Return the text of an option; refuse an empty one."""
    if not text:
        raise argparse.ArgumentTypeError(
            problem("the value of an option is not empty", "an empty text", "leave the option out")
        )
    return text


def seed(text: str) -> int:
    """Return the seed that a text states; refuse any text but a whole number from 0 on."""
    try:
        if int(text) >= 0:
            return int(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        problem("a seed is a number from 0 on", text, "pass such as --seed 3")
    )


def order(text: str) -> str | int:
    """Return the schedule that a text states: its name, or a number that seeds a random order."""
    return int(text) if text.isdecimal() and len(text) < 20 else text


TYPES = {"text": given, "int": int, "float": float, "seed": seed, "order": order}


def add_options(command: argparse.ArgumentParser, options: dict) -> None:
    """Give a command its options, in the output's language."""
    groups: dict = {}
    for flag, settings in options.items():
        about, place = settings["help"], command
        settings = settings | {"help": tr(about)}
        if group := settings.pop("group", None):
            if group not in groups:
                groups[group] = command.add_mutually_exclusive_group(
                    required="default" not in settings
                )
            place = groups[group]
        if isinstance(settings.get("metavar"), list):
            settings["metavar"] = tuple(settings["metavar"])
        if settings.get("action") != "store_true":
            settings["type"] = TYPES[settings.get("type", "text")]
        place.add_argument(flag, **settings)
