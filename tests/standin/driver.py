"""Calls the stand-in's C functions from Python: prototypes from its headers, sessions, arguments of the operators."""

import ctypes
import json
import os
import re
import signal
import sys
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

ACL_FLOAT, ACL_FLOAT16, ACL_INT32, ACL_INT64, ACL_DOUBLE, ACL_BF16 = 0, 1, 3, 9, 11, 27
ND = 2
H2D, D2H = 1, 2
POISON = 0xA5A5A5A5  # four bytes of fresh memory

_TYPES = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
          "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "double": ctypes.c_double, "float": ctypes.c_float,
          "bool": ctypes.c_bool, "aclFloat16": ctypes.c_uint16}


def ctype(text):
    text = text.replace("const ", "").strip()
    if text.endswith("*") or text in ("aclrtStream", "aclrtContext", "aclrtEvent"):
        return ctypes.c_char_p if text == "char *" else ctypes.c_void_p
    return _TYPES.get(text, ctypes.c_int)  # enumerations and statuses


@cache  # a child that is forked later has them already
def prototypes(include):
    """Return {name: (result type, [parameter types])} of every function that the headers declare."""
    found = {}
    for header in sorted(Path(include).rglob("*.h")):
        text = re.sub(r"//.*|^#.*", "", header.read_text(), flags=re.MULTILINE)
        for result, name, parameters in re.findall(r"((?:const )?\w+[ ]\*?)(\w+)\(([^)]*)\);", text):
            names = [re.sub(r"\w+$", "", part.strip()) for part in parameters.split(",")]
            found[name] = result.strip(), [] if parameters in ("", "void") else [n.strip() for n in names]
    return found


class Failed(Exception):
    def __init__(self, call, status):
        super().__init__(call, status)
        self.call, self.status = call, status


class Library:
    """The C functions of a root as methods, with argtypes from its headers; libraries in `first` come before."""

    def __init__(self, root, *first):
        root = Path(root)
        order = ("ascendcl", "acl_rt", "nnopbase", "opapi", "opapi_nn", "opapi_cv")
        paths = [*first, *(path for name in order if (path := root / "lib64" / f"lib{name}.so").exists())]
        self._libraries = [ctypes.CDLL(str(path)) for path in paths]
        self._prototypes = prototypes(root / "include")

    def __getattr__(self, name):
        for library in self._libraries:
            if hasattr(library, name):
                function = library[name]
                result, parameters = self._prototypes[name]
                function.restype, function.argtypes = ctype(result), [ctype(p) for p in parameters]
                setattr(self, name, function)
                return function
        raise AttributeError(name)

    def misuse(self):
        return [self.standin_misuse_text(k).decode() for k in range(self.standin_misuse_count())]

    def calls(self):
        return [self.standin_call(k).decode() for k in range(self.standin_calls())]

    def ok(self, name, *arguments):
        """Call and raise Failed unless the status is 0."""
        status = getattr(self, name)(*arguments)
        if status:
            raise Failed(name, status)

    def out(self, name, kind, *arguments):
        """Call with one out-pointer in front and return what it got."""
        value = kind()
        self.ok(name, ctypes.byref(value), *arguments)
        return value.value


def dtype_code(array):
    codes = {"float32": ACL_FLOAT, "float16": ACL_FLOAT16, "bfloat16": ACL_BF16, "float64": ACL_DOUBLE,
             "int64": ACL_INT64, "int32": ACL_INT32}
    return codes[array.dtype.name]


def int64s(values):
    return (ctypes.c_int64 * len(values))(*values)


class Session(Library):
    """A library with device 0 set and one stream."""

    def __init__(self, root, *first):
        super().__init__(root, *first)
        self.ok("aclInit", None)
        self.ok("aclrtSetDevice", 0)
        self.stream = self.out("aclrtCreateStream", ctypes.c_void_p)
        self.tensors, self.memory = [], []

    def malloc(self, size):
        self.memory.append(self.out("aclrtMalloc", ctypes.c_void_p, size, 0))
        return self.memory[-1]

    def put(self, array):
        """Copy an array to the device and return its address."""
        address = self.malloc(max(array.nbytes, 1))
        self.ok("aclrtMemcpy", address, array.nbytes, array.ctypes.data, array.nbytes, H2D)
        return address

    def view(self, address, shape, code, strides=None, offset=0, storage=None):
        storage = shape if storage is None else storage
        tensor = self.aclCreateTensor(int64s(shape), len(shape), code, None if strides is None else int64s(strides),
                                      offset, ND, int64s(storage), len(storage), address)
        if not tensor:
            raise Failed("aclCreateTensor", None)
        self.tensors.append(tensor)
        return tensor

    def tensor(self, array):
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        return self.view(self.put(array), array.shape, dtype_code(array))

    def bools(self, values):
        array = self.aclCreateBoolArray((ctypes.c_bool * len(values))(*values), len(values))
        if not array:
            raise Failed("aclCreateBoolArray", None)
        return array

    def get(self, address, shape, dtype):
        array = np.empty(shape, dtype)
        self.ok("aclrtMemcpy", array.ctypes.data, array.nbytes, address, array.nbytes, D2H)
        return array

    def phase1(self, op, *arguments):
        """Return (status, workspace size, executor)."""
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        status = getattr(self, op + "GetWorkspaceSize")(*arguments, ctypes.byref(size), ctypes.byref(executor))
        return status, size.value, executor.value

    def launch(self, op, *arguments):
        status, size, executor = self.phase1(op, *arguments)
        if status:
            raise Failed(op + "GetWorkspaceSize", status)
        self.ok(op, self.malloc(size) if size else None, size, executor, self.stream)

    def run(self, op, *arguments):
        self.launch(op, *arguments)
        self.ok("aclrtSynchronizeStream", self.stream)

    def close(self):
        for tensor in self.tensors:
            self.ok("aclDestroyTensor", tensor)
        for address in self.memory:
            self.ok("aclrtFree", address)
        self.ok("aclrtDestroyStream", self.stream)
        self.ok("aclrtResetDevice", 0)
        self.ok("aclFinalize")

    # small operator calls that the cases below vary

    def three(self, shape=(2, 3), dtype=np.float32):
        """gradOutput, self and out of a hardswish, and the address of out."""
        grad, x = np.ones(shape, dtype), np.full(shape, 1.5, dtype)
        address = self.malloc(grad.nbytes)
        return self.tensor(grad), self.tensor(x), self.view(address, shape, dtype_code(grad)), address


