"""Write the dumps of `runs.tar.xz` with msProbe: needs `pip install mindstudio-probe==26.2.0 torch==2.13.0`, for a CPU.

Each level with tensors, statistics and checksums of one small model; and 200 calls, in one of which the kernel of PyTorch's own
hardswish_backward is replaced by a wrong one. Paths are rewritten, for they name this machine.
"""

import itertools
import json
import re
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from msprobe.pytorch import PrecisionDebugger

BROKEN, CALLS = 27, 200  # the wrong call of hardswish (every fifth call), all calls


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm = torch.nn.Embedding(10, 8), torch.nn.LayerNorm(8, eps=1e-6)
        self.groups, self.act, self.soft = (
            torch.nn.GroupNorm(1, 5),
            torch.nn.Hardswish(),
            torch.nn.Softmax(-1),
        )
        self.gelu, self.loss = torch.nn.GELU("tanh"), torch.nn.CrossEntropyLoss()

    def forward(self, ids, target):
        x = self.groups(self.act(self.norm(self.embedding(ids))))
        x = self.soft(self.gelu(x) + F.silu(x)) * 4
        return self.loss(x.reshape(-1, 8), target)


def debugger(folder, level: str, task: str, summary: str = "statistics"):
    PrecisionDebugger._instance = None
    config = folder / "config.json"
    config.write_text(
        json.dumps(
            {
                "task": task,
                "dump_path": str(folder / "dump"),
                "rank": [],
                "step": [],
                "level": level,
                task: {"scope": [], "list": [], "summary_mode": summary, "data_mode": ["all"]},
            }
        )
    )
    return PrecisionDebugger(config_path=str(config))


def of_model(folder, level: str, task: str, summary: str) -> None:
    torch.manual_seed(1)
    model, probe = Model(), debugger(folder, level, task, summary)
    probe.start(model)
    model(torch.randint(0, 10, (4, 5)), torch.randint(0, 8, (20,))).backward()
    probe.stop()


def of_many(folder) -> None:
    torch.manual_seed(2)
    count = itertools.count()

    def kernel(gradient, x):
        given, at = gradient.numpy(), x.numpy()  # the functions of PyTorch would be dumped, too
        slope = np.where(at < -3, np.float32(0), at / 3 + np.float32(0.5))
        # one forgets the end at 3
        return torch.from_numpy(
            given * (slope if next(count) == BROKEN else np.where(at > 3, np.float32(1), slope))
        )

    library = torch.library.Library("aten", "IMPL")
    library.impl("hardswish_backward", kernel, "CPU")

    def x(*shape):
        return (2 * torch.randn(*shape)).requires_grad_()

    kinds = [
        lambda: F.hardswish(x(3, 6)),
        lambda: F.layer_norm(x(3, 6), (6,), x(6), x(6)),
        lambda: F.silu(x(2, 5)),
        lambda: F.softmax(x(2, 7), -1),
        lambda: F.grid_sample(
            x(1, 1, 3, 4), torch.rand(1, 2, 2, 2).requires_grad_(), align_corners=False
        ),
    ]
    calls, probe = [kinds[number % 5] for number in range(CALLS)], debugger(folder, "L1", "tensor")
    probe.start()
    for call in calls:
        y = call()
        y.backward(torch.randn_like(y))
    probe.stop()
    library._destroy()


def main(kind: str, *about: str) -> None:
    folder = Path(tempfile.mkdtemp())
    (of_many if kind == "many" else of_model)(folder, *about)
    name = "_".join((kind, *about))
    with tarfile.open(Path(__file__).parent / f"{name}.tar.xz", "w:xz") as archive:
        for path in sorted((folder / "dump").rglob("*")):
            if path.suffix == ".json":
                path.write_text(
                    re.sub(
                        r"(?<=File )/[^,]*/(?=\w+\.py)|/tmp/[^\"]*(?=\"|/step)",
                        "/srv/train/",
                        path.read_text(),
                    )
                )
            if path.is_file():
                inside = re.sub(r"proc\d+", "rank0", f"{name}/{path.relative_to(folder / 'dump')}")
                info = archive.gettarinfo(path, inside)
                info.uid = info.gid = info.mtime = 0
                info.uname = info.gname = ""
                with path.open("rb") as file:
                    archive.addfile(info, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
