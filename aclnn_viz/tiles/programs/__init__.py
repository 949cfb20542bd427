"""The kit's own tile programs, one module an operator: the page, cut into tiles."""
