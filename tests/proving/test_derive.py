"""Derived backward pages: numbers against differences of forward at 60 digits and PyTorch, proofs, and refusals."""

from inspect import signature

import numpy as np
import pytest
from exact_pages import ExactArrays, differences, exact
from forwards import ALL, OTHERS
from in_child import in_child
from together import in_one

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.proving.new_operator import from_forward

EVERY = ALL | OTHERS
SLOW = ("bilinear", "group_norm", "layer_norm", "mish", "pooled_1d")
SIZES = {"n": 4, "r": 3, "2*n": 8, "h": 3, "w": 4, "c": 2, "g": 2, "d": 3, "p": 5}


def derived(name):
    f, wrt, saved, shapes, labels, _ = EVERY[name]
    return av.derive(f, wrt=wrt.split(), saved=saved.split(), shapes=shapes, labels=labels)


def point(name, seed=0):
    """Return arrays of forward, some values near 0 and beyond the kinks, and its numbers."""
    _, _, _, shapes, labels, numbers = EVERY[name]
    rng = np.random.default_rng(seed)
    arrays = {
        x: np.asarray(rng.uniform(-1.5, 1.5, [SIZES.get(n, n) for n in shape]))
        for x, shape in shapes.items()
    }
    for x, array in arrays.items():
        if x in labels:
            arrays[x] = rng.integers(0, SIZES[labels[x]], array.shape)
        elif x == "x":
            array.flat[:2] = -3.3, 3.4
    return arrays, numbers


def run(name, seed=0):
    """Return the gradients of the derived page, and its upstream gradients."""
    found, (arrays, numbers) = derived(name).backward, point(name, seed)
    outputs = EVERY[name][0](NumPyArrays(), **arrays, **numbers)
    rng, taken = np.random.default_rng(seed + 1), list(signature(found).parameters)[1:]
    upstream = {
        d: np.asarray(rng.standard_normal(np.shape(outputs[d[1:]])))
        for d in taken
        if d[:1] == "d" and d[1:] in outputs
    }
    return found(
        NumPyArrays(), **{x: (outputs | arrays | numbers | upstream)[x] for x in taken}
    ), upstream


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.sampled(3)
def test_gradients_are_those_of_differences_at_60_digits(name):
    f, wrt, *_ = EVERY[name]
    (arrays, numbers), (got, upstream) = point(name), run(name)

    def terms(at):
        given = {x: exact(a) if a.dtype.kind == "f" else a for x, a in arrays.items()} | at
        outputs = f(
            ExactArrays(),
            **given,
            **{x: exact(v) if isinstance(v, float) else v for x, v in numbers.items()},
        )
        return [np.asarray(exact(d) * outputs[of[1:]]) for of, d in upstream.items()]

    for x, wanted in differences(terms, {x: arrays[x] for x in wrt.split()}).items():
        assert got[f"d{x}"].shape == wanted.shape
        np.testing.assert_allclose(got[f"d{x}"], wanted, rtol=1e-11, atol=1e-12, err_msg=x)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak if name in SLOW else ()) for name in EVERY]
)
@pytest.mark.sampled(3)
def test_each_is_proved(name):
    proof = derived(name).proof
    assert proof.holds and proof.theorems, proof


class Torch:
    """PyTorch as the namespace of these pages."""

    def __getattr__(self, name):
        import torch

        return {
            "astype": lambda x, dtype: x.to(dtype),
            "max": torch.amax,
            "min": torch.amin,
            "concat": torch.cat,
            "moveaxis": torch.moveaxis,
            "take": lambda x, index, axis: torch.index_select(x, axis, index),
            "maximum": self.larger,
            "minimum": self.smaller,
            "guard": self.larger,
        }.get(name) or getattr(torch, name)

    def larger(self, x, y):
        return x.clamp(min=y)

    def smaller(self, x, y):
        return x.clamp(max=y)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", EVERY)
