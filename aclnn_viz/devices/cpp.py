"""One case as the complete C++ program of CANN's two-phase interface.

Source: "two-phase API" and the sample programs of the operators, CANN documentation.
"""

from textwrap import wrap

import numpy as np

from aclnn_viz.cases.case import inputs_of
from aclnn_viz.devices.cpp_template import FROM_AND_TO_BFLOAT16, FROM_AND_TO_FLOAT16, PROGRAM
from aclnn_viz.dtypes import BFLOAT16, FLOAT16
from aclnn_viz.errors import problem
from aclnn_viz.operators import operator

LIMIT = 1 << 18  # three megabytes of text; an explorer's largest state has 203 thousand numbers
_WIDTH = 100

#: By dtype: the element in C++, the aclDataType, what makes elements of the numbers written down, and the way back.
_TYPES = {
    np.dtype(np.float32): ("float", "ACL_FLOAT", "", "Same<float>"),
    np.dtype(np.float64): ("double", "ACL_DOUBLE", "", "Same<double>"),
    np.dtype(np.int64): ("int64_t", "ACL_INT64", "", ""),
    np.dtype(np.int32): ("int32_t", "ACL_INT32", "", ""),
    FLOAT16.numpy: ("uint16_t", "ACL_FLOAT16", "ToFloat16", "FromFloat16"),
    BFLOAT16.numpy: ("uint16_t", "ACL_BF16", "ToBfloat16", "FromBfloat16"),
}
#: By the kind of a parameter: the vendor's array, and its elements in C++.
_ARRAYS = {"bools": ("BoolArray", "bool"), "ints": ("IntArray", "int64_t"), "floats": ("FloatArray", "float")}
_HELPERS = {"ACL_FLOAT16": FROM_AND_TO_FLOAT16, "ACL_BF16": FROM_AND_TO_BFLOAT16}


def cpp_sample(op, case) -> str:
    """Return a C++17 program that runs the operator on the case's inputs in both phases and prints its outputs.

    `op` is an operator or its name, `case` a Case or its inputs by the vendor's names; shapes, attributes, dtypes and
    data are the case's. A line of output reads `dxOut[3] = 0.25`. Raises ValueError for a case of another operator or
    with more than 262,144 numbers, and what `op.backward` raises for inputs that do not fit.

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
    count = sum(value.size for value in inputs.values())
    if count > LIMIT:
        raise ValueError(problem(f"a C++ sample holds at most {LIMIT} numbers", f"{count} in {_shapes(inputs)}",
                                 "draw the case with a smaller shape="))
    shapes = {name: (value.shape, _TYPES[value.dtype]) for name, value in inputs.items()} | {
        name: (result.documented_shape, _TYPES[np.dtype(result.format.numpy)]) for name, result in outputs.items()}
    layout = {name: f"ACL_FORMAT_{op.tensors[name].layout}" for name in shapes}
    created = [_input(name, value, layout[name]) for name, value in inputs.items()]
    created += [_output(name, *shapes[name], layout[name]) for name in outputs]
    arguments, extra, arrays = _arguments(op, bound, shapes)
    codes = {kind[1] for _, kind in shapes.values()}
    return PROGRAM.substitute(
        name=op.aclnn_name, about=_about(op, inputs, bound), header=op.header,
        library=op.library.replace("ops-", "opapi_"),  # of CANN 9
        helpers="".join(text for code, text in _HELPERS.items() if code in codes),
        create="\n".join(created), attributes="".join(f"    {line}\n" for line in extra), arguments=_lines(arguments),
        print="\n".join(f'    CHECK(Print("{name}", {name}, {shapes[name][1][3]}));' for name in wanted),
        destroy="\n".join(f"    CHECK(Destroy({name}));" for name in shapes),
        destroy_arrays="".join(f"    CHECK(aclDestroy{_ARRAYS[kind][0]}({name}));\n" for name, kind in arrays.items()))


def _about(op, inputs, bound) -> str:
    attributes = [f"{name} {_attribute(value)}" for name, value in bound.items() if name not in inputs]
    text = f"{op.aclnn_name} in both phases: {_shapes(inputs)}" + (f"; {', '.join(attributes)}" if attributes else "")
    return "\n".join(f"// {line}" for line in wrap(f"{text}.", _WIDTH, break_on_hyphens=False))


def _shapes(inputs) -> str:
    return ", ".join(f"{name} {value.dtype} {list(value.shape)}" for name, value in inputs.items())


def _input(name: str, value: np.ndarray, layout: str) -> str:
    element, code, pack, _ = _TYPES[value.dtype]
    numbers = _lines([_number(number) for number in np.ascontiguousarray(value).ravel()])
    numbers = f"\n        {numbers}" if "\n" in numbers else numbers
    data = f" = {pack}({{{numbers}}})" if pack else f" = {{{numbers}}}"
    return _create(name, element, data, value.shape, code, layout)


def _output(name: str, shape: tuple, kind: tuple, layout: str) -> str:
    element, code, pack, _ = kind
    size = int(np.prod(shape))
    unwritten = "0xFFFF" if pack else "NAN"  # a nan, should the operator not write it
    return _create(name, element, f"({size}, {unwritten})", shape, code, layout)


def _create(name, element, data, shape, code, layout) -> str:
    dims = ", ".join(map(str, shape))
    return (f"    std::vector<{element}> {name}Data{data};\n"
            f"    Tensor<{element}> {name};\n"
            f"    CHECK(Create({name}Data, {{{dims}}}, {code}, {layout}, &{name}));")


def _arguments(op, bound, shapes) -> tuple[list[str], list[str], dict[str, str]]:
    """The arguments of phase 1 in C order, the lines that declare those which are no tensors, and the arrays' kinds."""
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
            lines += [f"const {element} {name}Values[] = {{{', '.join(map(_attribute, value))}}};",
                      f"acl{kind} *{name} = aclCreate{kind}({name}Values, {len(value)});"]
            arguments.append(name)
            arrays[name] = parameter.kind
        elif parameter.kind == "str":
            lines.append(f"char {name}[] = {_attribute(value)};  // must live until the stream is synchronised")
            arguments.append(name)
        else:
            arguments.append(_attribute(value))
    return arguments, lines, arrays


def _attribute(value) -> str:
    """A value as C++ writes it; bytes beyond ASCII as octal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in value.encode())
        return f'"{plain}"'
    if isinstance(value, tuple):
        return f"{{{', '.join(map(_attribute, value))}}}"
    if value is None:
        return "null"
    return _number(np.float64(value) if isinstance(value, float) else np.int64(value))


def _number(value) -> str:
    """The shortest text that reads back as the same value; 16-bit formats are written as float."""
    if isinstance(value, np.integer):
        return str(value) if value != np.iinfo(np.int64).min else "INT64_MIN"
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return str(value) if isinstance(value, np.float64) else f"{np.float32(value)!s}f"


def _lines(items: list[str]) -> str:
    """The items with commas, broken into lines."""
    return "\n        ".join(wrap(", ".join(items), _WIDTH, break_on_hyphens=False))
