"""`why`: explain a status code or a log: what failed first, what only follows, and what to try.

What is known is data, in causes.toml beside this module: each entry names the public source of its meaning and of its causes.
Where a log names an operator of the kit and its tensors, the call is repeated on the emulated contract.
"""

import re
from dataclasses import asdict, dataclass, replace
from functools import cache
from os import strerror

from aclnn_viz.errors import invalid, need, printable
from aclnn_viz.operators import codes, operators
from aclnn_viz.operators.contract import Call, TensorDescriptor, contiguous_strides, contract
from aclnn_viz.operators.parameters import REQUIRED
from aclnn_viz.operators.products import A2, product_of, version_of
from aclnn_viz.tables import table_beside, wrapped
from aclnn_viz.words.messages import language_here, tr

LEVELS = "cause", "call", "stop", "echo", "notice"  # kinds of lines, explained in causes.toml
LINE = re.compile(r"[^\r\n]{1,4000}")
# parts that vary between repetitions of a line: addresses, and words with digits that are no error codes
VARIES = re.compile(r"0x\w+|\b(?!E[A-Z\d]+\b|[1-35][046][01578]\d{3}\b)\w*\d\w*")
AROUND = 500_000  # a tensor is searched within so many characters of its operator's name
CODES = {value: name for name, value in vars(codes).items() if re.match(r"ACL(NN)?_ERR", name)}
ALSO = {"HALF": "FLOAT16", "BFLOAT16": "BF16", "FLOAT32": "FLOAT", "FLOAT64": "DOUBLE"}
TYPE = r"(?:ACL_|DT_|torch\.)?(\w+)"
# a tensor in a log: float16 [4, 16], or [4, 16], float16
TENSOR = rf"(?:shape\W{{1,4}})?(?:{TYPE}\W{{1,4}})?\[([\d, ]{{0,200}})\](?:\W{{1,4}}(?:dtype\W{{1,4}})?{TYPE})?"


@dataclass(frozen=True)
class Meaning:
    """The meaning of a code or of a kind of line in a log; `causes` are pairs (cause, public thread), the most frequent first.

    `level` is one of LEVELS; `line` is where the log says it, `place` the file and line of Python that raised it; `advice` what
    to do; `command` shows it. Where it is not `sure`, such a line often means this, and means other things, too.
    """

    name: str
    meaning: str
    source: str
    causes: tuple[tuple[str, str], ...]
    level: str
    line: str
    place: str
    advice: str
    command: str
    sure: bool

    @property
    def said(self) -> str:
        return tr("{name}: {what}", name=self.name, what=self.meaning)

    def told(self):
        if self.line:
            yield "  " + _short(self.line)
        yield self.said if self.sure else tr("such a line often says: {what}", what=self.said)
        for number in map(int, _form("errno").findall(self.line)):
            yield tr("  the system's number of the error says: {what}", what=strerror(number))
        if self.place:
            yield tr(
                "  raised in: {place}; if no file of yours stands above that place, the package there most often does not fit the versions of the other packages, or has a defect: install versions that belong together, or a newer one",
                place=printable(self.place),
            )
        yield tr("  ({source})", source=self.source)
        for cause, thread in self.causes:
            yield tr("  a cause seen before: {cause} ({thread})", cause=cause, thread=thread)
        if self.line and self.level in ("stop", "echo") and self.name != "build stopped":
            yield tr(
                "  the cause is unknown, because no line of this log names it: run again with ASCEND_LAUNCH_BLOCKING=1, and read the first [ERROR] in ~/ascend/log/debug/plog"
            )

    def tries(self):
        if self.advice:
            yield tr("try: {advice} ({source})", advice=self.advice, source=self.source)
        if self.command:
            yield tr("try: {command} shows such a failure without a device", command=self.command)


