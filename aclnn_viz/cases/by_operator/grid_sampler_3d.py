"""Set the small number of points in a test case of the 3D grid sampler for pictures; the declared shapes give the rest."""

FEW_POINTS = {"grid_shape": (1, 2, 3)}  # a small grid, for pictures that must stay small
