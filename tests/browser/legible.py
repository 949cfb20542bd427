"""Whether the words of an explorer can be read: complete, inside their panel, and without overlap."""

from contextlib import contextmanager

# Each canvas records since it was cleared its words, [text, left, top, right, bottom, clip], and the ends of what is dashed.
LISTEN = """() => {
    const of = CanvasRenderingContext2D.prototype, own = {}, clips = new WeakMap(), rects = new WeakMap(), paths = new WeakMap();
    const clip = (context) => clips.get(context) ?? clips.set(context, [null]).get(context);
    const placed = (context, x0, y0, x1, y1) => {
        const m = context.getTransform(), corners = [[x0, y0], [x1, y0], [x0, y1], [x1, y1]];
        const xs = corners.map(([x, y]) => (m.a * x + m.c * y + m.e) / devicePixelRatio);
        const ys = corners.map(([x, y]) => (m.b * x + m.d * y + m.f) / devicePixelRatio);
        return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    };
    const dash = (context, places) => {
        if (!context.canvas.dashed || !context.getLineDash().length) return;
        const [xs, ys] = [0, 1].map((k) => places.map((place) => place[k]));
        context.canvas.dashed.push(placed(context, Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)));
    };
    const before = {
        clearRect() { this.canvas.words = []; this.canvas.dashed = []; },
        beginPath() { paths.set(this, []); },
        moveTo(x, y) { paths.get(this)?.push([x, y]); },
        lineTo(x, y) { paths.get(this)?.push([x, y]); },
        stroke() { dash(this, paths.get(this)); },
        strokeRect(x, y, wide, tall) { dash(this, [[x, y], [x + wide, y + tall]]); },
        save() { clip(this).push(clip(this).at(-1)); },
        restore() { if (clip(this).length > 1) clip(this).pop(); },
        rect(x, y, wide, tall) { rects.set(this, placed(this, x, y, x + wide, y + tall)); },
        clip() { clip(this)[clip(this).length - 1] = rects.get(this); },
        fillText(text, x, y) {
            if (!text.trim() || !this.canvas.words) return;
            const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right, actualBoundingBoxAscent: up,
                actualBoundingBoxDescent: down } = this.measureText(text);
            this.canvas.words.push([text, ...placed(this, x - left, y - up, x + right, y + down), clip(this).at(-1)]);
        },
    };
    for (const [name, first] of Object.entries(before)) {
        own[name] = of[name];
        of[name] = function (...given) { first.apply(this, given); return own[name].apply(this, given); };
    }
    window.stopListening = () => Object.assign(of, own);
}"""
# A pixel and a half is the soft edge of a letter. The text twin has the whole of a code name that ends in dots.
FAULTS = """() => {
    const found = [], root = document.querySelector(".aclnn-explorer"), edge = 1.5;
    for (const figure of root.querySelectorAll("[data-panel]")) {
        const canvas = figure.querySelector("canvas"), { words } = canvas, say = (...parts) => found.push(
            [figure.dataset.panel, ...parts].join(": "));
        if (!words) { say("drawn before anyone listened"); continue; }
        for (const [text, left, top, right, bottom, clip] of words) {
            const [x0, y0, x1, y1] = clip ?? [0, 0, canvas.clientWidth, canvas.clientHeight];
            if (left < x0 - edge || top < y0 - edge || right > x1 + edge || bottom > y1 + edge) say("cut off", text);
            if (/…$/.test(text) && !/^\\w+…$/.test(text)) say("shortened", text);
        }
        words.forEach(([one, left, top, right, bottom], k) => words.slice(k + 1).forEach(([other, l, t, r, b]) => {
            const [across, down] = [Math.min(right, r) - Math.max(left, l), Math.min(bottom, b) - Math.max(top, t)];
            if (across > edge && down > edge) say("one upon another", one, other);
        }));
    }
    for (const node of root.querySelectorAll("figcaption, li, legend, button, .ae-control")) {
        if (node.clientWidth && node.scrollWidth > node.clientWidth + edge) found.push(`cut off: ${node.textContent}`);
    }
    return found;
}"""


@contextmanager
def listening(page):
    """Let `faults` know the page's drawings while this is open."""
    page.evaluate(LISTEN)
    try:
        yield
    finally:
        page.evaluate("stopListening()")


def faults(page) -> list[str]:
    """Return the unreadable words of an explorer drawn since `listening`, each with its panel."""
    return page.evaluate(FAULTS)
