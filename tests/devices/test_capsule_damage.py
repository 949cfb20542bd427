"""Damaged, forged or missing capsules: only a complete, unaltered one is accepted."""

import hashlib
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from small_capsule import SMALL

import aclnn_viz as av
from aclnn_viz.devices import Capsule, CapsuleError
from aclnn_viz.storage.cases import CHECKSUM, INDEX
from aclnn_viz.storage.readers import AlteredError, FileKindError, ForeignError, TooLargeError


def rewrite(source, target, change):
    """Copy a capsule member by member through `change(name, content) -> content or None`, with a true checksum."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        members = {name: old.read(name) for name in old.namelist()}
        members = {
            name: changed
            for name, content in members.items()
            if (changed := change(name, content)) is not None
        }
        members[CHECKSUM] = f"{hashlib.sha256(members[INDEX]).hexdigest()}  {INDEX}\n".encode()
        for name, content in members.items():
            new.writestr(name, content)
    return target


def use(path):
    with av.open_device(path) as device:
        for op, inputs in SMALL:
            device.run(op, **inputs)


def refused(path, text, kind=CapsuleError):
    with pytest.raises(
        kind, match=f"must be a whole, unaltered capsule: got .*{text}.*; copy it again"
    ):
        use(path)


def test_a_faithful_copy_is_taken(capsule, tmp_path):
    use(rewrite(capsule, tmp_path / "copy", lambda name, content: content))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated(capsule, tmp_path, share):
    content = capsule.read_bytes()
    (tmp_path / "cut").write_bytes(content[: int(len(content) * share)])
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
    """Exchange the descriptions of the outputs of two cases."""
    one, other = [case for case in index["cases"] if case["operator"] == "hardswish"]
    one["outputs"], other["outputs"] = other["outputs"], one["outputs"]
    one["files"]["out/out.npy"], other["files"]["out/out.npy"] = (
        other["files"]["out/out.npy"],
        one["files"]["out/out.npy"],
    )


@pytest.mark.parametrize(
    "edit,text,kind",
    [
        (
            lambda m: m.update(format="aclnn-viz cases 9"),
            "its format is 'aclnn-viz cases 9'",
            ForeignError,
        ),
        (lambda m: m.pop("cases"), "lacks 'cases'", ForeignError),
        (lambda m: m.pop("provenance"), "where it was recorded", ForeignError),
        (lambda m: m["provenance"].pop("soc"), "where it was recorded: 'soc'", ForeignError),
        (lambda m: first(m).pop("digest"), "where it was recorded: 'digest'", ForeignError),
        (
            lambda m: described(m).update(shape=[1 << 40]),
            "a size that does not belong to its shape",
            ForeignError,
        ),
        (lambda m: described(m).update(shape=[-1, -8]), "out of shape", ForeignError),
        (
            lambda m: (described(m).update(shape=[1 << 40]), file(m).update(bytes=(1 << 42) + 128)),
            "its arrays claim",
            TooLargeError,
        ),
        (
            lambda m: first(m)["files"].update({"out/../../x.npy": file(m)}),
            "a size that does not belong",
            ForeignError,
        ),
        (lambda m: first(m).update(folder="nowhere"), "no nowhere/out", AlteredError),
        (
            lambda m: first(m).update(folder=m["cases"][1]["folder"]),
            "two cases in one folder",
            ForeignError,
        ),
        (lambda m: described(m).update(dtype="object"), "got 'object'", ForeignError),
        (lambda m: file(m).update(sha256="0" * 64), "does not have its checksum", AlteredError),
        (
            lambda m: described(m).update(shape=described(m)["shape"][::-1]),
            "which cases.json does not say",
            AlteredError,
        ),
        (exchange, "(checksum|does not say|at most)", AlteredError),
        (lambda m: m.update(cases="none"), "indices", ForeignError),
    ],
)
def test_an_altered_index_is_refused(capsule, tmp_path, edit, text, kind):
    refused(rewrite(capsule, tmp_path / "edited", edited(edit)), text, kind)


@pytest.mark.parametrize(
    "text", ["[" * 10**5, '{"format": ' + "9" * 10**5 + "}", '{"a": 1e999}', "\0"]
)
def test_an_index_that_no_parser_likes_is_refused(capsule, tmp_path, text):
    refused(
        rewrite(
            capsule,
            tmp_path / "forged",
            lambda name, content: text.encode() if name == INDEX else content,
        ),
        "",
        ForeignError,
    )


def test_an_index_without_its_checksum(capsule, tmp_path):
    with zipfile.ZipFile(capsule) as old, zipfile.ZipFile(tmp_path / "sum", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + b" " * (name == INDEX))
    refused(tmp_path / "sum", "cases.json does not have its checksum", AlteredError)


# places of the flags in a local header and in the central directory
@pytest.mark.parametrize("at", [6, 8])
def test_a_flipped_flag_asks_for_no_password(capsule, tmp_path, at):
    content = bytearray(capsule.read_bytes())
    start = content.rindex(b"PK\1\2") if at == 8 else 0
    content[start + at] ^= 1
    (tmp_path / "flag").write_bytes(content)
    if at == 8:
        refused(tmp_path / "flag", "encrypted", AlteredError)
    else:
        use(tmp_path / "flag")  # only the central directory is read


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "zeros"]
)
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
    header = (
        b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (8, 16), }".ljust(
            127
        )
        + b"\n"
    )
    payload = header + pickle.dumps(array)

    def change(name, content):
        if name.endswith("out/out.npy"):
            return payload
        if name != INDEX:
            return content
        index = json.loads(content)
        for case in index["cases"]:
            if "out/out.npy" in case["files"]:
                case["files"]["out/out.npy"] = {
                    "bytes": len(payload),
                    "sha256": hashlib.sha256(payload).hexdigest(),
                }
                case["outputs"]["out"] = {"dtype": "int32", "shape": [8, 4]}
        return json.dumps(index).encode()

    refused(rewrite(capsule, tmp_path / "pickle", change), "")


def test_compressed_members_are_not_inflated(capsule, tmp_path):
    with (
        zipfile.ZipFile(capsule) as old,
        zipfile.ZipFile(tmp_path / "zip", "w", zipfile.ZIP_DEFLATED) as new,
    ):
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
