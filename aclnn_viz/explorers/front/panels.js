// The picture of an explorer that describes it as panels (pictures/panels.py): they are drawn here, nothing is computed.

const FARTHEST = 34;  // pixels from a line of a program to the next
const WIDEST = 80, HIGH = 120, OPENED = 600;  // pixels: the most of a cell of a tensor, and of a picture that is as high as the one before
const AROUND = [0.3, 0.06];  // from a bar of a formula to its frame
const FREE = ["Dots", "Note", "Handles", "Grip"];  // marks that may reach beyond the axes

// Words that surely fit into one line get a fixed height: a new text then moves nothing, and no page is laid out anew.
function fixed(node, text, wide) {
  const wider = HAN.test(text) ? 0.6 * text.match(EACH_HAN).length : 0;  // a letter may take 9 pixels, a Chinese one 14
  node.classList.toggle("ae-one", (text.length + wider) * 9 < wide);
}

// Drawings that stand in one row, where each leaves as much room as the legend that has the most lines.
const alikeIn = (kit) => kit.all.filter(({ alike, drawing }) => alike && drawing.rows !== undefined).map(({ drawing }) => drawing);

// One described panel on its canvas. It stays while the picture has a panel of this name.
class Drawing extends Frame {
  constructor(kit, name) {
    super();
    this.kit = kit;
    this.panel = new Panel(kit, "drawn", name);
    this.panel.figure.dataset.panel = name;
    this.panel.drawing = this;
    this.panel.probe = (x, y) => this.words(x, y);
    this.panel.again = () => { if (this.arrays) this.draw(this.spec, this.arrays); };
    // a finger that scrolls chooses nothing: its tap is a click
    const choose = ({ buttons, pointerType, offsetX, offsetY }) => { if (buttons === 1 && pointerType !== "touch") this.choose(offsetX, offsetY); };
    this.panel.top.addEventListener("pointerdown", choose);
    this.panel.top.addEventListener("pointermove", choose);
    this.panel.top.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      this.panel.top.style.cursor = this.spot(offsetX, offsetY)?.set || this.spec?.pick.length ? "pointer" : this.hand ? "grab" : "";
    });
    this.panel.top.addEventListener("pointermove", ({ offsetX }) => this.link(offsetX));
    this.panel.top.addEventListener("pointerleave", () => this.link(NaN));
    for (const name of ["pointerdown", "pointermove", "pointerleave"]) this.panel.top.addEventListener(name, ({ offsetX, offsetY }) => this.aim(name !== "pointerleave" && this.spot(offsetX, offsetY)?.aim));
    const light = (lit) => {  // what is pointed at lights its like in all panels
      if (kit.lit === lit) return;
      kit.lit = lit;
      for (const { drawing } of kit.all) if (drawing?.marks?.some(({ mark }) => mark === "Blocks")) drawing.panel.again();
    };
    this.panel.top.addEventListener("pointermove", ({ offsetX, offsetY }) => light(this.sx && this.blockAt(offsetX, offsetY)));
    this.panel.top.addEventListener("pointerleave", () => light());
    this.panel.top.addEventListener("click", ({ offsetX, offsetY }) => {
      const { set, place } = this.spot(offsetX, offsetY) ?? {};
      if (!set) { this.choose(offsetX, offsetY); return; }
      this.panel.leave();  // the sentence says what is set; the pointer's next movement shows the hint again
      this.frameOn(place);
      kit.set(Object.fromEntries(set));
    });
    this.style = "";
  }

  // Give the figure its place; returns whether its size has to be read again.
  fit(spec) {
    this.spec = spec;
    if (spec.opens[0] === 0) this.first = spec.height;  // what opens out of it is as high, so that nothing below moves
    const high = spec.opens.length ? Math.max(spec.height, Math.min(this.first ?? 0, OPENED)) : spec.height;
    const style = [spec.span, spec.rows, `${spec.least}px`], grown = spec.height ? "" : Math.abs((spec.x.high - spec.x.low) / (spec.y.high - spec.y.low)), key = [...style, high, grown].join();
    if (this.style === key) return false;
    this.style = key;
    ["span", "rows", "least"].forEach((name, k) => this.panel.figure.style.setProperty(`--${name}`, style[k]));
    this.panel.stage.style.paddingBottom = grown && "22px";  // of the legend and the words below
    this.panel.stage.style.maxHeight = grown && "var(--tallest, 640px)";
    this.panel.stage.style.aspectRatio = grown;  // without a height of its own: as high as its axes are long
    this.panel.figure.classList.toggle("ae-scrolls", spec.least > 0);
    if (spec.least) this.panel.figure.tabIndex = 0;
    this.panel.stage.style.minHeight = `${high}px`;
    this.panel.figure.style.setProperty("--high", `${high}px`);
    this.panel.figure.classList.toggle("ae-square", spec.square && spec.height > 0);
    this.panel.top.style.cursor = spec.pick.length ? "pointer" : "";
    return true;
  }

  say(spec) {
    const { title, marks } = this.spec = spec;
    fixed(this.panel.caption, title, this.panel.seen);  // the window may have become narrower
    if (this.title === title) return;
    this.title = title;
    put(this.panel.caption, title);
    const handle = marks.find(({ mark }) => mark === "Handles");
    this.panel.top.setAttribute("aria-label", handle
      ? tr("{title}; {points}: arrow keys move the chosen one by a small step, with Shift by four; Page Up and Page Down choose another; Home puts it back",
        { title, points: handle.label }) : title);
  }

  // Whether it shows slices of a volume.
  get sliced() {
    return this.spec.folds.length > 0;
  }

  series(kind) {
    const { kinds, stage } = this.kit.model.get("colours"), all = [...kinds, ...stage], { light, dark, dash } = all[kind % all.length];
    return { colour: this.kit.theme.dark ? dark : light, dash, shape: kind % INSIDE.length };
  }

  draw(spec, arrays) {
    this.spec = spec;
    this.arrays = arrays;
    if (!spec.aims) this.aim(null);
    const narrow = this.kit.crops && this.sliced, placed = (mark) => PLACES.every((name) => mark[name] !== null) && !(narrow && elsewhere(mark, spec));  // else it is not there in this state
    const point = narrow && spec.marks.find(({ mark, sets }) => mark === "Grip" && sets.length > 1)?.x;
    this.marks = spec.marks.filter(placed).map((mark) => {  // names of arrays give way to the numbers themselves
      const made = { ...this.series(mark.kind ?? 0), ...mark };
      for (const [field, value] of Object.entries(mark)) if (typeof value === "string" && arrays[value]) made[field] = arrays[value].data;
      if (mark.values) [made.rows, made.columns] = arrays[mark.values].shape;
      if (mark.bright) [, made.wide] = arrays[mark.bright].shape;
      if (mark.mark === "Handles") [made.rows, made.columns] = arrays[mark.x].shape;
      if (narrow && !aside(made, spec, point)) lowered(made, spec.folds);
      return made;
    });
    const bars = this.marks.filter(({ mark }) => mark === "Bars"), last = ({ mark }) => mark === (this.sliced || spec.second ? "Note" : this.none && "Bars");
    this.none = bars.length === 1 && bars[0].y.every(Number.isNaN);  // nothing is drawn of it but words
    this.marks.sort((one, other) => last(one) - last(other));  // nothing strikes a word
    this.cells = this.marks.some(({ mark }) => mark === "Heat" || mark === "Image");
    this.counts = Boolean(spec.x.label) && this.marks.some(({ mark }) => mark === "Bars" || mark === "Heat");
    this.handle = this.marks.find(({ mark }) => mark === "Handles");
    if (this.handle && !this.hand) this.hand = takeHand(this);
    const context = this.panel.begin(), { width, height } = this.panel;
    if (this.size !== `${width}x${height}`) {  // whole pixels: nothing is blurred
      this.size = `${width}x${height}`;
      Object.assign(this.panel.top.style, { width: `${width}px`, height: `${height}px` });
    }
    const { x, y } = spec;
    this.rows = this.legend(context);
    const legend = this.led = this.panel.alike ? Math.max(...alikeIn(this.kit).map(({ rows }) => rows)) : this.rows;
    const column = (each) => x.label && !this.cells && !each?.below && !spec.below && ["span", "rows", "more"].every((name) => each?.[name] === spec[name]) && each.x.label === x.label;
    const lined = this.kit.all.map(({ drawing }) => drawing.spec).filter((each) => each === spec || (each?.below === spec.name && each.name !== "machine") || column(each));  // below it, in line
    const wide = Math.max(0, ...lined.flatMap((each) => this.named(context, each)).flatMap(([, rows]) => rows.map((row) => widthOf(context, row))));
    const under = this.shared && !this.panel.alike ? [] : wrapped(context, x.label, width);
    const numbered = !this.cells && y.ticks.some(([, text]) => text && Number.isFinite(Number(text)));  // its lowest number may stand at its end
    const bottom = height - Math.max((x.ticks.length ? LINE + 2 : 2) + LINE * under.length, numbered ? LINE / 2 : 0), top = Math.max(legend + 4, y.ticks.length ? LINE / 2 : 0);
    const upright = wrapped(context, y.label, bottom - top), left = Math.ceil((wide + 7) / 6) * 6 + LINE * upright.length;
    const box = this.area = { left: Math.max(wide || y.label ? left : 2, this.above ? (wide ? 46 : 30) : 2), top, right: width - 9, bottom, across: width };
    if (spec.opens[0]) {  // few cells stay small, and a list is no wider than its rows can be read
      box.right = Math.min(box.right, box.left + (!this.cells ? 2 * spec.least : this.kit.crops ? width : WIDEST * Math.abs(x.high - x.low)));
      if (this.cells) box.bottom = Math.min(box.bottom, box.top + HIGH * Math.abs(y.high - y.low));
    }
    if (spec.name === "source") box.bottom = Math.min(box.bottom, box.top + FARTHEST * y.ticks.length);
    const above = this.kit.all.find(({ figure }) => figure.dataset.panel === spec.below)?.drawing.area;
    if (above && above.across === width) Object.assign(box, { left: above.left, right: above.right });  // one x axis for both
    if (spec.square) squared(box, Math.abs(x.high - x.low), Math.abs(y.high - y.low));
    this.sx = scaling(x, box.left, box.right);
    this.sy = scaling(y, box.bottom, box.top);
    const blocks = this.marks.some(({ mark }) => mark === "Blocks");
    this.axes(context, spec, box, upright, under, blocks || spec.turned || (!this.cells && !x.ticks.length && !y.ticks.length), blocks || this.cells);
    this.panel.ceiling = blocks && spec.pick.length ? this.sy(Math.min(...y.ticks.map(([value]) => value)) - 0.85) : null;  // of lanes
    // A hint lies over its own line of a program, above its own bar of a formula, and below its row of a list.
    this.panel.lined = (spec.name === "source" || spec.opens[0] % 2 === 0) && ((x, y, tall) => {
      const [, upper, , lower] = this.spot(x, y)?.place.map(this.sy) ?? [x, y, x, y];
      const over = spec.opens[0] === 0 && upper > 3 + tall;  // what a bar is made of lies below it
      return spec.name === "source" ? (upper + lower - tall) / 2 : over || lower + 3 + tall > height ? upper - 3 - tall : lower + 3;
    });
    [this.taken, this.gripped] = [[], 0];
    let clipped = false;
    for (const mark of this.marks) {
      const wanted = !FREE.includes(mark.mark);
      if (wanted && !clipped) {
        context.save();
        context.beginPath();
        const edge = this.cells ? 1.5 : 0;  // of a frame about the outermost cells; whole pixels cut what is drawn at less cost
        const [left, top] = [box.left, box.top].map((at) => Math.floor(at - edge));
        context.rect(left, top, Math.ceil(box.right + edge) - left, Math.ceil(box.bottom + edge) - top);
        context.clip();
      } else if (clipped && !wanted) context.restore();
      clipped = wanted;
      context.setLineDash([]);
      context.globalAlpha = 1;
      this[mark.mark.toLowerCase()](context, mark);
    }
    if (clipped) context.restore();
    this.grips?.splice(this.gripped).forEach((node) => node.remove());
    context.setLineDash([]);
    context.globalAlpha = 1;
    const axes = JSON.stringify({ box, x: [x.low, x.high, x.scale], y: [y.low, y.high, y.scale] });
    const { panel } = this, [, from, , to] = spec.opens, middle = (this.sx(from) + this.sx(to)) / 2;
    if (panel.sideways && from !== undefined && this.middle !== middle) this.afterwards(() => { panel.figure.scrollLeft = this.snapped(middle - (panel.seen + (this.cells ? box.left : 0)) / 2); });
    this.middle = middle;  // what is chosen is in sight
    if (this.held || panel.sideways && this.cells) this.hold(legend);
    const spare = this.kit.crops && !spec.height ? Math.max(0, Math.floor(height - box.bottom - (x.ticks.length ? LINE + 8 : 8) - (x.label ? LINE : 0))) : 0;
    if (this.spare !== spare) this.afterwards(() => { panel.stage.style.marginBottom = `${-(this.spare = spare)}px`; });  // what a narrow axis leaves
    if (panel.over) this.afterwards(() => panel.over && panel.point(...panel.over));
    if (this.said !== axes) this.afterwards(() => { this.panel.top.dataset.axes = this.said = axes; });
  }

  // Where a cell begins at the words of the rows.
  snapped(left) {
    const wide = this.cells ? Math.abs(this.sx(1) - this.sx(0)) : 1;
    return Math.round(left / wide) * wide;
  }

  // Where cells are scrolled sideways, the legend and the words of the rows stay.
  hold(legend) {
    const { panel, area: { left } } = this, { top, ratio, width, height, seen } = panel;
    if (!this.held) {
      this.held = element("canvas", { class: "ae-held", "aria-hidden": "true" });
      panel.figure.append(this.held);
      panel.figure.addEventListener("scrollend", () => {
        const at = this.snapped(panel.figure.scrollLeft), end = panel.figure.scrollWidth - panel.figure.clientWidth;
        if (this.cells && panel.sideways && panel.figure.scrollLeft < end - 1 && Math.abs(at - panel.figure.scrollLeft) > 1) panel.figure.scrollTo({ left: at, behavior: "smooth" });
      });
    }
    this.held.hidden = !(panel.sideways && this.cells);
    Object.assign(this.held, { width: seen * ratio, height: height * ratio });
    Object.assign(this.held.style, { width: `${seen}px`, height: `${height}px`, marginTop: `${-height}px` });
    const context = this.held.getContext("2d"), copy = (wide, high) => {
      context.fillStyle = this.kit.theme.back;
      context.fillRect(0, 0, wide * ratio, high * ratio);
      context.drawImage(top, 0, 0, wide * ratio, high * ratio, 0, 0, wide * ratio, high * ratio);
    };
    copy(left - 2, height);
    copy(Math.min(seen, width), legend + 2);
  }

  // The words of the hint: the cell under the pointer, or the values of every series at the nearest x.
  words(x, y) {
    const { area: box, spec } = this;
    if (this.grips?.some((node) => node.mark.look === "dot" && node.matches(":active"))) return "";  // the sentence says where it is, and samples lie beside it
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) return "";
    const [at, up] = [this.sx.invert(x), this.sy.invert(y)];
    // What an axis says of a value: its tick, or the number where ticks are numbers at their own places; else nothing.
    const said = (axis, value) => {
      const near = (place, one) => Math.abs(place - one) <= 1e-6 * Math.abs(one), tick = axis.ticks.find(([place]) => near(place, value));
      return tick ? tick[1] : axis.ticks.every(([place, text]) => near(Number(text), place)) ? number(value) : "";
    };
    const name = (axis, value) => {
      const words = said(axis, value), bare = Number.isNaN(Number(words)) ? "" : axis === spec.x ? "x" : "y";
      return `${axis.label || bare} ${words}`.trim();
    };
    const spot = this.spot(x, y), own = this.holds && !this.handle.choose[0] && `${tr("element {k}", { k: chosenOf(this.kit, this.handle)[1] })}\n`;
    if (spot) return this.marks.flatMap(({ texts = [] }) => texts).find((text) => own && text.startsWith(own)) ?? spot.text;  // of the one in the hand
    const point = this.handle && (this.holds ? chosenOf(this.kit, this.handle) : nearest(this, x, y, 8));
    if (point) {
      const { columns, units: [[ox, fx], [oy, fy]], x: xs, y: ys } = this.handle, k = point[0] * columns + point[1];
      const [u, v] = this.holds ? held(this.kit, this.handle) : [xs[k], ys[k]];
      const whole = (value) => (this.handle.step < 1 ? value : Math.round(value));  // between its stops it is only drawn aside
      const at = [[spec.x, u], [spec.y, v]].filter(([axis, value]) => said(axis, whole(value))).map(([axis, value]) => `${axis.label} ${said(axis, whole(value))}`);
      if (!this.handle.choose[0]) return [tr("element {k}", { k: point[1] }), ...at].join("\n");
      return tr("row {row}, column {column}: x {x}, y {y}", { row: point[0], column: point[1], x: number(ox + fx * u), y: number(oy + fy * v) });
    }
    const lines = [];
    for (const { mark, values, map, rows, columns, digits, x: first = 0, y: top = 0 } of this.marks.filter((each) => each.values)) {
      const [r, c] = [Math.round(up - top), Math.round(at - first)], [row, column] = [top, first].every(Number.isInteger) ? [r + top, c + first] : [r, c];
      if (!(r >= 0 && r < rows && c >= 0 && c < columns)) continue;
      const value = number(values[r * columns + c]), named = said(spec.x, column) && said(spec.y, row);
      if (value === "NaN" && (spec.folds > 0 || !digits || !named || lines.length)) continue;  // nothing is drawn there, or what lies below
      const [left, upper] = spec.second ?? [spec.folds, 0], { name: title, text: head } = this.marks.filter(({ text }) => text)[1] ?? {};
      lines[0] = spec.folds > 0 && c >= left && r >= upper ? `${title ?? head.split(/[:：]/)[0]}[${r - upper}, ${c - left}] = ${value}` : spec.y.label ? `${name(spec.y, row)}, ${name(spec.x, column)}: ${value}`
        : tr("row {row}, column {column}: {value}", { row, column, value });
      if (map === "shares") lines[0] = value === "NaN" ? "" : tr("slice {k}, row {row}, column {column}: {value}", { k: spec.y.ticks.filter(([place, text]) => place < row && Number.isNaN(Number(text))).length - 1, row: said(spec.y, row), column: c, value });
      const k = spec.marks.filter((each) => each.mark === "Image").findIndex((each) => this.arrays[each.values].data === values);
      if (this.sliced) lines[0] = tr("slice {k}, row {row}, column {column}: {value}", { k, row: r, column: c, value });
      const between = (one, a, b) => one >= Math.min(a, b) && one <= Math.max(a, b);
      const area = mark === "Image" && this.marks.find((each) => each.filled > (this.sliced ? 0 : 0.5) && each.label && between(at, each.x0, each.x1) && between(up, each.y0, each.y1));
      if (area) lines[0] += ` × ${area.label}`;  // the weight of a pixel
    }
    if (spec.square || lines.length || this.marks.some(({ values }) => values)) return lines.join();
    const series = this.marks.filter(({ mark }) => ["Line", "Dots", "Bars"].includes(mark));
    const near = series.map((mark) => this.nearest(mark, x, y));
    const least = Math.min(...near.map(({ away }) => away));
    const found = near.filter(({ away }) => away < least + 3);
    if (Number.isFinite(least)) {
      const first = found.find(({ away }) => away === least);
      const values = found.filter((each) => said(spec.y, each.y)).map((each) => `${each.label || spec.y.label || spec.title}: ${said(spec.y, each.y)}`);
      lines.push(...(first.x === first.x && said(spec.x, first.x) ? [name(spec.x, first.x)] : []), ...new Set(values));
    }
    return lines.join("\n");
  }

  // What is hovered lights its like in the other panels of this axis: the same element, the same class.
  link(x) {
    const { sx, area } = this, there = this.counts && x >= area.left && x <= area.right;
    for (const { drawing } of this.kit.all) {
      const alike = there && drawing !== this && drawing.counts && drawing.spec.x.label === this.spec.x.label;
      if (alike || drawing.lit) drawing.light(alike ? Math.round(sx.invert(x)) : null);
    }
  }

  light(at) {
    const { sx, area: { top, bottom, left, right } } = this, lit = this.lit ??= this.panel.stage.appendChild(element("div", { class: "ae-lit" }));
    const [from, to] = [sx((at ?? 0) - 0.5), sx((at ?? 0) + 0.5)].sort((a, b) => a - b).map((end) => limited(end, left, right));
    lit.hidden = at === null;
    Object.assign(lit.style, { left: `${from}px`, width: `${to - from}px`, top: `${top}px`, height: `${bottom - top}px` });
  }

  // Frames a tree of formulas, or none.
  aim(tree) {
    if (!tree && !this.framing) return;
    const frame = this.framing ??= this.panel.stage.appendChild(element("div", { class: "ae-lit ae-aim" }));
    frame.hidden = !tree;
    if (!tree) return;
    const [left, top, right, bottom] = [this.sx(tree.x0), this.sy(tree.y0), this.sx(tree.x1), this.sy(tree.y1 - 0.3)];
    Object.assign(frame.style, { left: `${left}px`, width: `${right - left}px`, top: `${top}px`, height: `${bottom - top}px` });
  }

  // What the mark of spots says below a position, and what a click there sets; of several the last, which lies on the others.
  spot(x, y) {
    if (!this.sx) return null;
    const [at, up] = [this.sx.invert(x), this.sy.invert(y)], between = (value, a, b) => value >= Math.min(a, b) && value <= Math.max(a, b);
    let found = null;
    for (const { mark, x0, y0, x1, y1, texts, sets } of this.marks) {
      if (mark !== "Spots") continue;
      texts.forEach((text, k) => {
        if (between(at, x0[k], x1[k]) && between(up, y0[k], y1[k])) found = { text, set: sets[k]?.length ? sets[k] : null, aim: this.spec.aims?.[k], place: [x0[k], y0[k], x1[k], y1[k]] };
      });
    }
    return found;
  }

  // What is chosen opens out of its own place, not out of what was chosen before: the frame goes there first.
  frameOn([left, top, right, bottom]) {
    const { spec } = this, [depth, ...old] = spec.opens, [wide, high] = depth ? [0, 0] : AROUND;
    if (!old.length) return;
    const ends = [left - wide, top - high, right + wide, bottom + high], names = PLACES.slice(3), framed = (mark) => mark.mark === "Box" && names.every((name, k) => mark[name] === old[k]);
    const fades = ({ filled, x0, y0, x1, y1 }) => filled < 0 && left >= x0 && right <= x1 && top >= y0 && bottom <= y1;  // the tree of its bar
    const marks = spec.marks.filter((mark) => !fades(mark)).map((mark) => (framed(mark) ? { ...mark, ...Object.fromEntries(names.map((name, k) => [name, ends[k]])) } : mark));
    this.middle = (this.sx(ends[0]) + this.sx(ends[2])) / 2;  // it is in sight: nothing scrolls
    this.draw({ ...spec, marks, opens: [depth, ...ends] }, this.arrays);
  }

  // The point of a series nearest in x and, among those above each other, in y.
  nearest({ mark, x, y, label }, px, py) {
    let best = -1, least = Infinity;
    const over = this.sx.invert(px);
    if (mark === "Bars" && this.vacant(over)) return { away: Infinity };  // an empty slot
    for (let k = 0; k < x.length; k += 1) {
      const away = Math.abs(this.sx(x[k]) - px) + 0.01 * Math.abs(this.sy(y[k]) - py);
      if (away < least) [best, least] = [k, away];
    }
    const side = Math.sign(over - x[best]);  // beside the edge of a step, the step below the pointer
    if (mark === "Line" && Math.abs(this.sx(x[best]) - px) > 1 && x[best + side] === x[best] && (x[best + 2 * side] - x[best]) * side > 0 && Number.isFinite(y[best + side])) best += side;
    return best < 0 ? { away: Infinity } : { away: Math.abs(this.sx(x[best]) - px), x: mark === "Bars" ? Math.round(x[best]) : this.counts && x[best] % 1 ? NaN : x[best], y: y[best], label };
  }

  // A click sets the fields that the panel names, within the limits of their controls.
  choose(x, y) {
    const { kit, spec: { pick } } = this;
    if (!pick.length || !this.sx) return;
    const changes = {}, values = [this.sx.invert(x), this.sy.invert(y)];
    pick.forEach((field, k) => {
      const { kind, low, high, step } = kit.model.get("controls").find((control) => control.field === field);
      const value = limited(Math.round(values[k] / step) * step, low, high);
      changes[field] = kind === "whole" ? Math.round(value) : value;
    });
    if (Object.entries(changes).some(([field, value]) => kit.values[field] !== value)) kit.set(changes);
  }
}

