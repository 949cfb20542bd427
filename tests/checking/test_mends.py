"""The reader's own kernel: the wrong line, its mend, arrangements that cancel; and kernels that must not be edited."""

import inspect
import json
import linecache
import re

import numpy as np
import pytest
from checking.wrong import edited, kernel, loaded, opaque, with_edits
from checking.wrong_kernels import RMS

from aclnn_viz.checking import check
from aclnn_viz.checking.mends import MEMORY, Source, Unreadable, _limited_memory
from aclnn_viz.words.messages import in_language

pytestmark = pytest.mark.usefixtures("unshrunken")


def rms(dy, x, rstd, gamma):
    """Return the outputs of a right kernel, the base of the edits below."""
    X, g, w = x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)
    rows = tuple(range(x.ndim - gamma.ndim))
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    hat = X * rstd
    c = np.mean(g * w * hat, axis=axes, keepdims=True)
    return ((g * w - hat * c) * rstd).astype(x.dtype), np.sum(g * hat, axis=rows)


def changed(*edits):
    text = with_edits(inspect.getsource(rms), ("def rms(", "def kernel("), *edits)
    return loaded(f"rms_{abs(hash(text))}", f"import numpy as np\n\n\n{text}")


MEAN = "np.mean(g * w * hat, axis=axes, keepdims=True)"
ALONG = MEAN, "np.sum(g * w * hat, axis=axes, keepdims=True) / (gamma.size + 1)"
DIVIDED = changed(ALONG)


def test_the_wrong_line_of_the_readers_own_kernel_is_shown():
    result = check("rms_norm", DIVIDED, depth="quick")
    yours = result.explanation.yours
    assert yours.before.endswith("/ (gamma.size + 1)") and yours.after.endswith("/ gamma.size")
    assert (
        re.fullmatch(r"rms_\w+.py, line 10 \(kernel\)", yours.line)
        and yours.line in result.cause == str(result).splitlines()[1]
    )
    assert "likeliest mistake" in result._repr_html_() and yours.line in result._repr_html_()
    assert json.loads(result.to_json())["explanation"]["yours"]["after"] == yours.after


def test_a_kernel_in_float32_is_explained_where_it_is_given_float64_too():
    wide = {"beyond": True, "depth": "quick"}
    assert check("rms_norm", DIVIDED, **wide).explanation.yours.after.endswith("/ gamma.size")
    assert "length plus one" in check("rms_norm", opaque(DIVIDED), **wide).explanation.after


def test_a_line_of_a_cell_is_named_by_its_function(tmp_path):
    # as a notebook calls a cell
    source, name = with_edits(inspect.getsource(rms), ALONG), str(tmp_path / "675492143.py")
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), made := {"np": np})
    assert check("rms_norm", made["rms"], depth="quick").explanation.yours.line == "line 7 (rms)"


def test_in_chinese_no_part_of_a_verdict_is_english_and_no_count_is_glued_to_a_bound():
    # a kernel without a source, explained by a line of the page
    bent = opaque(edited("hardswish", ("x / 3 + np.float32(0.5)", "(x + 2) / 3")))
    said = []
    for name, tested in (("rms_norm", changed(("np.mean", "np.sum"))), ("hardswish", bent)):
        result = check(name, tested, dtypes=["float32"], depth="quick")
        with in_language("zh"):
            said.append(f"{result}\n{result._repr_html_()}")
        assert not re.search(r"your kernel|, line \d|as if|between first|in \d+ case", said[-1]), (
            said[-1]
        )
    assert (
        "第" in said[0].splitlines()[1]
        and re.search(r"相当于把hardswish/page.py第\d+行", said[1])
        and re.search(r"x > 3（\d+/\d+）", said[1])
    )


def test_two_edits_of_one_line_are_shown_as_one_line():
    on_one_line = changed(
        (f"    c = {MEAN}\n", ""),
        ("hat * c", "hat * (g * w * hat).sum(axis=axes, keepdims=True)"),
        ("np.sum(g * hat, axis=rows)", "(g * X).sum(axis=rows)"),
    )
    yours = check("rms_norm", on_one_line, depth="quick").explanation.yours
    assert (
        yours.after.count("return") == yours.before.count("return") == 1
        and " and " not in yours.line
    )
    assert ".mean(" in yours.after and "(g * hat)" in yours.after


