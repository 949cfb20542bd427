"""Draw cases of the 3D grid sampler, as the declaration says; only what is shown is kept small."""

FEW_POINTS = {"grid_shape": (1, 2, 3)}  # points, where the picture shall stay small
