"""The README is true: its example prints what its comments say, and its rooms exist."""

import contextlib
import io
import re

import pytest

import aclnn_viz as av
from aclnn_viz.cases import deep
from aclnn_viz.checking.faulty import faulty_kernel
from aclnn_viz.checking.usual import USUAL, caught_by
from aclnn_viz.operators import registry
from aclnn_viz.operators.faults import faults
from machine import ROOT, SOAK
from test_structure import ORDER

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def prints(code, names=None):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), names if names is not None else {})
    return out.getvalue().splitlines()


def test_the_example_prints_what_its_comments_say():
    promised = re.findall(r"^print\(.*\)\s+# (.*)$", BLOCKS[0], re.MULTILINE)
    assert len(promised) == 2 and prints(BLOCKS[0]) == promised


def test_the_example_has_ten_lines_and_comes_first():
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 11
    assert README.index("make lab") < README.index("make test") < README.index(BLOCKS[0])


def test_the_sample_runs():
    block = next(b for b in BLOCKS if "samples" in b)
    assert prints(block, {"av": av})[3] == "result[3] is: 4.500000"


def test_every_room_of_the_table_exists_and_every_room_is_in_it():
    section = README.split("## What is in it")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `([\w./]+)` \|", section, re.MULTILINE))
    assert all((ROOT / name).exists() for name in named)
    rooms = {f"aclnn_viz/{p.name}/" for p in (ROOT / "aclnn_viz").iterdir() if (p / "__init__.py").exists()}
    assert rooms <= named, f"not in README: {sorted(rooms - named)}"


def test_commands_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}:" in makefile for target in re.findall(r"^make (\w+)", README, re.MULTILINE))


def test_the_score_of_the_checker_is_the_one_quoted():
    """Times are left out: they are the machine's."""
    from aclnn_viz.checking import score
    names = [op.name for op in av.operators() if registry.file("faults", op.name)]
    assert len(names) >= 5
    chosen = names if SOAK else names[:1]
    measured = str(score(chosen))
    rows = [re.search(rf"^\| {name} \|.*$", measured, re.MULTILINE)[0] for name in chosen]
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert "| " + " | ".join(cells[:5] + cells[6:]) + " |" in README


def score_row(name):
    cells = re.search(rf"^\| {name} \|.*$", README, re.MULTILINE)[0].strip("|").split("|")
    return [int(cell) for cell in cells[1:]]


@pytest.mark.parametrize("name", [op.name for op in av.operators() if registry.file("faults", op.name)])
def test_the_faults_and_what_the_usual_tests_catch_of_them_are_those_quoted(name):
    """Caught and named by the checker itself takes longer: the test above, of all operators with `make soak`."""
    op = av.operator(name)
    found = [caught_by(faulty_kernel(op, fault), op, 0) for fault in faults(name)]
    count, *by_check, _, _, _ = row = score_row(name)
    assert row[-3:] == [sum(one[label] for one in found) for label in USUAL]
    assert count == len(found) and by_check == [count, count, 0]


def test_the_score_on_mutants_is_the_one_quoted():
    """README's sentence has the numbers of the last line of the table by operator in benchmarks/mutants.md."""
    text = (ROOT / "benchmarks" / "mutants.md").read_text(encoding="utf-8")
    cells = [cell.strip() for cell in re.search(r"^\| all \|.*$", text, re.MULTILINE)[0].strip("|").split("|")]
    tried, caught, fail, numbers, share, so, equal, wrongly, median = cells[2:11]
    assert int(so) + int(equal) + int(wrongly) <= int(numbers) == int(caught) - int(fail)
    assert (f"of {int(tried):,} of them {int(caught):,} are caught, {int(numbers):,} by wrong numbers, and {share} of these are "
            f"explained, {int(wrongly) or 'none'} wrongly, in a median of {median}") in " ".join(README.split())
    every = sum(map(int, re.findall(r"^\| \w+, float\d+ \| (\d+) ", text, re.MULTILINE)))
    assert f"a fair sample of all {every:,})" in README and f"Of those not caught {cells[-1]} are wrong on other inputs." in README
    chinese = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    assert (f"{int(tried):,}个中发现{int(caught):,}个，其中{int(numbers):,}个因数值错误而发现，这些中{share}得到解释，"
            f"{int(wrongly)}个解释错误，单核中位时间{median}") in chinese
    assert f"对全部{every:,}个的均匀抽样" in chinese and f"有{cells[-1]}个在其他输入上是错误的" in chinese


def test_the_first_plot_of_an_atlas_is_five_lines_that_run(tmp_path, monkeypatch):
    """On the emulator, which takes the place of the device by one string."""
    monkeypatch.chdir(tmp_path)
    block = next(b for b in BLOCKS if "savefig" in b)
    steps = [line for line in block.splitlines() if line and "import" not in line]
    assert len(steps) == 5 and 'open_device("atlas")' in block
    prints(block.replace('open_device("atlas")', 'open_device("host")'))
    assert (tmp_path / "dx.png").stat().st_size > 10_000


def test_the_tile_program_runs_and_nothing_is_wrong_with_it():
    names = {"av": av}
    (told,) = prints(next(b for b in BLOCKS if "tiles.launch" in b), names)
    run = names["run"]
    assert told == f"() {run.ub_bytes} {run.gm_bytes}" and run.cores == 8 and run.ub_bytes and run.gm_bytes


def test_a_deep_check_has_the_sizes_that_it_says():
    assert "tensors of up to 2^21 elements, long axes, every remainder by up to 64" in README
    assert max(deep.TOTALS) == 2**21 and all({n % by for n in deep.REMAINDERS} == {*range(by)} for by in range(1, 65))


def test_the_lessons_are_those_that_it_says():
    first, last = re.search(r"the lessons (\d\d) to (\d\d), with", README).groups()
    assert [path.stem[:2] for path in sorted((ROOT / "notebooks").glob("*.ipynb"))] == [
        f"{number:02}" for number in range(int(first), int(last) + 1)]
    assert all((ROOT / path).exists() for path in re.findall(r"notebooks/[\w/.]*\w", README))


def test_there_are_as_many_puzzles_as_it_says():
    from aclnn_viz.checking.puzzles import detectives, puzzles, tile_detectives, tile_puzzles
    assert f"has {len(puzzles())} parts of kernels to write" in README
    assert "eight broken kernels" in README and len(detectives()) == 8
    assert f"has {len(tile_puzzles())} tilings and parts of programs" in README
    assert "six broken programs" in README and len(tile_detectives()) == 6


def test_rooms_stand_in_the_order_in_which_they_may_import():
    rows = re.findall(r"^\| `(?:aclnn_viz/)?(\w+)(?:/|\.py)`", README, re.MULTILINE)
    assert set(ORDER) - {"command", "errors", "tables", "rooms", "codes", "__init__"} == set(rows) - {"notebooks"}
    assert rows[:-1] == sorted(rows[:-1], key=ORDER.index)
