"""Turn kernels of other signatures (ATen, autograd, Triton wrappers, C) into functions of the vendor's parameters by name, to
judge them.

Signatures are those of ATen's backward functions, `torch.autograd.Function`, host wrappers of Triton kernels, C functions of a
shared library, and any mapping of names. If the kernel cannot take such a call, CallError is raised at once; that is no
verdict.
"""

import ctypes
import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.devices.peers import TorchPeer
from aclnn_viz.errors import NotSupported, by_name, invalid, problem, shown
from aclnn_viz.operators import registry
from aclnn_viz.operators.peers import in_torch
from aclnn_viz.operators.prototype import parse
from aclnn_viz.storage.foreign_arrays import as_array
from aclnn_viz.storage.output_memory import fresh

#: The format of each C type.
C_TYPES = {
    "float": "f4",
    "double": "f8",
    "int32_t": "i4",
    "int": "i4",
    "int64_t": "i8",
    "size_t": "u8",
    "bool": "?",
    "uint8_t": "u1",
    "uint16_t": "u2",
    "half": "f2",
    "_Float16": "f2",
    "bfloat16_t": "bfloat16",
}
KNOWN = ("aten", "torch.autograd")


class CallError(TypeError):
    """A kernel cannot take the call that its signature describes."""


class _Elsewhere(NotSupported):
    """PyTorch computes a call without the ATen function that a kernel replaces."""


class _Taken(Exception):
    """A kernel's parameters fit a trial call, which ends here; the judge makes the real call later, with its limits."""


def adapted(op, kernel, signature) -> Callable:
    """Return a kernel of another signature as a function of the vendor's parameters; raise CallError if a trial call does not
    fit.

    `signature` is "aten", "torch.autograd", a name from the operator's `peer.py` (such as "liger"), a C prototype for
    "LIBRARY.so:FUNCTION", or a mapping of the kernel's parameter names to the vendor's.
    """
    function = _adapted(op, kernel, signature)
    try:
        _adapted(op, kernel, signature, _tried)(**case(op).inputs)
    except CallError:
        raise
    except NotSupported as refused:
        if isinstance(refused.__cause__, _Elsewhere):
            raise CallError(str(refused)) from None
    # the kernel took the call, or lacks its format: both say nothing against the signature
    except Exception:
        pass
    if signature in KNOWN:
        function.name, function.differences = "PyTorch", partial(_Peer.differences, _Peer)
    return function


def _tried(kernel):
    """Return a function with a kernel's parameters that raises _Taken and does not run the kernel."""

    def stopped(*args, **named):
        raise _Taken

    stopped.__wrapped__, stopped.__name__ = (
        _parameters(kernel),
        getattr(kernel, "__name__", "the kernel"),
    )
    return stopped


def _parameters(kernel):
    """Return an object with the parameters of a kernel: for a Function its forward pass, without a leading context."""
    if not _is_function(kernel):
        return kernel
    # with a setup_context of its own, a Function's forward takes no context
    apart = not kernel.setup_context.__module__.startswith("torch.")
    return kernel.forward if apart else partial(kernel.forward, None)


def _is_function(kernel) -> bool:
    return (
        isinstance(kernel, type) and hasattr(kernel, "apply") and hasattr(kernel, "setup_context")
    )


def _adapted(op, kernel, signature, adapt=lambda kernel: kernel) -> Callable:
    own = registry.own("peer", op.name, "SIGNATURES", {})
    if isinstance(signature, Mapping):
        return partial(_renamed, op, adapt(kernel), by_name("signature", signature))
    text = signature if isinstance(signature, str) else ""
    if text == "aten":
        if not in_torch(op):
            raise invalid(
                "a function of ATen is called by the operator's own peer.py",
                f"{op.name}, which has none",
                'add it, or use "torch.autograd" or a mapping of names',
            )
        return partial(_Peer(_With, adapt(kernel)).run, op)
    if text == "torch.autograd":
        return partial(_differentiated, op, adapt(kernel))
    if text in own:
        return partial(
            _Peer(
                lambda torch, _: torch,
                None,
                partial(own[text], partial(_taken, adapt(kernel), text)),
            ).run,
            op,
        )
    if "(" in text:
        function, declared = _of_library(kernel, text)
        return partial(_call_library, op, adapt(function), declared)
    raise invalid(
        f"a signature is one of {', '.join((*KNOWN, *own))}, a C prototype or a mapping of names",
        shown(signature),
        "choose one",
    )


