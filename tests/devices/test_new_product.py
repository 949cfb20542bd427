"""A new product: one row makes it known, and nothing unread is assumed of it."""

import pytest
from machine import sampled

import aclnn_viz as av
from aclnn_viz.devices import AclError
from aclnn_viz.operators import products
from aclnn_viz.operators.plans import preset

ROW = products.Product(
    "000", "Ascend 000", "Ascend 000", r"Ascend000\w*", "Ascend000A", 4000, ("inf_nan",), 0
)


@pytest.fixture
def soc(monkeypatch):
    monkeypatch.setattr(products, "PRODUCTS", (*products.PRODUCTS, ROW))
    return ROW.example_soc


def test_the_product_is_known_by_its_row(soc):
    with av.open_device("host", soc=soc) as device:
        assert device.soc == soc and products.product_of(soc) is ROW
    with pytest.raises(
        ValueError, match="soc must be the SoC name of an Atlas product.*Ascend000A"
    ):
        av.open_device("host", soc="Ascend001")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
def test_no_operator_runs_there_before_somebody_has_read_that_it_does(soc, op, dtype):
    with av.open_device("host", soc=soc) as device, pytest.raises(AclError) as refused:
        device.run(op, **av.case(op, dtype=dtype).inputs)
    assert refused.value.call == f"{op.aclnn_name}GetWorkspaceSize"


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
def test_nothing_is_predicted_there(soc, op):
    with pytest.raises(
        ValueError,
        match="kernels that were read: got Ascend000A, NPU architecture 4000; use a product of",
    ):
        preset(op, soc)
