"""`triage`: dumps from msProbe, dumps of the same layout by hand, and possible faults of either."""

import json
import math
import os
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from machine import SOAK
from tables import table

import aclnn_viz as av
from aclnn_viz.checking import check, read_and_check, triage
from aclnn_viz.checking.triage import DAMAGED, DEVICE, NOT_JUDGED, ROUNDING, SUSPECT, WRONG
from aclnn_viz.cli import main
from aclnn_viz.operators import operators, registry
from aclnn_viz.operators.plans import preset, run
from aclnn_viz.storage.dumps import STORAGES
from aclnn_viz.words.messages import in_language

RUNS = Path(__file__).parent / "dumped"
NAMES = {dtype: storage.removeprefix("torch ") for storage, dtype in STORAGES.items()}
CALLS = [
    (op, name)
    for op in operators()
    for name in registry.own("peer", op.name, "DUMPED", {})
    if name[0].islower()
]


@pytest.fixture
def run_of(tmp_path):
    """Return a dump that `dumped/write_runs.py` wrote with msProbe."""

    def unpacked(name: str) -> Path:
        with tarfile.open(RUNS / f"{name}.tar.xz") as archive:
            archive.extractall(tmp_path, filter="data")
        return tmp_path / name

    return unpacked


def pt(
    place: Path,
    array: np.ndarray,
    storage: str = "",
    shape=None,
    strides=None,
    count=None,
    function="torch._utils _rebuild_tensor_v2",
    offset: int = 0,
    compression=zipfile.ZIP_STORED,
) -> None:
    """Write an array as torch.save does, or a fake of such a file."""

    def numbers(values) -> bytes:
        return b"(" + b"".join(b"\x8a\x08" + struct.pack("<q", n) for n in values) + b"t"

    def text(word: str) -> bytes:
        return b"X" + struct.pack("<I", len(word)) + word.encode()

    shape = array.shape if shape is None else shape
    strides = (
        [math.prod(shape[at + 1 :]) for at in range(len(shape))] if strides is None else strides
    )
    about = (
        b"("
        + text("storage")
        + f"ctorch\n{storage or NAMES[array.dtype.name]}\n".encode()
        + text("0")
        + text("npu:0")
        + numbers([array.size if count is None else count])[1:-1]
        + b"tQ"
    )
    content = (
        b"\x80\x02c"
        + function.replace(" ", "\n").encode()
        + b"\n("
        + about
        + numbers([offset])[1:-1]
        + numbers(shape)
        + numbers(strides)
        + b"\x89ccollections\nOrderedDict\n)RtR."
    )
    with zipfile.ZipFile(place, "w", compression) as archive:
        archive.writestr(f"{place.stem}/data.pkl", content)
        archive.writestr(f"{place.stem}/data/0", np.ascontiguousarray(array).tobytes())


class Written:
    """A dump by hand: calls are added, then the index is written."""

    def __init__(self, folder: Path):
        self.folder, self.data = folder / "step0" / "rank0", {}
        (self.folder / "dump_tensor_data").mkdir(parents=True)

    def held(self, value, name: str):
        if not isinstance(value, np.ndarray):
            return value if value is None else {"type": type(value).__name__, "value": value}
        wide = value.astype(np.float64)
        pt(self.folder / "dump_tensor_data" / f"{name}.pt", value)
        return {
            "type": "torch.Tensor",
            "dtype": f"torch.{value.dtype.name}",
            "shape": list(value.shape),
            "data_name": f"{name}.pt",
            **(
                {
                    "Max": wide.max(),
                    "Min": wide.min(),
                    "Mean": None,
                    "Norm": float(np.linalg.norm(wide)),
                }
                if value.size
                else {}
            ),
        }

    def add(self, stem: str, kwargs: dict, outputs: list, came: list, gradients: list) -> None:
        def all_of(values, part):
            return [self.held(value, f"{stem}.{part}.{at}") for at, value in enumerate(values)]

        self.data[f"{stem}.forward"] = {
            "input_args": [],
            "output": all_of(outputs, "forward.output"),
            "input_kwargs": {
                name: self.held(value, f"{stem}.forward.kwargs.{name}")
                for name, value in kwargs.items()
            },
        }
        self.data[f"{stem}.backward"] = {
            "input": all_of(came, "backward.input"),
            "output": all_of(gradients, "backward.output"),
        }

    def done(self) -> Path:
        text = json.dumps(
            {
                "task": "tensor",
                "level": "L1",
                "framework": "pytorch",
                "dump_data_dir": "/srv/train/x",
                "data": self.data,
            }
        )
        (self.folder / "dump.json").write_text(text)
        return self.folder.parents[1]

    def silu(self, number: int, change=lambda gradient: gradient, x=None) -> None:
        op = av.operator("silu")
        inputs = av.case(op, shape=(3, 4), seed=number).inputs
        inputs["self"] = inputs["self"] if x is None else x
        self.add(
            f"Functional.silu.{number}",
            {"input": inputs["self"]},
            [],
            [inputs["gradOutput"]],
            [change(op.backward(**inputs)["gradInput"])],
        )


