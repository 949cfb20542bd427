"""Set how few points a test case of the 3D grid sampler has where a picture must stay small; all else is generated from the
declared shapes.
"""

FEW_POINTS = {"grid_shape": (1, 2, 3)}  # points, where the picture shall stay small
