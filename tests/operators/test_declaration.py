"""A declaration is checked when opened, and all its readers respect it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.operators import Attribute, Tensor, declaration_check
from aclnn_viz.operators.contract import Call, contract
from aclnn_viz.operators.contract.rules import plain_contract
from aclnn_viz.operators.patterns import Pattern, resolved, value
from aclnn_viz.operators.products import A2, Version

ELSEWHERE = Path(__file__).parents[1] / "elsewhere"


def declared(name):
    """Return an operator of a folder elsewhere, or of the kit."""
    folder = ELSEWHERE / f"my_{name}"
    return av.operator(folder if folder.exists() else name)


@pytest.mark.parametrize(
    "text,known,expected",
    [
        ("2*H", {"H": 3}, 6),
        ("H + P[0] + P[1]", {"H": 3, "P": (1, 2)}, 6),
        ("max(a, b)", {"a": 1, "b": 2}, 2),
        ("a", {"a": (2, 3)}, (2, 3)),
        ("(H+2*p-k)//s+1", {"H": 5, "p": 1, "k": 3, "s": 2}, 3),
        ("a + b", {"a": 1}, None),
    ],
)
def test_a_formula_gives_a_length_once_all_is_known(text, known, expected):
    assert value(text, known) == expected


def test_formulas_that_name_each_other_are_resolved_in_turn():
    assert resolved({"H": 4}, {"P": "pads[0]", "Ho": "H + 2*P"}, {"pads": (1,)}) == {
        "H": 4,
        "P": 1,
        "Ho": 6,
    }


@pytest.mark.parametrize(
    "text,known,message",
    [
        ("a // b", {"a": 1, "b": 0}, "a // b must give a length: got a 1, b 0; change them"),
        ("a[1]", {"a": (1,)}, r"got a \(1,\)"),
    ],
)
def test_a_formula_that_gives_nothing_is_refused(text, known, message):
    with pytest.raises(ValueError, match=message):
        value(text, known)


@pytest.mark.parametrize(
    "dim,page", [(0, (1, 4, 6)), (1, (4, 6, 1)), (-1, (4, 6, 1)), (-2, (1, 4, 6))]
)
def test_an_attribute_names_the_axis(dim, page):
    op = declared("softmax")
    inputs = av.case(op, shape=(4, 6), dim=dim).inputs
    assert op.arrange_backward(**op.bind(inputs)).arrays["output"].shape == page
    rows = np.moveaxis(inputs["output"], dim, 0).astype(np.float64)
    np.testing.assert_allclose(rows.sum(axis=0), 1.0, rtol=1e-6)


def gradient(name, **changed):
    op = declared(name)
    return op.backward(**av.case(op).inputs | changed)


@pytest.mark.parametrize(
    "name,changed,message",
    [
        (
            "softmax",
            {"dim": 2},
            r"dim must lie in \[-2, 2\), the axes of output: got 2, output \(4, 6\); choose one of its axes",
        ),
        (
            "swiglu",
            {"x": np.ones((4, 5), np.float32)},
            r"axis 1 of x must be 2\*H: got x \(4, 5\); choose such a length",
        ),
        (
            "swiglu",
            {"yGrad": np.ones((4, 6), np.float32)},
            r"yGrad must have shape \(4, 3\), \(\*A H \*B\)",
        ),
        ("avg_pool", {"stride": (0, 1)}, r"stride must lie in \[1, inf\]: got 0"),
        (
            "avg_pool",
            {"padding": (2, 0)},
            r"padding must lie in \[0, half\(kernelSize\) = \(1, 1\)\]: got 2 at \[0\]",
        ),
        (
            "avg_pool",
            {"kernelSize": (9, 9), "padding": (0, 0)},
            r"Ho = .* must be at least 1: got -1 for H 5, kernelSize \(9, 9\)",
        ),
        (
            "embedding",
            {"indices": np.int64([0, 5, 7])},
            r"indices must lie in \[0, V - 1 = 3\]: got 5 at \[1\] \(2 such\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_three_parts(name, changed, message):
    with pytest.raises(ValueError, match=message):
        gradient(name, **changed)


def test_a_value_goes_by_its_name():
    by_name, by_number = (
        av.case("grid_sampler_2d", paddingMode=mode).inputs for mode in ("border", 1)
    )
    assert by_name["paddingMode"] == by_number["paddingMode"] == 1
    result = av.check(
        "grid_sampler_2d",
        av.operator("grid_sampler_2d").backward,
        where={"paddingMode": "border"},
        dtypes="float32",
        depth="quick",
    )
    assert result.passed and "paddingMode=1" in str(result)
    with pytest.raises(
        ValueError,
        match=r"paddingMode must be one of 0 \(zeros\), 1 \(border\), 2 \(reflection\): got 'edge'; choose one",
    ):
        av.check("grid_sampler_2d", lambda **inputs: None, where={"paddingMode": "edge"})


def test_the_code_of_a_refusal_is_the_declared_one():
    op = declared("softmax")
    other = replace(op, attributes={"dim": replace(op.attributes["dim"], status=561002)})
    inputs = av.case(op, shape=(4, 6)).inputs
    from aclnn_viz.operators.contract.calls import descriptor

    call = Call(
        A2,
        Version.parse("9.1"),
        {
            name: descriptor(array) if isinstance(array, np.ndarray) else array
            for name, array in (inputs | {"gradInput": inputs["output"]}).items()
        },
    )
    wrong = replace(call, arguments=call.arguments | {"dim": 2})
    assert [
        plain_contract(one).evaluate(given).status for one in (op, other) for given in (call, wrong)
    ] == [0, 161002, 0, 561002]
    assert contract("my_softmax").evaluate(wrong).status == 161002


def test_an_output_may_hang_on_an_optional_tensor():
    op = av.operator("layer_norm")
    tensors = op.tensors | {
        "gradWeightOut": replace(op.tensors["gradWeightOut"], asked="weightOptional")
    }
    other = replace(op, tensors=tensors)
    inputs = av.case(op).inputs
    assert "gradWeightOut" in other.backward(**inputs) and "gradWeightOut" not in other.backward(
        **inputs | {"weightOptional": None}
    )


def test_open_attributes_are_what_the_lengths_are():
    op = declared("embedding")
    assert av.case(op, shape=(7, 2)).inputs["numWeights"] == 7
    assert av.case(op, shape=(7, 2), indices_shape=(2, 3)).inputs["grad"].shape == (2, 3, 2)
    with pytest.raises(
        ValueError,
        match=r"shape must be that of weight, \(V E\) \(6, 2\): got \(7, 2\); make it agree",
    ):
        av.case(op, shape=(7, 2), numWeights=6)


def test_a_length_of_an_output_that_nothing_tells_is_refused():
    op = replace(declared("embedding"), sizes={})
    with pytest.raises(
        ValueError,
        match=r"the lengths of out, \(V E\), follow from inputs and formulas: got none for V; declare",
    ):
        op.backward(**av.case("embedding").inputs)


FAULTS = [
    (
        {"prototype": "int f(void);"},
        10,
        "the prototype declares one function aclnn...GetWorkspaceSize: got f; mend it there",
    ),
    ({"like": "xGrad"}, 18, "like names one of yGrad, x: got 'xGrad'; mend"),
    ({"takes": ("x", "dim", "eps")}, 18, "takes names one of x, .*, dim: got 'eps'"),
    ({"upstream": {"yGrad": "y"}}, 18, "upstream names one of out: got 'y'"),
    ({"gradient_of": {"xGrad": "yGrad"}}, 18, "gradient_of names one of x, dim: got 'yGrad'"),
    (
        {"sizes": {"H": "(dim"}},
        8,
        "the formula for H names lengths and attributes: got .* in '.dim'",
    ),
    (
        {"sizes": {"H": "width // 2"}},
        8,
        "the formula for H names lengths and attributes: got width in 'width // 2'",
    ),
    (
        {"attributes": {"dim": Attribute("double")}},
        17,
        "dim has the type of the prototype, int64_t: got double",
    ),
    ({"attributes": {}}, 17, "dim of the prototype is declared, as int64_t: got "),
    (
        {"attributes": {"dim": Attribute("int64_t")}},
        8,
        "forward of the page takes xp, x, dim; what it need not know is seen=False: got x; mend",
    ),
]


@pytest.mark.parametrize("changed,line,message", FAULTS)
def test_a_wrong_declaration_is_refused_with_its_line(changed, line, message):
    path = ELSEWHERE / "my_swiglu" / "declaration.py"
    with pytest.raises(ValueError, match=rf"declaration.py, line \d+: {message}"):
        declaration_check.check(replace(declared("swiglu"), **changed), path)


@pytest.mark.parametrize(
    "name,tensor,message",
    [
        ("yGrad", Tensor("*A H *B", "half"), "the dtype of yGrad is .*: got 'half'"),
        (
            "out",
            Tensor("*A 2*H *B"),
            r"AXES of the page has 4 characters for out \(\*A 2\*H \*B\), one for each axis and each factor: got 'a.b'",
        ),
        ("x", Tensor("2*H@dim *B"), r"an axis by attribute is written \*A D@dim \*B, in x"),
        (
            "xGrad",
            Tensor("*A 2*H *B", asked="mask[0]"),
            "what asks for xGrad is a parameter: got 'mask.0.'",
        ),
    ],
)
def test_a_wrong_tensor_is_refused_at_its_line(name, tensor, message):
    op, path = declared("swiglu"), ELSEWHERE / "my_swiglu" / "declaration.py"
    lines = path.read_text("utf-8").splitlines()
    at = next(n for n, line in enumerate(lines, 1) if f'"{name}": Tensor(' in line)
    with pytest.raises(ValueError, match=f"declaration.py, line {at}: {message}"):
        declaration_check.check(replace(op, tensors=op.tensors | {name: tensor}), path)


def test_the_kits_own_declarations_hold():
    from aclnn_viz.operators import registry

    for op in av.operators():
        declaration_check.check(op, registry.file("declaration", op.name))


def test_a_pattern_with_a_factor_takes_an_empty_axis():
    assert Pattern("*A 2*H").bind((3, 0), {})["H"] == 0
