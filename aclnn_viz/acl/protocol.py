"""Turn C prototypes into Python methods that check their arguments, so that the emulated C API and the real one accept the same
calls.

A method takes the C arguments in C order without the out-pointers and the element counts, and returns C's result followed by
the out-values. The prototypes are parsed from C text, so that this table, the Python signatures and a binding to the real
libraries cannot disagree. Arguments that C would not compile raise TypeError; all others are passed on. Integers wrap to the
width of their C type, `None` and 0 are the null pointer, handles are opaque and typed; `aclrtStream` and `aclrtContext` are
`void *` in C, so any pointer compiles there.

Sources: `acl/acl_rt.h` and `acl/acl_base_rt.h` of the CANN runtime, `aclnn/acl_meta.h` and `aclnn/aclnn_base.h` of nnopbase;
"two-phase API", CANN documentation.
"""

import inspect
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, wraps
from numbers import Real

import numpy as np

from aclnn_viz.errors import mistyped
from aclnn_viz.operators import operator as operator_of
from aclnn_viz.operators import operators, registry
from aclnn_viz.operators.contract import Contract, contract
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.prototype import INTEGERS, parse


class Handle:
    """An opaque pointer from the library; a handle equals only itself."""

    c_type = "void *"
    number = 0

    def __repr__(self) -> str:
        return f"<{self.c_type.rstrip(' *')} {self.number}>"


class Tensor(Handle):
    c_type = "aclTensor *"


class BoolArray(Handle):
    c_type = "aclBoolArray *"


class IntArray(Handle):
    c_type = "aclIntArray *"


class FloatArray(Handle):
    c_type = "aclFloatArray *"


class Scalar(Handle):
    c_type = "aclScalar *"


class Executor(Handle):
    c_type = "aclOpExecutor *"


class Stream(Handle):
    c_type = "aclrtStream"


class Context(Handle):
    c_type = "aclrtContext"


#: The kinds of array of plain values.
ARRAYS = (BoolArray, IntArray, FloatArray)
_HANDLES = {cls.c_type: cls for cls in (Tensor, *ARRAYS, Scalar, Executor)}


class _Refused(Exception):
    """A refused argument; the text says what the parameter must be, and how to mend the call."""


def convert(function: str, name: str, c_type: str, value):
    """Return `value` as the C parameter would hold it; raise TypeError if C would not compile the call.

    >>> convert("aclrtSetDevice", "device_id", "int32_t", 2**32 + 1)
    1
    """
    plain = c_type.removeprefix("const ")
    try:
        if plain in INTEGERS:
            return _integer(value, *INTEGERS[plain])
        if plain == "double":
            return _double(value)
        if plain == "float":
            return _float(value)
        if plain == "bool":
            return _bool(value)
        if value is None or _is_integer(value) and value == 0:
            return None
        if plain in _HANDLES:
            return _handle(value, _HANDLES[plain])
        if plain == "char *":
            return _string(value)
        if plain == "int64_t *":
            return tuple(_integer(v, 64, True) for v in _elements(value, "integers"))
        if plain == "bool *":
            return tuple(_bool(v) for v in _elements(value, "booleans"))
        if plain == "float *":
            return tuple(_float(v) for v in _elements(value, "numbers"))
        return _pointer(value, writable=not c_type.startswith("const "))
    except _Refused as refused:
        must_be, fix = refused.args
        got = f"{value!r:.60} ({type(value).__name__})"
        raise mistyped(f"{function}: {name} ({c_type}) must be {must_be}", got, fix) from None


def _is_integer(value) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _integer(value, bits: int, signed: bool) -> int:
    try:
        value = operator.index(value)
    except TypeError:
        raise _Refused("an integer", "pass an int") from None
    value %= 1 << bits
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _double(value) -> float:
    if not isinstance(value, Real):
        raise _Refused("a number", "pass a float")
    try:
        return float(value)
    except OverflowError:  # the number is too large for a double, which C would not compile
        return math.inf if value > 0 else -math.inf


def _float(value) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(_double(value)))


def _bool(value) -> bool:
    if not isinstance(value, (bool, np.bool_, int, np.integer)):
        raise _Refused("a boolean", "pass True or False")
    return bool(value)


def _string(value) -> str:
    if not isinstance(value, str):
        raise _Refused("a string or null", "pass a str, or None for the null pointer")
    return str(value).partition("\0")[0]


