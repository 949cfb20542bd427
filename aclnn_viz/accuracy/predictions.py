"""Predict in one table the outputs of one test case on every Atlas product with every CANN version."""

from dataclasses import dataclass, replace

import numpy as np

from aclnn_viz.accuracy.measures import counted, measure
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.cases.case import inputs_of
from aclnn_viz.errors import need
from aclnn_viz.operators import operator
from aclnn_viz.operators.contract.calls import refusal
from aclnn_viz.operators.plans import preset, run
from aclnn_viz.operators.products import PRODUCTS, VERSIONS, product_of, version_of
from aclnn_viz.tables import as_html, as_text
from aclnn_viz.words.messages import enumerated, message, ntr, tr

NOTE = message(
    "predicted by the emulator from documents and published sources; nothing here was measured on Atlas hardware"
)


@dataclass(frozen=True, eq=False)
class Prediction:
    """The outputs that one product computes, the CANN `versions` that agree on them, and `refused`: why the newest of
    these versions refuses the case.

    Of each output by name: `outputs`, `max_ulp` against the truth, and `differing`, how many elements are other numbers
    than the kit's. `plan.notes` say what is documented and what is inferred.
    """

    product: str
    soc: str
    versions: tuple[str, ...]
    refused: str
    plan: Plan | None
    outputs: dict[str, np.ndarray]
    max_ulp: dict[str, float]
    differing: dict[str, int]

    @property
    def row(self) -> list[str]:
        versions = (
            self.versions[0]
            if len(self.versions) == 1
            else tr("{first} to {last}", first=self.versions[0], last=self.versions[-1])
        )
        if self.refused:
            why = tr(self.refused)
            why = why if len(why) <= 100 else why[:97] + "..."
            return [product_of(self.soc).title, versions, tr("refused"), "", why]
        ulps = ", ".join(f"{name} {ulp:.4g}" for name, ulp in self.max_ulp.items()) or tr(
            "no outputs"
        )
        text = [
            message("{n:,} of {output}", n=count, output=name)
            for name, count in self.differing.items()
            if count
        ]
        inferred = sum(note.inferred for note in self.plan.notes)
        # ntr keeps this "none" apart from the mode "none" in the translations
        return [
            product_of(self.soc).title,
            versions,
            ulps,
            enumerated(text) if text else ntr("one other", "none", 0),
            tr("{n} of {all} assumptions inferred", n=inferred, all=len(self.plan.notes)),
        ]


class Predictions(tuple):
    """The predictions of one case, one row per product; prints as a table."""

    HEADER = (
        message("product"),
        "CANN",
        message("largest error in ulp"),
        message("elements that differ from the kit"),
        message("basis of the prediction"),
    )

    def __str__(self) -> str:
        return "\n".join(
            [*as_text([*map(tr, self.HEADER)], [one.row for one in self]), "", tr(NOTE)]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(
            tr("Predicted outputs"), map(tr, self.HEADER), [one.row for one in self], [tr(NOTE)]
        )


def predict(op, case, versions=VERSIONS) -> Predictions:
    """Return the predicted outputs of a case on every Atlas product with every CANN version.

    Parameters
    ----------
    op : Operator or str
        An operator, or its name.
    case : Case or dict of str to array or value
        A case, or its inputs by the vendor's names.
    versions : sequence of str
        Versions of CANN.

    Returns
    -------
    Predictions
        One row for each product and group of versions that agree.

    Raises
    ------
    ValueError
        For a case of another operator and for an unknown version.
    TypeError
        If `case` is no case.

    Notes
    -----
    Nothing is measured on hardware.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> case = av.case("group_norm_swish", shape=(2, 4, 3), numGroups=2, swishScale=2.0)
    >>> for row in predict("group_norm_swish", case)[1:3]:
    ...     print(row.product, row.versions, bool(row.refused))
    Atlas A2 training and inference ('8.1', '9.0') True
    Atlas A2 training and inference ('9.1',) False
    """
    op = operator(op)
    inputs = inputs_of(op, case)
    if isinstance(versions, str):
        versions = (versions,)
    need(
        versions,
        (tuple, list),
        "versions is a list of CANN versions",
        'pass such as ["9.0", "9.1"]',
    )
    versions, found = {str(name): version_of(name) for name in versions}, []
    own, truth = op.backward(**inputs), op.truth(**inputs)
    for product in PRODUCTS:
        rows = []
        for name, version in versions.items():
            row = _predicted(op, inputs, product.example_soc, name, version, own, truth)
            if (
                rows
                and bool(rows[-1].refused) == bool(row.refused)
                and _equal(rows[-1].outputs, row.outputs)
            ):
                row = replace(row, versions=rows.pop().versions + row.versions)
            rows.append(row)
        found += rows
    return Predictions(found)


def _predicted(op, inputs: dict, soc: str, name: str, version, own, truth) -> Prediction:
    """Return the prediction for one CANN version; `own` are the kit's outputs, `truth` the exact ones, by name."""
    product = product_of(soc)
    why = refusal(op, inputs, product, version)
    plan = None if why else preset(op, soc, version)
    outputs = {} if why else run(op, plan, **inputs)
    ulps = {key: measure(value, truth[key]).max_ulp for key, value in outputs.items()}
    differing = {key: counted(_bits(value) != _bits(own[key])) for key, value in outputs.items()}
    return Prediction(product.name, soc, (name,), why, plan, outputs, ulps, differing)


def _equal(some: dict, others: dict) -> bool:
    return some.keys() == others.keys() and all(
        (_bits(some[name]) == _bits(others[name])).all() for name in some
    )


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
