"""List which operators the vendor documents in public repositories, from documented.tsv, to count the operators missing
here.
"""

from pathlib import Path
from typing import NamedTuple


class Documented(NamedTuple):
    """A backward operator that the vendor documents: its family, and the repository and path of the document."""

    family: str
    aclnn_name: str
    document: str


def documented() -> list[Documented]:
    """Return all backward operators documented in the public repositories, by family."""
    lines = Path(__file__).with_name("documented.tsv").read_text("utf-8").splitlines()
    return [Documented(*line.split("\t")) for line in lines if not line.startswith("#")]
