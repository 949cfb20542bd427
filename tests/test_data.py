"""Data are data: a recipe, capsule, dump or store names no folder or file to open, runs nothing, and forges no line."""

import hashlib
import json
import shutil
import sqlite3
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from in_child import in_child
from machine import ROOT

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.checking import write_suite
from aclnn_viz.operators import registry
from aclnn_viz.storage.cases import CHECKSUM, INDEX
from aclnn_viz.sweeps import report
from aclnn_viz.sweeps.recipes import draw, recipe

SILU = ROOT / "tests" / "elsewhere" / "my_silu"
KERNELS = """
import aclnn_viz as av

def right(**inputs):
    return av.operator("hardswish").backward(**inputs)

def wrong(**inputs):
    return {"out": right(**inputs)["out"] + 1}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder to work in, with kernels and an operator's folder whose code, if it runs, leaves a file."""
    monkeypatch.chdir(tmp_path)
    plant(tmp_path / "evil")
    (tmp_path / "k.py").write_text(KERNELS)
    return tmp_path


def plant(folder):
    folder.mkdir(exist_ok=True)
    for kind in registry.REQUIRED:
        (folder / f"{kind}.py").write_text(
            f"open({str(folder.parent / 'RAN')!r}, 'w')\n" * (kind == "declaration")
        )


def indexed(text):
    return {
        INDEX: text.encode(),
        CHECKSUM: f"{hashlib.sha256(text.encode()).hexdigest()}  {INDEX}\n".encode(),
    }


def dump(folder, old='"operator": "hardswish"', new='"operator": "./evil"'):
    """Return a dump of a few cases with an edited index, under a true checksum."""
    write_suite("hardswish", folder, shapes=[(4,)], dtypes="float32")
    text = (folder / INDEX).read_text()
    assert old in text
    for name, content in indexed(text.replace(old, new)).items():
        (folder / name).write_bytes(content)
    return folder


def capsule(path, old='"operator": "hardswish"', new='"operator": "./evil"'):
    """Return a capsule of one case with an edited index, under a true checksum."""
    with av.open_device("host") as device:
        av.devices.record(device, [av.case("hardswish", shape=(4,))], path)
    with zipfile.ZipFile(path) as held:
        members = {name: held.read(name) for name in held.namelist()}
    assert old in members[INDEX].decode()
    with zipfile.ZipFile(path, "w") as edited:
        for name, content in (members | indexed(members[INDEX].decode().replace(old, new))).items():
            edited.writestr(name, content)
    return path


ONE = {"operator": "hardswish", "shape": [4]}


@cache
def of_the_host():
    """Return a store of one case, which many tests edit."""
    with TemporaryDirectory() as place:
        av.sweep([ONE], device="host", store=Path(place, "one.sqlite"))
        return Path(place, "one.sqlite").read_bytes()


def store(place, *edits, device="host"):
    """Return a store of one case, edited."""
    path = place / f"{len(list(place.iterdir()))}.sqlite"
    if device == "host":
        path.write_bytes(of_the_host())
    else:
        av.sweep([ONE], device=device, store=path)
    base = sqlite3.connect(path)
    with base:
        for edit in edits:
            base.execute(edit)
    base.close()
    return path


def ended(capsys, *words):
    """Return a function that gives the exit status of a command and its words."""
    status = cli.main([*map(str, words)])
    said = capsys.readouterr()
    return status, said.out + said.err


EVIL = '[{"operator":"./evil"}]'
UNKNOWN = "no such operator: got './evil'"


@pytest.mark.parametrize(
    "words",
    [
        ["sweep", "--cases", "r.json"],
        ["sweep", "--cases", EVIL],
        "run --cases r.json --device host --out x".split(),
        ["check", "hardswish", "c"],
        ["check", "d", "k.py:right"],
        ["check", "./both", "k.py:right"],
        ["check", "both", "k.py:right"],
        ["check", "hardswish", "both"],
    ],
)
def test_no_command_opens_a_folder_that_data_name(place, words, capsys):
    (place / "r.json").write_text(EVIL)
    if "c" in words:
        capsule(place / "c")
    dump(place / "d")
    plant(dump(place / "both"))
    status, said = ended(capsys, *words)
    assert (
        status == 2
        and not (place / "RAN").exists()
        and (UNKNOWN in said or "those of ./evil" in said)
    ), said


