"""Distribution: an installed wheel contains every lesson, and `aclnn-viz lab` copies them without overwriting."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv

import pytest
from machine import ROOT

from aclnn_viz import cli
from aclnn_viz.cli import lessons, start_page
from aclnn_viz.words import messages

EDITIONS = ("", "zh/")
LESSONS = {
    f"{edition}{path.name}"
    for edition in EDITIONS
    for path in (ROOT / "notebooks" / edition).glob("*.ipynb")
}
CPP = {
    f"{edition}cpp/{path.name}"
    for edition in EDITIONS
    for path in (ROOT / "notebooks" / edition / "cpp").glob("*")
}
BESIDE = CPP | {
    f"{edition}capsules/{name}"
    for edition in EDITIONS
    for name in "predicted_a2.capsule torch.capsule jax.capsule cases.json".split()
}

PAGES = {"docs/glossary.md", "docs/zh/glossary.md", "docs/tiles.md"}


def copied(folder, capsys):
    assert cli.main(["lab", str(folder), "--copy", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_empty_folder_gets_everything_and_begins_with_the_start_page(tmp_path, capsys):
    text = copied(tmp_path / "new", capsys)
    assert set(text["copied"]) == LESSONS | BESIDE | PAGES and text["start"] in LESSONS
    assert all(
        (tmp_path / "new" / name).read_text("utf-8")
        == (lessons.LESSONS / name).read_text("utf-8").replace("../docs/", "docs/")
        for name in LESSONS
    )


def test_the_links_of_copied_lessons_lead_to_copied_pages(tmp_path, capsys):
    copied(tmp_path, capsys)
    for name in LESSONS:
        text = (tmp_path / name).read_text("utf-8")
        for link in re.findall(r"\]\(([^):]+\.(?:md|ipynb))\)", text):
            place = ((tmp_path / name).parent / link).resolve()
            assert place.is_file() and place.is_relative_to(tmp_path), (name, link)
    assert "envelope" in (tmp_path / "docs" / "glossary.md").read_text("utf-8")


def test_what_is_there_stays(tmp_path, capsys):
    copied(tmp_path, capsys)
    mine, gone, link = (tmp_path / name for name in sorted(LESSONS)[:3])
    mine.write_text("my work")
    gone.unlink()
    link.unlink()
    link.symlink_to("nowhere")
    assert copied(tmp_path, capsys)["copied"] == [gone.name]
    assert mine.read_text() == "my work" and link.is_symlink() and gone.is_file()


def test_what_a_killed_copy_left_beside_a_lesson_goes(tmp_path, capsys):
    copied(tmp_path, capsys)
    (tmp_path / ".00_start_here.ipynb.0123456789abcdef.aclnn-viz-unfinished").touch()
    assert copied(tmp_path, capsys)["copied"] == [] and not list(tmp_path.glob(".*"))


def test_a_clone_is_opened_where_it_is(capsys):
    text = copied(ROOT, capsys)
    assert text["copied"] == [] and (ROOT / text["start"]).is_file()


@pytest.mark.parametrize("folder", [None, ROOT], ids=["copied", "clone"])
def test_it_begins_with_the_start_page_of_the_language(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(messages, "_chosen", ["zh"])
    text = copied(folder or tmp_path, capsys)
    assert (
        text["start"].endswith("zh/00_start_here.ipynb")
        and ((folder or tmp_path) / text["start"]).is_file()
    )


def test_a_copy_of_the_repository_is_not_taken_for_the_clone(tmp_path, capsys):
    """Lessons of another version, for example, are the user's files, and the new ones are copied beside them."""
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / lessons.START, tmp_path / "notebooks")
    assert copied(tmp_path, capsys)["start"] == lessons.START


@pytest.mark.parametrize("here, folder", [("en", ""), ("zh", "zh/")])
def test_the_start_page_has_a_live_picture_and_leads_to_lessons(
    here, folder, tmp_path, monkeypatch
):
    monkeypatch.setattr("aclnn_viz.explorers.live.COMBINATIONS_HELD", 1)  # all take a second
    with messages.in_language(here):
        start_page.write(tmp_path, folder)
    text = (tmp_path / "start.html").read_text("utf-8")
    links = re.findall(r'href="\.\./lab/tree/([^"]*)"', text)
    assert len(links) == 3 and {*links} <= LESSONS and "{{" not in text
    picture = re.search(r'<iframe [^>]*src="(\w+\.html)', text)[1]
    assert b"aclnn-explorer" in (tmp_path / picture).read_bytes()
    assert (tmp_path / "custom.css").exists()


def test_without_jupyterlab_it_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(lessons.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["lab", str(tmp_path)]) == 2 and "pip install" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


@pytest.fixture(scope="module")
def payload(tmp_path_factory):
    """Return the content of a wheel of this clone, built without a network (and so without the newest setuptools)."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    shutil.copytree(
        ROOT,
        source,
        dirs_exist_ok=True,
        symlinks=True,
        ignore=shutil.ignore_patterns(
            ".*", "build", "dist", "*.egg-info", "__pycache__", "tests", "benchmarks"
        ),
    )
    project = source / "pyproject.toml"  # a setuptools older than 77 does not read an SPDX licence
    project.write_text(
        project.read_text().replace('license = "Apache-2.0"\nlicense-files = ["LICENSE"]\n', "")
    )
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "setup.py",
            "build_py",
            "--build-lib",
            str(out),
        ],
        cwd=source,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return out


def test_a_wheel_holds_lessons_and_settings_and_not_what_makes_them(payload):
    names = {str(path.relative_to(payload)) for path in payload.rglob("*") if path.is_file()}
    assert {f"aclnn_viz/lessons/{name}" for name in LESSONS | BESIDE} <= names
    assert {
        f"aclnn_viz/cli/jupyter/custom/{name}" for name in ("start.html", "custom.css")
    } <= names
    assert {f"aclnn_viz/words/{name}" for name in ("terms.toml", "zh.po")} <= names
    assert not any("gallery" in name or name.startswith(("notebooks", "tests")) for name in names)
    assert not any(path.is_symlink() for path in payload.rglob("*"))


def test_an_installed_wheel_runs_and_copies_lessons_anywhere(payload, tmp_path):
    """In a new environment, with this one's NumPy and so on, because nothing is downloaded."""
    venv.create(tmp_path / "env", symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    # an installer does the same with a wheel of pure Python
    shutil.copytree(payload, site, dirs_exist_ok=True)
    program = (
        "import aclnn_viz as av, sys; from aclnn_viz import cli; "
        "assert 'site-packages' in av.__file__ and not av.acl.HostAcl().aclInit(None); "
        "sys.exit(cli.main(['lab', 'mine', '--copy']))"
    )
    beside = [path for path in sys.path if "site-packages" in path]
    done = subprocess.run(
        [python, "-c", f"import sys; sys.path += {beside!r}; {program}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    there = {
        str(path.relative_to(tmp_path / "mine"))
        for path in (tmp_path / "mine").rglob("*")
        if path.is_file()
    }
    assert there == LESSONS | BESIDE | PAGES