def _taken(kernel, asked: str, *args, **named):
    """Call a kernel after checking that its parameters fit."""
    try:
        inspect.signature(_parameters(kernel)).bind(*args, **named)
    except TypeError as error:
        raise CallError(
            problem(
                f"a kernel takes the arguments of {asked}",
                f"{getattr(kernel, '__name__', 'one')}: {error}",
                "mend its parameters, or choose another signature",
            )
        ) from None
    except ValueError:  # a builtin has no signature
        pass
    return (kernel.apply if _is_function(kernel) else kernel)(*args, **named)


def _renamed(op, kernel, names: Mapping, **inputs):
    outputs = dict.fromkeys(op.outputs)
    missing = {*names.values()} - {*inputs, *outputs}
    if missing:
        raise CallError(
            problem(
                "a mapping gives each name of the kernel a name of the vendor's",
                f"{', '.join(sorted(missing))}, which is none",
                f"choose among {', '.join((*inputs, *outputs))}",
            )
        )
    asked = {*names.values()} & {*outputs}
    written = _outputs(op, op.bind(inputs)) if asked else {}
    held = outputs | written | inputs
    returned = _taken(
        kernel, "signature=", **{name: held[vendor] for name, vendor in names.items()}
    )
    if returned is not None or not asked:
        return returned
    return {name: array for name, array in written.items() if name in asked}


def _outputs(op, bound: dict) -> dict[str, np.ndarray]:
    """Allocate memory for the outputs of a call."""
    results = op.arrange_backward(**bound).results
    return {name: fresh(each.documented_shape, each.format.numpy) for name, each in results.items()}


class _With:
    """A stand-in for PyTorch in which a kernel replaces the functions of `ops.aten`."""

    def __init__(self, module, kernel, path=("ops", "aten"), asked=None):
        self._held, self.asked = (module, kernel, path), [] if asked is None else asked

    def __getattr__(self, name):
        module, kernel, path = self._held
        if path:
            value = getattr(module, name)
            if name == path[0]:
                value = self.__dict__[name] = _With(value, kernel, path[1:], self.asked)
            return value
        self.asked.append(name)
        if len({*self.asked}) > 1:
            raise CallError(
                problem(
                    "the operator is one function of ATen",
                    " and ".join(sorted({*self.asked})),
                    "check each function with its own operator",
                )
            )
        return partial(_taken, kernel, f"torch.ops.aten.{name}")


class _Peer(TorchPeer):
    """A peer that calls PyTorch's function, or a call of the user's, with the kernel in place of one of PyTorch's functions."""

    def __init__(self, replaced, kernel, call=None):
        super().__init__("cpu", None)
        self._torch, self._call = replaced(self._torch, kernel), call

    def _compute(self, op, bound, arranged):
        if self._call is None:
            before, outputs = len(self._torch.asked), super()._compute(op, bound, arranged)
            # PyTorch answered without the kernel, so the answer says nothing
            if len(self._torch.asked) == before:
                raise _Elsewhere(
                    problem(
                        f"{op.name} has a backward function of ATen",
                        "a call that asks for none",
                        "use another signature, such as a mapping of names",
                    )
                )
            return outputs
        outputs = self._call(**self._tensors(bound))
        outputs = (
            outputs
            if isinstance(outputs, Mapping)
            else dict(
                zip(arranged.results, outputs if isinstance(outputs, (tuple, list)) else (outputs,))
            )
        )
        return {name: as_array(value.detach()) for name, value in outputs.items()}