def test_gradients_are_those_of_pytorch(name):
    import torch

    f, wrt, *_ = EVERY[name]
    (arrays, numbers), (got, upstream) = point(name, 3), run(name, 3)
    given = {x: torch.tensor(a, requires_grad=x in wrt.split()) for x, a in arrays.items()}
    outputs = f(Torch(), **given, **numbers)
    loss = sum(torch.sum(torch.tensor(d) * outputs[y[1:]]) for y, d in upstream.items())
    if loss.requires_grad:  # an independent input has gradient 0
        loss.backward()
    for x in wrt.split():
        wanted = given[x].grad
        np.testing.assert_allclose(
            got[f"d{x}"],
            np.zeros(arrays[x].shape) if wanted is None else wanted.numpy(),
            rtol=1e-11,
            atol=1e-12,
        )


def test_saved_values_are_used_where_they_are_given():
    assert "def backward(xp, dy, x, gamma, rstd):" in derived("rms_norm").source
    assert (
        'return {"dx": (dy - xp.sum(dy * y, axis=-1, keepdims=True)) * y}'
        in derived("softmax").source
    )
    assert "def backward(xp, dy, y):" in derived("tanh").source
    assert "def backward(xp, dloss, target, smoothing, logp):" in derived("nll").source


FORWARD = """
def forward(xp, x, gamma, epsilon, factor=2.0, negated=False):
    rstd = 1.0 / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + epsilon)
    y = factor * x * rstd * gamma
    return {"y": -y if negated else y, "rstd": rstd}
"""


def test_a_forward_page_becomes_an_operator(tmp_path, capsys):
    (tmp_path / "my_norm.py").write_text(
        'SHAPES = {"x": ("r", "n"), "gamma": ("n",)}\nSAVED = ("rstd",)\n' + FORWARD
    )
    assert (
        cli.main(["new", "--forward", str(tmp_path / "my_norm.py"), "--to", str(tmp_path / "to")])
        == 0
    )
    assert "forward: proved for all sizes" in capsys.readouterr().out

    def tried():
        op = av.operator(tmp_path / "to" / "my_norm")
        wrong = av.check(
            op,
            lambda dy, x, gamma, rstd, **_: {
                "dx": dy * gamma * rstd,
                "dgamma": np.sum(dy * x * rstd, axis=0),
            },
            depth="quick",
        )
        parameters = [
            f"{p.c_type} {p.name}".removeprefix("const aclTensor *") for p in op.parameters
        ]
        return parameters, av.check(op, op.backward, depth="quick").passed, wrong.passed

    assert in_child(tried) == (
        [" dy", " x", " gamma", "double factor", "bool negated", " rstd"],
        True,
        False,
    )


