"""The class of an operator: the vendor's declaration, and methods to compute outputs in the inputs' format or as exact values."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from types import ModuleType

import numpy as np

from aclnn_viz.arrays.driver import evaluate
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.truth import Certifier, Truth
from aclnn_viz.dtypes import FLOAT32
from aclnn_viz.errors import by_name, invalid, shown
from aclnn_viz.operators.arrangement import KEPT, Arranged, Arrangement, Fitted, Tensor, asked
from aclnn_viz.operators.codes import ACLNN_ERR_PARAM_INVALID, TYPES
from aclnn_viz.operators.description import Description, describe
from aclnn_viz.operators.parameters import REQUIRED, Parameter, bind, vendor_named
from aclnn_viz.operators.patterns import branch, choices, chosen
from aclnn_viz.operators.products import WITH_BFLOAT16, Product
from aclnn_viz.operators.prototype import parse
from aclnn_viz.operators.shapes import is_plain


@dataclass(frozen=True)
class Attribute:
    """The declaration of one attribute: its C type, default, range or allowed values; `tries` are values worth trying.

    `values` may map values to names: {0: "zeros", 1: "border"}. The ends `low` and `high` are numbers, or formulas of lengths
    and other attributes (see `patterns`); of an array they hold for each element. `only` lists values that only some products
    take. `status` is the code for a value that does not fit. An attribute that shapes and outputs already determine is not
    `seen` by the page.
    """

    c_type: str
    default: object = REQUIRED
    values: tuple | dict = ()
    low: float | str | None = None
    high: float | str | None = None
    length: int | None = None
    tries: tuple = ()
    seen: bool = True
    only: dict[tuple[Product, ...], tuple] = field(default_factory=dict)
    status: int = ACLNN_ERR_PARAM_INVALID

    @classmethod
    def epsilon(cls, default: float) -> "Attribute":
        """Return an epsilon under a square root: at least 0, so that no mean of squares becomes negative, and a float32 number.

        The vendor documents no range, only that it prevents a division by 0; the kernels read a float.
        """
        return cls("double", default, low=0.0, high=FLOAT32.largest)

    @classmethod
    def of_lengths(cls, formula: str) -> "Attribute":
        """Return an attribute whose value a formula of lengths gives; a case fills it in, and other values are refused."""
        return cls("int64_t", low=formula, high=formula, seen=False)

    @property
    def follows(self) -> bool:
        """Return whether the attribute's value follows from lengths."""
        return isinstance(self.low, str) and self.low == self.high


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Operator:
    """One aclnn backward operator, as declared for generic code.

    `prototype` is the C declaration of phase 1 with the documents' names, `c_names` the names in the header where they
    differ; `header` lies under `aclnnop/`, `library` is the vendor's repository. `tensors` and `attributes` hold the
    rules of all parameters, backward and forward; `takes` and `gives` are the parameters and outputs of the forward
    operator. Roles: `upstream` maps each upstream gradient to its forward output, `saved` each saved tensor to its forward
    output, `gradient_of` each output to the forward parameter whose gradient it
    is. `like` sets format and sizes of backward, the first tensor of `takes` those of forward. `sizes` maps names in
    shape patterns to formulas (see `patterns`): the deciding attribute, an entry of one, or a length derived from others.
    `formats` says what each product takes. `counts` maps parameters of the page to the tensor whose elements they count,
    before it is broadcast, or to the letter of a length. `rules` (backward) and
    `forward_rules` see the bound parameters and raise ValueError. `shapes` are options of `case` worth trying.
    With `apart`, options are tried and proved one at a time, the others at their defaults. `chapter` orders operators with a
    lesson, which come first.

    `backward`, `forward` and `truth` take the parameters as keywords. They raise TypeError for a wrong name, kind or
    dtype and ValueError for a wrong shape or value.
    """

    name: str
    page: ModuleType
    prototype: str
    header: str
    library: str
    formats: dict[tuple[Product, ...], str]
    tensors: dict[str, Tensor]
    attributes: dict[str, Attribute] = field(default_factory=dict)
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    upstream: dict[str, str]
    saved: dict[str, str] = field(default_factory=dict)
    gradient_of: dict[str, str]
    like: str
    sizes: dict[str, str] = field(default_factory=dict)
    counts: dict[str, str] = field(default_factory=dict)
    c_names: dict[str, str] = field(default_factory=dict)
    rules: tuple[Callable[[dict], None], ...] = ()
    forward_rules: tuple[Callable[[dict], None], ...] = ()
    shapes: tuple[dict, ...] = ()
    apart: bool = False
    chapter: int | None = None

    @cached_property
    def _declared(self):
        (declared,) = parse(self.prototype)
        return declared

    @property
    def aclnn_name(self) -> str:
        """Return the vendor's name of phase 2."""
        return self._declared.name.removesuffix("GetWorkspaceSize")

    @cached_property
    def c_parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters of phase 1 in C order, with outputs, without workspaceSize and executor."""
        return tuple(
            self._parameter(p.name, p.c_type) for p in self._declared.parameters if p.role == "in"
        )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters of `backward` in the vendor's order."""
        return tuple(p for p in self.c_parameters if not p.output)

    @cached_property
    def forward_parameters(self) -> tuple[Parameter, ...]:
        return tuple(self._parameter(name) for name in self.takes)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of the outputs in the vendor's order; the first is the main output."""
        return tuple(p.name for p in self.c_parameters if p.output)

    @property
    def main(self) -> str:
        return self.outputs[0]

    @cached_property
    def all_outputs(self) -> dict:
        """Return, by attribute, the values of flags and masks that request every output."""
        found = {}
        for tensor in self.tensors.values():
            if tensor.asked and tensor.asked not in self.tensors:
                name, _, entry = tensor.asked.partition("[")
                found[name] = (True,) * self.attributes[name].length if entry else True
        return found

    @cached_property
    def modes(self) -> tuple[dict, ...]:
        """Return all combinations of attributes worth trying: allowed values, and further ones from the declaration."""
        choices = {
            name: tuple(dict.fromkeys((a.default, *a.values, *a.tries)))
            if a.default is not REQUIRED
            else a.tries
            for name, a in self.attributes.items()
            if name in {p.name for p in self.parameters} and (a.values or a.tries)
        }
        return tuple(dict(zip(choices, one)) for one in combined(choices, self.apart))

    def asks_for(self, output: str, bound: dict) -> bool:
        """Return whether flags, masks and optional tensors request an output."""
        return self.tensors[output].asked is None or asked(self.tensors[output].asked, bound)

    def status_of(self, name: str) -> int:
        """Return the library's status code for a bad parameter value, or a tensor's bad shape or dtype."""
        return getattr(
            (self.attributes | self.tensors).get(name), "status", ACLNN_ERR_PARAM_INVALID
        )

    def page_axes(self, name: str, attributes: dict) -> list[str]:
        """Return the pattern's names of a tensor's axes as the page sees them; a factor is named by its number."""
        return [
            "".join(part.lstrip("*") for part in parts)
            for parts in chosen(self.tensors[name].shape, attributes).page_axes
        ]

    def layout(self, name: str) -> int:
        """Return the aclFormat with which the vendor's samples create a tensor.

        Parameters
        ----------
        name : str
            The vendor's name of a tensor of backward, an output's too.

        Returns
        -------
        int
            The number of the format in CANN's header `acl_base.h`: 2 is ACL_FORMAT_ND, 0 NCHW.

        Raises
        ------
        ValueError
            For a name that is no tensor's.

        Examples
        --------
        >>> import aclnn_viz as av
        >>> av.operator("hardswish").layout("self")
        2
        """
        if not isinstance(name, str) or name not in self.tensors:
            raise invalid(
                f"a tensor of {self.name} is one of {', '.join(self.tensors)}",
                shown(name),
                "use the vendor's names",
            )
        return TYPES["aclFormat"][f"ACL_FORMAT_{self.tensors[name].layout}"]

    def _parameter(self, name: str, c_type: str = "const aclTensor *") -> Parameter:
        if name in self.tensors:
            tensor = self.tensors[name]
            default = None if tensor.optional or tensor.reserved else REQUIRED
            return Parameter(
                name,
                c_type,
                reserved=tensor.reserved,
                output=name in self.gradient_of,
                c_name=self.c_names.get(name),
                default=default,
                shape=tensor.shape,
                dtype=tensor.dtype,
            )
        a = self.attributes[name]
        low, high = (end if not isinstance(end, str) else None for end in (a.low, a.high))
        return Parameter(
            name,
            a.c_type,
            c_name=self.c_names.get(name),
            default=a.default,
            values=tuple(a.values),
            low=low,
            high=high,
            length=a.length,
            names=a.values if isinstance(a.values, dict) else {},
        )

    @vendor_named("parameters")
    def backward(self, /, **inputs) -> dict[str, np.ndarray]:
        """Return the gradients by the vendor's output names, in documented shapes and dtypes.

        Parameters
        ----------
        **inputs : array or value
            Each parameter of `op.parameters` by the vendor's name: tensors as arrays of any
            library, in float16, bfloat16, float32 or float64 and in the shapes that `op.describe()`
            lists; attributes as Python values. What has a default may be left out.

        Returns
        -------
        dict of str to numpy.ndarray
            An array for each output; one that is masked out or whose flag is off is absent.

        Raises
        ------
        TypeError
            For a wrong name, kind or dtype of a parameter.
        ValueError
            For a shape or value that does not fit.

        Notes
        -----
        16-bit inputs are computed in float32 and rounded once, to nearest even; float64 gives
        float64. The formula is that of the vendor's document of the operator, which the head of its
        page names.

        Examples
        --------
        >>> import numpy as np, aclnn_viz as av
        >>> op = av.operator("hardswish")
        >>> op.backward(gradOutput=np.ones(3, np.float32), self=np.float32([-3, 0, 3]))["out"].tolist()
        [-0.5, 0.5, 1.5]
        """
        return evaluate(self.page.backward, self.arranged(inputs)[1], NumPyArrays())

    @vendor_named("forward_parameters")
    def forward(self, /, **inputs) -> dict[str, np.ndarray]:
        """Return the outputs of the forward operator and the tensors that it saves for backward.

        Parameters
        ----------
        **inputs : array or value
            Each parameter of `op.forward_parameters` by the vendor's name, as those of `backward`.

        Returns
        -------
        dict of str to numpy.ndarray
            An array for each name of `op.gives`, in the dtype of the inputs or, where the vendor
            documents another for a saved tensor, in that.

        Raises
        ------
        TypeError
            For a wrong name, kind or dtype of a parameter.
        ValueError
            For a shape or value that does not fit.

        Examples
        --------
        >>> import numpy as np, aclnn_viz as av
        >>> inputs = {"x": np.float32([[3, 4]]), "gamma": np.ones(2, np.float32)}
        >>> av.operator("rms_norm").forward(**inputs, epsilon=0.0)["rstd"]
        array([[0.28284273]], dtype=float32)
        """
        bound = bind(f"{self.name} forward", self.forward_parameters, inputs)
        return evaluate(self.page.forward, self.arrange_forward(**bound), NumPyArrays())

    @vendor_named("parameters")
    def truth(self, /, **inputs) -> Truth:
        """Return the outputs of `backward` as float64 numbers, with certificates.

        Parameters
        ----------
        **inputs : array or value
            The parameters of `backward`, in the same shapes and dtypes; each number is widened
            exactly.

        Returns
        -------
        Truth
            A mapping like that of `backward`, of float64 arrays. `error` bounds by name how far
            each element, its `low` part added, is from the exact number of these inputs.

        Raises
        ------
        TypeError
            For a wrong name, kind or dtype of a parameter.
        ValueError
            For a shape or value that does not fit.

        Notes
        -----
        The numbers come from the same page: they measure rounding, not the formula. 16-bit and
        float32 inputs are computed in float64, and where that is not enough, as float64 inputs
        always, in double-double numbers of 106 bits, with the same bits on every machine.

        Examples
        --------
        >>> import numpy as np, aclnn_viz as av
        >>> inputs = {"gradOutput": np.ones(1, np.float32), "self": np.ones(1, np.float32)}
        >>> ref = av.operator("hardswish").truth(**inputs)
        >>> float(ref["out"][0]), bool(ref.error["out"][0] < 1e-15)
        (0.8333333333333334, True)
        """
        _, arranged = self.arranged(inputs)
        return Certifier(
            self.page.backward,
            arranged.axes,
            arranged.arrays,
            arranged.attributes,
            arranged.results,
            arranged.prelude,
        ).truth()

    def usual(self, name: str, known: dict, sizes: dict) -> np.ndarray | None:
        """Return the tensor that the page's function computes from known tensors, attributes and lengths; None without a
        function.
        """
        tensor = self.tensors[name]
        if not tensor.usual or not (function := branch(tensor.usual, known)):
            return None
        make, known = getattr(self.page, function), known | sizes
        takes = make.__code__.co_varnames[1 : make.__code__.co_argcount]
        if not known.keys() >= {*takes}:
            return None
        given = {
            of: known[of]
            .astype(np.float64)
            .reshape(chosen(self.tensors[of].shape, known).page_shape(sizes))
            if of in self.tensors
            else known[of]
            for of in takes
        }
        shape = chosen(tensor.shape, known).shape(sizes)
        return make(NumPyArrays(), **given).reshape(shape).astype(tensor.dtype.split(" or ")[0])

    def describe(self) -> Description:
        """Return the operator in words: parameters, outputs, and what products take.

        Returns
        -------
        Description
            Shapes, dtypes and defaults of all parameters; prints as text, and as a table in a
            notebook.

        Examples
        --------
        >>> import aclnn_viz as av
        >>> print(str(av.operator("hardswish").describe()).splitlines()[0])
        hardswish, aclnnHardswishBackward (aclnnop/aclnn_hardswish_backward.h, ops-nn)
        """
        return describe(self)

    def bind(self, inputs: dict) -> dict:
        """Return every parameter of backward by name, with defaults filled in.

        Parameters
        ----------
        inputs : dict of str to array or value
            Parameters by the vendor's names.

        Returns
        -------
        dict of str to array or value
            The same, checked for name and kind, and the defaults of those that lack.

        Raises
        ------
        TypeError
            For names and kinds that do not fit, and for a parameter without a default that lacks.

        Examples
        --------
        >>> import numpy as np, aclnn_viz as av
        >>> op = av.operator("hardswish")
        >>> list(op.bind({"self": np.ones(2), "gradOutput": np.ones(2)}))
        ['gradOutput', 'self']
        """
        return bind(
            self.name,
            self.parameters,
            by_name(f"the inputs of {self.name}", inputs, "pass a dict such as case.inputs"),
        )

    def arrange_backward(self, /, **bound) -> Arranged:
        """Check bound parameters against the declaration and return them as the page sees them."""
        return self._backward(self.page, bound)

    def arranged(self, inputs: dict) -> tuple[dict, Arranged]:
        """Return the inputs of backward, bound and arranged."""
        bound, fitted = self.fitted(inputs)
        return bound, self._backward.given(self.page, bound, fitted)

    def fitted(self, inputs: dict) -> tuple[dict, Fitted]:
        """Return what shapes, formats and plain values of backward's inputs decide; cached for many calls."""
        known, arrays = (
            self._calls.get(key := kinds_of(inputs)),
            {name: one for name, one in inputs.items() if type(one) is np.ndarray},
        )
        if known is not None and known[2] is self.page.AXES:
            return known[0] | arrays, known[1]
        bound = self.bind(inputs)
        fitted = self._backward.fitted(self.page, bound)
        if all(
            bound[name] is one if name in arrays else type(one) in PLAIN
            for name, one in inputs.items()
        ):
            if len(self._calls) == KEPT:
                self._calls.clear()
            self._calls[key] = (
                {name: None if name in arrays else one for name, one in bound.items()},
                fitted,
                self.page.AXES,
            )
        return bound, fitted

    @cached_property
    def _calls(self) -> dict:
        return {}

    def arrange_forward(self, /, **bound) -> Arranged:
        return self._forward(self.page, bound)

    @property
    def first(self) -> str:
        """Return the first tensor of the forward operator, whose shape a case takes."""
        return next(name for name in self.takes if name in self.tensors)

    def fitting(self, bound: dict) -> tuple:
        """Return the format, the lengths by letter and the patterns of bound parameters of backward; raise as `backward`."""
        arrays = {name: value for name, value in bound.items() if name in self.tensors}
        attributes = {name: value for name, value in bound.items() if name not in self.tensors}
        return self._backward.checked(arrays, attributes)

    @cached_property
    def _backward(self) -> Arrangement:
        return self._arrangement(self.parameters, self.like, self.outputs, self.rules)

    @cached_property
    def _forward(self) -> Arrangement:
        return self._arrangement(
            self.forward_parameters, self.first, self.gives, self.forward_rules
        )

    def _arrangement(self, parameters, like, outputs, rules) -> Arrangement:
        taken = {p.name for p in parameters}
        tensors = {
            name: tensor
            for name, tensor in self.tensors.items()
            if name in taken and not tensor.reserved
        }
        made = {name: self.tensors[name] for name in outputs}
        unseen = frozenset(
            name
            for name, one in (self.attributes | self.tensors).items()
            if getattr(one, "reserved", not getattr(one, "seen", True))
        )
        return Arrangement(
            tensors, made, like, self.sizes, rules, unseen, self.ranges, self.counts, self.kept
        )

    @cached_property
    def kept(self) -> dict[str, str]:
        """Return the names of gradients with those of their tensors, if a tensor is broadcast along single axes: the
        page takes that tensor as given, and sums its gradient itself.
        """
        return {
            out: of
            for out, of in self.gradient_of.items()
            if any(one.stretched and not one.starred for one in choices(self.tensors[out].shape))
        }

    @cached_property
    def ranges(self) -> dict[str, tuple]:
        ends = {name: (one.low, one.high) for name, one in (self.attributes | self.tensors).items()}
        return {
            name: pair
            for name, pair in ends.items()
            if any(isinstance(end, str) for end in pair)
            or name in self.tensors
            and is_plain(self.tensors[name].dtype)
            and pair != (None, None)
        }

    def _repr_html_(self) -> str:
        return self.describe()._repr_html_()

    def __repr__(self) -> str:
        return f"Operator({self.name!r}, {self.aclnn_name!r})"


