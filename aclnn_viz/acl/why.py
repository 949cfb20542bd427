"""`why`: what a status code or a pasted log means, what most often caused it, and which check of the call fails.

What is known is data, in causes.toml beside this module: each entry names the public source of its meaning and of its causes.
Where a log names an operator of the kit and its tensors, the call is repeated on the emulated contract.
"""

import re
import tomllib
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from aclnn_viz.errors import need, printable, problem
from aclnn_viz.operators import codes, operators
from aclnn_viz.operators.contract import Call, TensorDescriptor, contiguous_strides, contract
from aclnn_viz.operators.parameters import REQUIRED
from aclnn_viz.operators.products import A2, product_of, version_of
from aclnn_viz.tables import wrapped
from aclnn_viz.words.messages import language_here, ntr, tr

LONGEST = 1_000_000  # characters of a log
# A number of six digits is a code right behind such a word, or alone: process ids, sizes and steps have six digits, too.
NAMED = re.compile(
    r"(?:code|errno|ret|status|错误码|返回[码值]|(?:error|failed|return(?:s|ed)?|result)(?!\W{0,8}\d{6} ?(?-i:[a-z])))"
    r"\W{0,8}(?:(?:is|was|with|of|value)\b\W{0,8})?(?<!-)(\d{6})(?![\w%/]|[.-]\d)",
    re.IGNORECASE | re.ASCII,
)
CODES = {value: name for name, value in vars(codes).items() if re.match(r"ACL(NN)?_ERR", name)}
TYPES = {
    "float16": codes.ACL_FLOAT16,
    "half": codes.ACL_FLOAT16,
    "bfloat16": codes.ACL_BF16,
    "bf16": codes.ACL_BF16,
    "float32": codes.ACL_FLOAT,
    "float": codes.ACL_FLOAT,
    "float64": codes.ACL_DOUBLE,
    "double": codes.ACL_DOUBLE,
    "int32": codes.ACL_INT32,
    "int64": codes.ACL_INT64,
}
TYPE = r"(?:ACL_|DT_|torch\.)?(\w+)"
# float16 [4, 16]; [4, 16], float16
TENSOR = rf"(?:shape\W{{1,4}})?(?:{TYPE}\W{{1,4}})?\[([\d, ]{{0,200}})\](?:\W{{1,4}}(?:dtype\W{{1,4}})?{TYPE})?"


@dataclass(frozen=True)
class Meaning:
    """A code or a kind of line: what it means, and what caused it in public threads, (cause, thread), the most frequent first."""

    name: str
    meaning: str
    source: str
    causes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Why:
    """What is known of a log: meanings, the operator that it names, the call repeated, and lines that nothing is known of."""

    meanings: tuple[Meaning, ...]
    operator: str = ""
    conditions: tuple[str, ...] = ()
    repeated: str = ""
    unknown: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        found = []
        for one in self.meanings:
            found += [
                tr("{name}: {what}", name=one.name, what=one.meaning),
                tr("  ({source})", source=one.source),
            ]
            found += [
                tr("  seen: {cause} ({thread})", cause=cause, thread=thread)
                for cause, thread in one.causes
            ]
        if self.operator:
            found.append(tr("operator: {name}", name=self.operator))
        found += [tr("  this code says here: {text}", text=text) for text in self.conditions]
        if self.repeated:
            found.append(
                tr(
                    "the call, repeated on the emulated contract (not on a device): {answer}",
                    answer=self.repeated,
                )
            )
        if self.unknown:
            found.append(
                ntr(
                    "unknown: {n} line: {line}",
                    "unknown: {n} lines, the first: {line}",
                    len(self.unknown),
                    line=printable(self.unknown[0][:200]),
                )
            )
        return "\n".join(line for text in found for line in wrapped(text, 110, "", "    "))

    __repr__ = __str__

    def to_json(self) -> dict:
        return asdict(self)


@cache
def _known() -> list[dict]:
    return tomllib.loads((Path(__file__).parent / "causes.toml").read_text("utf-8"))["known"]


def _meaning(entry: dict) -> Meaning:
    chinese = language_here() == "zh"
    name = (
        f"{entry['name']} {CODES.get(int(entry['name']), '')}".strip()
        if entry["name"].isdigit()
        else entry["name"]
    )
    return Meaning(
        name,
        entry["chinese" if chinese else "meaning"],
        entry["source"],
        tuple(
            (one["chinese" if chinese else "cause"], one["thread"])
            for one in entry.get("causes", ())
        ),
    )


