"""A table of the costs of instructions, with a source for each number, to predict the time of a run. Nothing in it was measured
here.

Two groups of numbers come from the vendor's published profile of an Add of two 8192 x 8192 half matrices on Atlas A2
(asc-devkit at 82b89a15f262, examples/01_simd_cpp_api/05_best_practices/00_vector_compute/add_high_performance): row 1, one
core, gives the heads of instructions, row 5, 48 cores, gives the memory. The other rows test the model.
"""

from dataclasses import dataclass, replace
from types import MappingProxyType

from aclnn_viz.errors import invalid
from aclnn_viz.tables import as_text
from aclnn_viz.words.messages import message, tr

_DK = "asc-devkit 82b89a15f262, "
PROFILE = (
    _DK
    + "examples/01_simd_cpp_api/05_best_practices/00_vector_compute/add_high_performance/README.md"
)
_BANKS = _DK + "docs/zh/guide/算子实践参考/SIMD算子性能优化/内存访问/避免UB的bank冲突"
_L2 = _DK + "docs/zh/guide/算子实践参考/SIMD算子性能优化/内存访问/L2-Cache切分.md"
_PYPTO = (
    "pypto 883e7dfb, framework/src/platform/parser/simulation_platform/platform_config/A2A3.ini"
)
DOCUMENTED, INFERRED, GIVEN = (
    message("documented"),
    message("inferred"),
    message("given by the reader"),
)


@dataclass(frozen=True)
class Cost:
    """One number: its value, unit, mark (documented, inferred or given) and source."""

    value: float
    unit: str
    mark: str
    source: str


_A2 = {
    "clock": Cost(1850, "cycles/us", DOCUMENTED, PROFILE),
    "repeat": Cost(1, "cycles of 256 bytes", DOCUMENTED, PROFILE),
    "groups": Cost(16, "bank groups, each reads 32 bytes a cycle", DOCUMENTED, _BANKS),
    "vector head": Cost(22.03, "cycles an instruction", INFERRED, PROFILE + ", row 1"),
    "read latency": Cost(189.07, "cycles a copy in", INFERRED, PROFILE + ", row 1"),
    "write head": Cost(39.06, "cycles a copy out", INFERRED, PROFILE + ", row 1"),
    "issue": Cost(6.525, "scalar cycles an instruction", INFERRED, PROFILE + ", row 1"),
    "element": Cost(
        34,
        "scalar cycles an element: two GetValue, a sum, a SetValue",
        INFERRED,
        PROFILE + ", row 0",
    ),
    "port": Cost(
        32,
        "bytes/cycle between a core and memory, each way",
        INFERRED,
        _PYPTO + " (ddr; its unit is not stated)",
    ),
    "memory": Cost(1518, "GB/s for all cores", INFERRED, PROFILE + ", row 5"),
    "start": Cost(8.65, "us in a kernel before its first copy", INFERRED, PROFILE + ", row 5"),
    "skew": Cost(
        2.4, "us from the first core's start to the last's", INFERRED, PROFILE + ", row 5"
    ),
    "dispatch": Cost(0.46, "us of a task outside of its cores", INFERRED, PROFILE + ", row 1"),
    "L2": Cost(192, "MB", DOCUMENTED, _L2),
    "jitter": Cost(
        0.5, "of a latency, either way", INFERRED, "else the cores would fall into step"
    ),
}


@dataclass(frozen=True)
class Costs:
    """A table of costs: `costs["memory"].value`; its printed form shows each number with its source.

    >>> costs = Costs.published("A2")
    >>> costs["repeat"].mark, costs["clock"].value
    ('documented', 1850)
    >>> costs.but(memory=1800)["memory"].mark
    'given by the reader'
    """

    name: str
    entries: MappingProxyType

    @classmethod
    def published(cls, product: str) -> "Costs":
        """Return the published numbers of a product.

        Parameters
        ----------
        product : str
            "A2", the only one so far.

        Returns
        -------
        Costs
            Each entry has a number, its unit, and its source.

        Raises
        ------
        ValueError
            For another product.

        Examples
        --------
        >>> Costs.published("A2")["clock"].value
        1850
        """
        if product != "A2":
            raise invalid(
                "a published table of costs exists for 'A2'",
                repr(product),
                "use 'A2', or a table of your own",
            )
        return cls("A2", MappingProxyType(_A2))

    def __getitem__(self, name: str) -> Cost:
        return self.entries[name]

    def but(self, **values: float) -> "Costs":
        """Return a table with your numbers; `_` replaces a blank in a name. Raise ValueError for unknown names."""
        own = {name.replace("_", " "): value for name, value in values.items()}
        if unknown := sorted(set(own) - set(self.entries)):
            raise invalid(
                "a cost has one of these names: " + ", ".join(self.entries),
                ", ".join(unknown),
                "choose one",
            )
        entries = {
            name: replace(self[name], value=float(value), mark=GIVEN, source="")
            for name, value in own.items()
        }
        return Costs(self.name, MappingProxyType({**self.entries, **entries}))

    def __repr__(self) -> str:
        rows = [
            [name, f"{cost.value:g}", cost.unit, tr(cost.mark), cost.source]
            for name, cost in self.entries.items()
        ]
        head = [tr("cost"), tr("value"), tr("unit"), tr("mark"), tr("source")]
        return "\n".join(
            [tr("Costs of {name}: stated, not measured", name=self.name), *as_text(head, rows)]
        )
