"""Wide letters in a terminal: counted as two columns, broken anywhere but before a closing mark."""

import textwrap

import pytest

from aclnn_viz.tables import columns, padded, wrapped

ENGLISH = "A kernel that reads the pixels behind the last one, and gives a slope that is neither one-sided derivative."
CHINESE = "核函数在边界上也返回0：取外侧导数。按文档的系数（见ops-cv image/grid_sampler2_d_grad）会读到最后一个像素之后的像素，所得斜率不是任何一侧的导数。"


def test_english_is_broken_as_ever():
    assert wrapped(ENGLISH, 40, "  a ", "    ") == textwrap.wrap(
        ENGLISH, 40, initial_indent="  a ", subsequent_indent="    "
    )


@pytest.mark.parametrize("width", [24, 40, 41, 110])
def test_chinese_fits_loses_nothing_and_begins_no_line_with_a_closing_mark(width):
    lines = wrapped(CHINESE, width, "- ", "  ")
    longest = 40  # a path and its marks, which stay on one line
    assert (
        all(columns(line) <= max(width, longest) for line in lines)
        and len(lines) >= columns(CHINESE) // width
    )
    assert "".join(line[2:] for line in lines).replace(" ", "") == CHINESE.replace(" ", "")
    assert not any(line[2] in "，。；：、）" for line in lines) and not any(
        line[-1] in "（" for line in lines
    )


def test_a_wide_letter_takes_two_columns():
    assert (columns("a尾b"), padded("尾", 4), padded("ab", 4), padded("尾块", 2)) == (
        4,
        "尾  ",
        "ab  ",
        "尾块",
    )
    assert columns("é") == columns("e\u0301") == 1
