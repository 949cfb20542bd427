"""What activations share: functions of one number, as pages write them."""


def sigmoid(xp, x):
    """1 / (1 + exp(-x)): where exp(-x) overflows it is the 0 that it should be."""
    return 1.0 / (1.0 + xp.exp(-x))
