"""Whether panels on the screen match a state: axes, words, colours at the places of the data."""

import json
import re

import numpy as np

from aclnn_viz.pictures.palette import coloured
from aclnn_viz.pictures.style import SERIES

DESCRIBED = """() => [...document.querySelectorAll(".aclnn-explorer [data-panel]")].map((figure) => [
    figure.dataset.panel, figure.querySelector("figcaption").textContent,
    figure.querySelector("canvas").dataset.axes])"""
# For each place: does a pixel within `radius` have the colour, up to `far` in each channel?
FOUND = """([panel, places, colours, radius, far]) => {
    const canvas = document.querySelector(`.aclnn-explorer [data-panel="${panel}"] canvas`);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return places.map(([x, y], k) => {
        for (let j = -radius; j <= radius; j += 1) for (let i = -radius; i <= radius; i += 1) {
            const at = 4 * ((Math.floor(y) + j) * canvas.width + Math.floor(x) + i);
            const same = colours[k].every((value, c) => Math.abs(value - data[at + c]) <= far);
            if (same && data[at + 3] > 200) return true;
        }
        return false;
    });
}"""
# Notes and boxes cover some places, and the gaps of a dash, at most 3 of 10 pixels, leave some out.
ENOUGH = {"Heat": 0.8, "Image": 0.8, "Dots": 0.8, "Bars": 0.8, "Line": 0.6}
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
HANDLE = 12  # pixels from the middle of a handle to its visible surroundings
MOST = 200  # most places of a mark that are tested


def check(opened, state):
    """Raise AssertionError unless the shown panels match the state."""
    data = opened.data(state)
    (arrays, panels), found = opened.subject.drawn(data), opened.subject.words(data)
    shown = opened.page.evaluate(DESCRIBED)
    assert [(name, title) for name, title, _ in shown] == [
        (panel["name"], panel["title"]) for panel in panels
    ]
    axes = {name: json.loads(said) for name, _, said in shown}
    for panel in panels:
        for name in "xy":
            *ends, scale = axes[panel["name"]][name]
            assert scale == panel[name]["scale"], (panel["name"], name)
            assert near(ends, [panel[name]["low"], panel[name]["high"]]), (panel["name"], name)
    words = [*found["headline"], *found["notices"], found["text"]]
    said = opened.page.locator(
        ".aclnn-explorer .ae-headline li, .aclnn-explorer .ae-twin pre"
    ).all_text_contents()
    assert [NUMBER.sub("#", text) for text in said] == [NUMBER.sub("#", text) for text in words]
    assert all(
        near(NUMBER.findall(here), NUMBER.findall(there)) for here, there in zip(said, words)
    )
    assert misplaced(opened, axes, panels, arrays) == []


def near(numbers, others):
    """Return whether lists of numbers agree except for float32 sums in another order, as in another process."""
    numbers, others = np.array(numbers, float), np.array(others, float)
    return numbers.shape == others.shape and np.allclose(
        numbers, others, 2e-3, 1e-6 * np.abs(others).max(initial=0.0)
    )


def misplaced(opened, axes, panels, arrays):
    """Return misplaced marks: the uppermost line, dots, bars or cells of each panel, compared with the arrays."""
    wrong = []
    for text in panels:
        frame = Frame(axes[text["name"]])
        if (looked_at := _uppermost(text["marks"], arrays, frame)) is None:
            continue
        mark, places, colours, free = looked_at
        chosen = np.linspace(0, len(places) - 1, min(len(places), MOST)).astype(int)

        def share(aside, radius, far):
            asked = [
                text["name"],
                (places + aside)[chosen].tolist(),
                colours[chosen].tolist(),
                radius,
                far,
            ]
            return np.mean(opened.page.evaluate(FOUND, asked))

        if not len(places):
            continue
        # digits have soft edges
        found = share(0, bool(mark.get("digits")), 4) if "values" in mark else share(0, 2, 70)
        # less than a pixel of a narrow bar may have its full colour, as of a line
        wide = (bars := mark["mark"] == "Bars") and frame.wide(mark)
        # one more may lie under a word, also of three
        if (ENOUGH["Line" if bars and not wide else mark["mark"]] - found) * len(chosen) >= 1:
            wrong.append(f"{text['name']}: {found:.0%} of the {mark['mark']}")
        elif wide and (beyond := share(_outwards(mark, arrays, frame)[free], 1, 70)) > 0.3:
            wrong.append(f"{text['name']}: {beyond:.0%} of the Bars are longer")
    return wrong


