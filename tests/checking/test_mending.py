"""The reader's own kernel: the line that is wrong, what mends it, arrangements that cancel; and kernels that must not be edited."""

import ast
import inspect
import json
import linecache
import re
from contextlib import nullcontext

import numpy as np
import pytest

from aclnn_viz.checking import check
from aclnn_viz.checking.evidence import KernelUnderTest, examine
from aclnn_viz.checking.judge import prepared_suite
from aclnn_viz.checking.mending import MEMORY, Source, Unreadable, _glance, _limited_memory
from aclnn_viz.checking.scope import Scope
from aclnn_viz.words.messages import in_language
from checking.wrong_kernels import RMS


pytestmark = pytest.mark.usefixtures("unshrunken")


def rms(dy, x, rstd, gamma):
    X, g, w = x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)
    rows = tuple(range(x.ndim - gamma.ndim))
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    hat = X * rstd
    c = np.sum(g * w * hat, axis=axes, keepdims=True) / (gamma.size + 1)
    return ((g * w - hat * c) * rstd).astype(x.dtype), np.sum(g * hat, axis=rows)


def twice(dy, x, rstd, gamma):
    X, g, w = x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)
    rows = tuple(range(x.ndim - gamma.ndim))
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    hat = X * rstd
    c = np.mean(g * w * hat, axis=axes, keepdims=True)
    dx = (g * w + hat * c) * rstd
    return dx.astype(x.dtype), np.mean(g * hat, axis=rows)


def circling(dy, x, rstd, gamma, inner=True):
    X, g, w = x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)
    if inner:
        return summed(g, X, rstd, w, x)
    return ((g * w) * rstd).astype(x.dtype), np.sum(
        g * X * rstd, axis=tuple(range(x.ndim - gamma.ndim))
    )


def summed(g, X, rstd, w, x):
    axes = tuple(range(x.ndim - w.ndim, x.ndim))
    c = np.sum(g * w * X * rstd, axis=axes, keepdims=True) / (w.size + 1)
    dx, dgamma = circling(g, X, rstd, w, inner=False)
    return (dx - X * rstd * c * rstd).astype(x.dtype), dgamma


def test_the_wrong_line_of_the_readers_own_kernel_is_shown():
    result = check("rms_norm", rms, depth="quick")
    yours = result.explanation.yours
    line = rms.__code__.co_firstlineno + 5
    assert yours.before.endswith("/ (gamma.size + 1)") and yours.after.endswith("/ gamma.size")
    assert (
        yours.line == f"test_mending.py, line {line} (rms)"
        and yours.line in result.cause == str(result).splitlines()[1]
    )
    assert "looks like" in result._repr_html_() and yours.line in result._repr_html_()
    assert json.loads(result.to_json())["explanation"]["yours"]["after"] == yours.after


def test_a_kernel_in_float32_is_explained_where_it_is_given_float64_too():
    assert check("rms_norm", rms, beyond=True).explanation.yours.after.endswith("/ gamma.size")
    assert (
        "length and one" in check("rms_norm", lambda **x: rms(**x), beyond=True).explanation.after
    )


def test_a_line_of_a_cell_is_named_by_its_function(tmp_path):
    # as a notebook calls a cell
    source, name = inspect.getsource(rms), str(tmp_path / "675492143.py")
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), made := {"np": np})
    assert check("rms_norm", made["rms"]).explanation.yours.line == "line 6 (rms)"


def test_in_chinese_no_part_of_a_verdict_is_english_and_no_count_is_glued_to_a_bound():
    hidden = {"np": np}  # a kernel without a source, which is explained by a line of the page
    exec(
        "def bent(gradOutput, self): return gradOutput * np.where(self < -3, 0, np.where(self > 3, 1, (self + 2) / 3)).astype(self.dtype)",
        hidden,
    )
    said = []
    for name, kernel in (("rms_norm", forgotten), ("hardswish", hidden["bent"])):
        result = check(name, kernel, dtypes=["float32"], depth="quick")
        with in_language("zh"):
            said.append(f"{result}\n{result._repr_html_()}")
        assert not re.search(r"your kernel|, line \d|as if|between first|in \d+ case", said[-1]), (
            said[-1]
        )
    assert (
        "第" in said[0].splitlines()[1]
        and re.search(r"如同hardswish/page.py第\d+行", said[1])
        and re.search(r"x > 3（\d+/\d+）", said[1])
    )


def forgotten(dy, x, rstd, gamma):
    axes = tuple(range(-gamma.ndim, 0))
    hat = x * rstd
    along = (dy * gamma * hat).sum(axis=axes, keepdims=True)
    return (dy * gamma - hat * along) * rstd, (dy * hat).sum(axis=tuple(range(x.ndim - gamma.ndim)))


def on_one_line(dy, x, rstd, gamma):
    X, g, w = x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)
    axes, rows = tuple(range(x.ndim - gamma.ndim, x.ndim)), tuple(range(x.ndim - gamma.ndim))
    hat = X * rstd
    return ((g * w - hat * (g * w * hat).sum(axis=axes, keepdims=True)) * rstd).astype(x.dtype), (
        g * X
    ).sum(axis=rows)


