"""Look up Atlas products by SoC name or title (products.toml), and put CANN versions in order, to state the formats that each
takes.

Sources: `aclplatformNpuArch` and `aclrtFloatOverflowMode`, CANN runtime reference; the platform configuration files
`<SoC>.ini` of CANN 8.1; `11-01_device_memory_malloc_and_free.md` of the CANN runtime for memory padding.
"""

import re
from dataclasses import dataclass, field
from math import inf

from aclnn_viz.errors import invalid
from aclnn_viz.tables import table_beside
from aclnn_viz.words.messages import language_here

DAV_2201 = 2201  # NpuArch of Atlas A2 and A3


@dataclass(frozen=True, eq=False)
class Product:
    """One Atlas product line: its names, its SoCs, and how it treats overflow and memory.

    `overflow_modes` are the hardware's modes, the default first: "inf_nan", or "saturate" (an infinite result
    becomes the largest finite number, nan becomes 0). `cores` gives (cube or AI cores, vector cores) per SoC where
    known; `memory_padding` the bytes that `aclrtMalloc` adds after rounding up to 32.
    """

    tag: str
    name: str
    chinese_name: str
    soc_pattern: str
    example_soc: str
    npu_arch: int
    overflow_modes: tuple[str, ...]
    memory_padding: int
    cores: dict[str, tuple[int, int]] = field(default_factory=dict)
    unified_buffer: int | None = None
    aliases: tuple[str, ...] = ()  # common names of the product, beside tag and name

    @property
    def title(self) -> str:
        """Return the vendor's product name in the chosen language."""
        return self.chinese_name if language_here() == "zh" else self.name

    def allocation_size(self, size: int) -> int:
        """Return the bytes of device memory that `aclrtMalloc` takes for `size` bytes."""
        return -(-size // 32) * 32 + self.memory_padding

    def __repr__(self) -> str:
        return f"Product({self.tag!r})"


def _product(stated: dict) -> Product:
    cores = {soc: tuple(count) for soc, count in stated.get("cores", {}).items()}
    tuples = {name: tuple(stated.get(name, ())) for name in ("overflow_modes", "aliases")}
    return Product(**stated | tuples | {"cores": cores})


_STATED = table_beside(__file__, "products.toml")
TRAINING, A2, A3, INFERENCE, INFERENCE_A2, ASCEND_950 = map(_product, _STATED.values())

# Sets of products with a common property: add a new product to each set for which it holds.
# READ: products whose libraries and kernels were read.
READ = (TRAINING, A2, A3, INFERENCE, INFERENCE_A2, ASCEND_950)
PRODUCTS = (*READ,)
ATLAS_A2_A3 = (A2, A3)  # A2 and A3 have the same architecture and kernels
# the oldest products, which documents name together
ATLAS_INFERENCE_TRAINING = (INFERENCE, TRAINING)
WITH_ARCH35 = (ASCEND_950,)  # the vendor keeps their kernels in folders arch35
WITHOUT_ARCH35 = tuple(product for product in READ if product not in WITH_ARCH35)
WITH_BFLOAT16 = (*ATLAS_A2_A3, *WITH_ARCH35)
# products whose support the operators' documents list
DOCUMENTED = (*WITH_BFLOAT16, *ATLAS_INFERENCE_TRAINING)

SOC = A2.example_soc  # default if no product is named


def soc_of(name: "str | Product") -> str:
    """Return an SoC name as `aclrtGetSocName` spells it: from that name in any case, or from a product's name.

    `Ascend910B` without a digit is the old 910; the SoCs of Atlas A2 have a digit there. A product gives its most common SoC.
    Raise ValueError for an unknown name.

    >>> soc_of("ascend910b2"), soc_of("Atlas A2"), soc_of("a2"), soc_of("Ascend910B")
    ('Ascend910B2', 'Ascend910B2', 'Ascend910B2', 'Ascend910B')
    """
    if isinstance(name, Product):
        return name.example_soc
    text = name if isinstance(name, str) else ""
    for product in PRODUCTS:
        if re.fullmatch(product.soc_pattern, text):
            return text
    for product in PRODUCTS:
        called = (product.tag, product.name, product.chinese_name, *product.aliases)
        if _plain(text) in map(_plain, called):
            return product.example_soc
    upper = "Ascend" + text[6:].upper()
    for product in PRODUCTS:
        if text[:6].lower() == "ascend" and re.fullmatch(product.soc_pattern, text, re.IGNORECASE):
            known = {soc.lower(): soc for soc in (*product.cores, *_OLD)}
            return known.get(text.lower(), upper)
    raise invalid(
        "soc must be the SoC name of an Atlas product",
        f"{name!r:.60}",
        f"use a name such as {', '.join(p.example_soc for p in PRODUCTS)}, or such as 'A2'",
    )


def product_of(name: "str | Product") -> Product:
    """Return the product of an SoC name or a product's name, by the rules of `soc_of`.

    >>> product_of("Ascend910B2").name
    'Atlas A2 training and inference'
    """
    soc = soc_of(name)
    return next(product for product in PRODUCTS if re.fullmatch(product.soc_pattern, soc))


def version_of(cann: "str | Version") -> "Version":
    """Return the CANN version of a text, or a given version; raise ValueError for anything else."""
    return cann if isinstance(cann, Version) else Version.parse(cann)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


# SoC names that are not in capitals
_OLD = ("Ascend910ProA", "Ascend910ProB", "Ascend910PremiumA")


_BETA, _RELEASE = "beta", "release"
_VERSION = re.compile(
    r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[.-](beta|rc)\.?(\d+))?([.-]pre)?", re.IGNORECASE
)


@dataclass(frozen=True, order=True)
class Version:
    """A CANN version; betas come before release candidates, these before the release, and each after its own `.pre`.

    >>> Version.parse("9.1.0-beta.2") < Version.parse("9.1.0.pre") < Version.parse("9.1")
    True
    """

    major: int
    minor: int
    patch: int = 0
    stage: str = _RELEASE  # the names of the stages sort in their order
    number: float = inf
    final: bool = True

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Read a version such as "8.1", "8.1.RC1", "9.0.1", "9.1.0-beta.2" or "9.1.0.pre"; "9.1" means 9.1.0.

        Raise ValueError for any other text.
        """
        match = _VERSION.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise invalid(
                "cann must be a CANN version",
                repr(text),
                "write it as 8.1, 8.1.RC1, 9.0.1, 9.1.0-beta.2 or 9.1.0.pre",
            )
        major, minor, patch, stage, number, pre = match.groups()
        return cls(
            int(major),
            int(minor),
            int(patch or 0),
            stage.lower() if stage else _RELEASE,
            int(number) if number else inf,
            not pre,
        )

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.stage != _RELEASE:
            text += f"-beta.{self.number}" if self.stage == _BETA else f".RC{self.number}"
        return text if self.final else text + ".pre"


VERSIONS = ("8.1", "9.0", "9.1")  # CANN versions whose sources were read
CANN = VERSIONS[-1]  # default if no version is named
# The first version with a product of arch35 is inferred: CANN 8.1's registry has none.
FIRST_ARCH35 = Version.parse("8.5.0")
