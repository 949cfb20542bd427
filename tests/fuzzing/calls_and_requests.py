"""Callable surfaces: the C API, arrays, folders of operators, formulas, explorers, agents, C++."""

import asyncio
import contextlib
import inspect
import json
import os
import random
import re
import shutil
import sys
import zipfile
from dataclasses import replace
from urllib.parse import quote

import ml_dtypes
import numpy as np
import sympy
from acl.acl_program import PARAMETERS, Program, inputs_of
from checking.test_triage import Written
from machine import ROOT
from trying import TEXTS, WORDS, changed, odd, spoiled, surface, text_of

import aclnn_viz as av
from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.why import CODES
from aclnn_viz.checking.triage import BAD, triage
from aclnn_viz.cli import agents
from aclnn_viz.explorers import explorers, subject_of
from aclnn_viz.explorers.state import build, controls, read_state, state_text
from aclnn_viz.operators import operators, registry
from aclnn_viz.operators.faults.fault import page_from
from aclnn_viz.tiles.cpp import cpp
from derivations import proves_equal

sys.path.append(str(ROOT / "tests" / "derivations"))
from test_random_expressions import FREE, agree, random_expression, rewritten  # noqa: E402
from test_random_expressions import changed as edited


@surface(
    120_000,
    "statuses are numbers that the headers name; where all are 0 without misuse, the output is that of the page",
)
def calls_of_the_C_API(folder):
    names = list(PARAMETERS)
    made = {name: inputs_of(name) for name in names}
    right = {
        name: av.operator(name).backward(
            **{key: value for key, value in given.items() if value is not None}
        )
        for name, (given, _) in made.items()
    }

    def attempt(draw):
        acl, name = HostAcl(), draw.choice(names)
        program = Program(acl).start()
        arguments, outputs = program.arguments(name, *made[name])
        wrong = draw.random() < 0.9
        for _ in range(draw.choice((1, 1, 2, 4)) if wrong else 0):
            at = draw.randrange(len(arguments))
            match draw.randrange(5):
                case 0:
                    arguments[at] = draw.choice(WORDS["arguments of the C API"])
                case 1:
                    shape = tuple(
                        draw.choice((0, 1, 2, 3, 5, -1, 2**31)) for _ in range(draw.randrange(5))
                    )
                    strides = draw.choice(
                        (None, None, tuple(draw.choice((0, 1, 7, -1)) for _ in shape))
                    )
                    arguments[at] = acl.aclCreateTensor(
                        shape,
                        draw.choice((0, 1, 3, 9, 11, 27, 99, -1)),
                        strides,
                        draw.choice((0, 0, 1, -1)),
                        draw.choice((2, 2, 0, -1)),
                        draw.choice((shape, (3,), None)),
                        draw.choice((None, 1, program.blocks[0])),
                    )
                case 2:
                    arguments[at] = arguments[draw.randrange(len(arguments))]
                case 3:
                    acl.aclDestroyTensor(arguments[at]) if "Tensor" in type(
                        arguments[at]
                    ).__name__ else None
                case 4:
                    arguments = arguments[:at] + arguments[at + 1 :] + [None]
        status, size, executor = program.phase_1(name, arguments)
        workspace, stream, odd_one = (
            acl.aclrtMalloc(size, 0)[1] if size else None,
            program.stream,
            wrong and draw.random() < 0.5,
        )
        if status == 0 or odd_one:
            four = [workspace, size, executor, stream]
            if odd_one:
                four[draw.randrange(4)] = draw.choice((None, 0, 1, 2**40))
            statuses = [
                status,
                getattr(acl, name)(*four),
                acl.aclrtSynchronizeStream(program.stream),
            ]
            if not wrong:
                assert statuses == [0, 0, 0] and all(
                    program.fetch(tensor).tobytes() == right[name][key].tobytes()
                    for key, tensor in outputs.items()
                ), statuses
            assert all(one == 0 or one in CODES for one in statuses), statuses
        assert status == 0 or status in CODES, status
        acl.aclrtResetDevice(0), acl.aclFinalize()
        assert all(map(str, acl.misuse))

    return attempt