@pytest.mark.parametrize(
    "text, message",
    [
        (
            FORWARD,
            r"defines forward\(xp, ...\) and SHAPES, no backward: got forward; add such as SHAPES",
        ),
        (
            'SHAPES = {"x": ("n",)}\ndef forward(xp, x):\n    return {"y": xp.sort(x)}\n',
            r"xp.sort is not known \(line 3 of",
        ),
        (
            'SHAPES = {"x": ("n",)}\ndef forward(xp, x):\n    return {"a b": x}\n',
            r"returns a dict of its outputs: got dict {'a b': real\[n\]}; return",
        ),
        ("SHAPES = 3\n" + FORWARD, "defines forward.* got SHAPES, forward; add"),
        ("def forward(:", "mine.py must load .* got .*SyntaxError"),
        ("import nowhere_there", "mine.py must load .* got ModuleNotFoundError"),
        ("# \udccb", "mine.py must load .* got UnicodeDecodeError"),
    ],
)
def test_a_file_without_a_forward_page_makes_no_operator(tmp_path, text, message):
    (tmp_path / "mine.py").write_text(text, "utf-8", "surrogateescape")
    with pytest.raises((TypeError, ValueError), match=message):
        from_forward("", tmp_path / "mine.py", tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_a_word_of_python_names_no_operator(tmp_path):
    (tmp_path / "mine.py").write_text(
        'SHAPES = {"x": ("n",)}\ndef forward(xp, x):\n    return {"y": x}\n'
    )
    with pytest.raises(ValueError, match="needs a name .*: got 'class'; choose"):
        from_forward("class", tmp_path / "mine.py", tmp_path / "to")


def test_each_step_has_a_name_and_a_formula():
    found = derived("layer_norm")
    assert [step.title for step in found.steps] == [
        "Define centred",
        "Define xhat",
        "Adjoint of xhat",
        "Adjoint of centred",
        "Adjoint of mean",
        "Adjoint of x",
        "Adjoint of gamma",
        "Adjoint of beta",
    ]
    assert (
        all(step.latex and step.why for step in found.steps)
        and found.latex.count(r"\\") == len(found.steps) - 1
    )
    assert found.source in found._repr_markdown_()


@pytest.mark.parametrize("number", [0.0, 1.0, 2.0])
def test_a_filled_array_keeps_its_number(number):
    found = av.derive(
        page(f'return {{"y": x * xp.full_like(x, {number})}}'), wrt=("x",), shapes=ROWS
    )
    assert found.backward(NumPyArrays(), np.ones((2, 3)))["dx"].tolist() == [[number] * 3] * 2


@pytest.mark.parametrize(
    "name, fix",
    [
        ("rms_norm", ("rstd", "1.1 * rstd")),
        ("softmax", ("dy * y", "dy")),
        ("swiglu", ("1.0 / (", "2.0 / (")),
        ("rotated17", ("slice - sin", "slice + sin")),
    ],
)
def test_a_changed_source_is_not_proved(name, fix):
    f, wrt, saved, shapes, *_ = EVERY[name]
    source, space = derived(name).source, {}
    head, body = source.split("\n", 1)
    assert (changed := body.replace(*fix)) != body
    exec(f"{head}\n{changed}", space)
    assert not av.prove((f, space["backward"]), shapes=shapes).holds


def page(body, takes="x"):
    space = {}
    exec(f"def forward(xp, {takes}):\n    {body}\n", space)
    return space["forward"]


ROWS = {"x": ("r", "n")}


@in_one
@pytest.mark.parametrize(
    "forward, given, message",
    [
        (
            page('return {"y": xp.sort(x)}'),
            {},
            r"derive knows what the page does: got xp.sort is not known \(line 2 of .*\); write it otherwise",
        ),
        (
            page('y = x * 2.0\n    return {"y": [float(v) for v in y]}'),
            {},
            r"got a length as a Python number \(line 3 of .*\)",
        ),
        (page('return {"y": x ** x}'), {}, r"a power that is no number \(line 2"),
        (page('return {"y": x[:, ::2]}'), {}, r"a slice with a step \(line 2"),
        (page('return {"y": x + x[:, :-1]}'), {}, r"axes of the lengths n and n - 1 meet \(line 2"),
        (page('return {"y": x[:, 1:] * x[:, :-1]}'), {}, "parts of one array that may overlap"),
        (
            page('return {"y": x}'),
            {"wrt": ()},
            r"wrt names the inputs whose gradients are wanted: got none; choose among x",
        ),
        (
            page('return {"y": x}'),
            {"wrt": ("z",)},
            "wrt names inputs of real numbers with a shape: got z; choose among x",
        ),
        (
            page('return {"y": x}'),
            {"saved": ("rstd",)},
            "saved names outputs of forward: got rstd; choose among y",
        ),
        (
            page('return {"y": x * dy}', "x, dy"),
            {},
            "the names of gradients are free: got dy in forward",
        ),
        (
            page('return {"y": x}'),
            {"shapes": {"z": ("n",)}},
            "shapes names the tensors that forward takes: got z; choose among x",
        ),
        (
            page('return {"y": x}'),
            {"shapes": {"x": ("n n",)}},
            "a length is a number, a letter or a formula of both: got 'n n'",
        ),
        (page('return {"y": x}'), {"labels": {"x": "n"}}, "wrt names inputs of real numbers"),
    ],
)
def test_what_cannot_be_derived_is_refused_in_three_parts(forward, given, message):
    with pytest.raises(ValueError, match=message):
        av.derive(forward, **{"wrt": ("x",), "shapes": ROWS} | given)


@pytest.mark.parametrize(
    "forward, shapes, message",
    [
        (page("return x"), ROWS, "forward returns a dict of its outputs"),
        (page('return {"y": x}'), None, "derive needs shapes="),
        ("forward", ROWS, "derive takes a forward function"),
        (page('return {"y": x}'), {"x": ["n"]}, "derive needs shapes="),
    ],
)
def test_what_is_of_another_kind_is_refused(forward, shapes, message):
    with pytest.raises(TypeError, match=message):
        av.derive(forward, wrt=("x",), shapes=shapes)
