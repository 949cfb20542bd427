"""Right formulas in arrangements that cancel or overflow in float32, each with inputs at which they do: ten of them."""

import numpy as np

from aclnn_viz import case

FAR = np.linspace(-100, 100, 96).astype(np.float32).reshape(4, 24)
NEAR_ONE = np.float32(1 - 10.0 ** -np.linspace(0.01, 7, 96)).reshape(4, 24)


def silu_one_less_gate(gradOutput, self):
    x, dy = self.astype(np.float32), gradOutput.astype(np.float32)
    s = 1 / (1 + np.exp(-x))
    return (dy * (s + x * s * (1 - s))).astype(self.dtype)


def silu_exp_over_exp(gradOutput, self):
    x, dy = self.astype(np.float32), gradOutput.astype(np.float32)
    s = np.exp(x) / (1 + np.exp(x))
    return (dy * s * (1 + x * (1 - s))).astype(self.dtype)


def silu_as_a_difference(gradOutput, self):
    x, dy = self.astype(np.float32), gradOutput.astype(np.float32)
    s = 1 / (1 + np.exp(-x))
    return (dy * s * (1 + x * (1 - 1 / (1 + np.exp(-x))))).astype(self.dtype)


def swish_by_its_output(gradOutput, self, betaOptional):
    x, dy = self.astype(np.float32), gradOutput.astype(np.float32)
    s = 1 / (1 + np.exp(-betaOptional * x))
    f = x * s
    return (dy * (betaOptional * f + s * (1 - betaOptional * f))).astype(self.dtype)


def log_sigmoid_one_less(gradOutput, self, buffer):
    x, dy = self.astype(np.float32), gradOutput.astype(np.float32)
    s = 1 / (1 + np.exp(-x))
    return (dy * (1 - s)).astype(self.dtype)


def log_sigmoid_one_less_quotient(gradOutput, self, buffer):
    x, dy = self.astype(np.float32), gradOutput.astype(np.float32)
    e = np.exp(x)
    return (dy * (1 - e / (1 + e))).astype(self.dtype)


def sigmoid_less_square(gradOutput, output):
    y, dy = output.astype(np.float32), gradOutput.astype(np.float32)
    return (dy * (y - y * y)).astype(output.dtype)


def sigmoid_less_power(gradOutput, output):
    y, dy = output.astype(np.float32), gradOutput.astype(np.float32)
    return (dy * (y - y**2)).astype(output.dtype)


def elu_there_and_back(gradOutput, alpha, scale, inputScale, isResult, selfOrResult):
    if isResult:
        raise NotImplementedError
    x, dy = selfOrResult.astype(np.float32), gradOutput.astype(np.float32)
    e = np.exp(x * inputScale) - 1
    return (dy * np.where(x <= 0, inputScale * alpha * scale * (e + 1), scale)).astype(
        gradOutput.dtype
    )


def binary_cross_entropy_with_logits_naive(
    gradOutput, self, target, weightOptional, posWeightOptional, reduction
):
    x, t, g = self.astype(np.float32), target.astype(np.float32), gradOutput.astype(np.float32)
    w = 1 if weightOptional is None else weightOptional.astype(np.float32)
    p = 1 if posWeightOptional is None else posWeightOptional.astype(np.float32)
    s = np.exp(x) / (1 + np.exp(x))
    n = x.size if reduction == 1 else 1
    return (g / n * w * ((1 - t) * s - p * t * (1 - s))).astype(self.dtype)


def bad():
    """Yield (operator, kernel, cases, the text that cancels)."""
    for name, kernel, given, text in (
        ("silu", silu_one_less_gate, {"self": FAR}, "1 - s"),
        ("silu", silu_exp_over_exp, {"self": FAR}, "np.exp(x) / (1 + np.exp(x))"),
        ("silu", silu_as_a_difference, {"self": FAR}, "1 - 1 / (1 + np.exp(-x))"),
        (
            "swish",
            swish_by_its_output,
            {"self": FAR},
            "betaOptional * f + s * (1 - betaOptional * f)",
        ),
        ("log_sigmoid", log_sigmoid_one_less, {"self": FAR}, "1 - s"),
        ("log_sigmoid", log_sigmoid_one_less_quotient, {"self": FAR}, "1 - e / (1 + e)"),
        ("sigmoid", sigmoid_less_square, {"output": NEAR_ONE}, "y - y * y"),
        ("sigmoid", sigmoid_less_power, {"output": NEAR_ONE}, "y - y ** 2"),
        ("elu", elu_there_and_back, {"selfOrResult": FAR}, "e + 1"),
        (
            "binary_cross_entropy_with_logits",
            binary_cross_entropy_with_logits_naive,
            {"self": FAR},
            "np.exp(x) / (1 + np.exp(x))",
        ),
    ):
        ((tensor, values),) = given.items()
        yield (
            name,
            kernel,
            [
                case(name, seed=1, **given),
                *([case(name, seed=2, **{tensor: values * np.float32(0.3)})] * (values is FAR)),
            ],
            text,
        )