function buildPanels(kit) {
  const { head } = kit, drawings = new Map();
  let said = "", longest = 0, arranged = "";

  function say({ caption, headline, notices }) {
    if (said !== caption) {
      worded(kit.caption.firstChild, said = caption);
      if (caption.length > longest) {  // what is below stays; a longer one alone is measured, which lays the page out
        longest = caption.length;
        kit.caption.style.minHeight = `${kit.caption.offsetHeight}px`;
      }
    }
    const texts = [...headline, ...notices];
    if (head.childElementCount !== texts.length) head.replaceChildren(...texts.map(() => element("li")));
    texts.forEach((text, k) => {
      const line = head.children[k];
      put(line, text);
      fixed(line, text, kit.wide);
      line.classList.toggle("ae-notice", k >= headline.length);
    });
  }

  // Make, keep or remove drawings by name. Sizes are read only when a place has changed.
  function arrange(panels) {
    const key = panels.map(({ name, span, rows, below, more, least, height, x, y }) => [name, span, rows, below, more, least,
      height || (x.high - x.low) / (y.high - y.low), x.label].join()).join("\n");
    if (arranged === key) return;
    arranged = key;
    const names = panels.map(({ name }) => name);
    if (names.join("\n") !== [...drawings.keys()].join("\n")) {
      const kept = new Map(drawings);
      drawings.clear();
      for (const name of names) {
        drawings.set(name, kept.get(name) ?? new Drawing(kit, name));
        kept.delete(name);
        (panels.find((one) => one.name === name).more ? kit.aside : kit.panels).append(drawings.get(name).panel.figure);
      }
      for (const { panel } of kept.values()) {
        panel.figure.remove();
        kit.all.splice(kit.all.indexOf(panel), 1);
      }
    }
    const under = panels.findLastIndex(({ below }) => below);  // the caption stands below the rows that begin with the main picture
    let area = 0, deep = 1, end = -1;
    for (const [k, { span, rows }] of panels.entries()) {
      [area, deep] = [area + span * rows, Math.max(deep, rows)];
      if (end < 0 && k >= under && area % kit.model.get("colours").columns === 0 && area >= kit.model.get("colours").columns * deep) end = k;
    }
    const aside = panels.filter(({ below, near }, k) => k && k <= end && !near && below !== panels[0].name), { columns } = kit.model.get("colours");
    panels.forEach(({ name }, k) => {
      const { figure } = drawings.get(name).panel, at = aside.indexOf(panels[k]), across = { 1: 1, 2: 2, 3: 3, 4: 2 }[aside.length];
      figure.classList.toggle("stage", !k);
      figure.classList.toggle("ae-beside", at >= 0 && Boolean(across));  // where the picture takes all columns, these do so together
      const [from, to] = [at, at + 1].map((one) => columns * one / across || 0);  // where no whole columns fit, margins make them alike
      Object.entries({ share: Math.round(to) - Math.round(from), from: from - Math.round(from), to: Math.round(to) - to })
        .forEach(([name, value]) => figure.style.setProperty(`--${name}`, value));
      drawings.get(name).shared = panels.some(({ below, span, more, x }, at) => (below === name || (at === k + 1 && span === panels[k].span && more === panels[k].more)) && x.label === panels[k].x.label);  // it stands once
      drawings.get(name).above = panels.some(({ below }) => below === name);
      figure.classList.toggle("ae-under", Boolean(panels[k].below));
      figure.classList.toggle("ae-near", panels[k].near);
      figure.classList.toggle("ae-alike", aside.some((one) => one !== panels[k] && one.rows > 1 && one.rows === panels[k].rows && one.span === panels[k].span));
      figure.style.setProperty("--place", k > end && end >= 0 ? 2 : 0);
      const close = panels.filter(({ near, below }) => near || below === panels[0].name), late = close.length > 1 ? 2 : 0;
      figure.style.setProperty("--narrow", !k ? 0 : close.includes(panels[k]) ? late : 4);  // on a phone: the picture with one close to it, its buttons, several close to it, controls, the rest
    });
    const changed = panels.filter((spec) => drawings.get(spec.name).fit(spec));
    if (changed.length) for (const { panel } of drawings.values()) panel.measure();
  }

  return {
    main: () => drawings.values().next().value,
    // Text on a canvas brings the page's layout up to date first: once, for all texts in the page are changed before.
    draw({ panels: given }, held) {
      const arrays = Object.create(held), panels = given.map((one) => fitted(one, arrays, kit));
      arrange(panels);
      for (const spec of panels) {
        const drawing = drawings.get(spec.name);
        drawing.say(spec);
      }
      kit.waiting = [];
      for (const spec of panels) {
        const drawing = drawings.get(spec.name);
        if (drawing.panel.width && (kit.more.open || !spec.more)) drawing.draw(spec, arrays);
        else Object.assign(drawing, { spec, arrays });  // folded: it is drawn when it is seen
      }
      const alike = alikeIn(kit), most = Math.max(...alike.map(({ rows }) => rows));
      for (const drawing of alike) if (drawing.led !== most) drawing.draw(drawing.spec, arrays);  // those before the one with the most
      kit.waiting.forEach((change) => change());
      kit.waiting = null;
    },
    say,
    overlay(changes) {  // a handle follows the hand at once
      for (const drawing of drawings.values()) {
        const { handle } = drawing;
        if (handle && [...handle.choose, handle.move].some((name) => name in changes)) drawing.draw(drawing.spec, drawing.arrays);
      }
    },
    fit(values) {
      return [...drawings.values()].reduce((kept, { handle }) => (handle ? remaining(kit, handle, kept) : kept), values);
    },
  };
}

export default explorer(buildPanels);