def odd_array(draw: random.Random, dtype=None) -> np.ndarray:
    """Return an array of few elements: any dtype, rank, order and numbers, including the ends of formats."""
    dtype = dtype or draw.choice(
        (
            np.float32,
            np.float16,
            ml_dtypes.bfloat16,
            np.float64,
            np.int64,
            bool,
            np.uint8,
            np.complex64,
            ">f4",
            "U2",
            object,
        )
    )
    shape = tuple(draw.choice((0, 1, 2, 3, 4)) for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 9))))
    shape = tuple(min(n, 1) for n in shape) if len(shape) == 9 else shape
    special = WORDS["special numbers"]
    with np.errstate(all="ignore"):
        values = np.array(
            [
                draw.choice(special) if draw.random() < 0.3 else draw.uniform(-5, 5)
                for _ in range(int(np.prod(shape)))
            ],
            np.float64,
        )
        values = (
            np.nan_to_num(values).astype(np.int64)
            if np.dtype(dtype).kind in "iu" and np.abs(np.nan_to_num(values)).max(initial=0) < 2**60
            else values
        )
        found = values.astype(dtype).reshape(shape)
    return draw.choice(
        (found, found, found.T, found[..., ::-1] if found.ndim else found, np.asfortranarray(found))
    )


@surface(
    110_000,
    "the largest absolute error is the one that plain subtraction gives; a page refuses or gives outputs of the shapes of its inputs",
    MemoryError,
)
def arrays(folder):
    ops = [av.operator(name) for name in WORDS["operators of arrays"]]

    def attempt(draw):
        if draw.random() < 0.5:
            actual = odd_array(draw, draw.choice((np.float32, np.float16, None)))
            truth = (
                odd_array(draw)
                if draw.random() < 0.2
                else actual.astype(np.float64)
                if actual.dtype.kind == "f"
                else actual
            )
            if truth.size and truth.dtype == np.float64 and draw.random() < 0.8:
                truth = truth * draw.choice((1.0, 1.001, 0.5, -1.0, 2.0))
            baseline = draw.choice((None, None, None, actual, odd_array(draw)))
            found = av.compare(actual, truth, baseline=baseline)
            with np.errstate(all="ignore"):
                apart = np.abs(actual.astype(np.float64) - truth)
                finite = np.isfinite(actual.astype(np.float64)) & np.isfinite(truth)
            if (
                actual.dtype == np.float32
                and finite.all()
                and actual.size
                and np.abs(truth).max() < 3e38
            ):
                assert np.isclose(found.max_abs, apart.max(), rtol=1e-6, atol=1e-45), (
                    found.max_abs,
                    apart.max(),
                )
            assert str(found) and found.to_json()
            return
        op = draw.choice(ops)
        valid = av.case(op, seed=draw.randrange(3)).inputs
        given = dict(valid)
        for name in draw.sample(list(given), draw.choice((1, 1, 2)) if len(given) > 1 else 1):
            given[name] = draw.choice(
                (
                    odd_array(draw),
                    odd_array(draw, getattr(given[name], "dtype", None)),
                    odd(draw, 1),
                    given[draw.choice(list(given))],
                )
            )
        if draw.random() < 0.1:
            given.pop(draw.choice(list(given)))
        with np.errstate(all="ignore"):
            outputs = op.backward(**given)
        wanted = op.arrange_backward(**op.bind(given)).results
        assert {name: tuple(value.shape) for name, value in outputs.items()} == {
            name: one.documented_shape for name, one in wanted.items()
        }

    return attempt


