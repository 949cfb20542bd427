"""The sketch in Ascend C says what the program says, call for call, and keeps as a comment what it cannot say."""

import ast
import inspect
import re
from collections import Counter

import pytest

import aclnn_viz as av
from aclnn_viz.operators import registry
from aclnn_viz.tiles import ascendc
from aclnn_viz.tiles.sketch import Lines
from together import in_one

PROGRAMS = [
    own[0] for op in av.operators() if (own := registry.own("tiles", op.name, "PROGRAMS", ()))
]
CALLS = {name for name in ascendc.__all__ if inspect.isfunction(getattr(ascendc, name))}


def sketched(program, dtype="float16"):
    return av.tiles.sketch(program, **av.case(program.operator, dtype=dtype).inputs)


def expression(python):
    return Lines().text(ast.parse(python, mode="eval").body)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_call_of_the_program_stands_in_its_sketch(program):
    text, module = sketched(program), inspect.getmodule(program.kernel)
    (kernel,) = (
        one
        for one in vars(module).values()
        if inspect.isclass(one) and one.__module__ == module.__name__
    )
    sources = [
        ast.parse(inspect.getsource(cls)) for cls in kernel.__mro__[:-1]
    ]  # what it extends, too
    written = Counter(
        node.func.id
        for source in sources
        for node in ast.walk(source)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS
    )
    found = Counter(name for name in re.findall(r"\b(\w+)(?:<\S+?>)?\(", text) if name in CALLS)
    assert written.keys() == found.keys() and all(
        found[name] >= number for name, number in written.items()
    )
    assert (
        text.count("{") == text.count("}") and "self." not in text and "not compiled here" in text
    )


def test_a_method_that_is_replaced_stands_there_once():
    program = next(program for program in PROGRAMS if program.name == "grid_sampler_3d")
    text = sketched(program)
    assert (
        text.count("inline auto Corners(") == 1
        and "GridSamplerGrad" not in text
        and "constexpr int64_t POINTS" in text
    )


def test_the_numbers_are_those_of_the_launch():
    case = av.case("hardswish", shape=(99,), dtype="bfloat16")
    text, run = (
        av.tiles.sketch(PROGRAMS[0], **case.inputs),
        av.tiles.launch(PROGRAMS[0], **case.inputs),
    )
    assert f"int64_t blockDim = {run.cores};" in text and "using T = bfloat16_t;" in text
    assert f"int64_t tileLength = {run.tiling.tileLength};" in text


@in_one
@pytest.mark.parametrize(
    ("python", "cpp"),
    [
        ("SetFlag(HardEvent.V_MTE3, 0)", "SetFlag<HardEvent::V_MTE3>(0)"),
        ("PipeBarrier(PIPE_V)", "PipeBarrier<PIPE_V>()"),
        ("self.xQue.DeQue(self.T)", "xQue.DeQue<T>()"),
        ("-(-n // 64) * 64", "CeilDiv(n, 64) * 64"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a + b) * c + d // e", "(a + b) * c + d / e"),
        ("a <= b < c", "a <= b && b < c"),
        ("x if a else y", "(a ? x : y)"),
        ("min(a, b, c)", "min(min(a, b), c)"),
        (
            "DataCopyExtParams(1, n * self.T.itemsize, 0, 0, 0)",
            "DataCopyExtParams{1, n * sizeof(T), 0, 0, 0}",
        ),
        ("Cast(out, x, RoundMode.CAST_RINT, count)", "Cast(out, x, RoundMode::CAST_RINT, count)"),
        (
            "given.dtype == float32",
            "std::is_same<typename decltype(given)::PrimType, float>::value",
        ),
        ("weight is not None", "weight != nullptr"),
    ],
)
def test_lines(python, cpp):
    assert expression(python) == cpp


def test_a_member_beside_a_local_of_its_name_is_distinguished():
    (method,) = ast.parse(
        "def Init(self, n):\n    length = n\n    self.length = min(length, 3)"
    ).body
    assert "this->length = min(length, 3);" in Lines()._method(method)


def test_a_name_ends_with_its_block():
    loop = "    for k in range(2):\n        n = k\n"
    (method,) = ast.parse(f"def f(self):\n{loop}{loop}").body
    assert Lines()._method(method).count("auto n = k;") == 2


def test_what_has_no_line_stays_as_a_comment():
    assert Lines().statement(ast.parse("a = [k for k in range(3)]").body[0]) == [
        "// Python: a = [k for k in range(3)]"
    ]
