"""Pages without Python: traced steps have NumPy's bits, saved explorers show Python's pictures, links open states."""

import re
from contextlib import closing

import numpy as np
import pytest
from live_pages import (
    STEPS_JS,
    computed,
    differences,
    in_node,
    page_of,
    random_states,
    said_by_node,
    saved,
    saved_at,
)
from machine import ROOT, SOAK
from panelled_explorer import HELD

from aclnn_viz import explore, operator, operators
from aclnn_viz.arrays.javascript import TracedArrays
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.cases import case
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.explorers import explorers, live, slopes, subject_of
from aclnn_viz.explorers.arrays import XP
from aclnn_viz.explorers.state import build, controls, read_state, state_text
from aclnn_viz.operators import registry

ODD = np.array("0 -0 1 -1.5 0.5 2.5 -2.5 3 1e30 -1e-30 65520 5e-8 3.1 nan inf -inf".split(), float)
LARGEST = 3_000_000  # bytes of a page
#: Limits of error relative to the largest number beside, with reasons; otherwise pages are exact in float32.
# exp and log of float64 are the browser's
PAGES = dict.fromkeys((op.name for op in operators()), 1e-6) | dict.fromkeys(
    "grid_sampler_2d grid_sampler_3d rms_norm numeric_error tiles two_phase zoom".split(), 0.0
)
NODE = pytest.mark.needs("node")
COUNT = 200 if SOAK else 4


def both(step, *arrays):
    """Return (NumPy's results for arrays, their trace for node)."""
    xp, given = TracedArrays({}), {f"x{k}": array for k, array in enumerate(arrays)}
    with np.errstate(all="ignore"):
        made = step(xp, *(xp.input(*one) for one in given.items()))
        return np.asarray(step(XP, *arrays)), (xp, made, given)


def bits(values):
    values = np.asarray(values, np.float64)
    return np.where(np.isnan(values), np.nan, values).tobytes()


def other_bits(made, folder):
    """Return the names of (NumPy's results, trace for node) whose bits differ."""
    found = computed({name: job for name, (_, job) in made.items()}, folder)
    return [
        name
        for name, (want, _) in made.items()
        if bits(want) != bits(np.reshape(found[name], want.shape))
    ]


STEPS = {
    **{
        name: lambda xp, *given, name=name, many=many: getattr(xp, name)(*given[:many])
        for many, names in enumerate(
            (
                "floor ceil round sqrt isnan isfinite abs",
                "minimum maximum equal less_equal remainder",
            ),
            1,
        )
        for name in names.split()
    },
    "arithmetic": lambda xp, x, y: (x + y) * 3.0 - x / y,
    "where": lambda xp, x, y: xp.where(x > y, x, 0.25),
    "sum": lambda xp, x, y: xp.sum(xp.stack([x[2:12], y[2:12]])),
    "mean": lambda xp, x, y: xp.mean(xp.stack([x[2:9], y[2:9]]), axis=1),
    "leading": lambda xp, x, y: xp.sum(xp.reshape(x[:12], (3, 4)), axis=0),
    "max": lambda xp, x, y: xp.max(xp.reshape(x, (4, 4)), axis=1),
    "argmax": lambda xp, x, y: xp.argmax(x),
    "argsort": lambda xp, x, y: xp.argsort(x, stable=True),
    "take": lambda xp, x, y: xp.take(
        xp.reshape(x, (4, 4)), xp.astype(xp.floor(xp.clip(y[1:4], 0.0, 3.0)), xp.int64), axis=1
    ),
    "views": lambda xp, x, y: (
        xp.moveaxis(xp.reshape(x, (2, 2, 4)), 0, 2)[1, ::2] - xp.reshape(y, (4, 4))[:2, 1:3]
    ),
    "scatter_add": lambda xp, x, y: xp.scatter_add(
        np.zeros((2, 5), x.dtype),
        xp.astype(xp.clip(xp.floor(x[2:8]), 0.0, 4.0), xp.int64),
        xp.stack([y[2:8], x[2:8]]),
    ),
    **{
        f"round to {fmt.name}": lambda xp, x, y, fmt=fmt: xp.astype(xp.round_to(x, fmt), np.float64)
        for fmt in FORMATS
    },
    **{f"ulp of {fmt.name}": lambda xp, x, y, fmt=fmt: xp.ulp(x, fmt) for fmt in FORMATS},
    "integers": lambda xp, x, y: xp.astype(x[2:8] * 7, xp.int64) // 3 % 4,
}


@NODE
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_have_the_bits_of_numpy(dtype, tmp_path):
    rng = np.random.default_rng(0)
    x, y = (
        rng.permutation(np.concatenate([ODD[:-5], rng.standard_normal(5)])).astype(dtype)
        for _ in range(2)
    )
    odd = {
        name: ODD.astype(dtype)
        if name.partition(" ")[0] not in "sum mean take scatter_add integers argsort".split()
        else x
        for name in STEPS
    }
    assert (
        other_bits({name: both(step, odd[name], y) for name, step in STEPS.items()}, tmp_path) == []
    )


