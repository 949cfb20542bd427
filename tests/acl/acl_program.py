"""A program over any implementation of the C API, as a C++ sample has it: start, run operators, leave nothing."""

import threading

import ml_dtypes
import numpy as np

from aclnn_viz.acl import program
from aclnn_viz.acl.program import Calls

FLOAT, FLOAT16, INT32, INT64, DOUBLE, BF16, ND = 0, 1, 3, 9, 11, 27, 2
TO_DEVICE, TO_HOST = 1, 2
CODES = {
    np.dtype(np.float32): FLOAT,
    np.dtype(np.float16): FLOAT16,
    np.dtype(np.int32): INT32,
    np.dtype(np.int64): INT64,
    np.dtype(np.float64): DOUBLE,
    np.dtype(ml_dtypes.bfloat16): BF16,
}

#: The C parameters of phase 1 in their order; those behind the bar are outputs.
PARAMETERS = {
    "aclnnHardswishBackward": "gradOutput self | out",
    "aclnnRmsNormGrad": "dy x rstd gamma | dxOut dgammaOut",
    "aclnnGridSampler2DBackward": "gradOutput input grid interpolationMode paddingMode alignCorners outputMask | inputGrad gridGrad",
    "aclnnCrossEntropyLossGrad": "gradLoss logProb target weightOptional gradZlossOptional lseForZlossOptional reduction ignoreIndex "
    "labelSmoothing lseSquareScaleForZloss | xGradOut",
    "aclnnGroupNormSwishGrad": "dy mean rstd x gamma beta numGroups dataFormatOptional swishScale dgammaIsRequire dbetaIsRequire "
    "| dxOut dgammaOut dbetaOut",
}


def uniform(seed, *shape, low=-1.0, high=1.0, dtype=np.float32):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def inputs_of(name, dtype=np.float32):
    """Small inputs of an operator, and the shapes and dtypes of its outputs."""
    f = np.dtype(dtype)
    if name == "aclnnHardswishBackward":
        return (
            {
                "gradOutput": uniform(0, 2, 5, dtype=f),
                "self": uniform(1, 2, 5, low=-5, high=5, dtype=f),
            },
            {"out": ((2, 5), f)},
        )
    if name == "aclnnRmsNormGrad":
        return (
            {
                "dy": uniform(0, 3, 4, dtype=f),
                "x": uniform(1, 3, 4, dtype=f),
                "rstd": uniform(2, 3, low=0.5, high=2),
                "gamma": uniform(3, 4, dtype=f),
            },
            {"dxOut": ((3, 4), f), "dgammaOut": ((4,), np.dtype(np.float32))},
        )
    if name == "aclnnGridSampler2DBackward":
        return (
            {
                "gradOutput": uniform(0, 1, 2, 2, 3, dtype=f),
                "input": uniform(1, 1, 2, 4, 5, dtype=f),
                "grid": uniform(2, 1, 2, 3, 2, dtype=f),
                "interpolationMode": 0,
                "paddingMode": 0,
                "alignCorners": False,
                "outputMask": (True, True),
            },
            {"inputGrad": ((1, 2, 4, 5), f), "gridGrad": ((1, 2, 3, 2), f)},
        )
    if name == "aclnnCrossEntropyLossGrad":
        return (
            {
                "gradLoss": np.asarray(0.5, f),
                "logProb": uniform(0, 4, 3, low=-2, high=-0.1, dtype=f),
                "target": np.int64([0, 2, 1, 2]),
                "weightOptional": None,
                "gradZlossOptional": None,
                "lseForZlossOptional": None,
                "reduction": "mean",
                "ignoreIndex": -100,
                "labelSmoothing": 0.0,
                "lseSquareScaleForZloss": 0.0,
            },
            {"xGradOut": ((4, 3), f)},
        )
    return (
        {
            "dy": uniform(0, 2, 4, 3, dtype=f),
            "mean": uniform(1, 2, 2, dtype=f),
            "rstd": uniform(2, 2, 2, low=0.5, high=2, dtype=f),
            "x": uniform(3, 2, 4, 3, dtype=f),
            "gamma": uniform(4, 4, dtype=f),
            "beta": uniform(5, 4, dtype=f),
            "numGroups": 2,
            "dataFormatOptional": None,
            "swishScale": 1.0,
            "dgammaIsRequire": True,
            "dbetaIsRequire": True,
        },
        {"dxOut": ((2, 4, 3), f), "dgammaOut": ((4,), f), "dbetaOut": ((4,), f)},
    )


def on_new_thread(work):
    """Run `work` on a thread of its own and return its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


class Program(program.Program):
    """The kit's program from start to finish; `finish` asserts that every call of the release succeeds."""

    def __init__(self, acl):
        super().__init__(Calls(acl))

    @property
    def stream(self):
        return self.calls.stream

    @stream.setter
    def stream(self, stream):
        self.calls.stream = stream

    def start(self):
        assert (self.acl.aclInit(None), self.acl.aclrtSetDevice(0)) == (0, 0)
        self.calls.stream = self.calls.call("aclrtCreateStream")
        return self

    def finish(self):
        acl = self.acl
        assert self.release() == []
        assert (
            acl.aclrtDestroyStream(self.stream),
            acl.aclrtResetDevice(0),
            acl.aclFinalize(),
        ) == (0, 0, 0)

    def empty(self, shape, dtype=np.float32):
        return self.view(self.malloc(int(np.prod(shape)) * np.dtype(dtype).itemsize), shape, dtype)

    def given(self, value):
        """An input as phase 1 takes it."""
        return self.argument(
            "aclTensor" if isinstance(value, np.ndarray) else "aclBoolArray", value
        )

    def arguments(self, name, inputs, outputs):
        """Phase 1's arguments in C order, from values, and the output tensors by name."""
        before, after = PARAMETERS[name].split("|")
        made = {key: self.empty(*outputs[key]) for key in after.split()}
        return [self.given(inputs[key]) for key in before.split()] + list(made.values()), made

    def phase_1(self, name, arguments):
        return getattr(self.acl, f"{name}GetWorkspaceSize")(*arguments)

    def phase_2(self, name, size, executor):
        workspace = self.malloc(size) if size else None
        return getattr(self.acl, name)(workspace, size, executor, self.stream)

    def queue(self, name, arguments):
        super().queue(name, arguments)
        self._queued = False  # a test waits itself, or shows what happens when nobody does

    def launch(self, name, arguments):
        self.queue(name, arguments)
        self.synchronise()

    def run(self, name, inputs=None, outputs=None):
        """Run an operator on values and return its outputs by name."""
        given, shapes = inputs_of(name)
        arguments, made = self.arguments(name, given | (inputs or {}), shapes | (outputs or {}))
        self.launch(name, arguments)
        return {key: self.fetch(tensor) for key, tensor in made.items()}