@surface(2_000, "a kernel that is wrong in one number, one factor or one element does not pass")
def wrong_kernels(folder):
    ops = {
        op.name: op
        for op in (
            av.operator(name)
            for name in "hardswish silu elu softplus threshold l1_loss mse_loss tanh leaky_relu".split()
        )
    }

    def attempt(draw):
        op = ops[draw.choice(list(ops))]
        case = av.case(
            op,
            shape=(draw.randrange(1, 9),),
            dtype=draw.choice(("float32", "float16")),
            seed=draw.randrange(1000),
        )
        kind, factor, right = draw.randrange(4), draw.choice((0.5, -1.0, 2.0, 1.1, 0.0)), {}

        def kernel(**inputs):
            outputs = {name: value.copy() for name, value in op.backward(**inputs).items()}
            name = draw.choice(list(outputs))
            value = outputs[name].reshape(-1)
            size = np.abs(value[np.isfinite(value)].astype(np.float64)).max(initial=0.0)
            with np.errstate(all="ignore"):
                match kind:
                    case 0:
                        value *= value.dtype.type(factor)
                    case 1:
                        value[np.abs(value).argmax()] += value.dtype.type(0.5 * size + 1)
                    case 2:
                        value[draw.randrange(value.size)] = draw.choice((np.nan, np.inf))
                    case 3:
                        value[:] = np.roll(value, 1)
            right[name] = op.backward(**inputs)[name].reshape(-1)
            right["same"] = np.allclose(
                right[name].astype(float),
                value.astype(float),
                rtol=0.05,
                atol=0.05 * size,
                equal_nan=True,
            )
            return outputs

        found = av.check(op, kernel, cases=[case], depth="quick", soc="Ascend910B2", beyond=True)
        assert not found.passed or right.get("same"), (op.name, case, kind, factor)

    return attempt


@surface(
    20_000, "a folder that loads describes itself; one that does not leaves no operator behind"
)
def declarations(folder):
    source = ROOT / "tests" / "elsewhere" / "my_silu"
    shutil.copytree(
        source, place := folder / "my_silu", ignore=shutil.ignore_patterns("__pycache__")
    )
    texts = {name: (place / name).read_text() for name in ("declaration.py", "page.py")}
    words = WORDS["declarations"]
    os.sys.dont_write_bytecode = True

    def attempt(draw):
        for name, text in texts.items():
            (place / name).write_text(text)
        name = draw.choice(("declaration.py", "declaration.py", "page.py"))
        text = spoiled(draw, texts[name], words)
        (place / name).write_text(text, "utf-8", "surrogatepass")
        registry._outside.pop("my_silu", None)
        registry.module.cache_clear()
        for module in [one for one in os.sys.modules if "my_silu" in one]:
            del os.sys.modules[module]
        try:
            found = av.operator(place)
        except ValueError:
            assert "my_silu" not in [one.name for one in operators()], (
                "what did not load is an operator"
            )
            raise
        assert str(found.describe())
        if name == "declaration.py":  # other errors of a page are its own
            found.backward(**av.case(found, shape=(2, 2)).inputs)

    return attempt


@surface(20_000, "what is proved equal has equal values, exactly, at four shapes")
def formulas(folder):
    strange = (
        sympy.Float(0.5),
        sympy.nan,
        sympy.oo,
        sympy.zoo,
        sympy.Matrix([1]),
        sympy.Symbol("f", commutative=False),
        "x",
        None,
        1.5,
        sympy.Function("g")(1),
        True,
        sympy.Product(FREE[0], (FREE[0], 1, 3)),
        sympy.I,
        sympy.Piecewise((1, FREE[0] > 0), (2, True)),
        sympy.S.EmptySet,
        [1],
        sympy.Integer(10) ** 400,
    )

    def attempt(draw):
        a = random_expression(draw, draw.choice((1, 2, 2, 3)))
        b = draw.choice((edited, rewritten, rewritten))(draw, a)
        ranges = draw.choice((None, None, None, {FREE[0]: (0, 3)}, odd(draw)))
        if draw.random() < 0.15:
            one = draw.choice(strange)
            with contextlib.suppress(TypeError, sympy.SympifyError, AttributeError):
                one = a + one if draw.random() < 0.5 else one
            equal = proves_equal(one, b, in_range=ranges)
            assert not equal or one == b or str(one) == str(b), (one, b)
            return
        equal = proves_equal(a, b, in_range=ranges)
        assert equal or equal.reason
        assert not equal or ranges or agree(a, b, draw), (a, b)

    return attempt