def _uppermost(marks, arrays, frame):
    """Return the uppermost mark, and the places, colours and free places to search; a single dot is one of those below."""
    drawn = [k for k, mark in enumerate(marks) if mark["mark"] in ENOUGH]
    for at, below in zip(drawn[::-1], [*drawn[-2::-1], None]):
        places, colours = PLACES[marks[at]["mark"]](marks[at], arrays, frame)
        single = below is not None and {marks[at]["mark"], marks[below]["mark"]} == {"Dots"}
        if len(places) > single:
            free = frame.clear_of(marks[at:], places, arrays)
            return marks[at], places[free], colours[free], free
    return None


class Frame:
    """The box of the axes in pixels, and the map of values to it."""

    def __init__(self, axes):
        self.box, self.ends = axes["box"], {"x": axes["x"], "y": axes["y"]}

    def place(self, x, y):
        box = self.box
        across = self._along("x", x, box["left"], box["right"])
        return np.stack([across, self._along("y", y, box["bottom"], box["top"])], -1)

    def clear_of(self, marks, places, arrays):
        """Return whether each place lies beside the rules and handles among the marks, which may cover a steep line."""
        clear = np.full(len(places), True)
        for mark in marks:
            if mark["mark"] == "Rule":
                axis = "xy".index(mark["axis"])
                clear &= ~(np.abs(places[:, axis] - self.place(mark["at"], mark["at"])[axis]) <= 4)
            elif mark["mark"] == "Handles":
                held = self.place(arrays[mark["x"]], arrays[mark["y"]]).reshape(-1, 2)
                clear &= ~(np.abs(places[:, None] - held).max(-1) <= HANDLE).any(1)
        return clear

    def wide(self, bars):
        """Return whether bars are so wide that a place beyond one is not in its neighbour."""
        return np.ptp(self.place(np.array([0, bars["width"]]), np.zeros(2))[:, 0]) >= 4

    def _along(self, axis, values, start, end):
        low, high, scale = self.ends[axis]
        values = np.asarray(values, np.float64)
        with np.errstate(all="ignore"):
            lift = np.log10 if scale == "log" else np.asarray
            return start + (lift(values) - lift(low)) / (lift(high) - lift(low)) * (end - start)

    def inside(self, places, margin=1.0):
        low = np.array([self.box["left"], self.box["top"]]) + margin
        high = np.array([self.box["right"], self.box["bottom"]]) - margin
        return (np.isfinite(places) & (places > low) & (places < high)).all(-1)


def _series(mark, count):
    return np.tile([*bytes.fromhex(SERIES[mark["kind"] % len(SERIES)][0][1:])], (count, 1))


def _points(mark, arrays, frame):
    places = frame.place(arrays[mark["x"]], arrays[mark["y"]])
    if mark["mark"] == "Line":  # along the whole line; what has no length draws nothing
        with np.errstate(invalid="ignore"):
            steps = np.diff(places, axis=0)
            steps[np.abs(steps).max(1) < 1e-3] = np.nan
        places = np.concatenate([places[:-1] + part * steps for part in np.linspace(0, 1, 9)])
    places = places[frame.inside(places)]
    return places, _series(mark, len(places))


def _ends(mark, arrays, frame):
    """Return the visible end of each bar, and 1 for a bar pointing down, -1 for up."""
    x, y = arrays[mark["x"]], arrays[mark["y"]]
    ends, feet = frame.place(x, y), frame.place(x, np.zeros(len(x)))
    feet[:, 1] = np.clip(
        np.nan_to_num(feet[:, 1], posinf=np.inf), frame.box["top"], frame.box["bottom"]
    )
    long = (np.abs(ends - feet)[:, 1] > 8) & frame.inside(ends, 6.0)
    return ends[long], np.sign(ends - feet)[long, 1]


def _bars(mark, arrays, frame):
    ends, sign = _ends(mark, arrays, frame)
    return ends - sign[:, None] * np.array([0.0, 3.0]), _series(mark, len(ends))


def _outwards(mark, arrays, frame):
    """Return the places just inside the ends of bars and those just outside."""
    return _ends(mark, arrays, frame)[1][:, None] * np.array([0.0, 7.0])


def _cells(mark, arrays, frame):
    values = np.asarray(arrays[mark["values"]], np.float64)
    rows, columns = np.indices(values.shape)
    size = np.abs(frame.place(1.0, 1.0) - frame.place(0.0, 0.0))
    # Beside a number or a sign in the middle, and 5 pixels away from the outlines of a cell where there is room.
    most = (0.38 if mark.get("digits") else 0.3) * size
    aside = np.where(size >= 8, np.clip(size / 2 - 5, 1.6, most) / size, 0.0)
    places = frame.place(columns + mark.get("x", 0) - aside[0], rows + mark.get("y", 0) - aside[1])
    keep = frame.inside(places) & np.isfinite(values)
    return places[keep], coloured(values, mark["map"], mark["low"], mark["high"])[keep].astype(int)


PLACES = {"Line": _points, "Dots": _points, "Bars": _bars, "Heat": _cells, "Image": _cells}
