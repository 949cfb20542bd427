"""What phase 1 of an aclnn operator is given, and what it answers."""

from dataclasses import dataclass, field
from math import prod

from aclnn_viz.operators.products import Product, Version


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of a dense row-major array.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(prod(shape[axis + 1:]) for axis in range(len(shape)))


@dataclass(frozen=True)
class TensorDescriptor:
    """What `aclCreateTensor` was told: a view (shape, strides, offset in elements) over a storage."""

    shape: tuple[int, ...]
    dtype: int  # aclDataType
    strides: tuple[int, ...]
    offset: int
    format: int  # aclFormat
    storage_shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        dense = contiguous_strides(self.shape)
        return all(a == b for n, a, b in zip(self.shape, self.strides, dense) if n != 1)


@dataclass(frozen=True)
class Call:
    """One call of phase 1: every argument by the vendor's name, on one product with one CANN version.

    Tensors are TensorDescriptor or None (the null pointer), bool arrays tuples or None, strings str or None.
    `workspace_pointer` and `executor_pointer` tell whether the two out-pointers were given.
    """

    product: Product
    cann: Version
    arguments: dict[str, object] = field(default_factory=dict)
    workspace_pointer: bool = True
    executor_pointer: bool = True

    def __getitem__(self, name: str):
        return self.arguments[name]


@dataclass(frozen=True)
class Outcome:
    """The answer of phase 1: its status, the text for `aclGetRecentErrMsg`, and what phase 2 will do.

    `runs` is False when phase 2 has nothing to do. `launch_status` is what phase 2 answers: not 0 where the library
    lets a bad call pass phase 1 and fails at launch. A `message` beside status 0 is text that the library reports
    although it goes on. `fills` names the outputs that phase 2 fills with one number instead of computing them,
    `untouched` those that it leaves as they were.
    """

    status: int
    message: str | None = None
    runs: bool = True
    workspace_size: int = 0
    launch_status: int = 0
    fills: dict[str, float] = field(default_factory=dict)
    untouched: tuple[str, ...] = ()
