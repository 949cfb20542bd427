"""Kernels under other signatures: a right one passes, a wrong one fails, and a wrong call is neither."""

import shutil
import subprocess

import numpy as np
import pytest
from machine import ROOT

import aclnn_viz as av
from aclnn_viz.cli import main
from aclnn_viz.devices.signatures import CallError
from aclnn_viz.storage.foreign_arrays import as_array

RMS = av.operator("rms_norm")
NAMES = {"grad": "dy", "inp": "x", "r": "rstd", "w": "gamma"}
C = """
#include <stdint.h>
extern "C" void right(const float *dy, const float *x, const float *rstd, const float *gamma, float *dxOut, float *dgammaOut, int64_t R, int64_t K) {
  for (int64_t j = 0; j < K; j++) dgammaOut[j] = 0;
  for (int64_t i = 0; i < R; i++) {
    double mean = 0;
    for (int64_t j = 0; j < K; j++) {
      mean += (double)dy[i * K + j] * gamma[j] * x[i * K + j] * rstd[i];
      dgammaOut[j] += dy[i * K + j] * x[i * K + j] * rstd[i];
    }
    for (int64_t j = 0; j < K; j++)
      dxOut[i * K + j] = (float)((dy[i * K + j] * gamma[j] - x[i * K + j] * rstd[i] * mean / DIVISOR) * rstd[i]);
  }
}
extern "C" int failing(const float *dy, float *dxOut, int64_t n) { return 3; }
extern "C" int halves(const uint16_t *dy, uint16_t *dxOut, int64_t n) { return 3; }
"""
PROTOTYPE = (
    "void right(const float *dy, const float *x, const float *rstd, const float *gamma, float *dxOut, float *dgammaOut,"
    " int64_t R, int64_t K)"
)


def checked(op, kernel, signature, **options):
    return av.check(
        op, kernel, signature=signature, depth="quick", allow_unsupported=True, **options
    )


def renamed(grad, inp, r, w):
    return RMS.backward(dy=grad, x=inp, rstd=r, gamma=w)


def test_a_mapping_of_names():
    assert checked("rms_norm", renamed, NAMES).passed
    wrong = checked("rms_norm", lambda grad, inp, r, w: renamed(grad, inp, r, 2 * w), NAMES)
    assert not wrong.passed and wrong.counterexample
    for names in (NAMES | {"w": "weight"}, {"grad": "dy"}, NAMES | {"other": "x"}):
        with pytest.raises(CallError):
            checked("rms_norm", renamed, names)


def test_a_wrong_call_is_found_before_the_kernel_runs():
    def never(grad):
        raise AssertionError("it ran")

    with pytest.raises(CallError, match="never"):
        checked("rms_norm", never, NAMES)


@pytest.mark.parametrize("signature", ["atem", 3, ("aten",), "liger"])
def test_an_unknown_signature_is_refused(signature):
    with pytest.raises(ValueError, match="a signature is one of aten, torch.autograd"):
        checked("hardswish", renamed, signature)


compiled = pytest.mark.needs("g++")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("c")
    (folder / "k.cpp").write_text(C)
    for name, divisor in (("right", "K"), ("wrong", "1")):
        subprocess.run(
            [
                shutil.which("g++"),
                "-O1",
                "-shared",
                "-fPIC",
                f"-DDIVISOR={divisor}",
                "-o",
                folder / f"{name}.so",
                folder / "k.cpp",
            ],
            check=True,
        )
    return folder


@compiled
def test_a_c_function(libraries):
    assert checked("rms_norm", f"{libraries}/right.so:right", PROTOTYPE).passed
    wrong = checked("rms_norm", f"{libraries}/wrong.so:right", PROTOTYPE)
    assert not wrong.passed and "missing 1/n" in str(wrong)
    for name, of, dtypes in (
        ("failing", "float", ["float32"]),
        ("halves", "uint16_t", ["float16"]),
        ("halves", "uint16_t", ["bfloat16"]),
    ):
        prototype = f"int {name}(const {of} *dy, {of} *dxOut, int64_t n)"
        failing = checked("rms_norm", f"{libraries}/right.so:{name}", prototype, dtypes=dtypes)
        assert not failing.passed and "a C function returns 0" in str(failing)


@compiled
@pytest.mark.parametrize(
    "old, new",
    [("*dy", "*grad"), ("int64_t K", "int64_t columns"), ("const float *x", "const long *x")],
)
def test_a_prototype_that_names_nothing_known_is_a_wrong_call(libraries, old, new):
    with pytest.raises(CallError):
        checked("rms_norm", f"{libraries}/right.so:right", PROTOTYPE.replace(old, new))


@compiled
def test_a_c_function_that_is_not_there(libraries):
    for place in ("right.so:other", "none.so:right", "right.so"):
        with pytest.raises(ValueError, match="a C function is|a shared library exports"):
            checked("rms_norm", f"{libraries}/{place}", PROTOTYPE)


