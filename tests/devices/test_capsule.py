"""Capsules: what was recorded comes back bit by bit, nothing else does, and no damaged file gets through."""

import hashlib
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.cases.listing import load
from aclnn_viz.devices import Capsule, CapsuleError, DeviceClosedError, record
from aclnn_viz.devices.capsule import digest
from aclnn_viz.storage.cases import CHECKSUM, INDEX
from aclnn_viz.storage.damage import AlteredError, FileKindError, ForeignError, TooLargeError


def pairs(cases):
    return [(case.operator, case.inputs) for case in cases]


SMALL = pairs(av.case(op, dtype=dtype, seed=seed) for op in av.operators()
              for seed, dtype in enumerate(("float32", "bfloat16")))


@pytest.fixture(scope="module")
def capsule(tmp_path_factory):
    with av.open_device("host", soc="Ascend910B1", cann="9.0.1") as device:
        return record(device, SMALL, tmp_path_factory.mktemp("capsule") / "small.capsule")


def same(actual, expected):
    assert actual.keys() == expected.keys()
    assert all(actual[k].dtype == v.dtype and actual[k].shape == v.shape and actual[k].tobytes() == v.tobytes()
               for k, v in expected.items())


def test_what_was_recorded_comes_back_bit_by_bit(capsule):
    with av.open_device(capsule) as device:
        assert len(device) == len(SMALL)
        for op, inputs in SMALL:
            same(device.run(op, **inputs), op.backward(**inputs))
        held = list(device.cases())
        assert {digest(op, inputs) for op, inputs in held} == {digest(op, op.bind(inputs)) for op, inputs in SMALL}


def test_views_and_defaults_are_the_same_case(capsule):
    op, inputs = SMALL[0]
    strided = {k: np.repeat(v[..., None], 2, -1)[..., 1] for k, v in inputs.items()}
    with av.open_device(capsule) as device:
        same(device.run(op.aclnn_name, **strided), op.backward(**inputs))
        grid, inputs = next((op, i) for op, i in SMALL if op.name == "grid_sampler_2d")
        same(device.run(grid, **{k: v for k, v in inputs.items() if isinstance(v, np.ndarray)}), grid.backward(**inputs))


@pytest.mark.parametrize("change", [
    lambda i: i | {"self": np.nextafter(i["self"], np.float32(9))},
    lambda i: i | {"self": -i["self"]},
    lambda i: {k: v.reshape(-1) for k, v in i.items()},
    lambda i: {k: v.astype(np.float64) for k, v in i.items()}])
def test_another_case_is_refused(capsule, change):
    op, inputs = SMALL[0]
    with av.open_device(capsule) as device, pytest.raises(
            CapsuleError, match="answers only the cases that were recorded: got other inputs of hardswish .2 of"):
        device.run(op, **change(inputs))


def test_a_replay_is_never_mistaken_for_a_live_result(capsule):
    with av.open_device(capsule) as device:
        assert device.name.startswith("capsule small.capsule, recorded on host at 20")
        assert (device.soc, device.cann) == ("Ascend910B1", "9.0.1") and "capsule" in repr(device)
        assert {"runtime", "driver", "workarounds", "custom", "deterministic", "kit", "numpy", "host"} <= device.provenance.keys()
    with pytest.raises(DeviceClosedError, match="a closed capsule"):
        device.run(*SMALL[0][:1], **SMALL[0][1])


class Dying:
    """A device that dies at its k-th run, as a crash or Ctrl-C would have it."""

    def __init__(self, device, k):
        self._device, self.left, self.runs = device, k, 0

    def __getattr__(self, name):
        return getattr(self._device, name)

    def run(self, op, /, **inputs):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        self.runs += 1
        return self._device.run(op, **inputs)


def test_an_interrupted_recording_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "resumed.capsule"
    with av.open_device("host") as device:
        first = Dying(device, 7)
        with pytest.raises(KeyboardInterrupt):
            record(first, SMALL, path)
        assert first.runs == 6 and not path.exists()
        second = Dying(device, -1)
        record(second, SMALL, path)
        assert second.runs == len(SMALL) - 6 and not list(tmp_path.glob("*.part"))
    with av.open_device(path) as replay:
        for op, inputs in SMALL:
            same(replay.run(op, **inputs), op.backward(**inputs))


