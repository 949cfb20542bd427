"""One page an operator: what is computed, written once over the namespace `xp` of its arrays.

`xp` offers the Array API functions and `scatter_add(target, index, values)`. Pages see arrays in canonical shape, in
one floating type; who widens 16-bit inputs, cuts blocks and rounds the outputs is the driver in `aclnn_viz.arrays`.
"""