def test_the_command(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "import aclnn_viz as av\ndef kernel(grad, inp, r, w):\n"
        "    return av.operator('rms_norm').backward(dy=grad, x=inp, rstd=r, gamma=w)\n"
    )
    ask = ["check", "rms_norm", f"{tmp_path}/mine.py:kernel", "--depth", "quick", "--signature"]
    assert main([*ask, "grad=dy,inp=x,r=rstd,w=gamma"]) == 0
    assert main([*ask, "grad=dy,inp=x"]) == 2
    assert "a kernel takes the arguments" in capsys.readouterr().err


@compiled
def test_the_command_of_a_c_function(libraries):
    asked = ["--depth", "quick", "--dtypes", "float32", "--signature", PROTOTYPE]
    for name, status in (("right", 0), ("wrong", 1)):
        assert main(["check", "rms_norm", f"{libraries}/{name}.so:right", *asked]) == status


ATEN = {
    "hardswish": "hardswish_backward",
    "layer_norm": "native_layer_norm_backward",
    "group_norm": "native_group_norm_backward",
    "grid_sampler_2d": "grid_sampler_2d_backward",
    "grid_sampler_3d": "grid_sampler_3d_backward",
    "log_softmax": "_log_softmax_backward_data",
    "softmax": "_softmax_backward_data",
    "sigmoid": "sigmoid_backward",
    "tanh": "tanh_backward",
}


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", ATEN)
def test_functions_of_aten(name):
    import torch

    def doubled(*args):
        found = real(*args)
        return (
            tuple(part if part is None else 2 * part for part in found)
            if isinstance(found, tuple)
            else 2 * found
        )

    real, options = getattr(torch.ops.aten, ATEN[name]), {"dtypes": ["float32"]}
    right, wrong = checked(name, real, "aten", **options), checked(name, doubled, "aten", **options)
    assert right.passed or "only a convention differs" in str(right), right
    assert not wrong.passed and "only a convention differs" not in str(wrong)
    with pytest.raises(CallError):
        checked(name, lambda one: one, "aten")


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", ["rms_norm", "l1_loss", "smooth_l1_loss", "swi_glu"])
def test_an_operator_that_is_no_function_of_aten_is_refused(name):
    with pytest.raises(CallError, match="a call that asks for none"):
        checked(name, lambda *args: None, "aten")


@pytest.mark.needs("torch")
def test_that_pytorch_is_documented_to_differ_is_said():
    import torch

    assert "PyTorch is documented to differ: the interval is open at 3" in str(
        checked("hardswish", torch.ops.aten.hardswish_backward, "aten")
    )