@surface(1_000, "a page whose backward is changed is not proved unless its numbers are the same")
def pages_read_by_the_prover(folder):
    ops = [av.operator(name) for name in "hardswish silu mse_loss leaky_relu softplus".split()]
    pieces = WORDS["pages read by the prover"]

    def attempt(draw):
        op = draw.choice(ops)
        head, backward, rest = inspect.getsource(op.page).rpartition("\ndef backward")
        text = head + backward + spoiled(draw, rest, pieces)
        try:
            wrong = replace(op, page=page_from(text, op.page))
            case = av.case(op, shape=(6,), seed=draw.randrange(9))
            same = all(
                np.allclose(value, op.backward(**case.inputs)[name], rtol=1e-4, atol=1e-4)
                for name, value in wrong.backward(**case.inputs).items()
            )
        except Exception as error:
            raise ValueError("a page computes: got an error; mend it") from error
        found = av.prove(wrong)
        assert str(found) and (same or not found.holds), text

    return attempt


# Pictures, and requests of others


@surface(270_000, "a state that is taken gives the same state again by the text of its own link")
def links_of_explorers(folder):
    subjects = [subject_of(name) for name in explorers()]
    described = [(one, controls(one.state)) for one in subjects]

    def value(draw, control):
        if draw.random() < 0.4:
            return odd(draw)
        if control["kind"] == "choice":
            return draw.choice(control["options"])[0]
        if control["kind"] == "flag":
            return draw.choice((True, False))
        return draw.choice(
            (
                control["low"],
                control["high"],
                draw.randint(int(control["low"]), int(control["high"]) + 1),
                control["low"] - 1,
            )
        )

    def attempt(draw):
        subject, known = draw.choice(described)
        given = {
            control["field"]: value(draw, control)
            for control in draw.sample(known, draw.randrange(min(4, len(known)) + 1))
        }
        if draw.random() < 0.1:
            given[draw.choice((*TEXTS, "moved", "lang"))] = odd(draw)
        text = "#" + "&".join(
            f"{quote(name, errors='ignore')}={quote(text_of(one))}" for name, one in given.items()
        )
        if draw.random() < 0.3:
            text = spoiled(draw, text, ("&", "=", "#", "%", "%22", "+", ";"))
        state = build(subject.state, read_state(text))
        assert build(subject.state, read_state(state_text(state))) == state
        if draw.random() < 0.002:
            with np.errstate(all="ignore"):
                subject.drawn(
                    subject.compute(
                        state,
                        lambda state, inputs: (subject.operator(state).backward(**inputs), ()),
                    )
                )

    return attempt


@surface(
    20_000,
    "a run whose gradient is far off is not explained; the files stay as they are",
    FileNotFoundError,
)
def folders_for_triage(folder):
    written = Written(folder / "dump")
    written.silu(0)
    run = written.done()
    index = run / "step0" / "rank0" / "dump.json"
    text, tensors = (
        index.read_text(),
        {path: path.read_bytes() for path in (index.parent / "dump_tensor_data").iterdir()},
    )
    gradient = next(path for path in tensors if "backward.output" in path.name)
    numbers = tensors[gradient].index(
        np.float32(0).tobytes()[:0] + zipfile.ZipFile(gradient).read(f"{gradient.stem}/data/0")
    )

    def attempt(draw):
        index.write_text(text)
        for path, content in tensors.items():
            path.write_bytes(content)
        far = draw.random() < 0.3
        if far:  # one number changed, invisible to checksum and extremes
            place, content = gradient, bytearray(tensors[gradient])
            at = numbers + 4 * draw.randrange(12)
            content[at : at + 4] = np.float32(
                draw.choice((17.0, -9.0, float("nan"), float("inf")))
            ).tobytes()
            content = bytes(content)
            index.write_text(re.sub(r'"(Max|Min|Mean|Norm)": [-\d.e]+', r'"\1": null', text))
        elif draw.random() < 0.5:
            place, content = (
                index,
                (
                    text_of(changed(draw, json.loads(text)))
                    if draw.random() < 0.6
                    else spoiled(draw, text)
                ).encode("utf-8", "surrogatepass"),
            )
        else:
            place = draw.choice(list(tensors))
            content = spoiled(draw, tensors[place])
        place.write_bytes(content)
        found = triage(
            run,
            draw.choice((None, None, None, "Functional.silu.0", odd(draw, 0))),
        )
        assert not far or found.calls[0].verdict in BAD, found.calls[0]
        assert str(found) and found.to_json() and found.to_html() and place.read_bytes() == content

    return attempt


