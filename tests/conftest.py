"""Skips that name what to install, no skips at all in CI, and the switch between samples and full-size sweeps."""

import compileall
import gc
import os
import random
import re
import sys
from collections import Counter, defaultdict
from contextlib import suppress
from importlib import metadata
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from children import forked
from machine import ENGINES, FAST, PEERS, ROOT, SOAK, forbidden_skip, missing

os.environ["ACLNN_VIZ_LANG"] = "en"  # independent of the tester's locale
# jsonschema builds its grammar for a second and a half; no notebook needs it
sys.modules.setdefault("rfc3987_syntax", None)
if not PEERS and not SOAK:
    # Where `make peers` has installed engines, the kit would compile for them, and compare them.

    def _version(name, version=metadata.version):
        if name in ENGINES:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    metadata.version = _version

# Excluded from `make check`: a browser, fuzzing, notebooks, C++, processes, sweeps and searches.
DEAR = re.compile(
    r"tests/(browser|fuzzing|tiles|standin|acl|public|sweeps|export|faults|storage|verification)/|"
    r"tests/(arrays/test_(bound|tight|truth)|"
    r"checking/test_(check|depth|detect|diag|dumps|exchange|expl|given|mends|misfits|museum|mutant|no_false|"
    r"other|progress|puzzle|right|said|scope|sealed|tile|tolerances|triage|wrong)|"
    r"derivations/test_(deriv|false|neigh|random|theorems)|devices/test_(atlas|bare|files_that|whole)|kernels/test_rounding|"
    r"explorers/test_(default|explorers_alone|live|speed|tiles|widget|numeric|two|zoom)|proving/test_(derive|edited|held|prove)|"
    r"test_(cli|data|elsewhere|gallery|lab|machine|make|notebooks|own_operator|readme|reference|without))"
)
BROWSER = "tests/browser/"
# Tests that mostly wait for other processes, or compute in them.
WAITS = re.compile(
    r"tests/(browser/|storage/test_killed|sweeps/test_clusters|devices/test_(atlas|bare|files_that|whole)|acl/|tiles/test_cpp|"
    r"test_(lab|notebooks|own_operator|elsewhere|cli_|make|machine|packages|without))"
)
# browser tests name their explorer last
EXPLORER = re.compile(rf"{BROWSER}.*\[(?:[^]]*-)?(\w+)\]$")


@pytest.hookimpl(tryfirst=True)  # before the fixtures that use the tool
def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        if reason := missing(*mark.args):
            pytest.skip(reason)


def pytest_sessionstart(session):
    """Compile the kit for hundreds of fresh interpreters and the tests for all workers, which may not write bytecode."""
    gc.disable()  # until ten thousand tests are collected: all of them stay
    if hasattr(session.config, "workerinput"):
        return
    shared = session.config.getoption("dist", "no") != "no"
    paths = sorted((ROOT / "tests").rglob("test_*.py")) if shared else []
    children = [
        forked(_compile_tests, session.config.pluginmanager.rewrite_hook, part)
        for part in (paths[::2], paths[1::2])
        if part
    ]
    if (ROOT / "aclnn_viz").exists():
        for package in ("aclnn_viz", "derivations"):
            compileall.compile_dir(ROOT / package, quiet=1)
    for child in children:
        os.waitpid(child, 0)  # a worker compiles missing files


def _compile_tests(rewrite_hook, paths):
    """Store tests with rewritten assertions, as pytest does on import; this halves the first collection."""
    sys.dont_write_bytecode = False
    for path in paths:
        module = module_from_spec(spec_from_file_location(path.stem, path, loader=rewrite_hook))
        module.__builtins__ = {}  # its first line imports, which fails without builtins
        with suppress(ImportError):
            rewrite_hook.exec_module(module)


def pytest_ignore_collect(collection_path):
    """Skip whole files before their import, which would take half of the fast half's time."""
    if PEERS and not SOAK and collection_path.suffix == ".py":
        words = re.findall(r"\w+", collection_path.read_text(encoding="utf-8"))
        # a file that names no engine
        return not {*ENGINES, "ENGINES", "PEERS"}.intersection(words) or None
    place = collection_path.relative_to(ROOT).as_posix() + "/" * collection_path.is_dir()
    return FAST and bool(DEAR.match(place)) or None


def pytest_collection_modifyitems(config, items):
    # Slow tests first, so that workers end together, and an explorer's tests while it is open.
    items.sort(
        key=lambda item: (
            not item.nodeid.startswith(BROWSER),
            "test_notebooks" not in item.nodeid,
            not WAITS.match(item.nodeid),
            not DEAR.match(item.nodeid),
            _explorer(item),
        )
    )
    if not SOAK:
        chosen = [
            item
            for item in items
            if _needs_engine(item) == PEERS and not item.get_closest_marker("soak")
        ]
        chosen = {*chosen} - _left_out(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]


def _left_out(items):
    """Deselect cases outside the sample: a test with `sampled(count)` keeps that many, always the same."""
    sampled = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            sampled[item.nodeid.split("[")[0]].append(item)
    return {
        item
        for name, every in sampled.items()
        for item in random.Random(name).sample(
            every, max(0, len(every) - every[0].get_closest_marker("sampled").args[0])
        )
    }


def _needs_engine(item):
    return any(ENGINES.intersection(mark.args) for mark in item.iter_markers("needs"))


def pytest_collection_finish():
    """Exclude ten thousand tests from later garbage searches and from copies in forked children: a seventh of the time."""
    gc.collect()
    gc.freeze()
    gc.enable()
    # seventy times the default: SymPy's objects live long, and memory is plentiful
    gc.set_threshold(50_000)


def pytest_sessionfinish():
    """Search once for garbage of the tests; pytest searches ten more times, now without old objects."""
    gc.collect()
    gc.freeze()


def _refuse_skip(report):
    if (
        report.skipped
        and not hasattr(report, "wasxfail")
        and (fault := forbidden_skip(report.longrepr[2]))
    ):
        report.outcome, report.longrepr = "failed", fault
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _refuse_skip((yield))


def _explorer(item):
    found = EXPLORER.match(item.nodeid)
    return found[1] if found else ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep a file on one worker, so that its fixtures are built once, and also everything that shares the
    browser.

    One of three workers takes waiting tests, the browser first; two prepare fixtures of computing tests once.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return BROWSER if nodeid.startswith(BROWSER) else nodeid.split("::")[0]

        def _assign_work_unit(self, node):
            computes = next((file for file in self.workqueue if not WAITS.match(file)), None)
            if computes and self.numnodes > 2 and node is not self.nodes[0]:
                self.workqueue.move_to_end(computes, last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False  # keep pytest's order, not by the number of tests
    return Scheduling(config, log)


def pytest_terminal_summary(terminalreporter):
    """Print at most five lines: the number of skipped tests, the reasons, and the remedy."""
    skips = terminalreporter.stats.get("skipped", ())
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skips)
    lines = [f"{count} skipped: {reason}" for reason, count in reasons.most_common()]
    for line in filter(None, (*lines[:4], "; ".join(lines[4:]))):
        terminalreporter.write_line(line)


@pytest.fixture(scope="module", autouse=True)
def folders_are_forgotten():
    """Forget the operators of folders that a module opened."""
    from aclnn_viz.operators import registry

    before = dict(registry._outside)
    yield
    registry._outside.clear()
    registry._outside.update(before)
