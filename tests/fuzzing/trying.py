"""Unexpected inputs for each place of input: spoiled valid ones, and new ones by a grammar.

A surface makes one input from a random generator and tries it. Input number k is drawn from the seed "SURFACE
k", so that each can be repeated: `once("recipes", 1234)`. An input is accepted, or refused by a documented
error of three parts. Everything else is a finding: another exception, a crash of the process, no end within
LIMIT seconds, an answer that the oracle of the surface contradicts.
"""

import json
import random
import re
import resource
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

WORDS = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
NUMBERS, TEXTS = WORDS["numbers"], WORDS["texts"]
LIMIT = 20.0  # limit of one input
MEMORY = 6 << 30  # limit of a process in bytes
THREE = re.compile(r".*: got .*; \S.*", re.DOTALL)


class Surface(NamedTuple):
    """`make(folder)` returns the function that tries one input; `count` is the full number, `oracle` the demand
    on answers, `tools` its needs.
    """

    name: str
    count: int
    oracle: str
    make: Callable
    refusals: tuple
    tools: tuple


class Endless(BaseException):
    """An input has not ended within its limit."""


SURFACES: dict[str, Surface] = {}


def surface(count: int, oracle: str, *refusals, tools=()):
    def added(make):
        name = make.__name__.replace("_", " ")
        SURFACES[name] = Surface(
            name, count, oracle, make, (ValueError, TypeError, *refusals), tools
        )
        return make

    return added


def tried(name: str, seeds) -> dict:
    """Try inputs of a surface; return the numbers accepted and refused, the seconds, and the findings by seed."""
    one, counts, findings, start = SURFACES[name], Counter(), {}, time.process_time()
    memory_limited()
    signal.signal(signal.SIGALRM, _endless)
    with tempfile.TemporaryDirectory() as folder:
        attempt = one.make(Path(folder))
        for seed in seeds:
            counts[_outcome(one, attempt, seed, findings)] += 1
    return {
        "inputs": counts.total(),
        "taken": counts["taken"],
        "refused": counts["refused"],
        "seconds": time.process_time() - start,
        "findings": findings,
    }


def memory_limited() -> None:
    """Limit this process to MEMORY bytes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def once(name: str, seed: int):
    """Try one input again without catching its error."""
    with tempfile.TemporaryDirectory() as folder:
        return SURFACES[name].make(Path(folder))(random.Random(f"{name} {seed}"))


def _endless(*_):
    raise Endless


def _outcome(one: Surface, attempt, seed: int, findings: dict) -> str:
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        attempt(random.Random(f"{one.name} {seed}"))
        return "taken"
    except one.refusals as error:
        # in the system's words
        if THREE.fullmatch(str(error)) or isinstance(error, OSError) and error.errno:
            return "refused"
        findings[seed] = f"not in three parts: {type(error).__name__}: {error}"[:300] + _place(
            error
        )
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        findings[seed] = f"{type(error).__name__}: {error}"[:300] + _place(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "found"


def _place(error) -> str:
    last = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f" {Path(frame.filename).name}:{frame.lineno}" for frame in reversed(last))


# Spoiling and making


def odd(draw: random.Random, depth: int = 2):
    """Return a value of JSON, or nearly."""
    kind = draw.randrange(9 if depth else 6)
    if kind < 3:
        return draw.choice(NUMBERS)
    if kind < 5:
        return draw.choice(TEXTS)
    if kind == 5:
        return draw.choice((None, True, False))
    if kind < 8:
        return [odd(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {draw.choice(TEXTS): odd(draw, depth - 1) for _ in range(draw.randrange(3))}


def changed(draw: random.Random, value, make=odd):
    """Return a value of JSON with one place replaced, removed, doubled, or renamed."""
    if not isinstance(value, (dict, list)) or not value or draw.random() < 0.1:
        return make(draw)
    if isinstance(value, dict):
        name = draw.choice(list(value))
        match draw.randrange(8):
            case 0:
                return {key: one for key, one in value.items() if key != name}
            case 1:
                return {
                    draw.choice(TEXTS) if key == name else key: one for key, one in value.items()
                }
            case 2:
                return value | {draw.choice(TEXTS): make(draw)}
        return value | {name: changed(draw, value[name], make)}
    at = draw.randrange(len(value))
    return (
        value[:at]
        + draw.choice(([], [value[at]] * 2, *[[changed(draw, value[at], make)]] * 6))
        + value[at + 1 :]
    )


def spoiled(draw: random.Random, content, words=()):
    """Return bytes or a text, changed in one to three places."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at, more = draw.randrange(len(content) + 1), draw.randrange(1, 1 + draw.choice((1, 4, 64)))
        match draw.randrange(7):
            case 0:
                new = content[:0]
            case 1:
                new = content[at : at + more] * 2
            case 2 if words:
                new = draw.choice(words)
            case 3 if draw.random() < 0.2:
                return content[:at]
            case 4:
                other = draw.randrange(len(content) + 1)
                new = content[other : other + more]
            case _:
                new = (
                    bytes(draw.randrange(256) for _ in range(more))
                    if isinstance(content, bytes)
                    else draw.choice((*TEXTS, *map(str, NUMBERS), chr(draw.randrange(1, 256))))
                )
        content = content[:at] + new + content[at + more * (draw.random() < 0.8) :]
    return content


def text_of(value) -> str:
    """Return JSON, even of halves of characters, which no file can hold."""
    return json.dumps(value)
