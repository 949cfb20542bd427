"""Errata that an operator's folder states as data, errata.toml: a formula as the document prints it, or what a call gives instead.

A formula is evaluated at one point, where the gradient is that of truth and of differences of the forward pass. An entry with
`right` in the place of `formula` has a formula that the document lacks. `observe`, `documented` and `found` are expressions,
too; `one` and `other` quote two texts, each with where it stands.
"""

import tomllib
from functools import partial
from pathlib import Path

import numpy as np

from aclnn_viz.arrays.elementary import ERF, in_numpy_arrays
from aclnn_viz.operators import Operator
from aclnn_viz.operators.document import documented
from aclnn_viz.verification.contract import status
from aclnn_viz.verification.errata.model import Computation, Contradiction, Counterexample, Erratum, Observation, gradient, shown
from aclnn_viz.words.messages import message

COMMITS = {"ops-nn": "e5c3fa9", "ops-cv": "6ae8765", "ops-math": "c419332", "ops-transformer": "c29bc10"}
PROVED = message("the page of this operator, which is proved, and differences of its forward pass")


class Printed(Counterexample):
    """A printed formula beside truth, of a page that is proved, and differences of its forward pass."""


def stated(op: Operator) -> tuple[Erratum, ...]:
    """The errata that the folder of an operator states as data."""
    path = Path(op.page.__file__).with_name("errata.toml")
    return tuple(_erratum(op, entry) for entry in tomllib.loads(path.read_text("utf-8"))["erratum"]) if path.exists() else ()


def _erratum(op, entry):
    repository, _, path = next(one.document for one in documented() if one.aclnn_name == op.aclnn_name).partition("/")
    document = f"{repository} {path}, commit {COMMITS[repository]}"
    known = {**vars(np), "erf": in_numpy_arrays(ERF), "names": {p.name for p in op.parameters}, "forward": op.forward, "backward": op.backward,
             "status": partial(status, op.name)}
    if "observe" in entry:
        found, right = (Computation if "computed" in entry else Observation)(entry["what"], partial(eval, entry["observe"], known), *(
            eval(entry[side], known) for side in ("documented", "found"))), document
    elif "one" in entry:
        found, right = Contradiction(tuple(entry["one"]), tuple(entry["other"])), document
    else:
        found, right = _printed(op, entry, known), PROVED
    return Erratum(entry["id"], entry["kind"], entry["title"], entry["document"], entry.get("document_source", document), entry["truth"],
                   entry.get("truth_source", right), (found,))


def _printed(op, entry, known):
    """The formula at the point; the incoming gradient has another number for each element."""
    point = {name: np.asarray(value) if name in op.tensors else tuple(value) if isinstance(value, list) else value
             for name, value in entry["at"].items()}
    output = entry.get("output", next(iter(op.outputs)))
    (up, result), = op.upstream.items()

    def forward(**moved):
        return op.forward(**{p.name: value for p in op.forward_parameters if (value := (point | moved).get(p.name)) is not None})
    made = forward()
    inputs = point | {name: made[of] for name, of in op.saved.items()} | {up: np.cos(np.arange(made[result].size)).reshape(made[result].shape)}
    of, given = op.gradient_of[output], {p.name: inputs[p.name] for p in op.parameters if p.name in inputs}

    def value(formula):
        return eval(formula, known | made | inputs)
    return Printed(
        f"{of} = {shown(point[of])}", lambda: value(entry["formula"]) if "formula" in entry else np.full(point[of].shape, np.nan),
        lambda: value(entry["right"]) if "right" in entry else op.truth(**given)[output],
        lambda: gradient(lambda x: float(np.sum(inputs[up] * forward(**{of: x})[result])), point[of]), message("difference"), 1e-7)