def test_of_edits_that_mend_the_one_that_only_leaves_out_is_shown():
    without_its_tail = edited(
        "hardswish",
        ("count = x.size", "kept = x.size // 8 * 8 if x.size >= 8 else x.size\n    count = x.size"),
        ("    return out.reshape", "    out[kept:] = 0\n    return out.reshape"),
    )
    result = check("hardswish", without_its_tail, depth="quick")
    assert (
        result.explanation.yours.after == "kept = x.size"
        and "none of the known faults" not in str(result)
    )


def test_of_edits_that_are_right_on_the_whole_suite_those_that_are_wrong_on_fresh_cases_are_not_shown():
    windows = edited(
        "avg_pool",
        (
            "rows, columns = range(height)[max(top, 0) : bottom], range(width)[max(left, 0) : right]",
            "top, left = max(top, 0), max(left, 0)\n"
            "        bottom, right = min(bottom, height), min(right, width)\n"
            "        rows, columns = range(top, bottom), range(left, right)",
        ),
        ("len(rows) * len(columns)", "(bottom - top) * (right - 0)"),
    )
    yours = check("avg_pool", windows, dtypes=["float32"]).explanation.yours
    assert yours.after.endswith("(right - left)")
    assert not any("(right - j)" in one for one in yours.equal)


def test_of_several_edits_that_mend_it_the_verdict_says_so_in_its_first_lines():
    without_x = changed(("hat = X", "hat = 1"), ("np.sum(g * hat", "np.sum(g * X * rstd"))
    result = check("rms_norm", without_x, dtypes=["float32"])
    assert {result.explanation.yours.after, *result.explanation.yours.equal} == {
        "hat = x * rstd",
        "hat = X * rstd",
    }
    assert str(result).splitlines()[1].endswith(" (one of 2 edits that mend it)")


@pytest.mark.soak
def test_two_wrong_outputs_are_mended_each():
    result = check("rms_norm", changed(("w - hat", "w + hat"), ("np.sum", "np.mean")))
    found = result.explanation.yours
    assert (
        "g * w - hat * c" in found.after or "c = -np.mean" in found.after
    ) and "np.sum(g * hat" in found.after
    assert found.line.count(".py, line") == 2


def test_a_store_that_should_add_is_mended():
    yours = check("embedding", kernel("embedding", "02"), depth="quick").explanation.yours
    assert (yours.before, yours.after) == (
        "out[place] = row / counts[place]",
        "out[place] += row / counts[place]",
    )


def test_what_no_edit_mends_has_no_mend():
    noise = changed(
        ("(g * w - hat * c) * rstd", "g * np.sin(X * 3) + np.cos(w)"),
        ("np.sum(g * hat, axis=rows)", "np.tan(w)"),
    )
    explanation = check("rms_norm", noise, depth="quick").explanation
    assert explanation is None or not explanation.yours


def test_a_kernel_that_does_more_than_compute_is_not_edited(tmp_path):
    """An edited copy could write or delete files."""
    for line in (
        f"open({str(tmp_path / 'log')!r}, 'w').close()",
        "np.save('log', x)",
        "x.tofile('log')",
        "while True: break",
    ):
        with pytest.raises(Unreadable):
            Source(changed(("hat =", f"{line}\n    hat =")), None)

    def logging(dy, x, rstd, gamma):
        tmp_path.write_text("called")
        return rms(dy, x, rstd, gamma)

    for refused in (logging, RMS.backward, opaque(rms), print):
        with pytest.raises(Unreadable):
            Source(refused, None)
    assert Source(rms, None).trees.keys() == {"rms"}


def there(x):
    return back(x)


def back(x):
    return there(x)


def test_functions_that_call_each_other_in_a_circle_are_each_read_once():
    assert Source(there, None).trees.keys() == {"there", "back"}


def test_the_line_may_be_of_a_function_that_the_kernel_calls():
    kernel = edited("hardswish", ("x / 3 + np.float32(0.5)", "x / 4 + np.float32(0.5)"))
    yours = check("hardswish", kernel, depth="quick").explanation.yours
    assert "(slope)" in yours.line and "x / 3" in yours.after