@surface(
    20_000,
    "what a client sends reaches the command as it was sent: no value becomes an option, and each tool refuses in words",
    tools=("mcp",),
)
def requests_of_agents(folder):
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    server, sent = MCPServer("fuzzed", log_level="CRITICAL"), []
    for tool in agents.TOOLS:
        server.add_tool(tool, structured_output=True)

    async def answer(words, given="", seconds=0.0, source=None):
        sent.append((words, given, source))
        return dict.fromkeys(agents.SHORT_ANSWER, 1)

    agents.answer = answer
    valid = WORDS["requests of agents"]

    def attempt(draw):
        name = draw.choice(list(valid))
        given = changed(draw, valid[name])
        sent.clear()
        try:
            asyncio.run(
                server.call_tool(
                    name if draw.random() < 0.97 else draw.choice(TEXTS),
                    given if isinstance(given, dict) else {"operator": given},
                )
            )
        except ToolError as error:
            assert str(error)
            raise ValueError("a request: got an error; " + str(error)) from None
        ((words, _, source),) = sent
        at = words.index("--") if "--" in words else len(words)
        assert all(isinstance(word, str) for word in words) and not any(
            re.match("-[^-DI\\d.]|--[^a-z]", word)
            for word in words[1:at]
            if word not in ("-inf", "-nan")
        ), (given, words)
        for one in given.values() if isinstance(given, dict) else ():
            assert (
                not isinstance(one, str)
                or not one.startswith("--")
                or not any(word == one for word in words[1:at])
            ), (given, words)
        assert source is None or "/" not in source[0] and source[0] not in ("", ".", "..")

    return attempt


@surface(
    500,
    "a source that is taken gives z = x + y, or a hazard, or other numbers; it never crashes the judge",
    RuntimeError,
    OSError,
    tools=("g++",),
)
def sources_in_C_plus_plus(folder):
    text = (ROOT / "tests" / "tiles" / "cpp" / "add_custom.cpp").read_text()
    pieces = WORDS["sources in C plus plus"]
    x, y = np.random.default_rng(0).standard_normal((2, 2048), np.float32)

    def attempt(draw):
        place, z = folder / "add_custom.cpp", np.zeros_like(x)
        lines = text.splitlines(keepends=True)
        at = draw.randrange(5, len(lines))
        match draw.randrange(4):
            case 0:
                lines[at] = ""
            case 1:
                lines[at] = draw.choice(lines[5:])
            case 2:
                lines[at] += f"        {draw.choice(pieces)};\n"
            case 3:
                words = re.split(r"(\W)", lines[at])
                words[draw.randrange(len(words))] = draw.choice(pieces)
                lines[at] = "".join(words)
        place.write_text("".join(lines))
        kernel = cpp(place)["add_custom"]
        kernel.seconds = 5
        found = av.tiles.run(
            kernel, x, y, z, x.size, cores=2, schedule=draw.choice(("eager", "late", 1))
        )
        assert all(map(str, found.hazards))
        if "".join(lines) == text:
            assert not found.hazards and np.array_equal(z, x + y)

    return attempt
