"""Helpers to compute activations in PyTorch, for gradients to compare ours with: 16-bit tensors as float32, and gradients of
halves.
"""


def wide(tensor):
    """Return a 16-bit tensor as float32, so that a chain of ATen functions rounds to 16 bits once."""
    return tensor.float() if tensor.element_size() == 2 else tensor


def of_halves(torch, function, gradient, x, dim):
    """Return the gradient with respect to x of `function(a, b)`, a and b being the halves of x."""
    leaf = wide(x).detach().clone().requires_grad_()
    function(*leaf.chunk(2, dim)).backward(wide(gradient))
    return leaf.grad