@NODE
def test_powers_are_those_of_c_but_for_few_in_the_last_place(tmp_path):
    exponents = np.round(np.random.default_rng(1).uniform(-12, 12, 2000), 2)
    xp = TracedArrays({})
    (found,) = computed(
        {"power": (xp, 10.0 ** xp.input("x", exponents), {"x": exponents})}, tmp_path
    ).values()
    wanted = np.array([10.0**x for x in exponents.tolist()])
    assert (found != wanted).sum() <= 4 and (np.abs(found - wanted) <= np.spacing(wanted)).all()


@NODE
def test_a_step_is_taken_again_where_what_it_takes_has_changed_alone(tmp_path):
    xp = TracedArrays({})
    x, y, scale = xp.input("x", ODD), xp.input("y", ODD), xp.input("scale", 1.0)
    one = xp.script(
        {
            "near": xp.log1p(x) * scale + y,
            "far": xp.sum(xp.reshape(xp.log1p(x)[:12], (3, 4)), axis=0) / scale,
        }
    )
    assert said_by_node(
        f"""{STEPS_JS}
const one = {one}, log1p = Math.log1p, numbers = (k) => Float64Array.from({{ length: {ODD.size} }}, (_, j) => j * j - k / 7);
const [x, other, y] = [numbers(1), numbers(2), numbers(3)];
const text = (found) => [...found.near, ...found.far].map((value) => (Object.is(value, -0) ? "-0" : `${{value}}`)).join();
let count = 0;
Math.log1p = (value) => {{ count += 1; return log1p(value); }};
const states = [[x, y, 1], [x, y, 1], [x, y, -1], [other, y, -1], [x, other, -1],
  [other, other, 0], [other, other, -0], [x, y, NaN]];
const counts = states.map(([x, y, scale]) => {{
  count = 0;
  const kept = text(S.run(one, {{ x, y, scale }})), taken = count;
  return text(one({{ x, y, scale }})) === kept ? taken : "another number";
}});
console.log(JSON.stringify(counts));""",
        tmp_path,
    ) == [ODD.size, 0, 0, ODD.size, ODD.size, ODD.size, 0, ODD.size]


@NODE
def test_a_step_that_is_wrong_is_noticed(tmp_path):
    want, (*traced, _) = both(lambda xp, x: x * 3.0 + 1.0, ODD.astype(np.float32))
    # an input that float32 cannot hold
    assert other_bits({"wrong": (want, (*traced, {"x0": ODD.astype(np.float64)}))}, tmp_path) == [
        "wrong"
    ]


@pytest.mark.parametrize(
    "look",
    [
        float,
        bool,
        "{:.3g}".format,
        np.asarray,
        lambda x: 1 if x > 0 else 2,
        lambda x: np.ones(3)[x],
    ],
)
def test_a_number_that_is_traced_is_not_looked_at(look):
    with pytest.raises((TypeError, IndexError), match="not known while it is traced|only integers"):
        look(TracedArrays({}).input("x", 1.0))


@NODE
@pytest.mark.parametrize("name", [op.name for op in operators()])
@pytest.mark.sampled(4)
def test_the_backward_page_has_the_bits_of_numpy_in_every_mode(name, tmp_path, monkeypatch):
    rounded_once(monkeypatch)
    op, made = operator(name), {}
    for k, mode in enumerate(op.modes[:: 1 if SOAK else 3]):
        given, xp = case(op, "float32", k, **mode).inputs, TracedArrays({})
        arrays = {n: value for n, value in given.items() if isinstance(value, np.ndarray)}
        moving = {n: xp.input(n, value) for n, value in arrays.items() if value.dtype.kind == "f"}
        traced = live.TracedOperator(op, xp).backward(**given | moving)
        for output, values in op.backward(**given).items():
            made[f"{k} {output}"] = values, (xp, traced[output], arrays)
    assert other_bits(made, tmp_path) == []


def rounded_once(monkeypatch):
    """Replace NumPy's exp and log of float32, off by up to 2.2 ulp depending on the machine, by the nearest number."""
    for name in "exp expm1 log log1p tanh".split():
        plain = getattr(np, name)
        monkeypatch.setattr(
            NumPyArrays,
            name,
            lambda self, x, plain=plain: plain(np.asarray(x, np.float64)).astype(
                np.asarray(x).dtype
            ),
            raising=False,
        )


@NODE
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.sampled(3)
def test_a_page_shows_what_the_explorer_of_python_shows(name, tmp_path, monkeypatch):
    rounded_once(monkeypatch)
    subject, state, page = saved(name)
    assert len(page.encode()) <= LARGEST and not re.search(
        r"""(?:src|href)=["'](?!data:)|https?://(?!www\.w3\.org)""", page
    )
    states = random_states(subject, state, page, COUNT)
    shown = in_node(page, states, tmp_path)
    assert [
        (values, found)
        for values, one in zip(states, shown)
        if (found := differences(subject, values, one, PAGES[name]))
    ] == []
    shown[0]["panels"][0]["title"] += "!"
    shown[-1]["panels"][-1]["x"]["label"] = "another"
    assert differences(subject, states[0], shown[0], 1e-6) and differences(
        subject, states[-1], shown[-1], 1e-6
    )


