"""Fused loops of an operator, one file an operator: the first kernels that the kit itself brought beside its pages.

`backward(outputs, **arrays and attributes)` takes what the page takes and fills `outputs`, arrays of the documented
formats in the page's shapes; those that are not asked for are absent. `PLAN` is its arithmetic, whose envelope it stays in.
"""