@pytest.mark.needs("torch")
def test_a_function_of_autograd():
    import torch

    class Right(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.nn.functional.silu(x)

        @staticmethod
        def backward(ctx, grad):
            return torch.ops.aten.silu_backward(grad, *ctx.saved_tensors)

    class Apart(torch.autograd.Function):  # its context is made apart
        @staticmethod
        def forward(x):
            return torch.nn.functional.silu(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        backward = Right.backward

    options = {"dtypes": ["float32"], "time_limit": 30.0}
    for function in (Right, Apart, torch.nn.functional.silu):
        assert checked("silu", function, "torch.autograd", **options).passed
    # its vendor broadcasts gradOutput
    assert checked("gelu", torch.nn.functional.gelu, "torch.autograd", **options).passed
    for right in (Right, Apart):
        doubled = type(
            "Doubled",
            (right,),
            {"backward": staticmethod(lambda ctx, grad: 2 * right.backward(ctx, grad))},
        )
        wrong = checked("silu", doubled, "torch.autograd", **options)
        assert not wrong.passed and wrong.counterexample
        with pytest.raises(CallError):
            checked(
                "silu",
                type("Two", (right,), {"forward": staticmethod(lambda ctx, x, y: x)}),
                "torch.autograd",
            )


@pytest.mark.needs("torch")
def test_cases_whose_saved_tensors_a_function_would_not_compute_are_left_out():
    import torch

    def rms(x, gamma, epsilon):
        rstd = torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon)
        return x * rstd * gamma, rstd

    own = av.case("rms_norm", shape=(4, 8))
    other = av.case("rms_norm", shape=(4, 8), rstd=2 * own.inputs["rstd"])
    found = [checked("rms_norm", rms, "torch.autograd", cases=[case]) for case in (own, other)]
    assert [(one.cases, one.passed) for one in found] == [(1, True), (0, False)]


@pytest.mark.needs("torch")
def test_the_host_wrapper_of_a_triton_kernel():
    def liger(grad, x, weight, rstd, offset, mode, block, warps, in_place, row_mode, factor=1.0):
        # x as the forward saves it
        rows, gradient, scale = (
            x.float(),
            grad.view(-1, grad.shape[-1]).float(),
            rstd.reshape(-1, 1),
        )
        xhat, along = rows * scale, gradient * weight.float()
        dx = (along - factor * xhat * (along * xhat).mean(1, keepdim=True)) * scale
        return dx.to(x.dtype).view(grad.shape), (gradient * xhat).sum(0)

    # Liger's own gives this gradient in the format of the weight
    def narrow(grad, x, weight, *others):
        dx, dweight = liger(grad, x, weight, *others)
        return dx, dweight.to(weight.dtype)

    assert checked("rms_norm", liger, "liger").passed
    found = checked("rms_norm", narrow, "liger")
    assert found.passed and "float32" in found.unsupported.common
    wrong = checked("rms_norm", lambda *given: liger(*given, factor=len(given[2])), "liger")
    assert not wrong.passed and "missing 1/n" in str(wrong)
    with pytest.raises(CallError):
        checked("rms_norm", lambda grad, x, weight, rstd: grad, "liger")


@pytest.mark.needs("torch")
def test_the_host_wrapper_of_layer_norm():
    def liger(grad, x, weight, bias, mean, rstd):
        gradient = grad.view(-1, grad.shape[-1]).float()
        xhat, along = (
            (x.float() - mean.reshape(-1, 1)) * rstd.reshape(-1, 1),
            gradient * weight.float(),
        )
        dx = (
            along - along.mean(1, keepdim=True) - xhat * (along * xhat).mean(1, keepdim=True)
        ) * rstd.reshape(-1, 1)
        return (
            dx.to(x.dtype).view(grad.shape),
            (gradient * xhat).sum(0).to(weight.dtype),
            gradient.sum(0).to(weight.dtype),
        )

    found = checked("layer_norm", liger, "liger")
    assert found.passed and found.cases > 3
    assert not checked("layer_norm", lambda grad, *others: liger(-grad, *others), "liger").passed


def exact(op, factor=1):
    """Return a torch.autograd.Function of an operator, computed in float64; the gradients times a factor."""
    import torch

    def plain(value):
        array = as_array(value.detach()) if isinstance(value, torch.Tensor) else value
        floats = isinstance(array, np.ndarray) and array.dtype.kind in "fV"
        return array.astype(np.float64) if floats else array

    class Exact(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *values):
            ctx.set_materialize_grads(False)
            names = [p.name for p in op.forward_parameters]
            ctx.given, ctx.values = dict(zip(names, map(plain, values))), dict(zip(names, values))
            ctx.made = op.forward(**ctx.given)
            first = ctx.values[op.first]
            return tuple(torch.from_numpy(ctx.made[name]).to(first.dtype) for name in op.gives)

        @staticmethod
        def backward(ctx, *grads):
            known = ctx.given | {name: ctx.made[of] for name, of in op.saved.items()}
            known |= op.all_outputs | {
                name: plain(dict(zip(op.gives, grads))[of]) for name, of in op.upstream.items()
            }
            names = {p.name for p in op.parameters} & {*known}
            found = op.backward(**{name: known[name] for name in names})
            of = {parameter: name for name, parameter in op.gradient_of.items()}
            return tuple(
                torch.from_numpy(np.asarray(found[of[name]] * factor))
                .to(value.dtype)
                .reshape(value.shape)
                if of.get(name) in found and isinstance(value, torch.Tensor)
                else None
                for name, value in ctx.values.items()
            )

    return Exact


BY_AUTOGRAD = [
    op
    for op in av.operators()
    if {p.name for p in op.forward_parameters if not p.optional} <= {p.name for p in op.parameters}
]
NORMS = [av.operator(name) for name in ("rms_norm", "layer_norm", "group_norm_swish", "ge_glu")]


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    "op",
    [*dict.fromkeys([*NORMS, *BY_AUTOGRAD])],
    ids=lambda op: op.name,
)
@pytest.mark.sampled(4)
def test_a_right_function_of_autograd_is_wrong_on_no_case(op):
    right, wrong = (checked(op, exact(op, factor), "torch.autograd") for factor in (1, 1.5))
    assert right.passed and wrong.failed and not right.failed and not right.misbehaviour, str(right)
    assert sum(right.reasons.values()) == len(right.unsupported)


@pytest.mark.needs("torch")
def test_what_autograd_cannot_say_is_not_supported_with_its_reason():
    found = av.check("layer_norm", exact(av.operator("layer_norm")), signature="torch.autograd")
    assert not found.failed and not found.misbehaviour
    assert {reason.partition(": got")[0] for reason in found.reasons} == {
        "a Function saves its own tensors, in its own precision",
        "autograd gives a gradient the shape and the format of its parameter",
    }


def test_a_function_of_aten_needs_the_call_of_the_operator():
    with pytest.raises(ValueError, match="own peer.py: got my_silu, which has none; add it, or"):
        av.check(ROOT / "tests/elsewhere/my_silu", lambda *values: 0, signature="aten")


def test_a_refusal_carries_its_reason():
    def tired(**inputs):
        raise NotImplementedError(f"a tired kernel: got {inputs['self'].dtype}; let it rest")

    result = av.check("silu", tired, depth="quick")
    (count,) = result.reasons.values()
    assert count > 1 and result.cases == 0
    assert f"  {count} cases: a tired kernel: got float32; let it rest" in str(result).splitlines()
