"""Numbers for which backward is not the derivative of forward: sizes from small to large, the derivative by differences."""

from dataclasses import dataclass
from inspect import signature
from itertools import islice, product

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.words.speech import tr

STEP = 2.0**-16  # of the differences: their error is about its square
SIZES = (1, 2, 3)
WIDTHS = (2, 8)  # of the numbers
TRIED, FEWEST = 120, 60  # sizes, and draws, of one combination of options


@dataclass(frozen=True)
class Counterexample:
    """The sizes, the inputs, and the entry of an output that is not the derivative there; `got` may be an error."""

    options: str
    sizes: dict
    inputs: dict
    output: str
    index: tuple
    got: object
    derivative: float | None

    def __str__(self) -> str:
        inputs = "\n".join(f"  {name} = {np.array2string(np.asarray(value), separator=', ')}" for name, value in self.inputs.items())
        told = tr("counterexample: {output}{index} is {got}, the derivative {derivative}", output=self.output, index=list(self.index),
                  got=self.got, derivative=self.derivative)
        return "\n".join([told, *([f"  {self.options}"] if self.options else []), inputs])

    def content(self) -> dict:
        return {**vars(self), "inputs": {name: np.asarray(v).tolist() for name, v in self.inputs.items()}, "index": list(self.index),
                "got": str(self.got)}


def search(subjects) -> Counterexample | None:
    """The smallest counterexample found among the options, or None."""
    found = filter(None, map(_of_subject, subjects))
    return min(islice(found, 3), key=lambda c: (sum(c.sizes.values()), sum(np.size(v) for v in c.inputs.values())), default=None)


def _of_subject(subject):
    letters = sorted({s for given in subject.inputs.values() if given for n in given[0] for s in getattr(n, "free_symbols", ())}, key=str)
    sizes = sorted(product(SIZES, repeat=len(letters)), key=lambda s: (sum(s), s))
    if len(sizes) > TRIED:
        sizes = sizes[:TRIED // 2] + sizes[TRIED // 2::len(sizes) // (TRIED // 2)]
    for seed, lengths in enumerate(lengths for lengths in sizes for _ in range(max(2, FEWEST // len(sizes)))):
        found = _tried(subject, dict(zip(letters, lengths)), np.random.default_rng(seed), WIDTHS[seed % len(WIDTHS)])
        if found:
            return found
    return None


def _tried(subject, sizes, rng, width):
    known = {}
    for name, value in subject.attributes.items():
        known[name] = value if not hasattr(value, "free_symbols") else 1 if value.is_integer else 0.5 if value.is_positive else 0.75
    for name, given in subject.inputs.items():
        if given is None:
            known[name] = None
            continue
        shape = tuple(int(n.subs(sizes)) if hasattr(n, "subs") else n for n in given[0])
        if name in subject.labels:
            length, beside = subject.labels[name]
            known[name] = rng.integers(0, int(length.subs(sizes)), shape)
            if beside is not None and known[name].size > 1 and rng.random() < 0.5:
                known[name].flat[0] = known[str(beside)]
        else:
            known[name] = np.round(rng.uniform(-width, width, shape) * 64 + 0.37) / 64 + 1 / 512
    labelled = {d: y for d, y in subject.upstream.items()}

    def loss(change):
        outputs = _run(subject.forward, subject.preludes[0], known | change)
        return outputs, sum(float(np.sum(known[d] * outputs[y])) for d, y in labelled.items())
    with np.errstate(all="ignore"):
        try:
            outputs, middle = loss({})
        except Exception:  # sizes that forward does not take
            return None

        def found(output, index, got, derivative):
            return Counterexample(str(subject), {str(n): v for n, v in sizes.items()}, {n: v for n, v in known.items() if v is not None},
                                  output, index, got, derivative)
        saved = {name: outputs[of] for name, of in subject.saved.items() if known.get(name, 0) is not None}
        known_backward = known | saved
        try:
            made = _run(subject.backward, subject.preludes[1], known_backward)
            made = {output: np.asarray(made[output], float) for output in subject.gradient_of}
        except Exception as error:
            return found("backward", (), error, None)
        for output, of in subject.gradient_of.items():
            if made[output].shape != known[of].shape:
                return found(output, (), f"of shape {made[output].shape}", None)
            for index in islice(np.ndindex(known[of].shape), 24):
                sides = []
                for step in (STEP, -STEP, 2 * STEP, -2 * STEP):
                    moved = known[of].copy()
                    moved[index] += step
                    sides.append((loss({of: moved})[1] - middle) / step)
                derivative, got = (4 * (sides[0] + sides[1]) - sides[2] - sides[3]) / 6, float(made[output][index])
                scale = max(1.0, abs(derivative), abs(middle))
                smooth = abs(sides[0] - sides[1]) < 1e-2 * scale and abs(sides[2] - sides[0]) < 1e-2 * scale
                if smooth and not abs(got - derivative) < 1e-5 * scale:
                    return found(output, index, got, derivative)
    return None


def _run(function, prelude, known):
    xp = NumPyArrays()
    if prelude:
        known = known | prelude(xp, **{n: known[n] for n in list(signature(prelude).parameters)[1:]})
    return function(xp, **{n: known[n] for n in list(signature(function).parameters)[1:]})
