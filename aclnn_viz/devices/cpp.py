"""Write one test case as a complete C++ program that calls the operator in CANN's two phases, for a machine with CANN.

Source: "two-phase API" and the sample programs of the operators, CANN documentation.
"""

from string import Template
from textwrap import wrap

import numpy as np

from aclnn_viz.cases.case import inputs_of
from aclnn_viz.dtypes import BFLOAT16, FLOAT16, PLAIN
from aclnn_viz.errors import invalid
from aclnn_viz.operators import operator

FROM_AND_TO_FLOAT16 = """
// The numbers below are exact in float16, so nothing is rounded here.
std::vector<uint16_t> ToFloat16(const std::vector<float> &values) {
    std::vector<uint16_t> packed;
    for (float value : values) {
        int exponent = 0;
        uint16_t sign = std::signbit(value) ? 0x8000 : 0;
        float fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
        uint16_t bits = 0x7c00;                                    // infinity
        if (std::isnan(value)) {
            bits = 0x7e00;
        } else if (value == 0 || exponent < -13) {  // a zero or a subnormal number
            bits = uint16_t(std::ldexp(std::fabs(value), 24));
        } else if (std::isfinite(value)) {
            bits = uint16_t(((exponent + 14) << 10) + int(std::ldexp(fraction, 11)) - 1024);
        }
        packed.push_back(sign | bits);
    }
    return packed;
}

double FromFloat16(uint16_t bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                  : exponent == 0 ? std::ldexp(fraction, -24)
                                  : std::ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -size : size;
}
"""

FROM_AND_TO_BFLOAT16 = """
// bfloat16 is the upper half of float32, and the numbers below are exact in it.
std::vector<uint16_t> ToBfloat16(const std::vector<float> &values) {
    std::vector<uint16_t> packed;
    for (float value : values) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        packed.push_back(uint16_t(bits >> 16));
    }
    return packed;
}

double FromBfloat16(uint16_t packed) {
    uint32_t bits = uint32_t(packed) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
"""

PROGRAM = Template(r"""$about
//
// Build after `source set_env.sh`; with CANN 8 the libraries are -lopapi -lnnopbase -lascendcl:
//   g++ -std=c++17 sample.cpp -I$$ASCEND_HOME_PATH/include -L$$ASCEND_HOME_PATH/lib64 -l$library -lnnopbase -lacl_rt

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/$header"

#define CHECK(call)                                                                     \
    do {                                                                                \
        int status_ = (call);                                                           \
        if (status_ != 0) {                                                             \
            const char *text_ = aclGetRecentErrMsg();                                   \
            printf("%s failed with %d %s\n", #call, status_, text_ ? text_ : "");       \
            return status_;                                                             \
        }                                                                               \
    } while (0)

template <typename T>
struct Tensor {
    aclTensor *handle = nullptr;
    void *address = nullptr;
    size_t size = 0;
};

template <typename T>
double Same(T value) {
    return value;
}
$helpers
// Allocates device memory, copies the data there, and describes it as a dense tensor.
template <typename T>
int Create(const std::vector<T> &data, const std::vector<int64_t> &shape, aclDataType type, aclFormat format,
           Tensor<T> *tensor) {
    size_t bytes = data.size() * sizeof(T);
    tensor->size = data.size();
    CHECK(aclrtMalloc(&tensor->address, std::max<size_t>(bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST));  // 0 is refused
    CHECK(aclrtMemcpy(tensor->address, bytes, data.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    tensor->handle = aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, format, shape.data(), shape.size(),
                                     tensor->address);  // null strides: dense
    return tensor->handle ? 0 : 1;
}

template <typename T>
int Print(const char *name, const Tensor<T> &tensor, double (*number)(T)) {
    std::vector<T> host(tensor.size);
    size_t bytes = host.size() * sizeof(T);
    CHECK(aclrtMemcpy(host.data(), bytes, tensor.address, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    int digits = sizeof(T) == 8 ? 17 : 9;  // enough for every value
    for (size_t i = 0; i < host.size(); i++) printf("%s[%zu] = %.*g\n", name, i, digits, number(host[i]));
    return 0;
}

template <typename T>
int Destroy(const Tensor<T> &tensor) {
    CHECK(aclDestroyTensor(tensor.handle));
    CHECK(aclrtFree(tensor.address));
    return 0;
}

int main() {
    // 1. Initialise ACL, a device and a stream; ask for deterministic kernels in both places that versions read.
    aclrtStream stream = nullptr;
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    CHECK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    CHECK(aclrtCreateStream(&stream));

    // 2. Inputs, and outputs that show what is not written.
$create
$attributes
    // 3. Phase 1 checks the call and returns the workspace it needs.
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(${name}GetWorkspaceSize(
        $arguments,
        &workspaceSize, &executor));
    void *workspace = nullptr;
    if (workspaceSize > 0) CHECK(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));

    // 4. Phase 2 queues the work on the stream; a fault of the kernel shows when the stream is synchronised.
    CHECK($name(workspace, workspaceSize, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    // 5. Results.
$print

    // 6. Release in the opposite order.
    if (workspace) CHECK(aclrtFree(workspace));
$destroy_arrays$destroy
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
""")