def test_two_edits_of_one_line_are_shown_as_one_line():
    yours = check("rms_norm", on_one_line).explanation.yours
    assert (
        yours.after.count("return") == yours.before.count("return") == 1
        and " and " not in yours.line
    )
    assert ".mean(" in yours.after and "(g * hat)" in yours.after


def without_its_tail(gradOutput, self):
    n = self.size
    kept = n // 8 * 8 if n >= 8 else n
    out = gradOutput.astype(np.float32) * np.where(
        self < -3, 0, np.where(self > 3, 1, self.astype(np.float32) / 3 + 0.5)
    )
    out.reshape(-1)[kept:] = 0
    return out.astype(self.dtype)


def test_of_edits_that_mend_the_one_that_only_leaves_out_is_shown():
    result = check("hardswish", without_its_tail, depth="quick")
    assert result.explanation.yours.after == "kept = n" and "none of the known faults" not in str(
        result
    )


def windows(
    gradOutput,
    self,
    kernelSize,
    stride,
    padding,
    ceilMode,
    countIncludePad,
    divisorOverride,
    cubeMathType,
):
    height, width = self.shape[-2:]
    dy = gradOutput.astype(np.float32)
    out = np.zeros(self.shape, dy.dtype)
    kh, kw = kernelSize[0], kernelSize[-1]
    sh, sw = (stride[0], stride[-1]) if stride else (kh, kw)
    ph, pw = padding[0], padding[-1]
    for i in range(dy.shape[-2]):
        for j in range(dy.shape[-1]):
            top, left = i * sh - ph, j * sw - pw
            bottom, right = min(top + kh, height + ph), min(left + kw, width + pw)
            size = (bottom - top) * (right - left)
            top, left = max(top, 0), max(left, 0)
            bottom, right = min(bottom, height), min(right, width)
            if not countIncludePad:
                size = (bottom - top) * (right - 0)
            if divisorOverride:
                size = divisorOverride
            part = dy[..., i, j] / dy.dtype.type(size)
            out[..., top:bottom, left:right] += part[..., None, None]
    return out.astype(self.dtype)


def test_of_edits_that_are_right_on_the_whole_suite_those_that_are_wrong_on_fresh_cases_are_not_shown():
    yours = check("avg_pool", windows).explanation.yours
    assert yours.after.endswith("(right - left)")
    assert not any("(right - j)" in one for one in yours.equal)


def test_of_several_edits_that_mend_it_the_verdict_says_so_in_its_first_lines():
    def without_x(dy, x, rstd, gamma):
        X, g, w = x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)
        hat = 1 * rstd
        c = np.mean(g * w * hat, axis=tuple(range(x.ndim - gamma.ndim, x.ndim)), keepdims=True)
        return ((g * w - hat * c) * rstd).astype(x.dtype), np.sum(
            g * X * rstd, axis=tuple(range(x.ndim - gamma.ndim))
        )

    result = check("rms_norm", without_x, dtypes=["float32"])
    assert {result.explanation.yours.after, *result.explanation.yours.equal} == {
        "hat = x * rstd",
        "hat = X * rstd",
    }
    assert str(result).splitlines()[1].endswith(" (one of 2 edits that mend it)")


@pytest.mark.soak
def test_two_wrong_outputs_are_mended_each():
    result = check("rms_norm", twice)
    found = result.explanation.yours
    assert (
        "g * w - hat * c" in found.after or "c = -np.mean" in found.after
    ) and "np.sum(g * hat" in found.after
    assert found.line.count("test_mending.py, line") == 2


def test_a_store_that_should_add_is_mended():
    def last(dy, x, rstd, gamma):
        K = gamma.size
        g, hat, w = (
            dy.astype(np.float32).reshape(-1, K),
            (x * rstd).astype(np.float32).reshape(-1, K),
            gamma.astype(np.float32).reshape(K),
        )
        total = np.zeros(K, np.float32)
        for row in range(len(hat)):
            total[:] = g[row] * hat[row]
        c = np.mean(g * w * hat, axis=1, keepdims=True)
        return ((g * w - hat * c).reshape(x.shape) * rstd).astype(x.dtype), total.reshape(
            gamma.shape
        )

    yours = check("rms_norm", last, depth="quick").explanation.yours
    assert (yours.before, yours.after) == (
        "total[:] = g[row] * hat[row]",
        "total[:] += g[row] * hat[row]",
    )


def test_what_no_edit_mends_has_no_mend():
    def noise(dy, x, rstd, gamma):
        X, g, w = x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)
        return (g * np.sin(X * 3) + np.cos(w)).astype(x.dtype), np.tan(w)

    explanation = check("rms_norm", noise, depth="quick").explanation
    assert explanation is None or not explanation.yours