@dataclass(frozen=True)
class Why:
    """The explanation of a log: meanings, the first failure first; the named operator, its repeated call; and the first and
    last line of a failure, where the log has no line that says the cause."""

    meanings: tuple[Meaning, ...]
    operator: str
    conditions: tuple[str, ...]
    notes: tuple[str, ...]
    repeated: str
    unknown: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(line for text in self._told() for line in wrapped(text, 110, "", "    "))

    def _told(self):
        first, rest = self.meanings[:1], self.meanings[1:]
        if not first:
            yield tr("unknown: nothing in the tables explains this log")
        elif first[0].level == "notice" and not self.unknown:
            yield tr("warnings alone; perhaps nothing failed:")
        elif rest:
            yield tr("what failed first:")
        told = [line for meaning in first for line in meaning.told()]
        own = [meaning.line for meaning in first]
        lines = [
            text.format(line=_short(line))
            for text, line in zip(
                (tr("the first error of the log: {line}"), tr("the last error of the log: {line}")),
                self.unknown,
            )
            if line not in own
        ]
        sure = all(one.sure for one in first)
        # what a line may mean stands behind the first error of the log
        at = own != [*self.unknown[:1]] and not sure
        yield from lines[:at] + told + lines[at:]
        if rest:
            yield tr("what the log says besides, most of it because of that:")
        for meaning in rest:
            yield tr("  {meaning} ({source})", meaning=meaning.said, source=meaning.source)
        if self.operator:
            yield tr("operator that the log names: {name}", name=self.operator)
        for text in self.conditions:
            yield tr("  what the code says in this call: {text}", text=text)
        if self.repeated:
            yield tr(
                "the call, repeated on the emulated contract (not on a device): {answer}",
                answer=self.repeated,
            )
        for meaning in self.meanings:
            if meaning.level == first[0].level and meaning.sure >= sure:
                yield from meaning.tries()
        for note in self.notes:
            yield tr("try: {note}", note=note)

    __repr__ = __str__

    def to_json(self) -> dict:
        return asdict(self)


def _short(line: str) -> str:
    """Return a line to print; of a long one its start and its end."""
    return printable(line if len(line) < 500 else f"{line[:250]} ... {line[-200:]}")


@cache
def _table() -> dict:
    return table_beside(__file__, "causes.toml")


@cache
def _form(name: str) -> re.Pattern:
    """Return a form of lines."""
    return re.compile(_table()["forms"][name])


@cache
def _known() -> dict[str, dict]:
    """Return the entries of causes.toml by name: causes in words first, codes last."""
    known = {entry["name"]: {"level": "call"} | entry for entry in _table()["known"]}
    for group in _table()["codes"].values():
        known |= {
            name: group | {"name": name, "meaning": english, "chinese": chinese}
            for name, (english, chinese) in group["texts"].items()
        }
    return known


def _meaning(name: str, line: str, place: str) -> Meaning:
    entry, chinese = _known()[name], language_here() == "zh"
    level = "notice" if _form("quiet").search(line) else entry["level"]
    return Meaning(
        f"{name} {CODES.get(int(name), '')}".strip() if name.isdigit() else name,
        entry["chinese" if chinese else "meaning"],
        entry["source"],
        tuple(
            (one["chinese" if chinese else "cause"], one["thread"])
            for one in entry.get("causes", ())
        ),
        level,
        line,
        place,
        entry.get("rat" if chinese else "try", ""),
        entry.get("command", ""),
        level != "notice" and not entry.keys() & {"weak", "general"},
    )


