"""Make the capsule of the lesson 08_on_atlas again: `python notebooks/capsules/record.py [FILE]`.

Its numbers are predicted by the emulator from published kernels, not measured on Atlas hardware; the name of its
device, "host (prediction)", says so wherever it is replayed. On an Atlas the same cases are recorded with

    aclnn-viz run --cases notebooks/capsules/cases.json --device atlas --out FILE
"""

import sys
from pathlib import Path

import aclnn_viz as av
from aclnn_viz.devices import record
from aclnn_viz.operators.products import CANN, SOC
from aclnn_viz.sweeps.recipes import draw, source

HERE = Path(__file__).parent
CAPSULE = HERE / "predicted_a2.capsule"


def main(path=CAPSULE) -> Path:
    """Predict every case for an Atlas A2 with CANN 9.1 and write the capsule; return its path."""
    cases = [draw(text)[1] for text in source(HERE / "cases.json")]
    with av.open_device("host", soc=SOC, cann=CANN, plan="device") as device:
        return record(device, cases, path, force=True)


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