@pytest.mark.parametrize(
    "use",
    [
        lambda place: list(av.open_device(capsule(place / "c")).cases()),
        lambda place: av.check(dump(place / "d"), lambda **_: {}),
        lambda place: av.check(dump(place / "d")),
        lambda place: av.sweep([{"operator": "./evil"}], store=":memory:"),
        lambda place: draw('{"operator":"./evil","seed":0}'),
        lambda place: recipe({"operator": "x/../evil"}),
    ],
)
def test_no_call_opens_a_folder_that_data_name(place, use):
    with pytest.raises(
        ValueError,
        match="no such operator: got '.*evil'; use one of .* or open its folder first: --operator",
    ):
        use(place)
    assert not (place / "RAN").exists()


def test_a_dump_stays_data_whatever_lies_beside_it(place):
    folder = write_suite("hardswish", place / "d")
    plant(folder)
    assert (
        av.check(folder, av.operator("hardswish").backward).passed and not (place / "RAN").exists()
    )


def test_data_hold_values_and_no_paths(place, capsys):
    np.save(place / "x.npy", np.zeros(4, np.float32))
    cases = [{"operator": "hardswish", "self": str(place / name)} for name in ("x.npy", "none.npy")]
    (place / "r.json").write_text(json.dumps(cases))
    # a person may pass a path
    assert av.case("hardswish", self=str(place / "x.npy")).inputs["self"].shape == (4,)
    for words in (
        ["sweep", "--cases", "r.json"],
        "run --cases r.json --device host --out x".split(),
    ):
        status, said = ended(capsys, *words)
        assert status in (1, 2) and "data hold the values of self" in said or "2 left out;" in said
    with pytest.raises(TypeError, match="data hold the values of self: got"):
        draw(recipe(cases[0]))


def test_a_store_names_no_code_to_run(place, capsys):
    for other in ("/tmp/evil.py", "e.py"):
        path = store(
            place, f"UPDATE runs SET device=replace(device, 'k.py', '{other}')", device="k.py:wrong"
        )
        assert "--device FILE.py:FUNCTION" in ended(capsys, "report", path)[1]


def test_a_store_whose_recipes_are_of_another_operator_is_altered(place, capsys):
    path = store(place, "UPDATE cases SET recipe=replace(recipe,'hardswish','./evil')")
    status, said = ended(capsys, "report", path)
    assert status == 2 and "a store is an SQLite file of this kit, whole and unaltered: got" in said
    status, said = ended(
        capsys,
        "report",
        store(
            place, "UPDATE cases SET operator='./evil', recipe=replace(recipe,'hardswish','./evil')"
        ),
    )
    # both were altered: the line is data, and data are refused
    assert status == 0 and "--operator" not in said
    assert not (place / "RAN").exists()


def test_a_lifted_cell_calls_nothing_by_the_name_of_a_folder(tmp_path):
    folder = shutil.copytree(SILU, tmp_path / """x"); print('ran'); ("y""" / "my_silu")

    def lifted():
        return av.explore(folder).lifted("cell")

    tree = compile(in_child(lifted), "cell", "exec").co_names
    assert "print" not in tree and "explore" in tree


@pytest.mark.parametrize(
    "edit",
    [
        "operator='<script>alert(1)</script>', recipe=replace(recipe,'hardswish','<script>alert(1)</script>')",
        """operator='" onload=x', recipe=replace(recipe,'hardswish','\\" onload=x')""",
    ],
)
def test_a_page_escapes_the_names_of_a_store(place, edit):
    page = report(store(place, f"UPDATE cases SET {edit}")).to_html()
    assert "<script" not in page and '" onload' not in page


def test_nothing_steers_the_terminal(place, capsys):
    name = "char(27)||'[2J'||char(10)||'all right'"
    path = store(
        place,
        "UPDATE cases SET mode=" + name,
        "UPDATE cases SET software=" + name,
        "UPDATE cases SET note=" + name,
        r"UPDATE runs SET device=replace(device, 'host', '\u001b[2J')",
    )
    status, said = ended(capsys, "report", path)
    assert (
        status == 0
        and "\x1b" not in said
        and "\nall right" not in said
        and r"\x1b[2J\nall right" in said
    )
    held = capsule(place / "c", '"device": "host', r'"device": "\u001b[2J')
    assert "\x1b" not in av.open_device(held).name
    (place / "r.json").write_text(r'[{"operator":"hardswish","dtype":"\u001b[2J"}]')
    assert (
        "\x1b" not in ended(capsys, "run", "--cases", "r.json", "--device", "host", "--out", "x")[1]
    )
    inputs = [
        {"name": one, "type": "tensor", "dtype": "fp32", "shape": [4]}
        for one in ("gradOutput", "self")
    ]
    attribute = {
        "name": "\x1b[2J\nall right",
        "type": "attr",
        "dtype": "float",
        "value": 1.0,
        "range_values": 1.0,
    }
    (place / "atk.json").write_text(
        json.dumps([{"aclnn_name": "aclnnHardswishBackward", "inputs": [*inputs, attribute]}])
    )
    status, said = ended(capsys, "check", "hardswish", "k.py:right", "--cases", "atk.json")
    assert (
        status == 0
        and "\x1b" not in said
        and "\nall right" not in said
        and r"attribute \x1b[2J\nall right" in said
    )


