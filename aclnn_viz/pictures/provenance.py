"""State the origin of numbers (device, product, version, seed), for the caption of every picture of numeric error."""

import re
from dataclasses import dataclass

from aclnn_viz.cases import Case
from aclnn_viz.errors import invalid, is_device, mistyped, need, shown, whole
from aclnn_viz.words.messages import enumerated, message, tr

HARDWARE = re.compile(r"atlas:\d+( \(custom [^;)]*\))?|torch:npu(:\d+)? \([^)]*\)")


@dataclass(frozen=True)
class Provenance:
    """The shown output and its origin: `device` is a device's name, or another origin ("prediction").

    >>> Provenance("dxOut of aclnnRmsNormGrad", "host", "Ascend910B2", "9.1.0", seed=3).origin
    'host, Ascend910B2, CANN 9.1.0'
    """

    output: str
    device: str
    soc: str = ""
    cann: str = ""
    seed: int | None = None

    def __post_init__(self):
        for name in ("output", "device", "soc", "cann"):
            need(getattr(self, name), str, f"{name} is a text", "pass its name, or leave it out")
        self.seed is None or whole("seed", self.seed)

    @classmethod
    def of(cls, case, output: str, device) -> "Provenance":
        """Return the provenance of a case's output, computed by an opened device, a capsule, or a named origin.

        Raise TypeError for another kind of case or device, ValueError for an unknown output.
        """
        need(case, Case, "case is a Case", "draw it with av.case(op, ...)")
        if not isinstance(output, str) or output not in case.operator.outputs:
            raise invalid(
                f"an output of {case.operator.name} is one of {', '.join(case.operator.outputs)}",
                shown(output),
                "choose one",
            )
        if not isinstance(device, str) and not is_device(device):
            raise mistyped(
                "device is an opened device, or says who computed it",
                shown(device),
                'pass av.open_device("host"), or such as "mine"',
            )
        return cls.named(case.operator, output, device, case.seed)

    @classmethod
    def named(cls, op, output: str, device, seed: int | None) -> "Provenance":
        """Return the provenance of an operator's output, computed by a device or a named origin."""
        output = message("{output} of {operator}", output=output, operator=op.aclnn_name)
        if isinstance(device, str):
            return cls(output, device, seed=seed)
        return cls(output, device.name, device.soc, str(device.cann), seed)

    @property
    def origin(self) -> str:
        return tr(", ").join(
            filter(None, (tr(self.device), self.soc, f"CANN {self.cann}" if self.cann else ""))
        )

    @property
    def measured(self) -> bool:
        """Return whether an Atlas just computed the output: no emulator, stand-in, prediction or recording did."""
        return HARDWARE.fullmatch(self.device) is not None

    @property
    def drawn(self) -> str:
        return (
            tr("inputs not drawn by seed")
            if self.seed is None
            else tr("seed {seed}", seed=self.seed)
        )


def warning(sources: dict[str, Provenance]) -> str:
    """Return a picture's warning that names the runs not computed on an Atlas; empty if all were.

    >>> warning({"A2": Provenance("out", "atlas:0"), "plan": Provenance("out", "prediction")})
    'not measured on hardware here: plan (prediction)'
    """
    named = [
        tr("{run} ({device})", run=name, device=tr(source.device)) if name else tr(source.device)
        for name, source in sources.items()
        if not source.measured
    ]
    return tr("not measured on hardware here: {runs}", runs=enumerated(named)) if named else ""


def caption(statistic: str, dtype: str, shape: tuple[int, ...], size: int, sources) -> str:
    """Return a line of small print: statistic, sample size, dtype, shape, device, CANN version and seed."""
    sources = list(sources)
    origins = tr("; ").join(dict.fromkeys(source.origin for source in sources))
    seeds = tr(", ").join(dict.fromkeys(source.drawn for source in sources))
    return tr(
        "{statistic}. n = {n}, {dtype} {shape}; {origins}; {seeds}.",
        statistic=statistic,
        n=f"{size:,}",
        dtype=dtype,
        shape=list(shape),
        origins=origins,
        seeds=seeds,
    )