def why(text, soc: str | None = None, cann: str | None = None) -> Why:
    """Return what a status code or a log means: what failed first, what only follows, what to try.

    Parameters
    ----------
    text : int or str
        A code, as a number or as text, or a log: of torch_npu, a plog, a traceback, several in any order, of any length.
    soc, cann : str, optional
        The product and version to repeat a call on where the log names neither, by default Atlas A2
        and 9.1.

    Returns
    -------
    Why
        Causes and what to do, each with its source; prints as text. What is not known is said to be unknown.

    Raises
    ------
    TypeError
        For what is neither a number nor text.
    ValueError
        For an empty text, and an unknown product or version.

    Examples
    --------
    >>> print(why(561103))  # doctest: +ELLIPSIS
    561103 ACLNN_ERR_INNER_NULLPTR: ...
    """
    text = str(text) if type(text) is int else text
    need(text, str, "a code is a number, a log is text", 'pass 561103 or open("log").read()')
    product = product_of(A2 if soc is None else soc)
    version = version_of("9.1" if cann is None else cann)
    if not text.strip():
        raise invalid("a code or a log has text", "an empty text", "pass a code or a log")
    # without colour codes, with line breaks for the two characters \n
    text = re.sub(r"\x1b\[[\d;]*m", "", text).replace("\\n", "\n")
    alone = re.fullmatch(r"\s*(\d{6}|E[A-Z\d]\d{4})(?:\s+aclnn\w+)?\s*", text)
    hits, functions, unknown = _read("code " * bool(alone) + text)
    meanings = tuple(_meaning(name, *("", "") if alone else said) for name, said in hits.items())
    if _form("framework").search(text):
        meanings = tuple(replace(one, command="") for one in meanings)
    kit, repeated = {op.aclnn_name: op for op in operators()}, ""
    # the first function that is an operator of the kit, else the first
    name = min(functions, key=lambda name: name not in kit, default="")
    op, at = kit.get(name), functions.get(name, 0)
    if op:
        repeated = _repeat(op, text[max(0, at - AROUND) : at + AROUND], product, version)
    conditions = tuple(
        step.text
        for step in (contract(op.name).steps if op and not repeated else ())
        if str(getattr(step, "status", 0)) in hits and isinstance(step.text, str)
    )
    return Why(meanings, name, conditions, tuple(_notes(op, hits, text)), repeated, unknown)


def _lines(text: str):
    """Yield (time, position, line) of each line of a log; a line without a time gets the last time before. A repeated
    line is yielded again only if its time is earlier.
    """
    times, time = {}, ""
    for at in LINE.finditer(text):
        line = _form("guess").sub("", at[0]).strip()
        if when := _form("time").search(line):
            time = when[0]
        key = hash(VARIES.sub("", line))
        if line and time < times.get(key, "~"):
            times[key] = time
            yield time, at.start(), line


