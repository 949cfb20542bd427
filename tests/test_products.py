"""The product of an SoC name, and the order of CANN versions."""

from itertools import combinations

import pytest
from tables import table
from together import in_one

from aclnn_viz.operators import codes
from aclnn_viz.operators.products import PRODUCTS, Version, product_of

SOCS = {
    tag: socs.split()
    for tag, socs in table("""
910  | Ascend910A Ascend910B Ascend910ProA Ascend910ProB Ascend910PremiumA
910b | Ascend910B1 Ascend910B2 Ascend910B2C Ascend910B3 Ascend910B4 Ascend910B4-1
A3   | Ascend910_9362 Ascend910_9372 Ascend910_9381 Ascend910_9391 Ascend910_9392
310p | Ascend310P1 Ascend310P3 Ascend310P5 Ascend310P7
310b | Ascend310B1 Ascend310B4
950  | Ascend950PR_9579 Ascend950DT_9591 Ascend910_9579
""")
}
ASCENDING = """
8.0.1 8.1.RC1 8.1 8.5.0 9.0.0 9.0.1 9.1.0-beta.1 9.1.0-beta.2.pre 9.1.0-beta.2 9.1.0-beta.10
9.1.0.RC1 9.1.0.pre 9.1 9.1.1 9.2.0-beta.1 9.10
""".split()


NUMBERS = dict(
    table("""
ACL_FLOAT                         | 0
ACL_FLOAT16                       | 1
ACL_INT32                         | 3
ACL_INT64                         | 9
ACL_DOUBLE                        | 11
ACL_BOOL                          | 12
ACL_BF16                          | 27
ACL_FORMAT_NCHW                   | 0
ACL_FORMAT_ND                     | 2
ACL_FORMAT_NCDHW                  | 30
ACL_FORMAT_NCL                    | 47
ACL_MEMCPY_HOST_TO_DEVICE         | 1
ACL_MEMCPY_DEVICE_TO_HOST         | 2
ACL_MEM_MALLOC_HUGE_FIRST         | 0
ACL_OPT_DETERMINISTIC             | 0
ACLNN_ERR_PARAM_NULLPTR           | 161001
ACLNN_ERR_PARAM_INVALID           | 161002
ACLNN_ERR_RUNTIME_ERROR           | 361001
ACLNN_ERR_INNER_TILING_ERROR      | 561002
ACLNN_ERR_INNER_FIND_KERNEL_ERROR | 561003
ACLNN_ERR_INNER_NULLPTR           | 561103
ACL_ERROR_INVALID_PARAM           | 100000
ACL_ERROR_UNINITIALIZE            | 100001
ACL_ERROR_REPEAT_INITIALIZE       | 100002
ACL_ERROR_REPEAT_FINALIZE         | 100037
ACL_ERROR_COMPILING_STUB_MODE     | 100039
ACL_ERROR_RT_PARAM_INVALID        | 107000
ACL_ERROR_RT_INVALID_DEVICEID     | 107001
ACL_ERROR_RT_CONTEXT_NULL         | 107002
ACL_ERROR_RT_SYSPARAMOPT_NOT_SET  | 107021
ACL_ERROR_RT_MEMORY_ALLOCATION    | 207001
ACL_ERROR_RT_AICORE_EXCEPTION     | 507015
""")
)


@in_one
@pytest.mark.parametrize(("tag", "soc"), [(tag, soc) for tag, socs in SOCS.items() for soc in socs])
def test_soc_belongs_to_its_product(tag, soc):
    assert product_of(soc).tag == tag


@pytest.mark.parametrize(
    "soc",
    ["", "xAscend910A", "Ascend910C", "Ascend310", "Ascend910_94", "A4", "Ascend310P", None, 910],
)
def test_unknown_soc_is_refused_in_three_parts(soc):
    with pytest.raises(ValueError) as refused:
        product_of(soc)
    assert str(refused.value) == (
        f"soc must be the SoC name of an Atlas product: got {soc!r}; use a name such as Ascend910A, Ascend910B2, "
        "Ascend910_9391, Ascend310P3, Ascend310B1, Ascend950PR_9579, or such as 'A2'"
    )