PLAIN = {int, float, bool, str, tuple, type(None)}  # types whose text shows the whole value


def kinds_of(inputs: dict) -> tuple:
    """Return a key that is equal for calls whose arrays differ only in numbers; a value of no PLAIN type is False in
    the key.
    """
    found = []
    for name, one in inputs.items():
        found += (
            (name, one.shape, one.dtype, one.flags.carray)
            if type(one) is np.ndarray
            else (name, type(one) in PLAIN and repr(one))
        )
    return tuple(found)


def combined(choices: dict[str, tuple], apart: bool):
    """Return one value of each choice: all combinations, or with `apart` each value beside the first values of the others."""
    if not apart:
        return product(*choices.values())
    first = tuple(values[0] for values in choices.values())
    return (
        first,
        *(
            (*first[:at], value, *first[at + 1 :])
            for at, values in enumerate(choices.values())
            for value in values[1:]
        ),
    )


def declared(
    page, prototype: str, older=(), more="", *, header=None, library="ops-nn", **fields
) -> Operator:
    """Return an operator of the kit: its folder gives the name, and the vendor's name the header unless one is given.

    `older` products lack bfloat16, and products with bfloat16 have it; all of them support the formats `more`, too. Without `older`
    the field `formats` says what each product takes.
    """
    if older:
        fields["formats"] = {
            WITH_BFLOAT16: f"float32 float16 bfloat16 {more}".strip(),
            older: f"float32 float16 {more}".strip(),
        }
    vendor = re.search(r"aclnn(\w+)GetWorkspaceSize", prototype)[1]
    snake = re.sub(r"(?<!^)(?=[A-Z][a-z\d])", "_", vendor).lower()
    return Operator(
        name=page.__name__.split(".")[-2],
        page=page,
        prototype=prototype,
        header=header or f"aclnn_{snake}.h",
        library=library,
        **fields,
    )