def test_what_another_device_left_is_not_taken_over(tmp_path):
    path = tmp_path / "other.capsule"
    with av.open_device("host", soc="Ascend910B1") as device, pytest.raises(KeyboardInterrupt):
        record(Dying(device, 4), SMALL, path)
    with av.open_device("host", soc="Ascend910B2") as device:
        fresh = Dying(device, -1)
        record(fresh, SMALL, path)
    assert fresh.runs == len(SMALL)


def rewrite(source, target, change):
    """Copy a capsule member by member through `change(name, content) -> content or None`, with a true checksum."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        members = {name: old.read(name) for name in old.namelist()}
        members = {name: changed for name, content in members.items() if (changed := change(name, content)) is not None}
        members[CHECKSUM] = f"{hashlib.sha256(members[INDEX]).hexdigest()}  {INDEX}\n".encode()
        for name, content in members.items():
            new.writestr(name, content)
    return target


def use(path):
    with av.open_device(path) as device:
        for op, inputs in SMALL:
            device.run(op, **inputs)


def refused(path, text, kind=CapsuleError):
    with pytest.raises(kind, match=f"must be a whole, unaltered capsule: got .*{text}.*; copy it again"):
        use(path)


def test_a_faithful_copy_is_taken(capsule, tmp_path):
    use(rewrite(capsule, tmp_path / "copy", lambda name, content: content))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated(capsule, tmp_path, share):
    content = capsule.read_bytes()
    (tmp_path / "cut").write_bytes(content[:int(len(content) * share)])
    refused(tmp_path / "cut", "")


def test_every_altered_byte_of_an_array_is_noticed(capsule, tmp_path):
    content = bytearray(capsule.read_bytes())
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(capsule) as file:
        info = next(i for i in file.infolist() if i.filename.endswith("out/out.npy"))
    start = info.header_offset + 30 + len(info.filename)
    for at in rng.integers(start, start + info.file_size, 20):
        spoiled = bytearray(content)
        spoiled[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "bit").write_bytes(spoiled)
        refused(tmp_path / "bit", "")


def edited(edit):
    def change(name, content):
        if name != INDEX:
            return content
        index = json.loads(content)
        edit(index)
        return json.dumps(index).encode()
    return change


def first(index):
    return index["cases"][0]


def described(index):
    return first(index)["outputs"]["out"]


def file(index):
    return first(index)["files"]["out/out.npy"]


def exchange(index):
    """Exchange what is said of the outputs of two cases."""
    one, other = [case for case in index["cases"] if case["operator"] == "hardswish"]
    one["outputs"], other["outputs"] = other["outputs"], one["outputs"]
    one["files"]["out/out.npy"], other["files"]["out/out.npy"] = (
        other["files"]["out/out.npy"], one["files"]["out/out.npy"])


@pytest.mark.parametrize("edit,text,kind", [
    (lambda m: m.update(format="aclnn-viz cases 9"), "its format is 'aclnn-viz cases 9'", ForeignError),
    (lambda m: m.pop("cases"), "lacks 'cases'", ForeignError),
    (lambda m: m.pop("provenance"), "where it was recorded", ForeignError),
    (lambda m: m["provenance"].pop("soc"), "where it was recorded: 'soc'", ForeignError),
    (lambda m: first(m).pop("digest"), "where it was recorded: 'digest'", ForeignError),
    (lambda m: described(m).update(shape=[1 << 40]), "a size that does not belong to its shape", ForeignError),
    (lambda m: described(m).update(shape=[-1, -8]), "out of shape", ForeignError),
    (lambda m: (described(m).update(shape=[1 << 40]), file(m).update(bytes=(1 << 42) + 128)), "its arrays claim",
     TooLargeError),
    (lambda m: first(m)["files"].update({"out/../../x.npy": file(m)}), "a size that does not belong", ForeignError),
    (lambda m: first(m).update(folder="nowhere"), "no nowhere/out", AlteredError),
    (lambda m: first(m).update(folder=m["cases"][1]["folder"]), "two cases in one folder", ForeignError),
    (lambda m: described(m).update(dtype="object"), "got 'object'", ForeignError),
    (lambda m: file(m).update(sha256="0" * 64), "does not have its checksum", AlteredError),
    (lambda m: described(m).update(shape=described(m)["shape"][::-1]), "which cases.json does not say", AlteredError),
    (exchange, "(checksum|does not say|at most)", AlteredError),
    (lambda m: m.update(cases="none"), "indices", ForeignError),
])
def test_an_altered_index_is_refused(capsule, tmp_path, edit, text, kind):
    refused(rewrite(capsule, tmp_path / "edited", edited(edit)), text, kind)


@pytest.mark.parametrize("text", ["[" * 10**5, '{"format": ' + "9" * 10**5 + "}", '{"a": 1e999}', "\0"])
def test_an_index_that_no_parser_likes_is_refused(capsule, tmp_path, text):
    refused(rewrite(capsule, tmp_path / "forged", lambda name, content: text.encode() if name == INDEX else content), "",
            ForeignError)


def test_an_index_without_its_checksum(capsule, tmp_path):
    with zipfile.ZipFile(capsule) as old, zipfile.ZipFile(tmp_path / "sum", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + b" " * (name == INDEX))
    refused(tmp_path / "sum", "cases.json does not have its checksum", AlteredError)


@pytest.mark.parametrize("at", [6, 8])  # of a local header and of the central directory: where the flags are
def test_a_flipped_flag_asks_for_no_password(capsule, tmp_path, at):
    content = bytearray(capsule.read_bytes())
    start = content.rindex(b"PK\1\2") if at == 8 else 0
    content[start + at] ^= 1
    (tmp_path / "flag").write_bytes(content)
    if at == 8:
        refused(tmp_path / "flag", "encrypted", AlteredError)
    else:
        use(tmp_path / "flag")  # only the central directory is read


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "zeros"])
def test_what_is_no_file_is_no_capsule(tmp_path, make):
    make(tmp_path / "odd")
    with pytest.raises(FileKindError, match="no regular file; copy"):
        Capsule(tmp_path / "odd")


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("the file was unpickled",))


def test_nothing_is_unpickled(capsule, tmp_path):
    array = np.empty(1, object)
    array[0] = Bomb()
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (8, 16), }".ljust(127) + b"\n"
    payload = header + pickle.dumps(array)

    def change(name, content):
        if name.endswith("out/out.npy"):
            return payload
        if name != INDEX:
            return content
        index = json.loads(content)
        for case in index["cases"]:
            if "out/out.npy" in case["files"]:
                case["files"]["out/out.npy"] = {"bytes": len(payload), "sha256": hashlib.sha256(payload).hexdigest()}
                case["outputs"]["out"] = {"dtype": "int32", "shape": [8, 4]}
        return json.dumps(index).encode()

    refused(rewrite(capsule, tmp_path / "pickle", change), "")


def test_compressed_members_are_not_inflated(capsule, tmp_path):
    with zipfile.ZipFile(capsule) as old, zipfile.ZipFile(tmp_path / "zip", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    refused(tmp_path / "zip", "compressed or encrypted")


def test_an_oversized_index_is_not_read(capsule, tmp_path, monkeypatch):
    monkeypatch.setattr("aclnn_viz.storage.cases.LONGEST_INDEX", 100)
    refused(capsule, "at most 100", TooLargeError)


def test_other_files_and_missing_ones(tmp_path):
    (tmp_path / "text").write_text("no capsule")
    refused(tmp_path / "text", "BadZipFile")
    with pytest.raises(ValueError, match="no such device"):
        av.open_device(tmp_path / "nothing")


def test_the_standard_list_covers_every_operator_and_format(tmp_path):
    cases = load("standard")
    assert {(c.operator.name, c.dtype) for c in cases} == {
        (op.name, dtype) for op in av.operators() for dtype in ("float32", "float16", "bfloat16")}
    listed = tmp_path / "cases.json"
    listed.write_text('[{"operator": "rms_norm", "shape": [2, 8], "dtype": "float16", "seed": 3}]')
    (case,) = load(str(listed))
    assert case.inputs["x"].shape == (2, 8) and case.dtype == "float16" and case.seed == 3


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"dtype": "float32"}]'])
def test_a_file_that_lists_no_cases_is_refused(tmp_path, content):
    (tmp_path / "cases.json").write_text(content)
    with pytest.raises(ValueError, match='cases come from "standard" or a JSON file with a list of objects'):
        load(str(tmp_path / "cases.json"))


def test_the_driver_is_recorded(tmp_path, monkeypatch):
    version = tmp_path / "version.info"
    version.write_text("Version=25.0.rc1\nascendhal_version=7.35\n")
    monkeypatch.setattr("aclnn_viz.acl.installation.DRIVER_VERSION", version)
    with av.open_device("host") as device:
        path = record(device, SMALL[:1], tmp_path / "driven.capsule")
    assert av.open_device(path).provenance["driver"] == "25.0.rc1"
