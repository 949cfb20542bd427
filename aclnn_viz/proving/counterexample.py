"""Search for numbers at which backward is not the derivative of forward, from small sizes to large; differences of forward give
the derivative.
"""

from dataclasses import dataclass
from heapq import merge
from inspect import signature
from itertools import islice, product

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.words.messages import tr

# step of differences, whose error is about STEP**4 plus a rounding error of 2**-36
STEP = 2.0**-16
# relative tolerances: of two numbers; of the slopes on both sides of a point
CLOSE, SMOOTH = 1e-7, 1e-3
SIZES = (1, 2, 3)
TRIED, FEWEST = 120, 120  # most sizes, least draws over all sizes, of one combination of options
DRAWS = 24  # random draws that check a proved claim, over all options together
ENTRIES = 24  # most entries of one input whose derivatives are checked
AGAIN = 10**6  # first seed of the draws that look for a smaller counterexample
# values that are drawn for whole, real and positive attributes
WHOLE, REAL, POSITIVE = (1, -100, 0, 2), (0.75, 0.0, 1.0, 0.25), (0.5, 1.0, 2.0)
# numbers where pages branch, and simple ones for the reader
SIMPLE = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0)


@dataclass(frozen=True)
class Counterexample:
    """The sizes, the inputs, and the entry of an output that differs from the derivative; `got` may be an error."""

    options: str
    sizes: dict
    inputs: dict
    output: str
    index: tuple
    got: object
    derivative: float | None

    def __str__(self) -> str:
        inputs = "\n".join(
            f"  {name} = {np.array2string(np.asarray(value), separator=', ')}"
            for name, value in self.inputs.items()
        )
        text = (
            tr("counterexample: {output} is {got}", output=self.output, got=self.got)
            if self.derivative is None
            else tr(
                "counterexample: {output}{index} is {got}, the derivative {derivative}",
                output=self.output,
                index=list(self.index),
                got=f"{self.got:.9g}",
                derivative=f"{self.derivative:.9g}",
            )
        )
        return "\n".join([text, *([f"  {self.options}"] if self.options else []), inputs])

    def content(self) -> dict:
        return {
            **vars(self),
            "inputs": {name: np.asarray(v).tolist() for name, v in self.inputs.items()},
            "index": list(self.index),
            "got": str(self.got),
        }


def search(subjects) -> Counterexample | None:
    """Return the smallest counterexample found over all options, by sizes, then by simplicity of numbers, or None."""
    for total, _, subject, sizes, seed in merge(
        *(_draws(n, subject) for n, subject in enumerate(subjects)), key=lambda draw: draw[:2]
    ):
        known = _drawn(subject, sizes, seed)
        if _wrong(subject, sizes, known):
            # draw again in smaller sizes: a smaller counterexample is easier to read
            for less, lengths in islice(_sizes(subject), ENTRIES):
                for again in range(AGAIN, AGAIN + 2 * ENTRIES) if less < total else ():
                    smaller = _drawn(subject, lengths, again)
                    if _wrong(subject, lengths, smaller):
                        return _simplest(subject, lengths, smaller)
            return _simplest(subject, sizes, known)
    return None