def _handle(value, kind: type) -> Handle:
    if not isinstance(value, kind):
        raise _Refused(
            f"an {kind.c_type.rstrip(' *')} or null",
            "pass the handle that the C API returned, or None",
        )
    return value


def _elements(value, what: str) -> list:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise _Refused(
            f"a sequence of {what} or null", "pass a tuple or a list, or None for the null pointer"
        )
    return list(value)


def _pointer(value, writable: bool):
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise _Refused("memory of numbers", "pass an array of a numeric dtype")
        if not value.flags.c_contiguous:
            raise _Refused("one dense block of memory", "pass numpy.ascontiguousarray(array)")
        if writable and not value.flags.writeable:
            raise _Refused("memory that may be written", "pass a writeable array")
        return value
    if isinstance(value, Handle):
        return value
    if _is_integer(value):
        return int(value) % (1 << 64)
    raise _Refused(
        "a device address, a NumPy array or null", "pass an int from aclrtMalloc, an array, or None"
    )


PROTOTYPES = """
aclError aclInit(const char *config_path);
aclError aclFinalize();
aclError aclFinalizeReference(uint64_t *reference_count);
const char *aclGetRecentErrMsg();
size_t aclDataTypeSize(aclDataType dtype);
aclError aclGetCannAttribute(aclCannAttr attribute, int32_t *value);

aclError aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch);
const char *aclrtGetSocName();
aclError aclrtGetDeviceCount(uint32_t *count);
aclError aclrtSetDevice(int32_t device_id);
aclError aclrtResetDevice(int32_t device_id);
aclError aclrtResetDeviceForce(int32_t device_id);
aclError aclrtGetDevice(int32_t *device_id);
aclError aclrtSynchronizeDevice();
aclError aclrtCreateContext(aclrtContext *context, int32_t device_id);
aclError aclrtDestroyContext(aclrtContext context);
aclError aclrtSetCurrentContext(aclrtContext context);
aclError aclrtGetCurrentContext(aclrtContext *context);
aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value);
aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t *value);
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value);
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt option, int64_t *value);

aclError aclrtCreateStream(aclrtStream *stream);
aclError aclrtDestroyStream(aclrtStream stream);
aclError aclrtDestroyStreamForce(aclrtStream stream);
aclError aclrtSynchronizeStream(aclrtStream stream);
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

aclError aclrtMalloc(void **address, size_t size, aclrtMemMallocPolicy policy);
aclError aclrtFree(void *address);
aclError aclrtMemcpy(void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind);
aclError aclrtMemset(void *address, size_t max_count, int32_t value, size_t count);
aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t *free, size_t *total);

aclnnStatus aclnnInit(const char *config_path);
aclnnStatus aclnnFinalize();
aclTensor *aclCreateTensor(const int64_t *view_dims, uint64_t view_dims_num, aclDataType dtype, const int64_t *strides,
                           int64_t offset, aclFormat format, const int64_t *storage_dims, uint64_t storage_dims_num,
                           void *address);
aclnnStatus aclDestroyTensor(const aclTensor *tensor);
aclBoolArray *aclCreateBoolArray(const bool *values, uint64_t values_num);
aclnnStatus aclDestroyBoolArray(const aclBoolArray *array);
aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **view_dims, uint64_t *view_dims_num);
aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **strides, uint64_t *strides_num);
aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset);
aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storage_dims, uint64_t *storage_dims_num);
aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format);
aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dtype);
aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size);
aclIntArray *aclCreateIntArray(const int64_t *values, uint64_t values_num);
aclnnStatus aclDestroyIntArray(const aclIntArray *array);
aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size);
aclFloatArray *aclCreateFloatArray(const float *values, uint64_t values_num);
aclnnStatus aclDestroyFloatArray(const aclFloatArray *array);
aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size);
aclScalar *aclCreateScalar(void *value, aclDataType dtype);
aclnnStatus aclDestroyScalar(const aclScalar *scalar);

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);
aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, size_t index, aclTensor *tensor, void *address);
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, size_t index, aclTensor *tensor, void *address);
aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, size_t index, aclTensor *tensor, void *address);
"""


