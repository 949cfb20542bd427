"""Cases of the grid sampler in space: drawn as the declaration says; only what is shown is kept small."""

FEW_POINTS = {"grid_shape": (1, 2, 3)}  # points, where the picture shall stay small
