"""Right kernels of other arrangements than the pages, in NumPy, PyTorch and JAX, and mechanical slips in their source.

No rule of the search was written for them, and the slips come from a generator of their own (`slips.py`).
"""
