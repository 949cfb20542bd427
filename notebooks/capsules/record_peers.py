"""Record the capsules of the peers for lesson 07 again: `python notebooks/capsules/record_peers.py [torch ...]`.

It needs the libraries (`pip install 'aclnn-viz[torch,jax]'`), but no Atlas: the numbers are those of this machine's processor.
"""

import sys
from pathlib import Path

import aclnn_viz as av
from aclnn_viz.devices import record

HERE = Path(__file__).parent
LIBRARIES = "torch", "jax"


def cases() -> list[av.cases.Case]:
    """Group norm + swish in two formats: in bfloat16 the two functions of PyTorch round between them."""
    return [
        av.case("group_norm_swish", dtype=dtype, shape=(2, 8, 16, 16), numGroups=4)
        for dtype in ("bfloat16", "float32")
    ]


if __name__ == "__main__":
    for name in sys.argv[1:] or LIBRARIES:
        with av.open_device(name) as device:
            print(record(device, cases(), HERE / f"{name}.capsule", force=True))