def test_a_kernel_that_does_more_than_compute_is_not_edited(tmp_path):
    """An edited copy could write elsewhere, or remove what it must not."""
    place = tmp_path / "log"

    def logging(dy, x, rstd, gamma):
        place.write_text("called")
        return rms(dy, x, rstd, gamma)

    def opening(dy, x, rstd, gamma):
        open(str(place), "w").close()
        return rms(dy, x, rstd, gamma)

    def saving(dy, x, rstd, gamma):
        np.save(str(place), x)
        return rms(dy, x, rstd, gamma)

    def endless(dy, x, rstd, gamma):
        while True:
            return rms(dy, x, rstd, gamma)

    for kernel in (
        logging,
        opening,
        saving,
        endless,
        RMS.backward,
        lambda **inputs: rms(**inputs),
        print,
    ):
        with pytest.raises(Unreadable):
            Source(kernel, None)
    assert Source(rms, None).trees.keys() == {"rms"}


@pytest.mark.soak
def test_functions_that_call_each_other_in_a_circle_are_each_read_once():
    result = check("rms_norm", circling, depth="quick")
    assert (
        result.explanation.yours.after.endswith("/ w.size")
        and "(summed)" in result.explanation.yours.line
    )


def over_the_last_axis(dy, x, rstd, gamma):
    X, g, w = x.astype(np.float32), dy.astype(np.float32), gamma.astype(np.float32)
    hat = X * rstd
    dx = rstd * (g * w - hat * np.mean(g * w * hat, axis=-1, keepdims=True))
    return dx.astype(x.dtype), np.sum(g * hat, axis=tuple(range(x.ndim - gamma.ndim)))


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


def channels_alone(gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask):
    g, X = (one.astype(np.float32).reshape(N, group, C // group, HxW) for one in (gradOut, input))
    hat = (X - mean.reshape(N, group, 1, 1)) * rstd.reshape(N, group, 1, 1)
    v = g if gamma is None else g * gamma.astype(np.float32).reshape(1, group, C // group, 1)
    dx = rstd.reshape(N, group, 1, 1) * (
        v - np.mean(v, axis=3, keepdims=True) - hat * np.mean(v * hat, axis=3, keepdims=True)
    )
    outputs = (
        dx.reshape(input.shape),
        np.sum(g * hat, axis=(0, 3)).reshape(C),
        np.sum(g, axis=(0, 3)).reshape(C),
    )
    return tuple(one.astype(input.dtype) for one, asked in zip(outputs, outputMask) if asked)


@pytest.mark.parametrize(
    ("name", "kernel", "axes"),
    (
        (
            "rms_norm",
            over_the_last_axis,
            ("tuple(range(-w.ndim, 0))", "tuple(range(-gamma.ndim, 0))"),
        ),
        ("layer_norm", rows_over_the_last_axis, ("tuple(range(-len(normalizedShape), 0))",)),
        ("group_norm", channels_alone, ("(2, 3)", "(-2, -1)")),
    ),
)
def test_a_mean_over_too_few_axes_is_explained_with_its_source_and_by_numbers_alone(
    name, kernel, axes
):
    yours = check(name, kernel, depth="quick").explanation.yours
    assert any(
        yours.after.count(f"axis={one}, keepdims") == yours.before.count(", keepdims")
        for one in axes
    )
    assert yours.line.startswith("test_mending.py, line")
    assert "over the last of the axes alone" in str(
        check(name, lambda **inputs: kernel(**inputs), depth="quick").explanation
    )


def test_a_mean_over_too_few_axes_is_explained_beside_a_product_in_the_format_that_is_given():
    def kernel(dy, x, rstd, gamma):
        hat, g = x * rstd, dy * gamma
        dx = rstd * (g - hat * np.mean(g * hat, axis=-1, keepdims=True))
        return dx.astype(x.dtype), np.sum(dy * hat, axis=tuple(range(x.ndim - gamma.ndim)))

    found = check("rms_norm", kernel, depth="quick")
    said = str(found)
    with in_language("zh"):
        assert re.search(
            "写成：return .*其中.*：只沿各轴中的最后一个轴求$", str(found).splitlines()[1]
        )
    assert (
        "over the last of the axes alone" in said
        and "  instead of\n" not in said
        and "in 16 bits up to roundings" in said
        and "dy.size" not in said
    )


def test_an_edit_that_fails_where_its_line_is_first_executed_is_not_run():
    seen = examine(
        KernelUnderTest(rms, Scope.of("rms_norm")), [*prepared_suite("rms_norm", 0)][:3]
    ).seen
    wrong = next(one for one in seen if one.misses)
    source = Source(rms, wrong)
    lines = source.executed(wrong, False)
    line = rms.__code__.co_firstlineno + 4
    assert lines.keys() >= set(range(line - 3, line + 3)) and lines[line]["rows"] == tuple(
        range(wrong.prepared.case.inputs["x"].ndim - 1)
    )
    for text, fails in (
        ("X * rstd + g", False),
        ("c * X", True),
        ("len(X.ndim)", True),
        ("X.reshape(7, 11, 13)", True),
    ):
        built = ast.increment_lineno(ast.parse(f"hat = {text}"), line - 1).body[0]
        with pytest.raises((ValueError, TypeError, NameError)) if fails else nullcontext():
            _glance(built, lines)


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
    """NumPy itself ends the process then."""

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