# most numbers of a C++ sample: 3 MB of text; an explorer's largest state has 203 thousand
LONGEST_TEXT = 1 << 18
_WIDTH = 100

#: For each dtype: C++ element, aclDataType, conversion of written numbers to elements, and its
#: inverse.
_TYPES = {
    np.dtype(np.float32): ("float", "ACL_FLOAT", "", "Same<float>"),
    np.dtype(np.float64): ("double", "ACL_DOUBLE", "", "Same<double>"),
    **{
        np.dtype(name): (
            f"{name}_t" if name != "bool" else "uint8_t",
            f"ACL_{name.upper()}",
            "",
            "",
        )
        for name in PLAIN
    },
    FLOAT16.numpy: ("uint16_t", "ACL_FLOAT16", "ToFloat16", "FromFloat16"),
    BFLOAT16.numpy: ("uint16_t", "ACL_BF16", "ToBfloat16", "FromBfloat16"),
}
REPEATED = """
// Numbers that come often in a row: how often, and which.
template <typename T>
std::vector<T> Repeated(const std::vector<std::pair<size_t, T>> &runs) {
    std::vector<T> values;
    for (auto [count, value] : runs) values.insert(values.end(), count, value);
    return values;
}
"""
#: For each kind of parameter: the vendor's array type and its C++ element.
_ARRAYS = {
    "bools": ("BoolArray", "bool"),
    "ints": ("IntArray", "int64_t"),
    "floats": ("FloatArray", "float"),
}
_HELPERS = {"ACL_FLOAT16": FROM_AND_TO_FLOAT16, "ACL_BF16": FROM_AND_TO_BFLOAT16}


def cpp_sample(op, case) -> str:
    """Return a C++17 program that runs the operator in both phases and prints its outputs.

    Parameters
    ----------
    op : Operator or str
        An operator, or its name.
    case : Case or dict of str to array or value
        A case, or inputs by the vendor's names; the program has their shapes, attributes, dtypes
        and data.

    Returns
    -------
    str
        The source. A line of its output reads `dxOut[3] = 0.25`.

    Raises
    ------
    ValueError
        For a case of another operator or with more than 262,144 numbers.
    TypeError
        For inputs that do not fit, as `op.backward` does.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> from aclnn_viz.devices.cpp import cpp_sample
    >>> print(cpp_sample("hardswish", av.case("hardswish", shape=(2,))).splitlines()[0])
    // aclnnHardswishBackward in both phases: gradOutput float32 [2], self float32 [2].
    """
    op = operator(op)
    bound = inputs_of(op, case)
    wanted = op.arrange_backward(**bound).results
    outputs = op.arrange_backward(**bound | op.all_outputs).results
    inputs = {name: value for name, value in bound.items() if isinstance(value, np.ndarray)}
    count = sum(_runs(value).size for value in inputs.values())
    if count > LONGEST_TEXT:
        raise invalid(
            f"a C++ sample holds at most {LONGEST_TEXT} numbers",
            f"{count} in {_shapes(inputs)}",
            "draw the case with a smaller shape=",
        )
    shapes = {name: (value.shape, _TYPES[value.dtype]) for name, value in inputs.items()} | {
        name: (result.documented_shape, _TYPES[np.dtype(result.format.numpy)])
        for name, result in outputs.items()
    }
    layout = {name: f"ACL_FORMAT_{op.tensors[name].layout}" for name in shapes}
    created = [_input(name, value, layout[name]) for name, value in inputs.items()]
    created += [_output(name, *shapes[name], layout[name]) for name in outputs]
    arguments, extra, arrays = _arguments(op, bound, shapes)
    codes = {kind[1] for _, kind in shapes.values()}
    return PROGRAM.substitute(
        name=op.aclnn_name,
        about=_about(op, inputs, bound),
        header=op.header,
        library=op.library.replace("ops-", "opapi_"),  # name of the library in CANN 9
        helpers="".join(text for code, text in _HELPERS.items() if code in codes)
        + REPEATED * any("Repeated" in one for one in created),
        create="\n".join(created),
        attributes="".join(f"    {line}\n" for line in extra),
        arguments=_lines(arguments),
        print="\n".join(
            f'    CHECK(Print("{name}", {name}, {shapes[name][1][3]}));' for name in wanted
        ),
        destroy="\n".join(f"    CHECK(Destroy({name}));" for name in shapes),
        destroy_arrays="".join(
            f"    CHECK(aclDestroy{kind}({name}));\n" for name, kind in arrays.items()
        ),
    )