def tried(subjects) -> Counterexample | None:
    """Return a counterexample among a few draws of a proved claim, or None.

    A proof knows neither for which numbers a root is nan, nor what NumPy refuses. No draw has special numbers: where these are
    compared, or divided by, a proof states assumptions. A page that cancels is right to a few digits only.
    """
    draws = [
        draw for subject in enumerate(subjects) for draw in _draws(*subject) if draw[-1] % 6 == 0
    ]
    return next(
        filter(
            None,
            (
                _wrong(subject, sizes, _drawn(subject, sizes, seed), SMOOTH)
                for _, _, subject, sizes, seed in draws[:: len(draws) // DRAWS or 1]
            ),
        ),
        None,
    )


def _sizes(subject):
    """Return (sum of (length - 1), {letter: length}) for all sizes, from small to large."""
    letters = sorted(
        {
            s
            for given in subject.inputs.values()
            if given
            for n in given[0]
            for s in getattr(n, "free_symbols", ())
        },
        key=str,
    )
    sizes = sorted(product(SIZES, repeat=len(letters)), key=lambda s: (sum(s), s))
    if len(sizes) > TRIED:
        sizes = sizes[: TRIED // 2] + sizes[TRIED // 2 :: len(sizes) // (TRIED // 2)]
    return [(sum(lengths) - len(lengths), dict(zip(letters, lengths))) for lengths in sizes]


def _draws(number, subject):
    """Yield draws of a subject for each choice of its lengths, small ones first, with several seeds each.

    A draw is (sum of (length - 1), number of the subject, subject, {letter: length}, seed).
    """
    sizes = _sizes(subject)
    each = max(3, FEWEST // len(sizes))
    for at, (total, lengths) in enumerate(sizes):
        for seed in range(each * at, each * (at + 1)):
            yield total, number, subject, lengths, seed


def _drawn(subject, sizes, seed):
    """Draw inputs and attributes; every other draw has some equal numbers, or numbers with which pages compare."""
    rng, known = np.random.default_rng(seed), {}
    for name, value in subject.attributes.items():
        value = _of_sizes(value, sizes)
        values = (
            ()
            if not hasattr(value, "free_symbols")
            else WHOLE
            if value.is_integer
            else POSITIVE
            if value.is_positive
            else REAL
        )
        known[name] = values[0 if seed % 3 == 0 else rng.integers(len(values))] if values else value
    for name, given in subject.inputs.items():
        if given is None:
            known[name] = None
            continue
        shape = tuple(int(n.subs(sizes)) if hasattr(n, "subs") else n for n in given[0])
        if min(shape, default=0) < 0:
            return None  # the windows do not fit these lengths
        if name in subject.labels:
            length, beside = subject.labels[name]
            known[name] = rng.integers(0, int(length.subs(sizes)), shape)
            if beside is not None:
                known[name] = np.where(
                    rng.random(shape) < (0, 0.3, 0.6)[seed % 3], known[str(beside)], known[name]
                )
            continue
        width = (2, 8)[seed % 4 > 1]
        numbers = np.round(rng.uniform(-width, width, shape) * 64 + 0.37) / 64 + 1 / 512
        kind = rng.integers(4) if seed % 2 else 0
        known[name] = (
            np.full(shape, numbers.flat[0])
            if kind == 1 and numbers.size
            else rng.choice(SIMPLE, shape)
            if kind == 2
            else np.where(rng.random(shape) < 0.4, 0.0, numbers)
            if kind == 3
            else numbers
        )
    return known


def _of_sizes(value, sizes):
    """Return an attribute, or a tuple of several, with the sizes filled in: an int where no symbol is left."""
    if isinstance(value, tuple):
        return tuple(_of_sizes(one, sizes) for one in value)
    value = value.subs(sizes) if hasattr(value, "subs") else value
    return int(value) if getattr(value, "is_Integer", False) else value


def _simplest(subject, sizes, known):
    """Return the counterexample with each number in turn simplified as far as it stays one."""
    for name, value in known.items():
        if (
            name in subject.labels
            or name not in subject.inputs
            or name in subject.saved
            or value is None
        ):
            continue
        for place in np.ndindex(value.shape):
            for simple in (*SIMPLE, round(float(value[place]), 1)):
                if simple == value[place]:
                    break
                changed = value.copy()
                changed[place] = simple
                if _wrong(subject, sizes, known | {name: changed}):
                    known, value = known | {name: changed}, changed
                    break
    return _wrong(subject, sizes, known)


def _wrong(subject, sizes, known, close=CLOSE):
    """Return a Counterexample if an output at these sizes and inputs differs from the derivative, else None."""

    def loss(change):
        outputs = _run(subject.forward, subject.preludes[0], known | change)
        return outputs, sum(
            float(np.sum(known[d] * outputs[y])) for d, y in subject.upstream.items()
        )

    def found(output, index, got, derivative):
        inputs = {n: v for n, v in (known | saved).items() if v is not None}
        return Counterexample(
            str(subject),
            {str(n): v for n, v in sizes.items()},
            inputs,
            output,
            index,
            got,
            derivative,
        )

    with np.errstate(all="ignore"):
        try:
            outputs, middle = loss({})
        except Exception:  # forward refuses these sizes
            return None
        saved = {
            name: outputs[of]
            for name, of in subject.saved.items()
            if known.get(name, 0) is not None
        }
        try:
            made = _run(subject.backward, subject.preludes[1], known | saved)
            made = {output: np.asarray(made[output], float) for output in subject.gradient_of}
        except Exception as error:
            return (
                found("backward", (), f"{type(error).__name__}: {error}", None)
                if np.isfinite(middle)
                else None
            )
        for output, of in subject.gradient_of.items():
            if made[output].shape != known[of].shape:
                return found(output, (), f"of shape {made[output].shape}", None)
            for index in islice(np.ndindex(known[of].shape), ENTRIES):
                derivative, scale = _derivative(
                    lambda change: loss(change)[1], of, known[of], index, middle
                )
                got = float(made[output][index])
                if derivative is not None and not abs(got - derivative) < close * scale:
                    return found(output, index, got, derivative)
    return None


def _derivative(loss, of, value, index, middle):
    """Return (derivative of the loss by one element, scale of its error); (None, 1) where the loss is not smooth."""
    sides = []
    for step in (STEP, -STEP, 2 * STEP, -2 * STEP):
        moved = value.copy()
        moved[index] += step
        sides.append((loss({of: moved}) - middle) / step)
    near, far = (sides[0] + sides[1]) / 2, (sides[2] + sides[3]) / 2
    derivative = (4 * near - far) / 3
    scale = max(1.0, abs(derivative), abs(middle))
    smooth = np.isfinite(derivative) and all(
        abs(sides[a] - sides[b]) < SMOOTH * scale for a, b in ((0, 1), (2, 0), (3, 1))
    )
    # With twice the step, the difference of the sides doubles for a smooth function, not at a
    # kink; if the slope has a kink, the derivative changes with the step.
    jump = abs(2 * (sides[0] - sides[1]) - (sides[2] - sides[3])) + abs(near - far)
    return (derivative, scale + jump / CLOSE) if smooth else (None, 1.0)


class _Places(NumPyArrays):
    """NumPy that refuses negative indices in lookups."""

    def take(self, x, index, axis=0):
        if np.min(index, initial=0) < 0:
            raise IndexError("a place below 0")
        return np.take(x, index, axis=axis)


def _run(function, prelude, known):
    xp = _Places()
    if prelude:
        known = known | prelude(
            xp, **{n: known[n] for n in list(signature(prelude).parameters)[1:]}
        )
    return function(xp, **{n: known[n] for n in list(signature(function).parameters)[1:]})
