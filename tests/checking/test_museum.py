"""The museum: each published mistake is replayed, missed by one test, seen by the other, caught by `check`, and named."""

import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from together import in_one

import aclnn_viz as av
from aclnn_viz.checking import check
from aclnn_viz.operators.faults.fault import faulty_kernel
from aclnn_viz.words.messages import in_language

PIECES = [pytest.param(one, id=f"{one.operator}-{one.fault.name}") for one in av.museum()]


def kernel_of(piece):
    return faulty_kernel(piece.operator, piece.fault)


def test_every_published_mistake_of_an_operator_of_the_kit_is_there():
    threads = [thread for one in av.museum() for thread in one.fault.thread.split(", ")]
    assert len(threads) == 23 and threads.count("tenstorrent/tt-metal#53215") == 2
    assert all(re.fullmatch(r"[\w.-]+/([\w.-]+#\d+|articles/[\w-]+)", thread) for thread in threads)
    page = av.museum()._repr_html_()
    assert all(
        f'<a href="https://github.com/{thread.replace("#", "/issues/")}">{thread}</a>' in page
        for thread in threads
        if "#" in thread
    )
    with in_language("zh"):
        # no Chinese word before a name is of it
        assert re.findall("href=[^>]*", av.museum()._repr_html_()) == re.findall("href=[^>]*", page)


@pytest.mark.parametrize("piece", PIECES)
def test_one_test_misses_a_piece_and_the_other_sees_it(piece):
    kernel, right = kernel_of(piece), av.operator(piece.operator).backward
    assert piece.missed.wrong(kernel) == "" != piece.seen.wrong(kernel)
    assert piece.missed.wrong(right) == piece.seen.wrong(right) == ""
    assert "passes" in str(piece) and piece.fault.diff.splitlines()[0] in str(piece)


def shorter(test):
    """Yield the same test with one length less by one."""
    for name in ("shape", "grid_shape"):
        lengths = test.options.get(name, [])
        yield from (
            replace(
                test, options=test.options | {name: [n - (k == at) for k, n in enumerate(lengths)]}
            )
            for at in range(len(lengths))
            if lengths[at] > 1
        )


@in_one
@pytest.mark.parametrize("piece", PIECES)
def test_no_smaller_case_shows_a_piece(piece):
    kernel = kernel_of(piece)
    for test in shorter(piece.seen):
        with suppress(ValueError):  # its values would not fit
            assert test.wrong(kernel) == "", str(test)


@pytest.mark.usefixtures("unshrunken")
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.sampled(1)
def test_a_check_catches_a_piece_and_names_its_thread(piece):
    result = check(piece.operator, kernel_of(piece))
    assert not result.passed and f"such a bug is in {piece.fault.thread}" in str(result)


def test_a_test_compares_what_it_names():
    (piece,) = av.museum("dgamma stays 0")
    assert piece.missed.wrong(lambda **inputs: {"dxOut": np.zeros_like(inputs["x"])}).startswith(
        "dxOut["
    )
    assert piece.missed.wrong(
        lambda **inputs: {"dxOut": np.full_like(inputs["x"], np.nan)}
    ).startswith("dxOut[0, 0] is nan")


def test_the_museum_is_shown_and_searched():
    html = av.museum()._repr_html_()
    assert str(av.museum("layer_norm")).count("layer_norm") == 3 == len(av.museum("layer_norm"))
    assert (
        html.count("passes") == len(av.museum()) == html.count("the wrong line (+)")
        and "shape=(1, 65)" in html
    )
    assert [one.operator for one in av.museum("pytorch/pytorch#34704")] == ["grid_sampler_3d"]
    for name, error in (("nothing", ValueError), ("", ValueError), (3, TypeError)):
        with pytest.raises(error, match="name is that of an operator, a fault or a thread"):
            av.museum(name)
