"""Prototypes from headers agree with the built-in ones, and these with the stand-in's headers."""

from pathlib import Path

import pytest
from machine import ROOT, taught
from standin.generic import without_their_own
from tables import table

from aclnn_viz.acl.installation import PrototypeDiffers, declarations, plain, reconciled
from aclnn_viz.acl.protocol import FUNCTIONS, phases
from aclnn_viz.operators.contract import contract

INCLUDE = ROOT / "tests/standin/include"

HEADERS = {op.name: op.header for op in taught()}


def functions():
    return {function.name: function for function in FUNCTIONS}


def declared():
    found = {}
    for header in INCLUDE.rglob("*.h"):
        found |= declarations(header.read_text())
    return found


OF_THEIR_OWN = [op for op in taught() if op not in without_their_own()]


def test_every_prototype_is_that_of_the_headers():
    """The stand-in compiles against these headers, and the vendor's samples too."""
    headers = declared()
    own = {function.name for op in OF_THEIR_OWN for function in phases(contract(op))}
    for name, function in functions().items():
        # the declaration generates their headers
        if name.startswith("aclnn") and "Executor" in function.prototype and name not in own:
            continue
        expected = (
            plain(function.return_type + " f"),
            *(plain(f"{p.c_type} {p.name}") for p in function.parameters),
        )
        assert headers[name] == expected, name


def test_a_header_for_every_operator():
    assert len(OF_THEIR_OWN) == 5 and all(
        (INCLUDE / "aclnnop" / op.header).exists() for op in OF_THEIR_OWN
    )


@pytest.mark.parametrize(
    "text",
    [
        "aclnnStatus aclnnX(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);",
        "ACLNN_API aclnnStatus aclnnX(void* workspace,uint64_t size,aclOpExecutor* executor,const aclrtStream stream) ;",
        '__attribute__((visibility("default"))) aclnnStatus\naclnnX(\n  void *workspace, // no ); here\n  uint64_t size,\n'
        "  aclOpExecutor *executor, /* nor; ( here */ aclrtStream stream);",
        "#define aclnnX(a) other(a); \\\n  aclnnStatus aclnnX(int a);\n"
        "aclnnStatus aclnnX(void *, uint64_t, struct aclOpExecutor *, aclrtStream);",
    ],
)
def test_declarations_in_every_dress(text):
    assert declarations(text)["aclnnX"] == (
        "aclnnStatus",
        "void*",
        "uint64_t",
        "aclOpExecutor*",
        "aclrtStream",
    )


def test_no_parameters_and_arrays():
    assert declarations(
        "aclError aclFinalize(); int f(void); int g(const int64_t dims[], uint64_t n);"
    ) == {"aclFinalize": ("aclError",), "f": ("int",), "g": ("int", "int64_t*", "uint64_t")}


def edited(tmp_path, name, old, new):
    text = (INCLUDE / "aclnnop" / HEADERS[name]).read_text()
    assert old in text
    path = tmp_path / "header.h"
    path.write_text(text.replace(old, new))
    return [reconciled(function, path) for function in phases(contract(name))]


def test_the_headers_float_or_double_wins(tmp_path):
    def reals(prepare):
        return [p.c_type for p in prepare.parameters if p.c_type in ("float", "double")]

    assert reals(phases(contract("cross_entropy_loss"))[0]) == ["double", "double"]
    assert reals(edited(tmp_path, "cross_entropy_loss", "double ", "float ")[0]) == [
        "float",
        "float",
    ]
    assert reals(
        edited(tmp_path, "cross_entropy_loss", "double labelSmoothing", "float labelSmoothing")[0]
    ) == ["float", "double"]


def test_const_and_names_do_not_matter(tmp_path):
    found = edited(tmp_path, "hardswish", "aclTensor *out", "const aclTensor *gradInput")
    assert found == list(phases(contract("hardswish")))


OTHERS = table("""
hardswish          | aclTensor *out,                       |
hardswish          | aclTensor *out,                       | aclTensor *out, bool open,
hardswish          | aclTensor *out,                       | aclTensorList *out,
hardswish          | aclTensor *out,                       | aclTensor **out,
group_norm_swish   | bool dgammaIsRequire                  | int64_t dgammaIsRequire
group_norm_swish   | int64_t numGroups                     | int32_t numGroups
group_norm_swish   | double swishScale                     | int64_t swishScale
cross_entropy_loss | char *reductionOptional               | int64_t reductionOptional
rms_norm           | aclnnStatus aclnnRmsNormGrad(         | void aclnnRmsNormGrad(
rms_norm           | uint64_t workspaceSize, aclOpExecutor | uint32_t workspaceSize, aclOpExecutor
grid_sampler_2d    | aclnnGridSampler2DBackward(           | aclnnGridSampler2DBackwardV2(
""")


@pytest.mark.parametrize(("name", "old", "new"), OTHERS)
def test_any_other_difference_is_refused(tmp_path, name, old, new):
    with pytest.raises(
        PrototypeDiffers, match=r"header\.h (declares .*, known is |does not declare )"
    ):
        edited(tmp_path, name, old, new)


def test_the_vendors_own_headers_say_the_same(monkeypatch):
    """With an installation at hand, its headers judge the built-in table."""
    from aclnn_viz.acl.installation import DeviceUnavailable, find

    try:
        installation = find()
    except DeviceUnavailable:
        pytest.skip("needs cann: install CANN, source its set_env.sh and run on an Atlas machine")
    for name, header in HEADERS.items():
        path = installation.header(header)
        if path is not None:
            known = list(phases(contract(name)))
            assert [reconciled(function, Path(path)) for function in known] == known
