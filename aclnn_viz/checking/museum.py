"""`museum`: show mistakes of published kernels, each replayed by a test that misses it and by one that detects it."""

import re
from dataclasses import dataclass

import numpy as np

from aclnn_viz.cases import Case, case
from aclnn_viz.errors import invalid, need, shown
from aclnn_viz.operators import operator
from aclnn_viz.operators.faults import Fault, faults, published
from aclnn_viz.operators.faults.fault import faulty_kernel
from aclnn_viz.tables import as_html, as_text, wrapped
from aclnn_viz.words.messages import kept, message, tr

COMPARISON = {"rtol": 1e-3, "atol": 1e-5, "outputs": None}  # default comparison of a test
EDIT = message("the wrong line (+) replaces the right line (-)")


@dataclass(frozen=True)
class Test:
    """A test of one case and one comparison; `outputs` names the compared outputs, None for all."""

    operator: str
    options: dict

    @property
    def case(self) -> Case:
        attributes = operator(self.operator).attributes
        options = {
            name: tuple(value)
            if isinstance(value, list) and (name.endswith("shape") or name in attributes)
            else np.array(value, bool if isinstance(np.ravel(value)[0], np.bool_) else np.float32)
            if isinstance(value, list)
            else value
            for name, value in self.options.items()
            if name not in COMPARISON
        }
        return case(self.operator, **{"dtype": "float32"} | options)

    def wrong(self, kernel) -> str:
        """Return the test's complaint about a kernel: its worst element; "" if it passes."""
        rtol, atol, outputs = ((COMPARISON | self.options)[name] for name in COMPARISON)
        inputs = self.case.inputs
        right, returned = operator(self.operator).backward(**inputs), kernel(**inputs)
        for name in outputs or right:
            a, b = returned[name].astype(np.float64), right[name].astype(np.float64)
            with np.errstate(invalid="ignore"):
                far = np.where(
                    np.isclose(a, b, rtol, atol, equal_nan=True),
                    0.0,
                    np.nan_to_num(np.abs(a - b), nan=np.inf),
                )
            if far.any():
                at = np.unravel_index(np.argmax(far), far.shape)
                place = f"{name}[{', '.join(map(str, at))}]"
                return tr(
                    "{place} is {wrong}, and should be {right}",
                    place=place,
                    wrong=f"{a[at]:.4g}",
                    right=f"{b[at]:.4g}",
                )
        return ""

    def __str__(self) -> str:
        options = {"dtype": "float32"} | {
            name: tuple(value) if name.endswith("shape") else value
            for name, value in (COMPARISON | self.options).items()
        }
        return ", ".join(
            f"{name}={value!r}" for name, value in options.items() if value is not None
        )


@dataclass(frozen=True, eq=False)
class Piece:
    """A mistake of a published kernel: the fault with its thread, its lifetime, what hid it ("" if the thread does not say), a
    test that misses it, and the smallest case found that detects it.
    """

    operator: str
    fault: Fault
    lived: str
    hid: str
    missed: Test
    seen: Test

    def rows(self) -> dict[str, str]:
        """Return the description by heading; both tests run now, on our page with the mistake."""
        kernel, unsaid, passes = (
            faulty_kernel(self.operator, self.fault),
            tr("the public thread does not say"),
            tr("passes"),
        )
        return {
            tr("thread"): str(self.fault.thread),
            tr("what was wrong"): tr(self.fault.story),
            tr("how long the mistake stayed in the code"): tr(self.lived) or unsaid,
            tr("why tests missed the mistake"): tr(self.hid) or unsaid,
            tr("a test that misses the mistake"): _said(
                self.missed, self.missed.wrong(kernel) or passes
            ),
            tr("the smallest case that shows the mistake"): _said(
                self.seen, self.seen.wrong(kernel) or passes
            ),
        }

    def __str__(self) -> str:
        text = [
            line
            for name, value in self.rows().items()
            for line in wrapped(value, 110, "  " + _said(name, ""), "    ")
        ]
        return "\n".join(
            [
                self.title,
                *text,
                "  " + _said(EDIT, "").rstrip(),
                *(f"    {line}" for line in self.fault.diff.splitlines()),
            ]
        )

    @property
    def title(self) -> str:
        return _said(self.operator, tr(self.fault.name))

    def _repr_html_(self) -> str:
        return re.sub(
            r"([\w.-]+/[\w.-]+)#(\d+)",
            r'<a href="https://github.com/\1/issues/\2">\g<0></a>',
            as_html(self.title, (), [*self.rows().items()], more=self.fault.diff, opens=tr(EDIT)),
            flags=re.ASCII,
        )

    def to_json(self) -> dict:
        rows = {
            "operator": self.operator,
            "fault": self.fault.name,
            "thread": self.fault.thread,
            "story": self.fault.story,
            "lived": self.lived,
            "hid": self.hid,
            "diff": self.fault.diff,
            "missed": self.missed,
            "seen": self.seen,
        }
        return {name: str(value) for name, value in rows.items()}


def _said(name, what) -> str:
    return tr("{name}: {what}", name=name, what=what)


class Museum(tuple):
    """Pieces of the museum: printed as a list, shown in full in a notebook."""

    def __str__(self) -> str:
        heads = [tr("operator"), tr("fault"), tr("thread")]
        return "\n".join(
            as_text(
                heads,
                [
                    [exhibit.operator, tr(exhibit.fault.name), exhibit.fault.thread]
                    for exhibit in self
                ],
            )
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "<br>".join(exhibit._repr_html_() for exhibit in self)


def museum(name: str | None = None) -> Museum:
    """Return mistakes of published kernels, each with its public thread and two tests.

    Parameters
    ----------
    name : str, optional
        An operator, a fault, or a thread or part of its name; by default all are returned.

    Returns
    -------
    Museum
        The mistakes; showing one runs both of its tests.

    Raises
    ------
    ValueError
        If no mistake has that name.

    Notes
    -----
    No published code is copied: the mistakes are repeated on this kit's pages, in NumPy.

    Examples
    --------
    >>> one, = museum("llm.c#763")
    >>> one.operator, one.fault.name, one.missed.options["gamma"]
    ('rms_norm', 'gamma forgotten in dx', 1.0)
    """
    need(
        name,
        (str, type(None)),
        "name is that of an operator, a fault or a thread",
        "call it without a name: it lists all",
    )
    exhibits = Museum(
        Piece(
            entry["operator"],
            fault,
            *(entry[name] and kept(entry[name]) for name in ("lived", "hid")),
            *(Test(entry["operator"], entry[name]) for name in ("missed", "seen")),
        )
        for entry in published()
        for fault in faults(entry["operator"])
        if fault.name == entry["name"]
        and (
            name is None
            or name in (entry["operator"], fault.name)
            or name
            and name in entry["thread"]
        )
    )
    if not exhibits:
        raise invalid(
            "name is that of an operator, a fault or a thread of the museum",
            shown(name),
            "call it without a name: it lists all",
        )
    return exhibits