def test_every_explorer_is_compared():
    assert PAGES.keys() == {*explorers()}


def test_a_name_is_a_text_on_the_page(tmp_path):
    (folder := tmp_path / "a<!--<script>b").mkdir()
    for name in ("page", "declaration"):
        text = (ROOT / "tests" / "elsewhere" / "my_silu" / f"{name}.py").read_text("utf-8")
        (folder / f"{name}.py").write_text(text.replace('"my_silu"', repr(folder.name)), "utf-8")
    explorer = explore(folder)
    explorer.save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert (
        explorer.subject.name == "a<!--<script>b"
        and text.count("<script") == 1
        and "<!--" not in text
    )
    assert "<h1>a&lt;!--&lt;script&gt;b</h1>" in text
    explorer.close()
    registry.forget(folder.name)


@NODE
@pytest.mark.soak
def test_a_choice_without_a_picture_beside_the_others_stays_and_sets_them_back(tmp_path):
    subject, state, page = saved("two_phase")
    start = vars(state)
    asked = [start | {"mistake": "leak", "layout": "row", "operator": "rms_norm"}]
    (shown,) = in_node(page, asked, tmp_path, before=start | {"mistake": "leak", "layout": "row"})
    assert (
        shown["values"] == start | {"operator": "rms_norm"}
        and differences(subject, shown["values"], shown, 0.0) == []
    )


def looked_at(name, **values):
    """Return the sliders that a page leaves unchanged."""
    subject, _, page = saved_at(name, **values) if values else saved(name)
    page = page_of(page)
    moves = {c["field"] for c in controls(subject.state) if c["kind"] == "real" or c.get("below")}
    return moves - {*page["alive"]}


@pytest.mark.parametrize(
    "name, values",
    [(name, values) for name in explorers() for values in HELD["moving"].get(name, [{}])],
    ids=str,
)
@pytest.mark.sampled(10)
def test_no_picture_looks_at_a_number_that_moves_but_where_it_is_said(name, values):
    left, said = looked_at(name, **values), {*HELD["looked"].get(name, ())}
    assert left <= said if values else left == said


def test_a_panel_that_looks_is_noticed(monkeypatch):
    right = slopes._share
    for look in (float, "{:.3g}".format, lambda x: 1 if x > 0 else 2):
        monkeypatch.setattr(
            slopes, "_share", lambda *given: (look(given[1].here[2]), right(*given))[1]
        )
        assert "x" in looked_at("hardswish", seed=1)


def test_of_what_a_device_computes_a_page_records_nothing():
    subject = subject_of("numeric_error")
    state = build(subject.state, {"device": "atlas", "fault": "none"})
    assert page_of(live.saved(subject, state, subject.compute(state)))["alive"] == []


def test_a_page_says_what_it_leaves_and_speaks_both_languages():
    page = page_of(saved("rms_norm")[-1])
    assert {"axis_0", "seed"} <= page["texts"]["en"]["needs"].keys() and not {
        "epsilon",
        "pull",
    } & page["texts"]["zh"]["needs"].keys()
    assert page["texts"]["zh"]["wording"]["texts"]["Copy link"] != "Copy link"


def test_a_page_has_rows_along_another_axis_too():
    page = page_of(saved("softmax")[-1])
    at, dims = [*page["options"]].index("dim"), page["options"]["dim"]
    assert {int(places.split(",")[at]) for places in page["variants"]} == {*range(len(dims))}


def test_a_page_moves_what_forward_makes_a_saved_output_from():
    assert "scale" in page_of(saved("scaled_masked_softmax")[-1])["alive"]


def test_save_writes_the_page_of_the_state_again_and_over_no_other_file(tmp_path):
    with closing(explore("hardswish", x=-1.25)) as explorer:
        explorer.save(tmp_path / "one.html")
        explorer.save(tmp_path / "one.html")
        (tmp_path / "mine.html").write_text("<html>")
        with pytest.raises(FileExistsError, match="did not make"):
            explorer.save(tmp_path / "mine.html")
        assert page_of((tmp_path / "one.html").read_text("utf-8"))["values"]["x"] == -1.25


@pytest.mark.parametrize("text", ["rotate", "rotate=", "rotate=one", "%", 3])
def test_a_text_that_is_no_state_is_refused_in_three_parts(text):
    with pytest.raises(ValueError, match=': got .*; copy it by "Copy link"'):
        explore("grid_sampler_2d", state=text)


def test_a_state_and_its_text_are_one():
    for name, values in (
        ("rms_norm", {"epsilon": -3.5, "moved": [(0, 2, 1.5, 0.0)]}),
        ("two_phase", {"mistake": "no init"}),
        ("tiles", {}),
    ):
        state = build(subject_of(name).state, values)
        assert build(type(state), read_state("#" + state_text(state))) == state
    assert read_state("rotate=1&lang=zh") == {"rotate": 1}