@pytest.fixture
def written(tmp_path):
    return Written(tmp_path / "dump")


def verdicts(folder, **more) -> dict:
    return {call.name: call.verdict for call in triage(folder, **more).calls}


@pytest.mark.parametrize("level, right, left", [("L1", 8, 0), ("L0", 6, 1), ("mix", 14, 1)])
def test_each_level_of_a_right_run_is_explained(run_of, level, right, left):
    found = triage(run_of(f"model_{level}_tensor_statistics"))
    assert (
        found.passed
        and found.counts == {ROUNDING: right, **({NOT_JUDGED: left} if left else {})}
        and not found.first
    )


@pytest.mark.parametrize("kind", ["statistics", "md5"])
def test_without_numbers_nothing_is_called_right_or_wrong(run_of, kind):
    found = triage(run_of(f"model_L1_statistics_{kind}"))
    assert (
        not found.passed
        and found.counts == {NOT_JUDGED: 8}
        and "statistics or checksums alone" in str(found)
    )


def test_the_broken_call_among_200_is_found_and_explained(run_of, tmp_path, capsys):
    """Five functions in turn; without the soak one of them."""
    folder, case, page, count = (
        run_of("many"),
        str(tmp_path / "case"),
        tmp_path / "all.html",
        200 if SOAK else 40,
    )
    index = folder / "step0" / "rank0" / "dump.json"
    content = json.loads(index.read_text())
    content["data"] = {
        name: one for name, one in content["data"].items() if SOAK or ".hardswish." in name
    }
    index.write_text(json.dumps(content))
    assert main(["triage", str(folder), "--write", case, "--html", str(page), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["first"] == "Functional.hardswish.27" and found["counts"] == {
        ROUNDING: count - 1,
        WRONG: 1,
    }
    assert len(found["calls"]) == count
    result = read_and_check("hardswish", case)
    assert not result.passed and result.failed == 1 and "upper kink" in str(result)
    assert check(case, av.operator("hardswish").backward).passed
    assert "Functional.hardswish.27" in page.read_text() and "/srv/" not in page.read_text()
    asked = f"triage {folder} --html {page} --call Functional.hardswish."
    assert main(f"{asked}27".split()) == 1
    assert main(f"{asked}99".split()) == 2


def made_up(op, name: str, dtype: str, written: Written, change=lambda gradient: gradient) -> None:
    """Add a call of an API as the kit computes it."""
    how = registry.own("peer", op.name, "DUMPED")[name]
    names = {
        part.strip().rstrip("!").partition("=")[0].partition(":")[0]: part.partition(": ")[2]
        or part.strip().partition("=")[0]
        for part in (how if isinstance(how, str) else how[0]).split(",")
    }
    case = av.case(
        op,
        dtype=dtype,
        seed=3,
        **{
            p.name: None
            for p in op.parameters
            if p.kind == "tensor"
            and p.optional
            and p.name not in {*names.values(), *op.saved, *op.upstream}
        },
    )
    lacking = [
        p.name for p in op.forward_parameters if p.kind == "tensor" and p.name not in case.inputs
    ]
    if op.first in lacking:
        shape = next(
            (case.inputs[saved].shape for saved in op.saved),
            (case.inputs.get("numWeights"), case.inputs[op.like].shape[-1]),
        )
        x = np.random.default_rng(4).uniform(-2, 2, shape).astype(case.inputs[op.like].dtype)
        case = av.case(
            op, **{op.first: x}, **{n: v for n, v in case.inputs.items() if n not in op.saved}
        )
    values = (
        case.inputs
        | {n: x for n in lacking if n == op.first}
        | {
            n: np.zeros(case.inputs[op.like].shape[1], dtype)
            for n in lacking
            if n in ("beta", "bias")
        }
    )
    taken = {
        p.name: values.get(p.name, p.default if p.optional else None) for p in op.forward_parameters
    }
    made, upstream = op.forward(**taken), next(iter(op.upstream.values()))
    outputs = [made[of] for of in sorted(op.gives, key=lambda of: of != upstream)]
    kwargs = {
        torch: values.get(vendor, taken.get(vendor))
        for torch, vendor in names.items()
        if vendor in values or vendor in taken
    }
    saved = {of: made[to] for of, to in op.saved.items()}
    written.add(
        f"{'NPU' if name.startswith('npu') else 'Functional'}.{name}.0",
        kwargs,
        outputs if name.startswith("npu") else outputs[:1],
        [values[next(iter(op.upstream))]],
        [change(value) for value in op.backward(**case.inputs | saved).values()],
    )


def off(gradient: np.ndarray) -> np.ndarray:
    """Return a gradient whose largest element has another sign."""
    wrong = gradient.copy()
    at = np.unravel_index(np.abs(wrong.astype(np.float64)).argmax(), wrong.shape)
    wrong[at] = -wrong[at]
    return wrong


@pytest.mark.parametrize("op, name", CALLS, ids=[name for _, name in CALLS])
@pytest.mark.sampled(5)
def test_each_api_is_taken_as_pytorch_calls_it(op, name, tmp_path):
    for number, (dtype, change) in enumerate(
        (
            ("float32", lambda gradient: gradient),
            ("float32", off),
            ("bfloat16", lambda gradient: gradient),
        )
    ):
        made_up(op, name, dtype, one := Written(tmp_path / str(number)), change)
        (found,) = triage(one.done()).calls
        # the kit saves in the case's format: 16 bits
        right = {WRONG} if change is off else {ROUNDING, *[DEVICE] * (dtype == "bfloat16")}
        assert found.verdict in right and found.operator == op.name, found


def test_the_numerics_of_a_device_are_named(written):
    op = av.operator("group_norm_swish")
    case = av.case(op, shape=(2, 4, 3), numGroups=2, swishScale=2.0)
    gone = run(op, preset(op, "Ascend910B2", "9.0"), **case.inputs)
    values = {
        name: case.inputs[vendor]
        for name, vendor in dict(
            input="x", num_groups="numGroups", weight="gamma", bias="beta", swish_scale="swishScale"
        ).items()
    }
    written.add(
        "NPU.npu_group_norm_swish.0",
        values,
        [case.inputs["x"], case.inputs["mean"], case.inputs["rstd"]],
        [case.inputs["dy"]],
        [*gone.values()],
    )
    (found,) = triage(written.done()).calls
    assert found.verdict == DEVICE and "CANN 9.0" in found.text


def test_another_arrangement_of_a_right_formula_is_no_bug(written):
    x = np.float32(np.linspace(-60, 60, 400).reshape(20, 20))
    gradient, sigmoid = np.float32(np.sin(x)), 1 / (1 + np.exp(-x))
    for number, change in enumerate((1.0, 1.0 + 1e-4)):  # ATen's 1 - sigmoid, which cancels
        aten = np.float32(change) * gradient * sigmoid * (1 + x * (1 - sigmoid))
        written.add(
            f"Functional.silu.{number}", {"input": x}, [], [gradient], [aten.astype(np.float32)]
        )
    found = triage(written.done())
    assert [call.verdict for call in found.calls] == [
        DEVICE,
        WRONG,
    ] and "another order" in found.calls[0].text


def test_statistics_show_gradients_that_are_not_finite(written):
    for number in range(2):
        written.silu(number)
    for entry in written.data.values():
        for held in (
            *entry.get("input_kwargs", {}).values(),
            *entry.get("input", ()),
            *entry["output"],
        ):
            for key in ("data_name", "Max", "Min", "Norm"):
                del held[key]
    written.data["Functional.silu.1.backward"]["output"][0] |= {"Max": math.inf}
    found = triage(written.done())
    assert [call.verdict for call in found.calls] == [NOT_JUDGED, SUSPECT]
    assert found.first.name == "Functional.silu.1"


def test_special_numbers_empty_and_strided_tensors_are_read(written):
    written.silu(0, x=np.float32([[np.nan, np.inf, -np.inf, 0.0]] * 3))
    written.add(
        "Functional.silu.1",
        {"input": np.zeros((0, 4), np.float32)},
        [],
        [np.zeros((0, 4), np.float32)],
        [np.zeros((0, 4), np.float32)],
    )
    written.silu(2)
    place = written.folder / "dump_tensor_data" / "Functional.silu.2.forward.kwargs.input.pt"
    x = av.case("silu", shape=(3, 4), seed=2).inputs["self"]
    pt(
        place,
        np.concatenate([[7], x.T.ravel()]).astype(np.float32),
        shape=(3, 4),
        strides=(1, 3),
        offset=1,
    )
    assert verdicts(written.done()) == {
        f"Functional.silu.{number}": ROUNDING for number in range(3)
    }


ZEROS = np.zeros(12, np.float32)
ATTACKS = {
    name: (change, said)
    for name, change, said in table(r"""
truncated | path.write_bytes(path.read_bytes()[:200]) | BadZipFile
empty file | path.write_bytes(b"") | BadZipFile
another program | pt(path, ZEROS, function="posix system") | posix system
eval | pt(path, ZEROS, function="builtins eval") | builtins eval
tuples of tuples | pt(path, ZEROS, function="collections OrderedDict )q\x00h\x00") | BINGET
another dtype | pt(path, np.zeros(12, np.uint8), "Float8_e4m3fnStorage", (3, 4)) | Float8
huge | pt(path, ZEROS, shape=(3, 4), count=1 << 40) | bytes
beyond the end | pt(path, ZEROS, shape=(3, 400)) | in 12 numbers
negative stride | pt(path, ZEROS, shape=(3, 4), strides=(4, -1)) | strides
compressed | pt(path, ZEROS, shape=(3, 4), compression=zipfile.ZIP_DEFLATED) | compressed
other numbers | pt(path, np.zeros((3, 4), np.float32)) | has the M
another shape | pt(path, np.zeros((4, 3), np.float32)) | [4, 3]
gone | path.unlink() | no Functional.silu.1.forward.kwargs.input.pt
a pipe | (path.unlink(), mkfifo(path)) | no regular file
a folder | (path.unlink(), path.mkdir()) | no regular file
""")
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_damaged_file_is_said_in_three_parts_and_costs_one_call(written, attack):
    change, said = ATTACKS[attack]
    for number in range(3):
        written.silu(number, x=np.float32(np.linspace(1 + number, 2, 12).reshape(3, 4)))
    file = written.folder / "dump_tensor_data" / "Functional.silu.1.forward.kwargs.input.pt"
    eval(change, globals() | {"path": file, "mkfifo": os.mkfifo})
    found = triage(written.done())
    assert [call.verdict for call in found.calls] == [
        ROUNDING,
        DAMAGED,
        ROUNDING,
    ] and not found.passed
    text = found.calls[1].text
    assert (
        said in text and ": got " in text and "; " in text and str(written.folder) not in str(found)
    )


@pytest.mark.parametrize("name", ["\x1b[2J.npy", "\x1b[2J.pt"])
def test_junk_of_any_name_is_said_in_three_parts_and_steers_no_terminal(written, name):
    written.silu(0)
    (written.folder / "dump_tensor_data" / name).write_bytes(b"junk")
    written.data["Functional.silu.0.backward"]["output"][0]["data_name"] = name
    (call,) = triage(written.done()).calls
    assert call.verdict == DAMAGED and ": got " in call.text and "\x1b" not in call.text


ENTRIES = {
    name: row
    for name, *row in table(r"""
a place elsewhere | entry["output"][0].update(data_name="../../../etc/passwd") | DAMAGED | is a file in
a file without a name | entry["output"][0].update(data_name=["a", {}]) | DAMAGED | is a file in
a name that no file has | entry["output"][0].update(data_name="\ud800") | DAMAGED | no \ud800
a dtype that no tensor has | entry["output"][0].update(dtype="\ud800") | DAMAGED | \ud800
no list | entry.update(output=5) | NOT_JUDGED | no backward entry
no tensor | entry.update(output=[{"type": "float"}]) | DAMAGED | as msProbe writes it
no gradient | entry.update(output=[None]) | NOT_JUDGED | another function
two gradients | entry["output"].append(entry["output"][0]) | NOT_JUDGED | another function
a shard | entry["output"][0].update(type="DTensor") | NOT_JUDGED | DTensor
no dy | entry.update(input=[]) | NOT_JUDGED | gradOutput
""")
}


@pytest.mark.parametrize("change", ENTRIES)
def test_an_entry_of_another_kind_costs_one_call(written, change):
    for number in range(3):
        written.silu(number)
    edit, verdict, said = ENTRIES[change]
    eval(edit, {"entry": written.data["Functional.silu.1.backward"]})
    found = triage(written.done())
    assert [call.verdict for call in found.calls] == [
        ROUNDING,
        globals()[verdict],
        ROUNDING,
    ] and said in found.calls[1].text
    assert found.to_html().encode()


def test_pairs_that_are_missing_have_a_row(written):
    for number in range(3):
        written.silu(number)
    del written.data["Functional.silu.0.forward"], written.data["Functional.silu.1.backward"]
    found = verdicts(written.done())
    assert found == {
        "Functional.silu.0": NOT_JUDGED,
        "Functional.silu.1": NOT_JUDGED,
        "Functional.silu.2": ROUNDING,
    }


@pytest.mark.parametrize("behind", range(1, 6))
def test_an_index_that_breaks_off_keeps_what_is_whole(written, behind):
    for number in range(3):
        written.silu(number)
    folder = written.done()
    text = (written.folder / "dump.json").read_text()
    places = [text.index(f'"{name}"') for name in written.data]
    (written.folder / "dump.json").write_text(text[: places[behind] + 30])
    found = triage(folder)
    assert [call.verdict for call in found.calls] == [ROUNDING] * (behind // 2) + [NOT_JUDGED] * (
        behind % 2
    )
    assert (
        not found.passed
        and f"breaks off behind {behind} entries" in str(found)
        and "belong to none" in str(found)
    )


def test_what_is_no_dump_is_said(tmp_path, capsys):
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    for folder, said in (
        (tmp_path, "step0/rank0/dump.json"),
        (tmp_path / "gone", "a dump is a folder"),
    ):
        assert main(["triage", str(folder)]) == 2
        assert said in capsys.readouterr().err
    (tmp_path / "dump.json").write_bytes(b"[" * 200_000)
    assert main(["triage", str(tmp_path)]) == 1 and "breaks off behind 0" in capsys.readouterr().out
    # whether or not there were calls
    assert triage(tmp_path).head == "0 calls: nothing that can be judged"


def test_a_mark_of_utf_8_is_no_damage_and_chinese_counts_are_chinese(run_of):
    folder = run_of("model_L1_tensor_statistics")
    index = next(folder.rglob("dump.json"))
    index.write_bytes(b"\xef\xbb\xbf" + index.read_bytes())
    found = triage(folder)
    assert found.passed and found.head == "8 calls: 8 explained by rounding"
    with in_language("zh"):
        assert found.head == "8个调用：8个舍入可以解释"
