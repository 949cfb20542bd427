"""README and the pages in docs are true: examples print what they say, numbers are those computed here, links lead somewhere."""

import contextlib
import io
import re

import pytest
from machine import ROOT
from together import in_one

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.cases import suites
from aclnn_viz.explorers import explorers
from aclnn_viz.operators import registry
from aclnn_viz.operators.document import documented
from aclnn_viz.puzzles import detectives, puzzles, tile_detectives, tile_puzzles

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/*.md"))
}
README, CHECKING, EXPLORERS = (
    PAGES["README.md"],
    PAGES["docs/checking.md"],
    PAGES["docs/explorers.md"],
)
BLOCKS = [
    block
    for page in PAGES.values()
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
]
# folders of CANN and its projects, and those that a command makes
ELSEWHERE = ("op_api", "vendors", "build", "op_host", "op_kernel")
EXAMPLE, MORE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def prints(code, names=None):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), names if names is not None else {})
    return out.getvalue().splitlines()


def block(text):
    """Return the example with a text in the pages of docs."""
    (found,) = {each for each in BLOCKS if text in each}
    return found


def untrue(page, text, targets):
    """Yield names in a page that do not exist: link targets, files and folders, make's targets, commands of aclnn-viz."""
    folder = (ROOT / page).parent
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    yield from (link for link in links if not (folder / link).exists())
    yield from (
        path
        for path in re.findall(r"`(\w+/[\w/.]*\w)/?`", text)
        if path.split("/")[0] not in ELSEWHERE
        and not any((base / path).exists() for base in (ROOT, ROOT / "aclnn_viz"))
    )
    yield from (
        f"make {name}"
        for name in re.findall(r"(?m)(?:^|`)make ([\w-]+)", text)
        if name not in targets
    )
    yield from (
        f"aclnn-viz {name}"
        for name in re.findall(r"(?m)(?:^|`)aclnn-viz (\w+)", text)
        if name not in cli.COMMANDS
    )


def targets():
    return re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"))


@in_one
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page):
    assert [*untrue(page, PAGES[page], targets())] == []


@pytest.mark.parametrize(
    "text", ["[a](docs/no.md)", "`tests/no.py`", "```sh\nmake nothing\n```", "`aclnn-viz simulate`"]
)
def test_what_is_not_there_is_noticed(text):
    assert len([*untrue("README.md", text, targets())]) == 1


def test_readme_is_short_and_leads_to_every_page():
    # in the contents of the site
    listed = {f"docs/{name}.md" for name in re.findall(r"(?m)^([a-z_]+)$", PAGES["docs/index.md"])}
    linked = {*re.findall(r"\]\((docs/\w+\.md)\)", README)}
    assert (
        len(README.splitlines()) <= 90
        and linked | listed == {page for page in PAGES if "/" in page}
        and len(linked - listed) == 1
    )


def test_the_example_prints_what_its_comments_say():
    promised = re.findall(r"^print\(.*\)\s+# (.*)$", EXAMPLE, re.MULTILINE)
    assert len(promised) == 2 and prints(EXAMPLE, names := {}) == promised
    assert any("aclnnRmsNormGrad(" in line for line in prints(MORE, names))


def test_the_example_has_ten_lines_and_stands_below_the_commands():
    assert len([line for line in EXAMPLE.splitlines() if line.strip()]) <= 11
    assert README.index("make lab") < README.index("make test") < README.index(EXAMPLE)


def test_the_table_of_statuses_holds_what_the_command_line_says_and_no_other():
    rows = re.findall(r"(?m)^\| (\d+) \|", PAGES["docs/command_line.md"])
    assert rows == re.findall(r"\b\d+\b", " ".join(cli.__doc__.split("\n\n")[1].split()))


def test_every_command_is_in_the_table_of_commands():
    assert {*re.findall(r"`aclnn-viz (\w+)", PAGES["docs/command_line.md"])} == {*cli.COMMANDS}


def test_the_files_of_an_operator_are_those_that_it_may_have():
    page = PAGES["docs/adding_an_operator.md"]
    assert {*re.findall(r"`(\w+)\.(?:py|toml)`", page)} - {"test_my_op"} == {*registry.KINDS}


def test_the_first_plot_of_an_atlas_is_five_lines_that_run(tmp_path, monkeypatch):
    """On the emulator, which replaces the device by one string."""
    monkeypatch.chdir(tmp_path)
    code = block("savefig")
    steps = [line for line in code.splitlines() if line and "import" not in line]
    assert len(steps) == 5 and 'open_device("atlas")' in code
    prints(code.replace('open_device("atlas")', 'open_device("host")'))
    assert (tmp_path / "dx.png").stat().st_size > 10_000


def test_the_tile_program_runs_and_nothing_is_wrong_with_it():
    (text,) = prints(block("tiles.launch"), names := {"av": av})
    run = names["run"]
    assert (
        text == f"() {run.ub_bytes} {run.gm_bytes}"
        and run.cores == 8
        and run.ub_bytes
        and run.gm_bytes
    )


def test_a_deep_check_has_the_sizes_that_it_says():
    assert "tensors of up to 2^21 elements, long axes, every remainder by up to 64" in CHECKING
    assert max(suites.TOTALS) == 2**21 and all(
        {n % by for n in suites.REMAINDERS} == {*range(by)} for by in range(1, 65)
    )


def test_the_lessons_are_those_that_it_says():
    first, last = re.search(r"the lessons (\d\d) to (\d\d),", EXPLORERS).groups()
    assert [path.stem[:2] for path in sorted((ROOT / "notebooks").glob("*.ipynb"))] == [
        f"{number:02}" for number in range(int(first), int(last) + 1)
    ]


def test_the_explorers_are_those_that_it_says():
    assert {*re.findall(r'`"(\w+)"`', EXPLORERS)} < {*explorers()}


def test_there_are_as_many_puzzles_as_it_says():
    tiles = " ".join(PAGES["docs/tiles.md"].split())
    assert f"has {len(puzzles())} parts of kernels to write" in CHECKING
    assert "eight broken kernels" in CHECKING and len(detectives()) == 8
    assert f"has {len(tile_puzzles())} tilings to write" in tiles
    assert "six broken programs" in tiles and len(tile_detectives()) == 6


def test_the_table_of_operators_names_every_one_that_the_vendor_documents():
    made, _, others = (
        (ROOT / "docs" / "operators.md").read_text("utf-8").partition("## Not in the kit yet")
    )
    here = {op.aclnn_name: op.name for op in av.operators()}
    assert dict(re.findall(r"^\| (aclnn\w+) \| (\w+) \|", made, re.MULTILINE)) == here
    assert set(re.findall(r"(aclnn\w+)\.md", others)) == {
        each.aclnn_name for each in documented()
    } - {*here}
    lessons = [
        text
        for path in (ROOT / "notebooks").glob("*.ipynb")
        if "import derivations" in (text := path.read_text("utf-8"))
    ]
    # operators with a lesson of their own
    own = {re.search(r'av\.operator\(\\"(\w+)\\"\)', text)[1] for text in lessons}
    known, more = len({each.aclnn_name for each in documented()}), len(here) - len(own)
    assert {"rms_norm", "flash_attention_score"} < own and len(own) == len(lessons)
    assert (
        f"The vendor documents {known} backward operators; {len(here)} of them" in made
        and known == len(documented())
    )
    assert (
        f"[{more} more](docs/operators.md) of the {known}" in PAGES["README.md"]
        and f"昇腾文档列出{known}个" in PAGES["README.zh.md"]
    )
    assert f"[{more}个](docs/operators.md)" in PAGES["README.zh.md"]
