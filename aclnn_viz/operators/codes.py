"""Look up status codes and other numbers of the ACL and aclnn C headers by their C names; codes.toml has them, by type.

Sources: `acl_base_rt.h`, `acl_rt.h` and `error_codes/rt_error_codes.h` of the CANN runtime; `op_errno.h` of nnopbase;
"aclnn return codes", CANN documentation.
"""

from aclnn_viz.tables import table_beside

#: Numbers of the vendor's enumerations: {type: {name: number}}.
TYPES = table_beside(__file__, "codes.toml")
#: Bytes per element, by aclDataType.
DATA_TYPE_SIZES = {TYPES["aclDataType"][name]: size for name, size in TYPES.pop("bytes").items()}
#: What to try, by status code.
ADVICE = {TYPES["status"][name]: text for name, text in TYPES.pop("advice").items()}
for _numbers in TYPES.values():
    globals().update(_numbers)
_STATUS_NAMES = {number: name for name, number in TYPES["status"].items()}
_DATA_TYPE_NAMES = {number: name for name, number in TYPES["aclDataType"].items()}


def __getattr__(name: str) -> int:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def status_name(code: int) -> str:
    """Return the C name of an aclnn or ACL status code; a code that no header names gives "unknown status".

    >>> status_name(161002)
    'ACLNN_ERR_PARAM_INVALID'
    """
    return _STATUS_NAMES.get(code, "unknown status")


def data_type_name(code: int) -> str:
    """Return the vendor's name of an aclDataType as documents write it; an unnamed one gives "aclDataType <code>".

    >>> data_type_name(27)
    'BF16'
    """
    name = _DATA_TYPE_NAMES.get(code, f"aclDataType {code}")
    return name.removeprefix("ACL_").removeprefix("DT_")
