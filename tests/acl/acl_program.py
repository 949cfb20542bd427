"""A program over any implementation of the C API, like a C++ sample: start, run operators, leave nothing."""

import threading

import numpy as np

from aclnn_viz import case
from aclnn_viz.acl import program
from aclnn_viz.acl.program import Calls

FLOAT, INT64, ND = 0, 9, 2
TO_DEVICE, TO_HOST = 1, 2

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


#: Options of a small case.
SMALL = {
    "aclnnHardswishBackward": {"shape": (2, 5)},
    "aclnnRmsNormGrad": {"shape": (3, 4), "rstd": np.float32([0.7, 1.1, 1.9])},
    "aclnnGridSampler2DBackward": {"shape": (1, 2, 4, 5), "grid_shape": (2, 3)},
    "aclnnCrossEntropyLossGrad": {
        "shape": (4, 3),
        "target": np.int64([0, 2, 1, 2]),
        "gradLoss": 0.5,
        "weightOptional": None,
    },
    "aclnnGroupNormSwishGrad": {"shape": (2, 4, 3), "numGroups": 2},
}


def inputs_of(name, dtype=np.float32):
    """Return small inputs of an operator, and the shapes and dtypes of its outputs."""
    small = case(name, dtype=np.dtype(dtype).name, **SMALL[name])
    op, inputs = small.operator, small.operator.bind(small.inputs)
    results = op.arrange_backward(**inputs).results
    return inputs, {k: (r.documented_shape, r.format.numpy) for k, r in results.items()}


def on_new_thread(work):
    """Run `work` on a new thread and return its result."""
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
        """Return an input as phase 1 takes it."""
        return self.argument(
            "aclTensor" if isinstance(value, np.ndarray) else "aclBoolArray", value
        )

    def arguments(self, name, inputs=None, outputs=None):
        """Return phase 1's arguments in C order, from values, and the output tensors by name."""
        usual, shapes = inputs_of(name)
        inputs, outputs = usual | (inputs or {}), shapes | (outputs or {})
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
        self._queued = False  # a test waits itself, or shows the effect of no wait

    def launch(self, name, arguments):
        self.queue(name, arguments)
        self.synchronise()

    def run(self, name, inputs=None, outputs=None):
        """Run an operator on values and return its outputs by name."""
        arguments, made = self.arguments(name, inputs, outputs)
        self.launch(name, arguments)
        return {key: self.fetch(tensor) for key, tensor in made.items()}
