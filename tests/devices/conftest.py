"""Fixtures of several tests of devices."""

import pytest
from small_capsule import SMALL

import aclnn_viz as av
from aclnn_viz.devices import record


@pytest.fixture(scope="module")
def capsule(tmp_path_factory):
    with av.open_device("host", soc="Ascend910B1", cann="9.0.1") as device:
        return record(device, SMALL, tmp_path_factory.mktemp("capsule") / "small.capsule")