def test_every_product_is_known_by_its_example():
    assert [product_of(p.example_soc) for p in PRODUCTS] == list(PRODUCTS)


def test_architectures_and_overflow_modes():
    assert {p.tag: (p.npu_arch, p.overflow_modes) for p in PRODUCTS} == {
        "910": (1001, ("saturate",)),
        "910b": (2201, ("inf_nan", "saturate")),
        "A3": (2201, ("inf_nan", "saturate")),
        "310p": (2002, ("saturate",)),
        "310b": (3002, ("saturate",)),
        "950": (3510, ("inf_nan",)),
    }


def test_cores_and_buffers():
    assert {
        soc: product_of(soc).cores[soc]
        for soc in "Ascend910A Ascend910B2 Ascend910B4 Ascend910_9391 Ascend310P3".split()
    } == {
        "Ascend910A": (32, 0),
        "Ascend910B2": (24, 48),
        "Ascend910B4": (20, 40),
        "Ascend910_9391": (24, 48),
        "Ascend310P3": (8, 7),
    }
    assert [p.unified_buffer for p in PRODUCTS] == [262144, 196608, 196608, 262144, None, 253952]
    assert all(product_of(soc) is p for p in PRODUCTS for soc in p.cores)


@pytest.mark.parametrize(
    ("soc", "size", "taken"),
    [
        ("Ascend910B2", 1, 64),
        ("Ascend910B2", 32, 64),
        ("Ascend910A", 33, 96),
        ("Ascend950PR_9579", 33, 64),
    ],
)
def test_allocation_is_rounded_and_padded(soc, size, taken):
    assert product_of(soc).allocation_size(size) == taken


@in_one
@pytest.mark.parametrize(("older", "newer"), list(combinations(ASCENDING, 2)))
def test_versions_are_ordered(older, newer):
    assert Version.parse(older) < Version.parse(newer)
    assert Version.parse(newer) > Version.parse(older)
    assert Version.parse(older) != Version.parse(newer)


@pytest.mark.parametrize(
    ("one", "other"), [("9.1", "9.1.0"), ("8.1.RC1", "8.1.0.rc1"), ("v9.1.0-pre", "9.1.0.pre")]
)
def test_spellings_of_one_version_are_equal(one, other):
    assert Version.parse(one) == Version.parse(other)


@in_one
@pytest.mark.parametrize("text", ASCENDING)
def test_a_version_reads_back_what_it_prints(text):
    assert Version.parse(str(Version.parse(text))) == Version.parse(text)


@pytest.mark.parametrize(
    "text", ["", "9", "nine", "9.1.0.0", "9.1.0-beta", "9.1-", "9.1.0.preview", " 9.1", None, 9.1]
)
def test_other_texts_are_refused_in_three_parts(text):
    with pytest.raises(ValueError) as refused:
        Version.parse(text)
    assert str(refused.value) == (
        f"cann must be a CANN version: got {text!r}; write it as 8.1, 8.1.RC1, 9.0.1, "
        "9.1.0-beta.2 or 9.1.0.pre"
    )


def test_constants_have_the_numbers_of_the_headers():
    assert {name: str(getattr(codes, name)) for name in NUMBERS} == NUMBERS


def test_status_names():
    errors = {int(number): name for name, number in NUMBERS.items() if "_ERR" in name}
    errors |= {0: "ACL_SUCCESS", 424242: "unknown status"}
    assert {code: codes.status_name(code) for code in errors} == errors


def test_no_two_status_codes_share_a_number():
    names = [n for n in vars(codes) if n.startswith(("ACLNN_ERR", "ACL_ERROR"))]
    assert len({getattr(codes, n) for n in names}) == len(names)


def test_data_type_sizes():
    sizes = {0: 4, 1: 2, 27: 2, 11: 8, 3: 4, 9: 8, 12: 1}
    assert codes.DATA_TYPE_SIZES | sizes == codes.DATA_TYPE_SIZES
