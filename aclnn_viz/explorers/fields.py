"""Controls that several interactive pictures (explorers) share: the dtype, the seed, the device of the kernel, and the
product.
"""

from aclnn_viz.devices.peers import installed
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.explorers.state import choice, whole
from aclnn_viz.operators.products import CANN, PRODUCTS, SOC, VERSIONS


def dtype(group: str = "Operator"):
    return choice("float32", {f.name: f.name for f in FORMATS}, "dtype", group)


def seed(group: str = "Tensors"):
    return whole(0, 0, 9999, "seed", group)


def devices() -> dict[str, str]:
    """Return the devices for an explorer, with peers if installed."""
    return {name: name for name in ("host", "atlas", *installed())}


def soc():
    return choice(
        SOC,
        {p.example_soc: p.example_soc for p in PRODUCTS},
        "soc",
        "Device",
        "the product that the host emulates",
    )


def cann():
    return choice(
        CANN, {v: v for v in VERSIONS}, "cann", "Device", "the CANN version that the host emulates"
    )