def rows_over_the_last_axis(
    gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask
):
    g, hat = gradOut.astype(np.float32), (input.astype(np.float32) - mean) * rstd
    v = g if weightOptional is None else g * weightOptional.astype(np.float32)
    dx = rstd * (
        v - np.mean(v, axis=-1, keepdims=True) - hat * np.mean(v * hat, axis=-1, keepdims=True)
    )
    rows = tuple(range(input.ndim - len(normalizedShape)))
    outputs = dx, np.sum(g * hat, axis=rows), np.sum(g, axis=rows)
    return tuple(one.astype(input.dtype) for one, asked in zip(outputs, outputMask) if asked)


@pytest.mark.parametrize(
    ("name", "kernel", "axes"),
    (
        (
            "rms_norm",
            changed(("axis=axes", "axis=-1")),
            ("tuple(range(-w.ndim, 0))", "tuple(range(-gamma.ndim, 0))"),
        ),
        ("layer_norm", rows_over_the_last_axis, ("tuple(range(-len(normalizedShape), 0))",)),
        (
            "group_norm",
            edited(
                "group_norm",
                (
                    "along = np.mean(g * w, axis=(2, 3), keepdims=True)\n    along = along + ",
                    "along = np.mean(g * w, axis=3, keepdims=True) + ",
                ),
                ("xhat, axis=(2, 3)", "xhat, axis=3"),
            ),
            ("(2, 3)", "(-2, -1)"),
        ),
    ),
)
@pytest.mark.sampled(1)
def test_a_mean_over_too_few_axes_is_explained_with_its_source_and_by_numbers_alone(
    name, kernel, axes
):
    yours = check(name, kernel, depth="quick").explanation.yours
    assert any(
        yours.after.count(f"axis={one}, keepdims") == yours.before.count(", keepdims")
        for one in axes
    )
    assert ".py, line" in yours.line
    assert "over the last of the axes alone" in str(
        check(name, opaque(kernel), depth="quick").explanation
    )


def test_a_mean_over_too_few_axes_is_explained_beside_a_product_in_the_format_that_is_given():
    narrow = changed(
        ("x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)", "x, dy, gamma"),
        ("axis=axes", "axis=-1"),
    )
    found = check("rms_norm", narrow, depth="quick")
    said = str(found)
    with in_language("zh"):
        assert re.search(
            "写成：return .*其中.*：只沿各轴中的最后一个轴求$", str(found).splitlines()[1]
        )
    assert (
        "over the last of the axes alone" in said
        and "  instead of\n" not in said
        and "in 16 bits up to intermediate roundings" in said
        and "dy.size" not in said
    )


def test_an_edit_that_makes_a_loop_endless_ends():
    def loops(dy, x, rstd, gamma):
        total = 0
        for k in range(10**12):
            total = total + k
        return x, gamma

    source = Source(loops, None)
    with pytest.raises(RuntimeError, match="without an end"):
        source.built()(dy=0, x=0, rstd=0, gamma=0)


def test_an_edit_that_scatters_values_of_another_shape_fails():
    """NumPy itself would end the process."""

    def scatters(dy, x, rstd, gamma):
        np.add.at(x, (slice(None), gamma), dy)
        return x

    kernel, x, index = Source(scatters, None).built(), np.zeros((2, 5)), np.array([0, 3, 0])
    assert kernel(dy=np.ones((2, 3)), x=x, rstd=0, gamma=index).tolist() == [[2, 0, 0, 1, 0]] * 2
    with pytest.raises(ValueError, match="dimensions"):
        kernel(dy=np.ones((2, 2, 4, 5)), x=x, rstd=0, gamma=index)


def test_an_edit_that_makes_a_tensor_huge_fails():
    with _limited_memory() as limited:
        if limited:
            with pytest.raises(MemoryError):
                np.empty(MEMORY + 2**27, np.int8)
            assert np.empty(MEMORY // 4, np.int8).size
    assert np.ones(2**28, np.int8).nbytes == 2**28