def _differentiated(op, function, **inputs) -> dict:
    """Return the gradients of autograd through a Function whose forward takes the vendor's forward parameters in order."""
    bound, tensor = op.bind(inputs), _Peer(lambda torch, _: torch, None)
    values = {
        p.name: bound.get(p.name, p.default if p.optional else None) for p in op.forward_parameters
    }
    unknown = [p.name for p in op.forward_parameters if not p.optional and p.name not in bound]
    if unknown:
        raise CallError(
            problem(
                "autograd starts from the inputs of the forward pass",
                f"{op.name}, whose backward is not given {', '.join(unknown)}",
                'use signature="aten", or the vendor\'s names',
            )
        )
    results = op.arrange_backward(**bound).results
    if not results:
        return {}
    for name, result in results.items():
        of = values[op.gradient_of[name]]
        if of is None or (of.shape, of.dtype) != (result.documented_shape, result.format.numpy):
            raise NotSupported(
                problem(
                    "autograd gives a gradient the shape and the format of its parameter",
                    f"{name}, {result.format.name}{list(result.documented_shape)}, of {shown(of)}",
                    "leave such cases out",
                )
            )
    torch = tensor._torch
    tensors = tensor._tensors(values)
    leaves = {name: tensors[op.gradient_of[name]].requires_grad_() for name in results}
    with torch.enable_grad():
        outputs = _taken(function, f"{op.name}.forward", *tensors.values())
        outputs = dict(zip(op.gives, outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
        grads = {
            of: tensor._tensor(bound[name])
            for name, of in op.upstream.items()
            if bound.get(name) is not None
        }
        if any(grad.numel() != outputs[of].numel() for of, grad in grads.items()):
            raise NotSupported(
                problem(
                    "a gradient has the shape of its output",
                    "one that is broadcast",
                    "leave such cases out",
                )
            )
        result = torch.autograd.grad(
            [outputs[of] for of in grads],
            [*leaves.values()],
            [grad.reshape(outputs[of].shape).to(outputs[of].dtype) for of, grad in grads.items()],
        )
    return {name: as_array(grad.detach()) for name, grad in zip(leaves, result)}


def _of_library(place, prototype: str) -> tuple:
    """Load a C function and its declaration: pointers carry the vendor's names, sizes names of axes or `n`, numbers attributes'
    names.
    """
    path, _, name = str(place).rpartition(":")
    declared = [function for function in parse(prototype) if function.name == name or not path]
    if not path or len(declared) != 1:
        raise invalid(
            "a C function is LIBRARY.so:FUNCTION with the prototype of FUNCTION",
            f"{place} and {prototype}",
            'pass such as "libx.so:fn" and "void fn(const float *dy, ..., int64_t n)"',
        )
    try:
        function = getattr(
            ctypes.CDLL(str(Path(path).resolve()) if os.path.exists(path) else path), name
        )
    except (OSError, AttributeError) as error:
        raise invalid(
            "a shared library exports the function",
            str(error),
            'build it with -shared -fPIC, extern "C"',
        ) from None
    return function, declared[0]


def _call_library(op, function, declared, **inputs) -> dict:
    bound = op.bind(inputs)
    _, sizes, _ = op.fitting(bound)
    lengths = {letter: prod(n) if isinstance(n, tuple) else n for letter, n in sizes.items()}
    lengths |= {name.lower(): n for name, n in lengths.items()} | {
        "n": lengths.get("n", lengths.get("N", bound[op.like].size))
    }
    arrays = _outputs(op, bound)
    args, unfit = [], ""
    for parameter in declared.parameters:
        base = parameter.c_type.replace("const", "").strip(" *")
        if base not in C_TYPES:
            raise CallError(
                problem(
                    f"a parameter is of a known type: {', '.join(C_TYPES)}",
                    f"{parameter.c_type} {parameter.name}",
                    "use one of these",
                )
            )
        if "*" in parameter.c_type:
            pointer, misfit = _pointer(op, parameter.name, base, arrays, bound)
            args.append(pointer)
            unfit = misfit or unfit
        elif parameter.name in bound or parameter.name in lengths:
            number = np.ctypeslib.as_ctypes_type(np.dtype(C_TYPES[base]))
            args.append(number(bound.get(parameter.name, lengths.get(parameter.name))))
        else:
            raise CallError(
                problem(
                    "a number has the name of an attribute or of an axis",
                    parameter.name,
                    f"use one of {', '.join(sorted({*lengths, *bound} - {*op.tensors}))}",
                )
            )
    if unfit:  # raise only after the whole call fits
        raise NotSupported(unfit)
    function.restype = None if declared.return_type == "void" else ctypes.c_int
    status = function(*args)
    if status:
        raise RuntimeError(
            problem("a C function returns 0", str(status), "see what it means by that")
        )
    return arrays


def _pointer(op, name: str, base: str, arrays: dict, bound: dict) -> tuple:
    """Return the pointer to a tensor, null for an absent one, and the mismatch of its format, if any."""
    if name not in {*arrays, *bound, *op.outputs}:
        raise CallError(
            problem(
                "a pointer has the name of a tensor",
                name,
                f"use one of {', '.join((*bound, *op.outputs))}",
            )
        )
    value = arrays.get(name, bound.get(name))
    if value is None:
        return None, ""
    form = value.dtype.name
    bits = base == "uint16_t" and value.dtype.itemsize == 2
    fits = bits or form == np.dtype(C_TYPES[base]).name
    unfit = "" if fits else problem(f"{name} is {base}", form, "leave this format out")
    held = value if name in arrays else np.ascontiguousarray(value)
    return held.ctypes.data_as(ctypes.c_void_p), unfit