def _read(text: str) -> tuple[dict, dict, tuple[str, ...]]:
    """Return what a log holds: {known cause: (its line, the place in Python code)}, the nearest cause first; {aclnn
    function: its first position}; and the first and last line of a failure, where no line says the cause.
    """
    known, hits, functions, errors, place, sure = _known(), {}, {}, [], "", False
    text = _form("wrapped").sub(r"\1 ", text)
    # signs that the whole log lacks are not looked for in each line
    patterns = [
        (entry, signs, re.compile(entry["pattern"]).search)
        for entry in known.values()
        if (signs := [*filter(text.__contains__, entry.get("signs", ()))])
        and re.search(entry.get("beside", ""), text)
    ]
    for time, at, line in _lines(text):
        if frame := _form("frame").search(line):
            place = frame[1].replace('"', "")
        if _form("sound").search(line):
            continue
        raised, said = _form("raised").search(line), _form("advice").sub("", line)
        here = [
            entry
            for entry, signs, find in patterns
            if any(map(said.__contains__, signs)) and find(said)
        ]
        named = [*map("".join, _form("named").findall(line))]
        for number in _form("hex").findall(line):
            named.append(_table()["inner"].get(number.lower(), str(int(number, 16))))
        here += [known[name] for name in named if name in known]
        quiet = bool(_form("quiet").search(line))
        here = [entry for entry in here if "alone" in entry] or here
        here = [entry for entry in here if "general" not in entry] or here[: not quiet]
        for entry in here:
            level = LEVELS.index(entry["level"]) + 3 * quiet
            # at the level "call", words rank before a bare status code
            level += 0.5 * ((level == 1 and "texts" in entry) + ("weak" in entry))
            sure |= not level  # a cause, and in no warning
            hit = level, time, at, line, place if raised else ""
            hits[entry["name"]] = min(hit, hits.get(entry["name"], hit))
        if raised:
            place = ""
        for name in re.findall(r"\b(aclnn[A-Z]\w+?)(?:GetWorkspaceSize)?\b", line, re.ASCII):
            functions.setdefault(name, at)
        follows = any(entry["level"] in ("echo", "notice") for entry in here)
        if _form("word").search(said) and not quiet and not follows:
            errors.append((time[:19], at // 4000, not _form("stated").search(line), time, at, line))
    hits = {name: hits[name][-2:] for name in sorted(hits, key=hits.get)}
    # of the errors of one second, a line that states something ranks before the report of a call that failed
    lines = text.strip().splitlines() * (not hits)
    if errors:
        lines = [min(errors)[-1], max(error[3:] for error in errors)[-1]]
    return hits, functions, () if sure else tuple(dict.fromkeys(lines[:1] + lines[-1:]))


def _notes(op, hits: dict, text: str):
    """Yield notes on names in a log: the library of an operator, and whether torch_npu fits CANN."""
    if op and hits.keys() & {"not in libopapi.so", "symbol of an operator"}:
        yield tr(
            "{name} is in libopapi_{part}.so of CANN 9, in libopapi.so of CANN 8 ({repository})",
            name=op.aclnn_name,
            part=op.library.split("-")[-1],
            repository=op.library,
        )

    def named(package):
        form = r"(?<![\w-])%s(?:_VERSION)?[\s:=|-]{1,60}v?(\d+\.\d+\.(?:RC)?\d+(?:\.post\d+)?)(?!\.dev)"
        return _named(str, form % package.replace("_", "[_-]"), text, "")

    for package, other in ("torch_npu", "CANN"), ("torch_npu", "torch"), ("vllm_ascend", "vllm"):
        version, there = named(package), named(other)
        right = _table()["versions"].get(version) if other == "CANN" else version.split(".post")[0]
        if right and there and there != right:
            yield tr(
                "{package} {version} belongs to {other} {right}, and the log names {named} (the table of its versions)",
                package=package,
                version=version,
                other=other,
                right=right,
                named=there,
            )


def _repeat(op, text: str, product, version) -> str:
    """Return the answer of phase 1 to the call that a log describes, or "" if the log lacks a tensor."""
    arguments, tensors = {p.name: p.default for p in op.c_parameters}, {}
    for name in arguments:
        if name in op.tensors:
            at = re.search(rf"\b{name}\b\W{{1,4}}{TENSOR}", text)
            named = at and (at[1] or at[3] or "").upper()
            dtype = at and vars(codes).get(f"ACL_{ALSO.get(named, named)}")
            if dtype is not None:
                shape = tuple(map(int, re.findall(r"\d+", at[2])))
                tensors[name] = TensorDescriptor(
                    shape, dtype, contiguous_strides(shape), 0, codes.ACL_FORMAT_ND, shape
                )
        elif at := re.search(
            rf"\b{name}\b\W{{1,4}}(-?\d{{1,99}}(?:\.\d*)?(?:e[+-]?\d+)?)(?!\d)", text
        ):
            arguments[name] = float(at[1]) if re.search("[.e]", at[1]) else int(at[1])
    arguments |= tensors
    product = _named(product_of, r"\b(Ascend\d+\w*)", text, product)
    version = _named(version_of, r"CANN(?:_VERSION)?\W{0,4}(\d+\.\d+(?:\.\d+)?)", text, version)
    call = Call(product, version, arguments)
    row = next(
        (row for row in contract(op.name).dtype_rows if row.matches(call, tuple(tensors))), None
    )
    for out in {*op.outputs} - {*tensors}:
        # take the dtype from the operator's documents where the log has none
        if source := tensors.get(op.gradient_of.get(out, op.like)):
            dtype = row.dtypes.get(out, source.dtype) if row else source.dtype
            arguments[out] = replace(source, dtype=dtype)
    if REQUIRED in arguments.values():
        return ""
    answer = contract(op.name).evaluate(call)
    return tr(
        "{product}, CANN {cann}: {status} {message}",
        product=product.title,
        cann=version,
        status=answer.status,
        message=answer.message or tr("phase 1 takes the call"),
    )


def _named(known, pattern: str, text: str, otherwise):
    """Return `known(name)` for the first name in a text that `known` accepts, or else the default."""
    for at in re.finditer(pattern, text):
        try:
            return known(at[1])
        except ValueError:  # a product or a version that this kit does not know
            continue
    return otherwise
