"""The dump of one failing case: `check` judges it and its repair; damage is reported."""

import hashlib
import json
import os
import shutil
import tracemalloc

import numpy as np
import pytest
from checking.wrong_kernels import fault
from tables import table

import aclnn_viz as av
from aclnn_viz.cases import files
from aclnn_viz.storage.readers import AlteredError, FileKindError, ForeignError


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    """Return the path of a case with wrong dxOut and right dgammaOut, and the counterexample."""
    found = av.check("rms_norm", fault("rms_norm", "missing 1/n")).counterexample
    return found.write(tmp_path_factory.mktemp("dump")), found


@pytest.fixture
def copy(dumped, tmp_path):
    return shutil.copytree(dumped[0], tmp_path / "copy")


def test_check_takes_the_path_as_text(dumped):
    assert av.check(str(dumped[0])).failed == 1


def test_check_judges_the_outputs_of_a_dump(dumped):
    result = av.check(dumped[0])
    assert (
        result.operator == "rms_norm"
        and result.cases == result.failed == 1
        and list(result.outputs) == ["dxOut"]
    )


def test_check_runs_a_kernel_on_the_case_of_a_dump(dumped):
    right, wrong = av.operator("rms_norm").backward, fault("rms_norm", "missing 1/n")
    assert av.check(str(dumped[0]), right).passed and av.check(dumped[0], right).cases == 1
    assert not av.check(dumped[0], wrong).passed


def test_a_device_is_checked_on_the_case_of_a_dump(dumped):
    assert av.check(dumped[0], "host").passed


def header(descr, shape):
    """Return the start of a .npy file."""
    text = (
        f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117)
        + b"\n"
    )
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text


def reindex(path, text):
    """Replace the index of a dump, with its checksum."""
    (path / "cases.json").write_text(text)
    (path / "cases.json.sha256").write_text(
        f"{hashlib.sha256(text.encode()).hexdigest()}  cases.json\n"
    )


def rewrite(path, change, vouch=True):
    content = json.loads((path / "cases.json").read_text())
    change(content)
    if vouch:
        reindex(path, json.dumps(content))
    else:
        (path / "cases.json").write_text(json.dumps(content))


def archive(path):
    with open(path, "wb") as file:
        np.savez(file, a=1)


def edit(change, vouch=True):
    return lambda path: rewrite(path, change, vouch)


def first(content):
    return content["cases"][0]


def flipped(name):
    def harm(path):
        spoiled = bytearray((path / "000" / "in" / name).read_bytes())
        spoiled[-1] ^= 1
        (path / "000" / "in" / name).write_bytes(spoiled)

    return harm


def changed(name, change):
    return lambda path: (path / "000" / "in" / name).write_bytes(
        change((path / "000" / "in" / name).read_bytes())
    )


def in_place(name, make):
    def harm(path):
        (path / "000" / "in" / name).unlink()
        make(path / "000" / "in" / name)

    return harm


def vouched_for(name, content):
    """Change an input and renew its checksum, like a forger."""

    def harm(path):
        (path / "000" / "in" / name).write_bytes(content)
        described = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        rewrite(path, lambda c: first(c)["files"].update({f"in/{name}": described}))

    return harm


KINDS = {"F": ForeignError, "A": AlteredError, "K": FileKindError}
#: Changes of a dump (the first case of its index `c` is `first(c)`), a part of the error, and its kind.
DAMAGE = {
    name: (change, said, KINDS[kind])
    for name, change, said, kind in table(r"""
no folder | shutil.rmtree | no cases.json | F
no index | lambda path: (path / "cases.json").unlink() | no cases.json | F
no checksum | lambda path: (path / "cases.json.sha256").unlink() | no cases.json.sha256 | A
half an index | lambda path: reindex(path, '{"format": "acl') | column | F
a list for an index | lambda path: reindex(path, "[]") | indices | F
brackets without end | lambda path: reindex(path, "[" * 10**5) | recursion | F
no cases in the index | edit(lambda c: c.pop("cases")) | lacks 'cases' | F
a list without cases | edit(lambda c: c.update(cases=[])) | no cases | F
a dropped case | edit(lambda c: c.update(cases=[]), vouch=False) | does not have its checksum | A
another byte order | edit(lambda c: c.update({"byte order": "big"}), vouch=False) | does not have its checksum | A
another name | edit(lambda c: first(c).update(aclnn_name="x"), vouch=False) | does not have its checksum | A
another version | edit(lambda c: c.update(format="aclnn-viz cases 9")) | its format is .*9 | F
an unknown operator | edit(lambda c: first(c).update(operator="no_operator")) | no_operator | F
a case that is no case | edit(lambda c: c.update(cases=["x"])) | indices | F
a folder elsewhere | edit(lambda c: first(c).update(folder="../copy/000")) | is called | F
an unknown format | edit(lambda c: first(c).update(dtype="float7")) | float7 | F
outputs that are no outputs | edit(lambda c: first(c).update(outputs=[])) | list | F
an output of an unknown format | edit(lambda c: first(c)["outputs"]["dxOut"].update(dtype="float7")) | float7 | F
a shape beyond all | edit(lambda c: first(c)["inputs"]["x"].update(shape=[1 << 62])) | x of shape | F
a shape too large for its file | edit(lambda c: first(c)["inputs"]["x"].update(shape=[1 << 40])) | does not belong to its shape | F
a missing input | lambda path: (path / "000/in/rstd.npy").unlink() | no 000/in/rstd.npy | A
a missing bare input | lambda path: (path / "000/in/x.bin").unlink() | no 000/in/x.bin | A
a cut input | changed("x.npy", lambda content: content[:-1]) | does not have its checksum | A
a cut bare input | changed("x.bin", lambda content: content[:-1]) | does not have its checksum | A
an input with more | changed("x.npy", lambda content: content + b"1") | at most | A
a bare input with more | changed("x.bin", lambda content: content + b"1") | at most | A
a flipped input | flipped("x.npy") | does not have its checksum | A
a flipped bare input | flipped("x.bin") | does not have its checksum | A
an empty input | changed("x.npy", lambda content: b"") | does not have its checksum | A
a pipe for an input | in_place("x.npy", os.mkfifo) | no regular file | K
a link for an input | in_place("x.npy", lambda path: path.symlink_to("/dev/zero")) | no readable file | K
a folder for an input | in_place("x.npy", lambda path: path.mkdir()) | no regular file | K
a header that claims more | vouched_for("x.npy", header("<f4", (3, 1 << 30)) + b"1234") | numbers instead of | A
elements of nothing | vouched_for("x.npy", header("|V0", (10**12,))) | dtype .V0 | A
objects | vouched_for("x.npy", header("|O", (1,)) + b"\x80\x04]K\x01a.") | dtype object | A
a header that is no Python | vouched_for("x.npy", header("(", ())) | cannot read | A
""")
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    "reader",
    [av.check, lambda path: av.check(path, lambda **inputs: None)],
    ids=["check", "check with a kernel"],
)
@pytest.mark.sampled(20)
def test_damage_is_refused_in_three_parts(copy, damage, reader):
    harm, text, kind = DAMAGE[damage]
    eval(harm)(copy)
    with pytest.raises(
        kind, match=rf"(?s)(dump|cases.json).*: got .*{text}.*; write the cases again"
    ):
        reader(copy)