def why(text, soc: str | None = None, cann: str | None = None) -> Why:
    """Return what a status code or a pasted log means; what is not known is said to be unknown.

    Parameters
    ----------
    text : int or str
        A code, as a number or as text, or a log.
    soc, cann : str, optional
        The product and version to repeat a call on where the log names neither, by default Atlas A2
        and 9.1.

    Returns
    -------
    Why
        Causes and what to do, each with its source; prints as text.

    Raises
    ------
    TypeError
        For what is neither a number nor text.
    ValueError
        For an empty or too long text, and an unknown product or version.

    Examples
    --------
    >>> print(why(561103))  # doctest: +ELLIPSIS
    561103 ACLNN_ERR_INNER_NULLPTR: ...
    """
    text = (
        str(text)
        if isinstance(text, int) and not isinstance(text, bool)
        else need(
            text,
            str,
            "a code is a number, a log is text",
            'pass such as 561103 or open("log").read()',
        )
    )
    if not text.strip() or len(text) > LONGEST:
        raise ValueError(
            problem(
                "a log is a text", f"one of {len(text)} characters", f"pass 1 to {LONGEST} of them"
            )
        )
    text = re.sub(r"\x1b\[[\d;]*m", "", text)  # colours
    lines = [line for line in text.replace("\\n", "\n").splitlines() if line.strip()]
    alone = re.fullmatch(r"\s*(\d{6})(?:\s+aclnn\w+)?\s*", text)
    known = {entry["name"]: entry for entry in _known()}
    found, unknown, numbers = {}, [], []
    for line in lines:
        here = [alone[1]] if alone else NAMED.findall(line)
        numbers += here
        kinds = [
            entry
            for entry in known.values()
            if "pattern" in entry and re.search(entry["pattern"], line)
        ]
        named = [entry for number in here if (entry := known.get(number) or _unexplained(number))]
        found |= {entry["name"]: entry for entry in (*named, *kinds)}
        if not (kinds or named or re.search(r"\baclnn[A-Z]\w+", line)):
            unknown.append(line.strip())
    (op, name), product, version = (
        _operator(text),
        product_of(A2 if soc is None else soc),
        version_of("9.1" if cann is None else cann),
    )
    repeated = _repeat(op, text, product, version) if op else ""
    conditions = (
        tuple(
            step.text
            for step in contract(op.name).steps
            if str(getattr(step, "status", 0)) in numbers and isinstance(step.text, str)
        )
        if op and not repeated
        else ()
    )
    return Why(tuple(map(_meaning, found.values())), name, conditions, repeated, tuple(unknown))


def _unexplained(number: str) -> dict | None:
    """A code that the headers name, and of which nothing more is known."""
    name = CODES.get(int(number))
    return name and {
        "name": number,
        "meaning": name,
        "chinese": name,
        "source": "CANN, acl_base_rt.h, op_errno.h",
    }


def _operator(text: str) -> tuple:
    """The operator of the kit that a log names first, and its name; where none is of the kit, None and the first name."""
    known = {op.aclnn_name: op for op in operators()}
    names = re.findall(r"\b(aclnn[A-Z]\w+?)(?:GetWorkspaceSize)?\b", text, re.ASCII)
    name = next((name for name in names if name in known), names[0] if names else "")
    return known.get(name), name


def _repeat(op, text: str, product, version) -> str:
    """What phase 1 answers to the call whose tensors a log names, or nothing where it does not name all of them."""
    given = {}
    for parameter in (p for p in op.c_parameters if p.name in op.tensors):
        at = re.search(rf"\b{parameter.name}\b\W{{1,4}}{TENSOR}", text)
        dtype = at and TYPES.get((at[1] or at[3] or "").lower())
        if dtype is not None:
            shape = tuple(int(n) for n in re.findall(r"\d+", at[2]))
            given[parameter.name] = TensorDescriptor(
                shape, dtype, contiguous_strides(shape), 0, codes.ACL_FORMAT_ND, shape
            )
    attributes = {p.name: p.default for p in op.c_parameters if p.name in op.attributes}
    for name in attributes:
        if at := re.search(
            rf"\b{name}\b\W{{1,4}}(-?\d{{1,99}}(?:\.\d*)?(?:e[+-]?\d+)?)(?!\d)", text
        ):
            attributes[name] = float(at[1]) if re.search("[.e]", at[1]) else int(at[1])
    arguments = {p.name: None for p in op.c_parameters if p.optional} | attributes | given
    product = _named(product_of, r"\b(Ascend\d+\w*)", text, product)
    version = _named(version_of, r"CANN\W{0,3}(\d+\.\d+(?:\.\d+)?)", text, version)
    call = Call(product, version, arguments)
    row = next(
        (row for row in contract(op.name).dtype_rows if row.matches(call, tuple(given))), None
    )
    for out in {*op.outputs} - {*given}:  # as the operator documents it, where the log does not say
        if source := given.get(op.gradient_of.get(out, op.like)):
            arguments[out] = replace(
                source, dtype=row.dtypes.get(out, source.dtype) if row else source.dtype
            )
    if any(arguments.get(p.name, REQUIRED) is REQUIRED for p in op.c_parameters):
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
    """What `known` makes of the first name in a text that it takes, else what is given."""
    for name in re.findall(pattern, text):
        try:
            return known(name)
        except ValueError:  # a product or a version that this kit does not know
            continue
    return otherwise