def _about(op, inputs, bound) -> str:
    attributes = [
        f"{name} {_attribute(value)}" for name, value in bound.items() if name not in inputs
    ]
    text = f"{op.aclnn_name} in both phases: {_shapes(inputs)}" + (
        f"; {', '.join(attributes)}" if attributes else ""
    )
    return "\n".join(f"// {line}" for line in wrap(f"{text}.", _WIDTH, break_on_hyphens=False))


def _shapes(inputs) -> str:
    return ", ".join(f"{name} {value.dtype} {list(value.shape)}" for name, value in inputs.items())


def _runs(value: np.ndarray) -> np.ndarray:
    """Return the flat indices of the elements that the program lists: all, or the first of each run of equal whole
    numbers if runs are long.
    """
    flat = value.ravel()
    starts = np.flatnonzero(np.append(True, flat[1:] != flat[:-1]))
    return (
        starts
        if value.dtype.kind in "biu" and 16 * starts.size < flat.size
        else np.arange(flat.size)
    )


def _input(name: str, value: np.ndarray, layout: str) -> str:
    element, code, pack, _ = _TYPES[value.dtype]
    flat, starts = np.ascontiguousarray(value).ravel(), _runs(value)
    if starts.size < flat.size:
        runs = _lines(
            [
                f"{{{count}, {int(flat[at])}}}"
                for at, count in zip(starts, np.diff(starts, append=flat.size))
            ]
        )
        return _create(
            name,
            element,
            f" = Repeated<{element}>({{\n        {runs}}})",
            value.shape,
            code,
            layout,
        )
    numbers = _lines([_number(number) for number in flat])
    numbers = f"\n        {numbers}" if "\n" in numbers else numbers
    data = f" = {pack}({{{numbers}}})" if pack else f" = {{{numbers}}}"
    return _create(name, element, data, value.shape, code, layout)


def _output(name: str, shape: tuple, kind: tuple, layout: str) -> str:
    element, code, pack, _ = kind
    size = int(np.prod(shape))
    # a nan marks elements that the operator does not write
    unwritten = "0xFFFF" if pack else "NAN"
    return _create(name, element, f"({size}, {unwritten})", shape, code, layout)


def _create(name, element, data, shape, code, layout) -> str:
    dims = ", ".join(map(str, shape))
    return (
        f"    std::vector<{element}> {name}Data{data};\n"
        f"    Tensor<{element}> {name};\n"
        f"    CHECK(Create({name}Data, {{{dims}}}, {code}, {layout}, &{name}));"
    )


def _arguments(op, bound, shapes) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the arguments of phase 1 in C order, the declarations of arguments that are not tensors, and the kinds to destroy."""
    arguments, lines, arrays = [], [], {}
    for parameter in op.c_parameters:
        name = parameter.name
        value = bound.get(name)
        if name in shapes:
            arguments.append(f"{name}.handle")
        elif value is None:
            arguments.append("nullptr")
        elif parameter.kind in _ARRAYS:
            kind, element = _ARRAYS[parameter.kind]
            lines += [
                f"const {element} {name}Values[] = {{{', '.join(map(_attribute, value))}}};",
                f"acl{kind} *{name} = aclCreate{kind}({name}Values, {len(value)});",
            ]
            arguments.append(name)
            arrays[name] = kind
        elif parameter.c_type.endswith("aclScalar *"):
            lines += [
                f"double {name}Value = {_attribute(value)};",
                f"aclScalar *{name} = aclCreateScalar(&{name}Value, ACL_DOUBLE);",
            ]
            arguments.append(name)
            arrays[name] = "Scalar"
        elif parameter.kind == "str":
            lines.append(
                f"char {name}[] = {_attribute(value)};  // must live until the stream is synchronised"
            )
            arguments.append(name)
        else:
            arguments.append(_attribute(value))
    return arguments, lines, arrays


def _attribute(value) -> str:
    """Return a value in C++ syntax; bytes beyond ASCII in octal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = "".join(
            chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}"
            for b in value.encode()
        )
        return f'"{plain}"'
    if isinstance(value, tuple):
        return f"{{{', '.join(map(_attribute, value))}}}"
    if value is None:
        return "null"
    return _number(np.float64(value) if isinstance(value, float) else np.int64(value))


def _number(value) -> str:
    """Return the shortest text that reads back as the same value; 16-bit formats are written as float."""
    if isinstance(value, np.integer):
        return str(value) if value != np.iinfo(np.int64).min else "INT64_MIN"
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return str(value) if isinstance(value, np.float64) else f"{np.float32(value)!s}f"


def _lines(items: list[str]) -> str:
    """Join the items with commas, wrapped into lines."""
    return "\n        ".join(wrap(", ".join(items), _WIDTH, break_on_hyphens=False))
