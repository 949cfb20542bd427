"""What every implementation of the C API offers: C prototypes, and how they become Python methods.

A method takes the C arguments in C order without the out-pointers and the element counts, and returns what C returns,
followed by the out-values. The prototypes are read from C text, so that this table, the Python signatures and a binding
to the real libraries cannot disagree. `conversion` holds what is done with each argument.

Sources: `acl/acl_rt.h` and `acl/acl_base_rt.h` of the CANN runtime, `aclnn/acl_meta.h` and `aclnn/aclnn_base.h` of
nnopbase; "two-phase API", CANN documentation.
"""

import inspect
from dataclasses import dataclass
from functools import cached_property, wraps

from aclnn_viz.acl import conversion
from aclnn_viz.errors import problem
from aclnn_viz.operators import operators
from aclnn_viz.operators.contract import Contract, contract
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.prototype import parse

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

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);
aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, size_t index, aclTensor *tensor, void *address);
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, size_t index, aclTensor *tensor, void *address);
aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, size_t index, aclTensor *tensor, void *address);
"""


@dataclass(frozen=True)
class Function:
    """One function of the C API: its name, what it returns, and its parameters in C order."""

    name: str
    return_type: str
    parameters: tuple[Parameter, ...]

    @cached_property
    def inputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.role == "in")

    @cached_property
    def outputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.role == "out")

    @property
    def prototype(self) -> str:
        declared = ", ".join(f"{p.c_type} {p.name}".replace("* ", "*") for p in self.parameters)
        return f"{self.return_type} {self.name}({declared})".replace("* ", "*")

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the Python method; the object itself is positional-only, for one parameter is `self`."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter("acl", inspect.Parameter.POSITIONAL_ONLY)]
                                 + [inspect.Parameter(p.name, kind) for p in self.inputs])

    def convert(self, args: tuple, kwargs: dict) -> list:
        """Return the arguments in C order as the C types that they become; TypeError when C would not compile them."""
        names = [p.name for p in self.inputs]
        given = dict(zip(names, args))
        if len(args) + len(kwargs) != len(names) or given.keys() | kwargs.keys() != set(names):
            got = f"{len(args)} positional" + (f" and {', '.join(kwargs)} by keyword" if kwargs else "")
            raise TypeError(problem(f"{self.name} takes {len(names)} arguments", got,
                                    f"call {self.name}({', '.join(names)})"))
        given |= kwargs
        return [conversion.convert(self.name, p.name, p.c_type, given[p.name]) for p in self.inputs]


def functions_of(prototypes: str) -> tuple[Function, ...]:
    """Return the functions that C text declares.

    >>> [f.signature for f in functions_of("aclError aclrtMalloc(void **address, size_t size, int32_t policy);")]
    [<Signature (acl, /, size, policy)>]
    """
    return tuple(Function(one.name, one.return_type, one.parameters) for one in parse(prototypes))


def offer(functions: tuple[Function, ...]):
    """Decorate a class that has a plain method per function: check, convert, and document what callers pass."""

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


_EXECUTE = functions_of("aclnnStatus aclnnX(void *workspace, uint64_t workspace_size, aclOpExecutor *executor, "
                 "aclrtStream stream);")[0].parameters
_PREPARED = (Parameter("workspaceSize", "uint64_t *", "out"), Parameter("executor", "aclOpExecutor **", "out"))


def phases(operator: Contract) -> tuple[Function, Function]:
    """Return the two functions of an operator; the parameters have the documents' names.

    >>> [function.name for function in phases(contract("rms_norm"))]
    ['aclnnRmsNormGradGetWorkspaceSize', 'aclnnRmsNormGrad']
    """
    return (Function(f"{operator.aclnn_name}GetWorkspaceSize", "aclnnStatus", operator.parameters + _PREPARED),
            Function(operator.aclnn_name, "aclnnStatus", _EXECUTE))


#: Every method that an implementation has beside the two phases of each operator: the runtime and the meta objects.
RUNTIME = functions_of(PROTOTYPES)
#: All of them, with the operators of the house.
FUNCTIONS = RUNTIME + tuple(function for op in operators() for function in phases(contract(op)))


def operator_with(name: str) -> Contract | None:
    """Return the contract of the operator that has a function of this name, None when none has it.

    Operators from folders may come at any time; an implementation asks here when it lacks a method.
    """
    return next((contract(op) for op in operators() if name in (op.aclnn_name, f"{op.aclnn_name}GetWorkspaceSize")),
                None) if name.startswith("aclnn") else None
