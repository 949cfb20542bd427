"""SiLU: y = x * sigmoid(x), dx = dy * sigmoid(x) * (1 + x * sigmoid(-x)).

Source: Elfwing, Uchibe, Doya, "Sigmoid-weighted linear units for neural network function approximation" (2018).
"""

AXES = {"self": "p", "out": "p", "gradOutput": "p", "gradInput": "p"}


def sigmoid(xp, x):
    return 1.0 / (1.0 + xp.exp(-x))


def forward(xp, self):
    return {"out": self * sigmoid(xp, self)}


def backward(xp, gradOutput, self):
    return {"gradInput": gradOutput * sigmoid(xp, self) * (1.0 + self * sigmoid(xp, -self))}