HARDSWISH, RMS, GRID, CE, GN = ("aclnnHardswishBackward", "aclnnRmsNormGrad", "aclnnGridSampler2DBackward",
                                "aclnnCrossEntropyLossGrad", "aclnnGroupNormSwishGrad")


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def bf16(*shape):
    return np.ones(shape, ml_dtypes.bfloat16)


# The arguments of phase 1, as small valid tensors; what is given by name replaces one, None makes it a null pointer.

def hardswish_arguments(s, shape=(2, 3), dtype=np.float32, **replace):
    arrays = dict.fromkeys(("gradOutput", "self", "out"), np.ones(shape, dtype)) | replace
    return [array if array is None else s.tensor(array) for array in arrays.values()]


def rms_arguments(s, shape=(4, 8), **replace):
    arrays = {"dy": np.ones(shape, np.float32), "x": np.ones(shape, np.float32),
              "rstd": np.ones(shape[:1], np.float32), "gamma": np.ones(shape[1:], np.float32),
              "dxOut": np.zeros(shape, np.float32), "dgammaOut": np.zeros(shape[1:], np.float32)} | replace
    return [array if array is None else s.tensor(array) for array in arrays.values()]


def grid_arguments(s, mode=0, padding=0, align=False, mask=(True, True), dtype=np.float32, **replace):
    arrays = {"gradOutput": np.ones((1, 1, 2, 2), dtype), "input": np.ones((1, 1, 3, 3), dtype),
              "grid": np.zeros((1, 2, 2, 2), dtype), "inputGrad": np.zeros((1, 1, 3, 3), dtype),
              "gridGrad": np.zeros((1, 2, 2, 2), dtype)} | replace
    g, x, at, dx, dg = (array if array is None else s.tensor(array) for array in arrays.values())
    bools = None if mask is None else s.bools(mask)
    return g, x, at, mode, padding, align, bools, dx, dg


def ce_arguments(s, reduction=b"mean", smoothing=0.0, zloss=0.0, ignore=-100, gradLoss=np.float32(1), target=(0, 1),
                 logProb=np.zeros((2, 3), np.float32), weight=None, target_dtype=np.int64, out=None):
    out = np.zeros_like(logProb) if out is None else out
    tensors = [s.tensor(np.asarray(gradLoss)), s.tensor(logProb), s.tensor(np.asarray(target, target_dtype))]
    return [*tensors, None if weight is None else s.tensor(weight), None, None, reduction, ignore, smoothing, zloss,
            s.tensor(out)]


def gn_arguments(s, shape=(2, 4, 3), groups=2, scale=1.0, flags=(True, True), dtype=np.float32, **replace):
    channels = (shape[1],)
    arrays = {"dy": np.ones(shape, dtype), "mean": np.zeros((shape[0], groups), dtype),
              "rstd": np.ones((shape[0], groups), dtype), "x": np.ones(shape, dtype), "gamma": np.ones(channels, dtype),
              "beta": np.ones(channels, dtype), "dx": np.zeros(shape, dtype), "dgamma": np.full(channels, 9, dtype),
              "dbeta": np.full(channels, 9, dtype)} | replace
    tensors = [array if array is None else s.tensor(array) for array in arrays.values()]
    return [*tensors[:6], groups, b"NCHW", scale, *flags, *tensors[6:]]


CASES = {}


def case(result=0, misuse=None, **environment):
    """Register a case: what it returns, and a pattern of the one misuse that it records (None: no misuse)."""
    def register(function):
        CASES[function.__name__] = {"run": function, "result": result, "misuse": misuse, "environment": environment}
        return function
    return register


def in_child(work, environment=()):
    """Run in a forked child; return its answer, or the text of what it raised, or the name of the signal it died of."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        try:
            answer = work()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(send, json.dumps(answer).encode())
        os.close(send)
        sys.stdout.flush()
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        text = pipe.read()
    _, code = os.waitpid(child, 0)
    if os.WIFSIGNALED(code):
        return signal.Signals(os.WTERMSIG(code)).name
    return json.loads(text)