HOSTILE = {
    "a pipe": os.mkfifo,
    "endless zeros": lambda path: path.symlink_to("/dev/zero"),
    "a hole of 40 GiB": lambda path: sparse(path, 40 << 30),
    "elements of nothing": lambda path: path.write_bytes(header("|V0", (10**12,))),
    "a header without end": lambda path: path.write_bytes(
        b"\x93NUMPY\2\0\xff\xff\xff\x0f" + b"(" * 70000
    ),
}


def sparse(path, size):
    with open(path, "wb") as file:
        file.truncate(size)


@pytest.mark.parametrize("form", ["npy", "bin"])
@pytest.mark.parametrize("harm", HOSTILE)
@pytest.mark.sampled(2)
def test_a_hostile_output_is_reported_at_once(copy, harm, form):
    for one in (copy / "000" / "out").glob("dxOut.*"):
        one.unlink()
    HOSTILE[harm](copy / "000" / "out" / f"dxOut.{form}")
    tracemalloc.start()
    try:
        assert "wrote dxOut" in str(av.check(copy))
        assert tracemalloc.get_traced_memory()[1] < 1 << 28
    finally:
        tracemalloc.stop()


def test_a_missing_and_a_damaged_output_are_reported(copy):
    (copy / "000" / "out" / "dxOut.npy").write_bytes(b"not an array")
    assert "wrote dxOut.npy" in str(av.check(copy))
    for one in (copy / "000" / "out").glob("dxOut.*"):
        one.unlink()
    assert "dxOut is missing" in str(av.check(copy).counterexample)


def too_large(path):
    np.save(path, np.ones(1))
    path.write_bytes(path.read_bytes().replace(b"(1,), }" + 15 * b" ", b"(9999999999999999,), }"))


@pytest.mark.parametrize(
    "harm",
    [
        archive,
        too_large,
        lambda path: path.write_bytes(b"PK\3\4"),
        lambda path: np.save(path, np.array(["a"])),
        lambda path: np.save(path, np.ones(1, complex)),
        lambda path: np.save(path, np.zeros(1, "f4, f4")),
    ],
    ids=["archive", "too large", "half an archive", "words", "complex", "records"],
)
def test_an_output_that_holds_no_numbers_is_reported(copy, harm):
    harm(copy / "000" / "out" / "dxOut.npy")
    assert "wrote dxOut.npy" in str(av.check(copy))


def repaired(path):
    (entry,) = files.read_cases(path)[2]
    return av.operator("rms_norm").backward(**entry.case.inputs)


def test_right_outputs_pass_in_the_byte_order_of_another_machine(copy):
    for name, value in repaired(copy).items():
        np.save(copy / "000" / "out" / f"{name}.npy", value.astype(">f4"))
        (copy / "000" / "out" / f"{name}.bin").unlink()
    assert av.check(copy).passed


def test_of_two_files_that_differ_none_is_taken(copy):
    for name, value in repaired(copy).items():
        # beside the .npy of the wrong kernel
        (copy / "000" / "out" / f"{name}.bin").write_bytes(value.tobytes())
    assert "dxOut.bin, which hold different numbers" in str(av.check(copy))
    (copy / "000" / "out" / "dxOut.npy").unlink()
    assert av.check(copy).passed


def test_outputs_that_a_kernel_invented_are_not_written(tmp_path):
    invented = {"../../out": np.ones(1), "out.x": np.ones(1)}
    result = av.check("hardswish", lambda **inputs: invented | {"out": inputs["self"]})
    folder = result.counterexample.write(tmp_path / "dump")
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == sorted(
        [
            "cases.json",
            "cases.json.sha256",
            "gradOutput.bin",
            "gradOutput.npy",
            "self.bin",
            "self.npy",
            "out.bin",
            "out.npy",
        ]
    )
    assert (
        np.load(folder / "000" / "out" / "out.npy").shape
        == result.counterexample.actual["out"].shape
    )


def test_a_check_without_kernel_needs_a_dump():
    with pytest.raises(TypeError, match="a kernel is a function"):
        av.check("rms_norm")