@dataclass(frozen=True)
class Function:
    """One function of the C API: its name, return type, and parameters in C order."""

    name: str
    return_type: str
    parameters: tuple[Parameter, ...]

    @cached_property
    def inputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.role == "in")

    @cached_property
    def outputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.role == "out")

    @cached_property
    def nothing(self) -> tuple:
        """Return the out-values of a failed call."""
        return tuple(0 if p.name == "workspaceSize" else None for p in self.outputs)

    @property
    def prototype(self) -> str:
        declared = ", ".join(f"{p.c_type} {p.name}".replace("* ", "*") for p in self.parameters)
        return f"{self.return_type} {self.name}({declared})".replace("* ", "*")

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the Python method; the object itself is positional-only, because one parameter is `self`."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [inspect.Parameter("acl", inspect.Parameter.POSITIONAL_ONLY)]
            + [inspect.Parameter(p.name, kind) for p in self.inputs]
        )

    def convert(self, args: tuple, kwargs: dict) -> list:
        """Return the arguments in C order, converted to C types; raise TypeError if C would not compile them."""
        names = [p.name for p in self.inputs]
        given = dict(zip(names, args))
        if len(args) + len(kwargs) != len(names) or given.keys() | kwargs.keys() != set(names):
            got = f"{len(args)} positional" + (
                f" and {', '.join(kwargs)} by keyword" if kwargs else ""
            )
            raise mistyped(
                f"{self.name} takes {len(names)} arguments",
                got,
                f"call {self.name}({', '.join(names)})",
            )
        given |= kwargs
        return [convert(self.name, p.name, p.c_type, given[p.name]) for p in self.inputs]


def functions_of(prototypes: str) -> tuple[Function, ...]:
    """Return the functions that C text declares.

    >>> [f.signature for f in functions_of("aclError aclrtMalloc(void **address, size_t size, int32_t policy);")]
    [<Signature (acl, /, size, policy)>]
    """
    return tuple(Function(one.name, one.return_type, one.parameters) for one in parse(prototypes))


def offer(functions: tuple[Function, ...]):
    """Return a class decorator that adds checks, conversions and documentation to the method of each function."""

    def decorate(cls):
        for function in functions:
            setattr(cls, function.name, _method(function, getattr(cls, function.name)))
        return cls

    return decorate


def _method(function: Function, implementation):
    @wraps(implementation)
    def method(acl, /, *args, **kwargs):
        return implementation(acl, *function.convert(args, kwargs))

    method.__name__ = function.name
    method.__doc__ = f"{function.prototype}\n\n{inspect.getdoc(implementation) or ''}".strip()
    method.__signature__ = function.signature
    return method


_EXECUTE = functions_of(
    "aclnnStatus aclnnX(void *workspace, uint64_t workspace_size, aclOpExecutor *executor, "
    "aclrtStream stream);"
)[0].parameters
_PREPARED = (
    Parameter("workspaceSize", "uint64_t *", "out"),
    Parameter("executor", "aclOpExecutor **", "out"),
)


def phases(operator: Contract) -> tuple[Function, Function]:
    """Return the two functions of an operator; the parameters have the documents' names.

    >>> [function.name for function in phases(contract("rms_norm"))]
    ['aclnnRmsNormGradGetWorkspaceSize', 'aclnnRmsNormGrad']
    """
    return (
        Function(
            f"{operator.aclnn_name}GetWorkspaceSize", "aclnnStatus", operator.parameters + _PREPARED
        ),
        Function(operator.aclnn_name, "aclnnStatus", _EXECUTE),
    )


#: The methods of an implementation beside the two phases of each operator: the runtime and the meta objects.
RUNTIME = functions_of(PROTOTYPES)
#: All functions, including those of the kit's operators.
FUNCTIONS = RUNTIME + tuple(function for op in operators() for function in phases(contract(op)))


def current(own: Contract) -> Contract:
    """Return the contract of the operator with the vendor's name of `own` that was opened from a folder, else `own`."""
    later = (op for op in map(operator_of, registry.outside()) if op.aclnn_name == own.aclnn_name)
    return next(map(contract, later), own)


def operator_with(name: str) -> Contract | None:
    """Return the contract of the operator that has a function of this name, or None.

    Operators from folders may be opened at any time; an implementation calls this when it lacks a method.
    """
    return (
        next(
            (
                contract(op)
                for op in operators()
                if name in (op.aclnn_name, f"{op.aclnn_name}GetWorkspaceSize")
            ),
            None,
        )
        if name.startswith("aclnn")
        else None
    )