@pytest.mark.parametrize(
    "edit",
    [
        "outputs SET max_ulp='x'",
        "outputs SET mere='x'",
        "runs SET device='{}'",
        "runs SET device='nonsense'",
        "runs SET device='[]'",
        "cases SET recipe='x'",
        "cases SET recipe='[]'",
    ],
)
def test_a_bad_store_is_refused_in_words(place, edit, capsys):
    status, said = ended(capsys, "report", store(place, f"UPDATE {edit}"))
    assert status == 2 and "a store is an SQLite file of this kit, whole and unaltered: got" in said


@pytest.mark.parametrize(
    "extra,text",
    [
        ({"dtype": ["x"]}, "dtype of a recipe is of type str"),
        ({"strided": "x"}, "strided of a recipe is of type bool"),
        ({"seed": [1]}, "seed of a recipe is of type int"),
        ({"seed": 1 << 70}, "below 2^63"),
    ],
)
def test_a_recipe_of_the_wrong_kind_is_refused_at_once(extra, text, place, capsys):
    status, said = ended(
        capsys, "sweep", "--cases", json.dumps([{"operator": "hardswish", **extra}])
    )
    assert status == 2 and text in said


@pytest.mark.parametrize(
    "extra",
    [
        {"self": {"values": []}},
        {"self": {"values": [], "shape": [0], "array": ["x"]}},
    ],
)
def test_a_recipe_that_draws_nothing_is_left_out_in_words(extra, place):
    found = av.sweep([{"operator": "hardswish", **extra}], store=place / "s.sqlite")
    assert found.outcomes == {"left out": 1} and not found.passed
    ((why,),) = report(place / "s.sqlite").reasons.values()
    assert ": got " in why and "; " in why


@pytest.mark.parametrize("seed", ["Infinity", "-1", '"x"', "1e400", "null"])
def test_a_seed_that_is_no_number_is_refused(place, seed, capsys):
    folder = dump(place / "d", '"seed": 0,\n "cases"', f'"seed": {seed},\n "cases"')
    status, said = ended(capsys, "check", "hardswish", "--read", folder)
    assert status == 2 and "seed is a number from 0 on" in said


def record_silu(place):
    """Record a capsule with a case of an outside operator, and its folder, in a child because opened folders stay known."""
    folder, held = shutil.copytree(SILU, place / "my_silu"), place / "silu.capsule"

    def work():
        with av.open_device("host") as device:
            av.devices.record(device, [av.case(av.operator(folder), shape=(4,))], held)

    in_child(work)
    return folder, held


def test_a_record_holds_the_sources_of_an_operator_from_outside(tmp_path):
    folder, held = record_silu(tmp_path)

    def judged(*words):
        return lambda: cli.main(["check", "my_silu", "--read", str(held), *words])

    assert in_child(judged()) == 2
    assert in_child(judged("--operator", str(folder))) == 0
    with zipfile.ZipFile(held) as archive:
        (entry,) = json.loads(archive.read(INDEX))["cases"]
    assert entry["operator"] == "my_silu" and len(entry["sources"]) == 64
    with open(folder / "page.py", "a") as page:
        page.write("# edited\n")

    def differs():
        av.operator(folder)
        with pytest.raises(
            ValueError,
            match="my_silu of the sources .*; open the folder my_silu with these sources: --operator",
        ):
            list(av.open_device(held).cases())

    in_child(differs)


def test_workers_and_printed_lines_know_the_folders_that_a_person_opened(tmp_path):
    folder, path = shutil.copytree(SILU, tmp_path / "my_silu"), tmp_path / "s.sqlite"

    def swept():
        status = cli.main(
            [
                "sweep",
                "--operator",
                str(folder),
                "--cases",
                '[{"operator":"my_silu","shape":[4]}]',
                "--workers",
                "1",
                "--store",
                str(path),
            ]
        )
        return status, str(report(path))

    status, said = in_child(swept)
    assert status == 0 and f"--operator {folder}" in said and "my_silu " in said.splitlines()[1]
    assert "--operator" not in in_child(lambda: str(report(path)))  # no folder was named there
