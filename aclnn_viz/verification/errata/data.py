"""Read errata (errors in the vendor's documents) from an operator's errata.toml: a printed formula, or the real result of a
call.

An erratum has one piece of evidence or a list `evidence`. A formula is evaluated at one point against truth and differences of
the forward pass; `right` instead of `formula` gives a formula that the document lacks; `judge` computes the right value another
way. `observe`, `documented` and `found` are expressions; `one` and `other` quote two texts with their sources; `lemma` names a
theorem and a false claim.

Expressions use NumPy, the operator and its calls, products and codes, and the functions of the folder's errata.py.
"""

from functools import partial

import numpy as np

from aclnn_viz.arrays.elementary import ERF, in_numpy_arrays
from aclnn_viz.operators import Operator, codes, products, registry
from aclnn_viz.operators.document import documented
from aclnn_viz.tables import table_beside
from aclnn_viz.verification.contract import run, status
from aclnn_viz.verification.errata import platform
from aclnn_viz.verification.errata.model import (
    Computation,
    Contradiction,
    Counterexample,
    Erratum,
    Lemma,
    Observation,
    citing,
    gradient,
    one_sided,
    shown,
)
from aclnn_viz.words.messages import message

COMMITS = {
    "ops-nn": "e5c3fa9",
    "ops-cv": "6ae8765",
    "ops-math": "c419332",
    "ops-transformer": "c29bc10",
}
PROVED = message("the page of this operator, which is proved, and differences of its forward pass")


class Printed(Counterexample):
    """A printed formula, compared with the truth from a proved page and with differences of the forward pass."""


def stated(op: Operator) -> tuple[Erratum, ...]:
    """Return the errata of an operator's errata.toml; a source name that begins with $ refers to its `sources`."""
    document = next((one.document for one in documented() if one.aclnn_name == op.aclnn_name), "")
    repository, _, place = document.partition("/")
    document = f"{repository} {place}, commit {COMMITS[repository]}" if document else op.aclnn_name
    known = {
        "erf": in_numpy_arrays(ERF),
        "names": {p.name for p in op.parameters},
        "op": op,
        "forward": op.forward,
        "backward": op.backward,
        "truth": op.truth,
        "status": partial(status, op.name),
        "run": partial(run, op.name),
        "one_sided": one_sided,
        "gradient": gradient,
        **getattr(registry.module("errata", op.name), "__dict__", {}),
    }
    return registry.table("errata", op.name, partial(_errata, op, document, known))


def of_platform() -> tuple[Erratum, ...]:
    """Return the errata that concern every operator."""
    return _errata(
        None,
        "",
        vars(platform),
        table_beside(__file__, "platform.toml"),
    )


def _errata(op, document, known, table):
    known = {**vars(np), **vars(products), **vars(codes), **known}
    return tuple(
        _erratum(op, entry, document, citing(table), known) for entry in table.get("erratum", ())
    )


def _erratum(op, entry, document, cited, known):
    right = PROVED if {"formula", "right"} & {*entry} else document
    return Erratum(
        entry["id"],
        entry["kind"],
        entry["title"],
        entry["document"],
        cited(entry.get("document_source", document)),
        entry["truth"],
        cited(entry["truth_source"]) if "truth_source" in entry else right,
        tuple(_evidence(op, part, cited, known) for part in entry.get("evidence", [entry])),
        entry.get("inferred", ""),
        "emulated_only" in entry,
    )


def _evidence(op, part, cited, known):
    def value(name):
        return partial(eval, part[name], known)

    if "lemma" in part:
        return Lemma(op.name, part["lemma"], part["refused"])
    if "one" in part:
        return Contradiction(
            *((text, cited(where)) for text, where in (part["one"], part["other"]))
        )
    if "observe" in part:
        return (Computation if "computed" in part else Observation)(
            part["what"], value("observe"), value("documented")(), value("found")()
        )
    if "judge" in part:
        return (Printed if "proved" in part else Counterexample)(
            part["at"],
            value("printed"),
            value("right"),
            value("judge"),
            part["judged_by"],
            part.get("tolerance", 1e-6),
            tuple(part.get("labels", ("documented", "right"))),
        )
    return _printed(op, part, known)


def _printed(op, entry, known):
    """Return the evidence of a printed formula at a point; the incoming gradient differs in each element."""
    point = {
        name: np.asarray(value)
        if name in op.tensors
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in entry["at"].items()
    }
    output = entry.get("output", next(iter(op.outputs)))
    ((up, result),) = op.upstream.items()

    def forward(**moved):
        return op.forward(
            **{
                p.name: value
                for p in op.forward_parameters
                if (value := (point | moved).get(p.name)) is not None
            }
        )

    made = forward()
    inputs = (
        point
        | {name: made[of] for name, of in op.saved.items()}
        | {up: np.cos(np.arange(made[result].size)).reshape(made[result].shape)}
    )
    of, given = (
        op.gradient_of[output],
        {p.name: inputs[p.name] for p in op.parameters if p.name in inputs},
    )

    def value(formula):
        return eval(formula, known | made | inputs)

    return Printed(
        f"{of} = {shown(point[of])}",
        lambda: value(entry["formula"]) if "formula" in entry else np.full(point[of].shape, np.nan),
        lambda: value(entry["right"]) if "right" in entry else op.truth(**given)[output],
        lambda: gradient(
            lambda x: float(np.sum(inputs[up] * forward(**{of: x})[result])), point[of]
        ),
        message("by differences of the forward pass"),
        1e-7,
    )
