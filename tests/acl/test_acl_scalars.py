"""Numbers that C takes as handles: created from host memory, read by phase 1, and destroyed."""

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.verification.contract import status


@pytest.mark.parametrize(
    "value,code,number",
    [
        (np.array(0.1), av.acl.ACL_DOUBLE, 0.1),
        (np.float32([0.1, 7]), av.acl.ACL_FLOAT, float(np.float32(0.1))),
        (np.array(-3), av.acl.ACL_INT64, -3),
        (None, av.acl.ACL_FLOAT, None),
        (np.zeros(1, np.float32), av.acl.ACL_DOUBLE, None),
    ],
)
def test_a_scalar_holds_the_number_of_its_type_or_is_null(value, code, number):
    acl = av.acl.HostAcl()
    handle = acl.aclCreateScalar(value, code)
    assert getattr(handle, "values", None) == number and acl.misuse == []
    assert acl.aclDestroyScalar(handle) == 0 and (handle is None or not handle.alive)


def test_the_device_takes_the_number_and_gives_the_handle_back():
    made = av.case("swish", betaOptional=0.3)
    with av.open_device("host") as device:
        found = device.run("swish", **made.inputs)
        assert device.acl.misuse == []
    np.testing.assert_array_equal(
        found["gradInput"], made.operator.backward(**made.inputs)["gradInput"]
    )


def test_only_what_the_vendor_calls_optional_may_be_null():
    assert (
        status("swish", betaOptional=None) == 0
        and status("softplus", beta=None) == status("softplus", threshold=None) == 161001
    )
