"""Capsules and dumps corrupted at random: they are refused by an exception of their own, or hold what was written."""

import hashlib
import json
import random
import shutil
import zipfile

import numpy as np
import pytest
from machine import SOAK

import aclnn_viz as av
from aclnn_viz.checking import read_and_check, write_suite
from aclnn_viz.devices import record
from aclnn_viz.storage.cases import CHECKSUM, INDEX
from aclnn_viz.storage.reading import StoredError

ROUNDS = 2000 if SOAK else 60
CASES = [
    ("hardswish", av.case("hardswish", shape=(3, 2), dtype=dtype).inputs)
    for dtype in ("float32", "bfloat16")
]
STRANGE = (
    None,
    True,
    -1,
    0,
    1,
    2**40,
    2**63,
    1e308,
    float("nan"),
    "",
    "x",
    "../..",
    "a" * 300,
    [],
    [[]],
    {},
    {"x": 1},
    "hardswish",
    "softmax",
    "float32",
    "int64",
    "object",
    [2**40],
    [-1, -6],
    [3, 2],
)


@pytest.fixture(scope="module")
def capsule(tmp_path_factory):
    with av.open_device("host") as device:
        return record(device, CASES, tmp_path_factory.mktemp("capsule") / "x.capsule")


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """A folder of one case, with the right outputs beside it."""
    wrong = av.check("hardswish", lambda **inputs: {"out": inputs["self"]}).counterexample
    folder = wrong.write(tmp_path_factory.mktemp("dump"))
    out = av.operator("hardswish").backward(**wrong.inputs)["out"]
    np.save(folder / "000/out/out.npy", out)
    (folder / "000/out/out.bin").write_bytes(out.tobytes())
    return folder


def spoiled(draw, content):
    """The bytes with one thing done to them."""
    content, at = bytearray(content), draw.randrange(len(content) or 1)
    match draw.choice(
        ("flip", "flip", "cut", "append", "overwrite", "exchange", "repeat", "drop", "zeros")
    ):
        case "flip" if content:
            content[at] ^= 1 << draw.randrange(8)
        case "cut":
            del content[at:]
        case "append":
            content += draw.randbytes(draw.choice((1, 7, 5000)))
        case "overwrite":
            content[at : at + 40] = draw.randbytes(len(content[at : at + 40]))
        case "exchange":
            other = draw.randrange(len(content) or 1)
            content[at : at + 16], content[other : other + 16] = (
                content[other : other + 16],
                content[at : at + 16],
            )
        case "repeat":
            content[at:at] = content[at : at + draw.choice((1, 100, 3000))]
        case "drop":
            del content[at : at + draw.choice((1, 30, 1000))]
        case "zeros":
            content[at : at + 200] = bytes(len(content[at : at + 200]))
    return bytes(content)


def altered(draw, found):
    """A JSON value with one of its parts replaced, removed or repeated."""
    places = []

    def walk(value):
        for key in value if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            if isinstance(value[key], (dict, list)):
                walk(value[key])

    walk(found)
    part, key = draw.choice(places)
    match draw.choice(("replace", "replace", "remove", "exchange")):
        case "replace":
            part[key] = draw.choice(STRANGE)
        case "remove":
            del part[key]
        case "exchange":
            other, name = draw.choice(places)
            part[key], other[name] = other[name], part[key]
    return found


def used(path):
    """Use every case of a capsule; whether it held what was recorded."""
    with av.open_device(path) as device:
        for _ in device.cases():
            pass
        return all(
            device.run(op, **inputs)["out"].tobytes()
            == av.operator(op).backward(**inputs)["out"].tobytes()
            for op, inputs in CASES
        )


def test_corrupted_capsules(capsule, tmp_path, record_property):
    record_property("corruptions", ROUNDS)
    refused, content = 0, capsule.read_bytes()
    for seed in range(ROUNDS):
        (tmp_path / "x").write_bytes(spoiled(random.Random(seed), content))
        try:
            assert used(tmp_path / "x"), f"seed {seed}: other outputs were taken"
        except StoredError as error:
            refused += ": got " in str(error)
    record_property("refused", refused)
    assert refused > ROUNDS * 0.7  # what is not noticed changed nothing that is read


def forge(capsule, place, change):
    """A capsule whose index is changed, and vouched for again."""
    with zipfile.ZipFile(capsule) as old:
        members = {name: old.read(name) for name in old.namelist()}
    members[INDEX] = json.dumps(change(json.loads(members[INDEX]))).encode()
    members[CHECKSUM] = f"{hashlib.sha256(members[INDEX]).hexdigest()}  {INDEX}\n".encode()
    with zipfile.ZipFile(place, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)


def test_a_parameter_that_the_operator_has_not_is_refused(capsule, tmp_path):
    forge(
        capsule,
        tmp_path / "x",
        lambda index: index["cases"][0]["attributes"].update(alpha=1.0) or index,
    )
    with pytest.raises(StoredError, match="takes gradOutput, self: got 'alpha'"):
        read_and_check("hardswish", tmp_path / "x")


def test_forged_capsules(capsule, tmp_path, record_property):
    """What a forger states of other things than the arrays may pass."""
    record_property("corruptions", ROUNDS)
    refused = 0
    for seed in range(ROUNDS):
        draw = random.Random(seed)
        try:
            forge(capsule, tmp_path / "x", lambda index: altered(draw, index))
        except ValueError:  # a part was put into itself
            continue
        try:
            used(tmp_path / "x")
        except ValueError as error:
            refused += ": got " in str(error)
    record_property("refused", refused)
    assert refused > ROUNDS * 0.3


def test_corrupted_dumps(dump, tmp_path, record_property):
    record_property("corruptions", ROUNDS)
    names = sorted(path.relative_to(dump).as_posix() for path in dump.rglob("*") if path.is_file())
    text = 0
    for seed in range(ROUNDS):
        draw, copy = random.Random(seed), tmp_path / "x"
        shutil.copytree(dump, copy)
        name = draw.choice(names)
        before = (copy / name).read_bytes()
        after = spoiled(draw, before)
        (copy / name).write_bytes(after)
        try:
            passed = av.check(copy).passed
        except StoredError as error:
            text += 1
            assert ": got " in str(error)
        else:
            assert after == before or "/out/" in name, f"seed {seed}: a damaged {name} was read"
            text += not passed
            assert passed == (after == before) or "/out/" in name
        shutil.rmtree(copy)
    record_property("text", text)
    assert text > ROUNDS * 0.8


def test_a_whole_dump_passes(dump):
    assert av.check(dump).passed and len(list(dump.rglob("*.bin"))) == 3


def test_a_whole_capsule_is_used(capsule, tmp_path):
    assert used(shutil.copy(capsule, tmp_path / "x"))


def test_a_whole_suite_is_read(tmp_path):
    from aclnn_viz.cases.files import read_cases

    assert len(list(read_cases(write_suite("hardswish", tmp_path / "x"))[2])) >= 15
