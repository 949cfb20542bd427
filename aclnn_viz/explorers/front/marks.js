// The marks of panels (pictures/marks.py), drawn by methods of their names.

const DASHED = [6, 3];  // of frames
const LARGE = 90, NARROW = 66;  // pixels of a cell with a large number, and of a bar with three digits
const PAUSE = 600, LINK = 14;  // milliseconds; pixels of a link of a chain, and of a place with room for a word
const letters = {};  // their widths
const footOf = (tall) => (tall > 34 ? 13 : 10);  // pixels: height of small words at the foot of a cell
// How far a number goes up in its cell, so that it stands in the middle of the room above its tag.
const lifted = (tall) => (0.34 * tall > LINE ? 0.18 * tall : tall > 2 * footOf(tall) + 4 ? footOf(tall) / 2 + 1 : 0);
const FADED = 0.6, QUIET = 0.72;  // opacity of what lies over the colour of a faded cell, and of its number: at least 4.5:1
// -0.0006145 as -6.145e-4; what is no number stays.
const exponential = (word) => (Number.isFinite(Number(word)) ? Number(word).toExponential(3) : word);
// The number that a text begins with, of more than three digits three.
const rounder = (text) => text.replace(/^-?\d[\d.]*(?![\de.])/, (word) => (Math.abs(word) < 1000 && word.replace(/^-?[0.]*|\./g, "").length > 3 ? Number(word).toPrecision(3) : word));
const shorter = (word) => (Math.abs(word) < 1 ? String(Number(Number(word).toPrecision(3))) : word);

// `sx` and `sy` take values of the axes to pixels; `area` is the box of the axes.
class Marks {
  line(context, mark) {
    const { x, y, colour, dash, width } = mark;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = "round";
    const rail = this.sliced && width > 5 && this.marks.find(({ mark, y0, y1 }) => mark === "Box" && y0 === y1);
    context.setLineDash(rail && x.some((at) => at < rail.x0 || at > rail.x1) ? DASHED : dash);  // a share of what lies outside
    context.beginPath();
    (x.length > 2 * (this.area.right - this.area.left) ? traceDense : trace)(context, x, y, this.sx, this.sy);
    context.stroke();
    if (!(this.spec.folds > 0)) return;  // of matrices
    context.fillStyle = colour;  // what lies between both sides of a link
    context.globalAlpha = this.kit.theme.opacity.band / 2;
    const half = (x.length - 1) / 2, ends = [...x.keys()].filter((k) => k !== half);
    context.beginPath();
    [...ends.slice(0, half), ...ends.slice(half).reverse()].forEach((k) => context.lineTo(this.sx(x[k]), this.sy(y[k])));
    context.fill();
    context.globalAlpha = 1;
    this.guides(context, mark);
  }

  // Between both ends of a link and the frames that it joins, which other cells part.
  guides(context, mark) {
    const { x: [from, to, , start, end], y: [up, over, , down, under] } = mark, grip = this.marks.find((one) => one.mark === "Grip"), box = this.marks[this.marks.indexOf(mark) + 1];
    if (Number.isNaN(over + to)) return;  // it leads nowhere
    const [column, row] = [grip.x, grip.y].map((at) => Math.round(at - 0.42) + 0.5), upright = this.spec.second;
    const sides = [[from, up], [start, down]].map(([u, v]) => (upright ? [[u, u], [row, v]] : [[column, u], [v, v]]));
    sides.push(...[[to, over], [end, under]].map(([u, v]) => (upright ? [[u, u], [v, box.y0]] : [[u, box.x0], [v, v]])));
    context.setLineDash(DASHED);
    context.lineWidth = 1.2;
    for (const [us, vs] of sides) {
      context.beginPath();
      trace(context, us, vs, this.sx, this.sy);
      context.stroke();
    }
  }

  dots(context, mark) {
    const { x, y, size, shape, colour } = mark, { area: box, marks } = this;
    if (this.spec.folds > 0) {  // of a place in the frame that follows the link, where it would lie on numbers: ticks on its border
      const frame = marks[marks.findIndex((one) => one.mark === "Line") + 1], [u, v, left, top] = [this.sx(x[0]), this.sy(y[0]), this.sx(frame.x0), this.sy(frame.y0)];
      Object.assign(context, { fillStyle: this.kit.theme.back }).fillRect(u - 3, top - 10, 6, 13);
      context.fillRect(left - 10, v - 3, 13, 6);
      Object.assign(context, { fillStyle: colour }).fillRect(u - 2, top - 9, 4, 11);
      context.fillRect(left - 9, v - 2, 11, 4);
      return;
    }
    if (x.length > CLOUD) { this.cloud(context, mark); return; }
    context.beginPath();
    for (let k = 0; k < x.length; k += 1) {
      const px = this.sx(x[k]), py = this.sy(y[k]);
      const inside = px >= box.left - 1 && px <= box.right + 1 && py >= box.top - 1 && py <= box.bottom + 1;
      if (inside) addShape(context, shape, px, py, size);
    }
    context.fillStyle = colour;
    context.fill();
  }

  cloud(context, { x, y, size, shape, colour }) {
    const { area: box, panel: { ratio } } = this, r = Math.floor(size * ratio);
    const wide = Math.round((box.right - box.left) * ratio), tall = Math.round((box.bottom - box.top) * ratio);
    const across = wide + 2 * r + 1, down = tall + 2 * r + 1, key = `${across}x${down}`;
    if (this.scratch?.key !== key) {
      const canvas = new OffscreenCanvas(across, down), paint = canvas.getContext("2d", { willReadFrequently: true });
      const image = paint.createImageData(across, down);
      this.scratch = { key, canvas, paint, image, pixels: new Uint32Array(image.data.buffer) };
    }
    const { canvas, paint, image, pixels } = this.scratch, stamp = [];
    for (let j = -r; j <= r; j += 1) {
      for (let i = -r; i <= r; i += 1) if (INSIDE[shape](i, j, r)) stamp.push(j * across + i);
    }
    const ink = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
    const word = (0xff000000 | ink[2] << 16 | ink[1] << 8 | ink[0]) >>> 0;
    pixels.fill(0);
    for (let k = 0; k < x.length; k += 1) {
      const i = Math.round((this.sx(x[k]) - box.left) * ratio), j = Math.round((this.sy(y[k]) - box.top) * ratio);
      if (!(i >= 0 && i <= wide && j >= 0 && j <= tall)) continue;
      const at = (j + r) * across + i + r;
      for (let s = 0; s < stamp.length; s += 1) pixels[at + stamp[s]] = word;
    }
    paint.putImageData(image, 0, 0);
    context.drawImage(canvas, box.left - r / ratio, box.top - r / ratio, across / ratio, down / ratio);
  }

  // The fill of bars: plain, or hatched by kind.
  pattern(context, { shape, colour, kind }) {
    if (kind >= this.kit.model.get("colours").kinds.length) return colour;  // of a stage: one meaning in all panels
    const { back } = this.kit.theme, key = `${shape} ${colour} ${back}`;
    if (!tiles.has(key)) tiles.set(key, this.tile(shape, colour, back));
    return context.createPattern(tiles.get(key), "repeat");
  }

  tile(shape, colour, back) {
    const tile = new OffscreenCanvas(8, 8), paint = tile.getContext("2d");
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 8, 8);
    paint.strokeStyle = paint.fillStyle = back;
    paint.lineWidth = this.kit.theme.line.hatch;
    paint.beginPath();
    if (shape === 2) paint.fillRect(3, 3, 2, 2);
    if (shape === 1 || shape === 3) for (const k of [-8, 0, 8]) { paint.moveTo(k, 8); paint.lineTo(k + 8, 0); }
    if (shape > 2) for (const k of [-8, 0, 8]) { paint.moveTo(k, 0); paint.lineTo(k + 8, 8); }
    paint.stroke();
    return tile;
  }

  bars(context, mark) {
    const { x, y, width } = mark, { top: most, bottom } = this.area, beyond = [];  // what the frame cuts
    const base = limited(this.sy(0), most, bottom) || bottom;  // a log axis has no 0
    context.fillStyle = this.pattern(context, mark);
    for (let k = 0; k < x.length; k += 1) {
      const [a, b] = [this.sx(x[k] - width / 2), this.sx(x[k] + width / 2)], top = this.sy(y[k]);
      if (!Number.isFinite(top)) continue;
      context.fillRect(Math.min(a, b), Math.min(base, top), Math.max(Math.abs(b - a), 1), Math.abs(top - base));
      if (top < most || top > bottom) beyond.push([(a + b) / 2, top < most]);
    }
    for (const [at, up] of beyond) write(context, up ? "▲" : "▼", at, up ? most + 6 : bottom - 6, this.kit.theme.text, SMALLEST);
    const all = this.marks.filter((one) => one.mark === "Bars"), named = x.filter((at) => !this.vacant(at)), ink = all.length > 1 ? mark.colour : this.kit.theme.text;
    const low = (value) => (all.length > 1 ? all.every((one) => one.y.every((each) => each === 0)) : Math.abs(this.sy(value) - base) < 2);
    const size = this.numbered(context, all);
    for (const at of named) {
      const value = y[x.indexOf(at)];
      if (size) write(context, rounder(number(value)), this.sx(at), base + (value > 0 ? LINE / 2 + 1 : -LINE / 2), this.kit.theme.text, size);
      else if (named.length < 4 && low(value)) write(context, number(value), this.sx(at), base - LINE / 2, ink);  // what is too low to be seen says so
    }
    if (all.length > 1) return;
    this.remember(y);
    if (this.none) this.nowhere(context, { rows: 1, columns: x.length }, this.sx(x[0] - 0.5), base - LINE, this.sx(1) - this.sx(0), LINE);
    else if (this.before && this.before.high !== this.spec.y.high && this.before.y.length === x.length) this.earlier(context, mark, base);
  }

  // The size of the numbers beside bars: of few that stand apart at places with names, where each has room; else 0.
  numbered(context, all) {
    const places = all.flatMap(({ x }) => [...x]).filter((at) => !this.vacant(at)), values = all.flatMap(({ y }) => [...y]), { x: { ticks }, y: { low, high } } = this.spec;
    const room = Math.abs(this.sx(1) - this.sx(0)), apart = new Set(places).size === places.length && places.length > 1, named = ticks.length && ticks.every(([, text]) => Number.isNaN(Number(text)) || text === "");
    const fits = (size) => values.every((value) => Number.isFinite(value) && widthOf(context, rounder(number(value)), size) + 4 < room);
    return apart && named && low < 0 && high > 0 ? [TEXT, SMALLEST].find(fits) ?? 0 : 0;
  }

  // Whether a place of bars has no name: nothing stands there in this state.
  vacant(at) {
    return this.spec.x.ticks.some(([place, text]) => text === "" && Math.abs(at - place) <= 0.5);
  }

  // Keeps the bars from before a movement; it lasts until nothing has changed for a while.
  remember(y) {
    const { kit: { model, values }, spec: { y: { high } } } = this, now = performance.now();
    const at = model.get("controls").filter(({ below }) => below).map(({ field }) => values[field]).join();
    if (this.own?.at !== at) this.before = this.own = null;  // of another row
    const { own } = this;
    if (own?.y.length === y.length && own.y.every((value, k) => Object.is(value, y[k]))) {
      own.high = high;
      return;
    }
    if (this.kit.dragged) this.before = null;  // what is dragged shows where it was
    else if (now - this.time > PAUSE) this.before = own;
    [this.time, this.own] = [now, { at, high, y: Array.from(y) }];
  }

  // Where the axis has another end than before, the bars from before are outlined: else they would not be seen to grow.
  earlier(context, { x, width }, base) {
    const { theme } = this.kit, { left: from, right, top, bottom } = this.area, ends = this.before.y.map((value) => this.sy(value)), line = this.marks.find(({ mark }) => mark === "Rule");
    const word = tr("dashed: before"), wide = widthOf(context, word, SMALLEST), there = line && this.sx(line.at) > right - wide - 8;  // no line strikes it
    if (ends.every((end) => Math.abs(end - base) < 3) || ends.some((end) => end < top - 1 || end > bottom + 1)) return;  // too low to be seen, or cut
    Object.assign(context, { strokeStyle: theme.text, lineWidth: 1.2 });
    context.setLineDash(DASHED);
    ends.forEach((end, k) => {
      const left = this.sx(x[k] - width / 2);
      context.strokeRect(left, Math.min(base, end), this.sx(x[k] + width / 2) - left, Math.abs(end - base));
    });
    context.setLineDash([]);
    write(context, word, there ? from + 4 : right - wide - 4, top + LINE / 2, theme.text, SMALLEST, "left");
  }

  // Grey stripes, where nothing is.
  stripes(context) {
    const { theme } = this.kit, key = `grey ${theme.faint}`;
    if (!tiles.has(key)) tiles.set(key, context.createPattern(this.tile(1, "transparent", theme.faint), "repeat"));
    return tiles.get(key);
  }

  band(context, mark) {
    const { x, low, high, colour } = mark, empty = this.empty(mark);
    context.fillStyle = empty ? this.stripes(context) : colour;
    if (!empty) context.globalAlpha = this.kit.theme.opacity.band;
    context.beginPath();
    const at = (values) => (_, k) => this.sy(values[k]);
    d3.area((_, k) => this.sx(x[k]), at(low), at(high)).context(context)
      .defined((_, k) => [this.sx(x[k]), this.sy(low[k]), this.sy(high[k])].every(Number.isFinite))(x);
    context.fill();
    if (empty) this.within(context, mark);
  }

  // A band in the colour of guides covers what does not exist; its word stands in the widest part of it, below a frame's.
  empty({ mark, kind }) { return mark === "Band" && kind === GUIDE; }

  within(context, { x, high, label }) {
    let from = NaN, best = [0, 0];
    for (let k = 0; k < x.length; k += 1) {
      if (Number.isNaN(high[k])) { from = NaN; continue; }
      if (Number.isNaN(from)) from = this.sx(x[k]);
      if (this.sx(x[k]) - from > best[1] - best[0]) best = [from, this.sx(x[k])];
    }
    const wide = widthOf(context, label), middle = (best[0] + best[1] - wide) / 2, { top, right, bottom } = this.area;
    if (best[1] > best[0]) this.label(context, label, Math.min(middle, right - wide - 4), top + 0.68 * (bottom - top), wide);
  }

  arrows(context, { x, y, dx, dy, colour }) {
    context.strokeStyle = colour;
    context.lineWidth = x.length > FEW ? 1 : 2;  // the outline that a wider line has takes ten times as long to paint
    context.beginPath();
    for (let k = 0; k < x.length; k += 1) {
      const [ax, ay, bx, by] = [this.sx(x[k]), this.sy(y[k]), this.sx(x[k] + dx[k]), this.sy(y[k] + dy[k])];
      const length = Math.hypot(bx - ax, by - ay), head = Math.min(6, length * 0.6);
      if (!(length >= 1)) { context.rect(ax - 0.5, ay - 0.5, 1, 1); continue; }
      const [ux, uy] = [(bx - ax) / length * head, (by - ay) / length * head];
      context.moveTo(ax, ay);
      context.lineTo(bx, by);
      context.moveTo(bx - ux - 0.55 * uy, by - uy + 0.55 * ux);
      context.lineTo(bx, by);
      context.lineTo(bx - ux + 0.55 * uy, by - uy - 0.55 * ux);
    }
    context.stroke();
  }

  // The pixels of a matrix; returns the corner of the first one, their sizes and the colours.
  image(context, { values, rows, columns, map, low, high, x = 0, y = 0, opacity = 1 }) {
    const table = colourTable(this.kit.theme, map), [x0, y0] = [this.sx(x - 0.5), this.sy(y - 0.5)];
    const [w, h] = [(this.sx(x + columns - 0.5) - x0) / columns, (this.sy(y + rows - 0.5) - y0) / rows];
    const pixels = sheet(values, rows, columns, table, low, high);
    if (map === "roots") {  // stripes shine through where nothing is
      context.fillStyle = this.stripes(context);
      context.fillRect(x0, y0, w * columns, h * rows);
    }
    if (pixels) {
      context.save();
      context.imageSmoothingEnabled = false;
      context.globalAlpha = opacity;
      context.translate(x0, y0);
      context.scale(w, h);
      context.drawImage(pixels, 0, 0);
      context.restore();
    }
    if (this.sliced && opacity === 1) {  // rows and columns as in the table of the gradient
      context.globalAlpha = QUIET;
      for (let k = 0; k < columns; k += 1) write(context, `${k}`, x0 + (k + 0.5) * w, y0 + rows * h + 9, this.kit.theme.text, SMALLEST);
      for (let k = 0; k < rows; k += 1) write(context, `${k}`, x0 - 9, y0 + (k + 0.5) * h, this.kit.theme.text, SMALLEST);
      context.globalAlpha = 1;
    }
    return [x0, y0, w, h, table];
  }

  heat(context, mark) {
    const { values, columns, map, low, high } = mark, { cell } = this.kit.theme, [x0, y0, w, h, table] = this.image(context, mark);
    const bright = this.brightness(mark), room = Math.min(Math.abs(w), Math.abs(h)), tags = this.marks.filter(({ filled }) => filled === 1);
    const tagged = new Set(tags.map((one) => Math.round((one.y0 + one.y1) / 2) * columns + Math.round((one.x0 + one.x1) / 2)));
    const words = mark.words.map((word) => [word, shorter(word), exponential(word)].find((one) => widthOf(context, one) <= Math.abs(w) - 6) ?? [word, exponential(word)].sort((a, b) => a.length - b.length)[0]);
    const tight = mark.digits && words.length && Math.abs(h) > 12 && Math.max(...words.map(({ length }) => length)) * 7 > Math.abs(w), small = tight && this.fewer(context, mark.words, Math.abs(w) - 6);
    const few = !mark.digits || Math.abs(h) > 12 && Math.max(...words.map(({ length }) => length)) * 7 <= Math.abs(w);
    const texts = words.length ? few && words || small : mark.digits && (map === "shares" && this.parts(context, values, Math.abs(w) - 2, Math.abs(h))) || mark.digits && (this.digits(context, values, Math.abs(w) - 4, Math.abs(h))
      ?? this.digits(context, this.framed(mark), Math.abs(w) - 1, Math.abs(h)));
    context.fillStyle = this.kit.theme.back;
    context.globalAlpha = FADED;
    for (let k = 0; k < values.length; k += 1) if (!bright(k) && !Number.isNaN(values[k])) context.fillRect(x0 + k % columns * w, y0 + Math.floor(k / columns) * h, w, h);
    context.globalAlpha = 1;
    if (map === "diverging" && values.every(Number.isNaN)) this.nowhere(context, mark, x0, y0, w, h);
    if (!texts && !(map === "diverging" && room >= 8)) return;
    if (mark.digits && room >= 12) {  // cells of one colour are told apart
      context.strokeStyle = this.kit.theme.faint;
      context.lineWidth = this.kit.theme.line.grid;
      context.beginPath();
      values.forEach((value, k) => { if (!Number.isNaN(value)) context.rect(x0 + k % columns * w, y0 + Math.floor(k / columns) * h, w, h); });
      context.stroke();
    }
    for (let k = 0; k < values.length; k += 1) {
      const x = x0 + (k % columns + 0.5) * w, y = y0 + (Math.floor(k / columns) + 0.5) * h - (tagged.has(k) ? lifted(h) : 0);
      const at = 3 * Math.round(limited((values[k] - low) / (high - low) || 0, 0, 1) * 255);
      const shines = 0.3 * table[at] + 0.6 * table[at + 1] + 0.1 * table[at + 2] > 128;
      const light = Number.isNaN(values[k]) || !bright(k) ? !this.kit.theme.dark : shines;
      context.globalAlpha = bright(k) && (map !== "shares" || values[k]) ? 1 : QUIET;
      const rows = texts ? texts[k].split("\n") : [];
      rows.forEach((row, n) => write(context, row, x, y + (n - (rows.length - 1) / 2) * LINE, light ? cell.dark : cell.light, small ? SMALLEST : this.spec.opens[0] && room > LARGE ? 20 : TEXT));
      if (words.length && texts || texts?.[k]) continue;
      if (map === "diverging" && room >= 8 && values[k] < low / 16) {
        context.fillStyle = light ? cell.dark : cell.light;
        context.fillRect(x - Math.min(room / 4, 3.5), y - 0.75, Math.min(room / 2, 7), 1.5);  // a minus, not a strike
      }
    }
  }

  // NaN in each cell of which no colour says it, or once where cells are small.
  nowhere(context, { rows, columns }, x0, y0, w, h) {
    const [many, wide] = Math.abs(w) > widthOf(context, "NaN", SMALLEST) && Math.abs(h) > SMALLEST ? [rows, columns] : [1, 1];
    for (let k = 0; k < many * wide; k += 1) {
      const x = x0 + (k % wide + 0.5) * w * columns / wide, y = y0 + (Math.floor(k / wide) + 0.5) * h * rows / many;
      if (this.none) this.ground(context, x - 10, y, 20, 1);  // which no line strikes
      write(context, "NaN", x, y, this.kit.theme.text, SMALLEST);
    }
  }

  // Numbers as small words of three digits, or two for those too long; null without room.
  fewer(context, words, wide) {
    const found = words.map((word) => (Number.isFinite(Number(word)) ? [3, 2, 1] : [0]).map((many) => {
      const whole = Math.round(Math.abs(Number(word))), value = Number(word);  // digits before the point stay
      return !many ? word : whole >= 10 ** many ? value.toFixed(0) : String(Number(value.toPrecision(many)));
    }).find((one) => widthOf(context, one, SMALLEST) <= wide));
    return found.every((one) => one !== undefined) ? found : null;
  }

  // Whether a cell is one that stands out: all do where none is named, else those and the cells with a frame.
  brightness({ bright, wide, columns }) {
    if (!bright) return () => true;
    const [left, top] = this.spec.second ?? [columns - wide, 0], out = new Set();
    bright.forEach((one, k) => { if (one) out.add((Math.floor(k / wide) + top) * columns + k % wide + left); });
    for (const { mark, filled, x0, y0, x1, y1 } of this.marks) {
      if (mark === "Box" && !filled && Math.abs(x1 - x0 - 1) + Math.abs(y1 - y0 - 1) < 1e-3) out.add(Math.round((y0 + y1) / 2) * columns + Math.round((x0 + x1) / 2));
    }
    this.out = out;
    return (k) => out.has(k);
  }

  // The sides of those cells in a box of several that stand out, where there are others in it.
  frame(x0, y0, x1, y1) {
    const { columns } = this.marks.find(({ bright }) => bright) ?? {}, sides = [];
    if (!columns) return null;
    const inside = (x, y) => x > x0 && x < x1 && y > y0 && y < y1 && this.out.has(y * columns + x);
    for (let y = Math.ceil(y0); y < y1; y += 1) {
      for (let x = Math.ceil(x0); x < x1; x += 1) {
        if (!inside(x, y)) continue;
        for (const [a, b] of [[-1, 0], [1, 0], [0, -1], [0, 1]]) {
          const [u, v] = [Math.abs(b) / 2, Math.abs(a) / 2], at = [x + a / 2, y + b / 2];
          if (!inside(x + a, y + b)) sides.push([this.sx(at[0] - u), this.sy(at[1] - v), this.sx(at[0] + u), this.sy(at[1] + v)]);
        }
      }
    }
    return sides;
  }

  // The values of the cells that have a frame or a tag; nan in all others.
  framed({ values, columns }) {
    const found = new Float32Array(values.length).fill(NaN);
    for (const { mark, filled, x0, y0, x1, y1 } of this.marks) {
      if (mark !== "Box" || filled !== 1 && (filled || x1 - x0 !== 1 || y1 - y0 !== 1)) continue;
      const at = Math.round((y0 + y1) / 2) * columns + Math.round((x0 + x1) / 2);
      found[at] = values[at];
    }
    return found;
  }

  // Shares with two places, as they are written elsewhere, or null without room.
  parts(context, values, wide, tall) {
    if (tall < 13 || widthOf(context, "0.00") > wide) return null;
    return Array.from(values, (value) => (Number.isNaN(value) ? "" : value ? (value + 1e-7).toFixed(2).replace("0.00", "<0.01") : "0"));  // a half goes up
  }

  // The numbers of all cells with as many digits as fit, or null.
  digits(context, values, wide, tall) {
    if (tall < 13 || values.length > 1500) return null;
    const rounded = values.some((value) => Math.abs(value) >= 0.1) ? [2, 1] : [];  // places after the point, where digits do not fit
    const measured = (text) => {  // few letters, many texts
      let sum = 0;
      for (const letter of text) sum += letters[letter] ??= widthOf(context, letter);
      return sum;
    };
    const ways = [...(this.spec.second ? [3, 2] : [4, 3, 2]).map((many) => (value) => value.toPrecision(many)), ...rounded.map((many) => (value) => value.toFixed(many))];
    for (const way of ways) {
      const written = (value) => (Number.isFinite(value) ? number(Number(way(value)) || 0) : String(value));
      const texts = Array.from(values, (value) => (Number.isNaN(value) ? "" : written(value)));
      if (texts.every((text) => measured(text) <= wide)) return texts;
    }
    return null;
  }

  // Small squares; the chosen point is where it is held now, which may be ahead of the kernel, and never out of sight.
  handles(context, mark) {
    const { x, y } = mark, { area: box, kit: { theme } } = this;
    const dense = Math.hypot(this.sx(x[1]) - this.sx(x[0]), this.sy(y[1]) - this.sy(y[0])) < 9;  // dots would hide what lies below
    if (!dense) {
      context.fillStyle = theme.handle;
      context.beginPath();
      for (let k = 0; k < x.length; k += 1) {
        const at = this.sx(x[k]), high = this.sy(y[k]);
        if (at >= box.left && at <= box.right && high >= box.top && high <= box.bottom) context.rect(at - 1.5, high - 1.5, 3, 3);
      }
      context.fill();
    }
    const [u, v] = held(this.kit, mark), [left, top] = clamped(box, this.sx(u), this.sy(v));
    const bare = this.kit.crops && this.marks.some((one) => one.mark === "Bars");  // on a phone a large one would hide its bar
    ring(context, left, top, bare ? 6 : 9, theme, x.length > FEW && !bare);  // of many small points the chosen one is full
    this.afterwards(() => { this.hand.style.transform = `translate(${left}px, ${top}px)`; });  // which lays nothing out
  }

  // Changes of nodes wait until all canvases are drawn: text on a canvas would lay the page out anew after each of them.
  afterwards(change) {
    if (this.kit.waiting) this.kit.waiting.push(change);
    else change();
  }

  // Stands above the canvas as a node, which takes pointer and keys.
  grip(context, { mark, kind, ...rest }) {
    const node = (this.grips ??= [])[this.gripped] ??= makeGrip(this), { values, model } = this.kit;
    this.gripped += 1;
    node.mark = rest;
    const [left, top] = clamped(this.area, this.sx(rest.x), this.sy(rest.y), 0), style = `transform: translate(${left}px, ${top}px); --kind: ${rest.colour}`;
    this.afterwards(() => {
      node.hidden = !rest.sets.every((field) => model.get("controls").some((control) => control.field === field));
      node.dataset.look = rest.look;
      node.style.cssText = style;
      node.setAttribute("aria-label", rest.label);
      node.setAttribute("aria-valuenow", Number(values[rest.sets[0]]));
      node.setAttribute("aria-valuetext", rest.sets.map((field) => `${field} ${number(values[field])}`).join(", "));
    });
  }

  rule(context, { axis, at, label, colour }) {
    const place = axis === "x" ? this.sx(at) : this.sy(at), { area: box } = this;
    if (!Number.isFinite(at) || !Number.isFinite(place)) return;
    context.strokeStyle = colour;
    context.lineWidth = this.kit.theme.line.rule;
    context.beginPath();
    context.moveTo(...(axis === "x" ? [place, box.top] : [box.left, place]));
    context.lineTo(...(axis === "x" ? [place, box.bottom] : [box.right, place]));
    context.stroke();
    if (!label) return;
    const wide = widthOf(context, label), beyond = box.right - wide - 4;
    const [columns, rows] = axis === "x" ? [[place + 4, place - wide - 4], [box.top + 8, box.bottom - 8]]
      : [[beyond, box.left + 4], [place - 8, place + 8]];
    const free = rows.flatMap((y) => columns.map((x) => [x, y]));
    const inside = free.filter(([x, y]) => x >= box.left && x <= beyond + 4 && y > box.top + 5 && y < box.bottom - 5);
    const crowds = inside.map(([x, y]) => this.crowd(x, y, wide));
    this.label(context, label, ...(inside[crowds.indexOf(Math.min(...crowds))] ?? free[0]), wide);
  }

  // How many points of lines and dots lie where words would stand.
  crowd(left, y, wide) {
    let count = 0;
    for (const { mark, x: xs, y: ys, x0, x1, label, axis, at } of this.marks) {
      const [u, v] = mark === "Grip" ? clamped(this.area, this.sx(xs), this.sy(ys), 0) : [];
      if (Math.hypot(Math.max(Math.abs(u - left - wide / 2) - wide / 2, 0), Math.max(Math.abs(v - y) - 7, 0)) < 14) count += 100;
      const edges = mark === "Box" && label ? [this.sx(x0), this.sx(x1)] : [];  // of a frame, which a word would break
      if (edges.some((edge) => edge > left - 5 && edge < left + wide + 5)) count += 100;
      if (mark === "Rule" && axis === "x" && Math.abs(this.sx(at) - left - wide / 2) < wide / 2 + 4) count += 100;
      if (mark !== "Line" && mark !== "Dots") continue;
      const step = Math.ceil(xs.length / 500);
      for (let k = 0; k < xs.length; k += step) {
        const px = this.sx(xs[k]);
        if (px > left - 5 && px < left + wide + 5 && Math.abs(this.sy(ys[k]) - y) < 10) count += 1;
      }
    }
    return count;
  }

  // Words on a quiet ground, moved down until they cover no others.
  label(context, text, x, y, wide) {
    const covers = ([a, b, w]) => Math.abs(b - y) < LINE && a < x + wide && x < a + w;
    while (this.taken.some(covers) && y < this.area.bottom - LINE) y += LINE;
    this.taken.push([x, y, wide]);
    this.written(context, text, x, y, wide, this.kit.theme.opacity.ground);
  }

  ground(context, x, y, wide, opacity) {
    context.globalAlpha = opacity;
    context.fillStyle = this.kit.theme.back;
    context.fillRect(x - 2, y - 7, wide + 4, 14);
    context.globalAlpha = 1;
  }

  written(context, text, x, y, wide, opacity) {
    this.ground(context, x, y, wide, opacity);
    write(context, text, x, y, this.kit.theme.text, TEXT, "left");
  }

  box(context, { x0, y0, x1, y1, label, filled, dashed, colour }) {
    const [a, b, c, d] = [this.sx(x0), this.sy(y0), this.sx(x1), this.sy(y1)];
    const [left, top, wide, tall] = [Math.min(a, c), Math.min(b, d), Math.abs(c - a), Math.abs(d - b)];
    if (!wide && filled > 0 && filled < 1) return;  // an area of nothing
    if (this.sliced && (left > this.area.right || left + wide < this.area.left)) return;  // of another slice
    if (filled < 0) {
      context.globalAlpha = this.kit.theme.dark ? -4 / 3 * filled : -filled;  // faint alike: light words keep more of their contrast
      context.fillStyle = this.kit.theme.back;
      context.fillRect(left, top, wide, tall);
      context.globalAlpha = 1;
      return;
    }
    const bare = label.replace(/^[^-\d]+| .*$/g, ""), weighs = label.startsWith("w="), few = [3, 4, 5, 6].map((places) => Number(Number(bare).toFixed(places)));
    const brief = weighs ? `w=${few.find(Boolean)}` : label.replace(/(\d) \D+$/, "$1"), ways = [[label, TEXT], [label, SMALLEST], [brief, SMALLEST], [bare, TEXT]];
    const alike = this.marks.filter((one) => one.filled === 1).map((one) => one.label);  // all large, or none
    const fits = (text, size) => widthOf(context, text, size) + (size === TEXT ? 12 : 8) < wide, large = alike.every((one) => fits(one, TEXT));
    const [short, sized] = tall > LINE && ways.find(([text, size]) => (text !== label || size !== TEXT || large) && fits(text, size)) || [];
    if (filled === 1 && !short) {  // without room: at the foot of its cell what has room, its first word or its weight, or a line
      const [column, row] = [Math.round((x0 + x1) / 2), Math.round((y0 + y1) / 2)], foot = this.sy(row + 0.5) - 1;
      const [w, h] = [this.sx(column + 0.5) - this.sx(column - 0.5), foot + 1 - this.sy(row - 0.5)];
      const word = label.split(" ").at(-1), cut = [bare, Number(bare).toFixed(2)].map((one) => one.replace(/^(-?)0\./, "$1."));
      const text = [label, brief, word, ...(weighs ? [bare, ...cut] : [])].find((one) => widthOf(context, one, SMALLEST) + 10 <= w);
      if (word === bare && text !== label) return;  // a number that is no weight has no sign of its own
      const high = text && h > 2 * footOf(h) + 4 ? footOf(h) : 3;
      context.fillStyle = colour;
      context.fillRect(this.sx(column - 0.5) + 3, foot - 2 - high, w - 6, high);
      if (high > 3) write(context, text, this.sx(column), foot - 2 - high / 2 + 0.5, this.kit.theme.back, SMALLEST);
      return;
    }
    if (filled) {
      if (this.sliced) Object.assign(context, { fillStyle: this.kit.theme.back, globalAlpha: Math.min(1, 0.3 + filled) }).fillRect(left, top, wide, tall);  // equal shares look equal over all pixels; a small one lets them through
      context.globalAlpha = filled;
      context.fillStyle = colour;
      context.fillRect(left, top, wide, tall);
      context.globalAlpha = 1;
      if (this.sliced && !label) return;  // a bar
    }
    const frame = !filled && this.frame(x0, y0, x1, y1) || [[left, top, left + wide, top], [left + wide, top, left + wide, top + tall],
      [left + wide, top + tall, left, top + tall], [left, top + tall, left, top]];
    const stroke = (ink, width) => {
      Object.assign(context, { strokeStyle: ink, lineWidth: width, lineCap: dashed ? "butt" : "square" });
      context.beginPath();
      for (const [a, b, c, d] of frame) { context.moveTo(a, b); context.lineTo(c, d); }
      context.stroke();
      context.lineCap = "butt";
    };
    const [, u, v] = this.spec.opens, heavy = x0 === u && y0 === v ? 2 : 1;  // what a zoom opens, among cells of all colours
    if (this.cells) stroke(Math.max(wide, this.sx(1) - this.sx(0)) < 12 ? this.kit.theme.cell.light : this.kit.theme.back, 3.4 * heavy);  // they are light and dark in either theme
    context.setLineDash(dashed ? DASHED : []);
    stroke(colour, this.kit.theme.line.box * heavy);
    context.setLineDash([]);
    if (this.sliced && label) {  // its strength tells as much as its size: the word lies aside
      this.outside(context, label, { x0, y0, x1, y1, dashed });
      return;
    }
    const weight = !filled && label === bare && label;
    if (filled > 0.5 || weight) {  // a word in its middle, where it has room
      const near = (at, middle, size) => Math.abs(at - middle) < size / 2 + 9, x = left + wide / 2, y = top + tall / 2;
      const held = this.marks.some((one) => one.mark === "Grip" && near(this.sx(one.x), x, wide) && near(this.sy(one.y), y, tall));
      if (weight && fits(label, TEXT) && tall > LINE) this.written(context, label, x - widthOf(context, label) / 2, y, widthOf(context, label), this.kit.theme.opacity.ground);
      else if (!weight && short && !held) write(context, short, x, y, this.kit.theme.back, sized);
      else if (label) {  // beside it, on the side that lies off the middle
        const long = widthOf(context, label), middle = (x0 + x1) / 2;
        this.written(context, label, middle > Math.round(middle) ? left - long - 6 : left + wide + 6, y, long, this.kit.theme.opacity.ground);
      }
      return;
    }
    if (!label) return;
    const room = wide - 8, ground = filled ? 0 : this.kit.theme.opacity.ground, say = (text, x, y, lies) => {
      const long = widthOf(context, text);
      this.taken.push([x, y, long]);
      this.written(context, text, x, y, long, lies);
    };
    if (filled && label.split(" ").some((word) => widthOf(context, word) > room)) {  // beside a frame that is too narrow for it
      const long = widthOf(context, label), beyond = left + wide + 5 + long > this.area.right;
      say(label, beyond ? left - long - 5 : left + wide + 5, top + 10, this.kit.theme.opacity.ground);
    } else wrapped(context, label, room).forEach((text, k) => say(text, left + 5, top + 10 + k * LINE, ground));
  }

  // A word of an area beside the square of which it is a part, on its own side.
  outside(context, label, { x0, y0, x1, y1, dashed }) {
    const text = label === "0.00" && !dashed ? "<0.01" : label;
    const parts = this.marks.filter(({ mark, label, ...one }) => mark === "Box" && label && Math.abs(one.x0 - x0) < 1.1 && Math.abs(one.y0 - y0) < 1.1 && one.x1 > one.x0);
    const left = this.sx(Math.min(...parts.map((one) => one.x0))), right = this.sx(Math.max(...parts.map((one) => one.x1)));
    const last = Math.abs(this.sx(x1) - right) < 1, all = widthOf(context, text);
    const x = last ? right + 5 : left - 5 - all, y = this.sy((y0 + y1) / 2);
    const covers = ({ mark, rows, columns, x: u, y: v }) => mark === "Image" && x + all > this.sx(u - 0.5) && x < this.sx(u + columns - 0.5) && y > this.sy(v - 0.5) && y < this.sy(v + rows - 0.5);
    if (dashed && (x < this.area.left || x + all > this.area.right || this.marks.some(covers))) return;  // it is lost, and has no room
    this.written(context, text, x, y, all, this.kit.theme.opacity.ground);
  }

  // Rectangles in the colours of their values; of the value that is pointed at, in whatever panel, all have a frame.
  blocks(context, { x0, y0, x1, y1, values, wrong, high, words, colour, opacity }) {
    const { theme, lit } = this.kit, table = colourTable(theme, "hues"), key = `stripes ${colour}`;
    if (!tiles.has(key)) tiles.set(key, this.tile(1, "transparent", colour));
    const stripes = context.createPattern(tiles.get(key), "repeat"), said = this.uniform({ x0, x1, values, words });
    for (let k = 0; k < x0.length; k += 1) {
      const [a, b, c, d] = [this.sx(x0[k]), this.sy(y0[k]), this.sx(x1[k]), this.sy(y1[k])], value = values[k], wide = c - a, frame = Number.isNaN(value);
      if (!(wide > 0)) continue;
      if (frame && !words.length && d - b < LINK) { this.chained(context, (a + c) / 2, (b + d) / 2, colour); continue; }
      context.globalAlpha = opacity;
      context.fillStyle = frame ? theme.back : this.shade(table, Math.min(value / high, 1));
      context.fillRect(a, b, wide, d - b);
      if (wrong[k]) {
        context.fillStyle = stripes;
        context.fillRect(a, b, wide, d - b);
      }
      context.strokeStyle = frame || wrong[k] ? colour : value === lit ? theme.text : theme.back;
      context.lineWidth = value === lit ? 3 : frame || wrong[k] ? theme.line.box : 1;
      if (wide > 6 || frame || wrong[k]) context.strokeRect(a, b, wide, d - b);
      context.globalAlpha = 1;
      if (said) {
        const text = said.way(words[k]), below = d + LINE / 2, long = widthOf(context, said.lead, SMALLEST);
        if (wide >= widthOf(context, text, said.size) + 2) write(context, text, (a + c) / 2, (b + d) / 2, theme.text, said.size);
        if (k === said.first && said.lead) {
          this.ground(context, (a + c - long) / 2, below, long, 1);
          write(context, said.lead, (a + c) / 2, below, colour, SMALLEST);
        }
        continue;
      }
      const [, lead = "", bare = "", unit = ""] = /^(.* )?(\d\S*)( \S+)?$/.exec(words[k]) ?? [];  // what, how much, unit
      const has = (one, room, size) => one && wide >= widthOf(context, one, size) + room, what = lead.trim();
      const brief = words[k]?.replace(/, .* /, " ");  // Select, tile 3: Select 3
      const line = [words[k], lead + bare, brief, bare + unit, bare].find((one) => has(one, frame ? 8 : one === words[k] ? 4 : 2));
      const two = what && line !== brief && !line?.startsWith(what) && d - b > 24 && [what, bare].every((one) => has(one, 1, SMALLEST));
      const short = this.kit.crops && [bare, bare.includes(".") && Number(bare).toFixed(1)].find((one) => has(one, 4, SMALLEST));
      const [rows, size] = two ? [[what, bare], SMALLEST] : line ? [[line], TEXT] : [short ? [short] : [], SMALLEST];
      const left = (!rows.length && words[k]?.length < 3 && this.together({ x0, x1, y0, words }, k)) || a;  // of several the last one writes
      if (left < a) rows.push(words[k]);
      if (!rows.length || d - b < 12 || c - left < (this.kit.crops ? 7 : 14)) continue;
      const at = 3 * Math.round(255 * Math.min(value / high, 1)), bright = 0.3 * table[at] + 0.6 * table[at + 1] + 0.1 * table[at + 2] > 128;
      const ink = frame || wrong[k] ? theme.text : bright ? theme.cell.dark : theme.cell.light;
      if (wrong[k]) for (const row of rows) this.ground(context, (left + c - widthOf(context, row, size)) / 2, (b + d) / 2, widthOf(context, row, size), 1);
      rows.forEach((row, n) => write(context, row, (left + c) / 2, (b + d) / 2 + (n - (rows.length - 1) / 2) * (SMALLEST + 0.5), ink, size));
    }
  }

  // The left end of two or three blocks with one word that touch, of which this is the last, where the word fits in them alone.
  together({ x0, x1, y0, words }, k) {
    const meet = (one) => words[one] === words[one + 1] && y0[one] === y0[one + 1] && Math.abs(this.sx(x1[one]) - this.sx(x0[one + 1])) < 2;
    const room = widthOf(this.panel.context, words[k], SMALLEST) + 4, wide = (one) => this.sx(x1[one]) - this.sx(x0[one]);
    let from = k;
    while (from && k - from < 3 && meet(from - 1)) from -= 1;
    return !meet(k) && k - from < 3 && wide(from) < room && this.sx(x1[k]) - this.sx(x0[from]) >= room && this.sx(x0[from]);
  }

  // How frames with words such as "waits 0.69 µs" write them all alike: the longest way that fits in each; `lead` stands once below the first.
  uniform({ x0, x1, values, words }) {
    const { context } = this.panel, parts = words.map((word) => /^(.* )(\d\S*)( \S+)?$/.exec(word)), wide = (k) => this.sx(x1[k]) - this.sx(x0[k]), there = [...x0.keys()].filter((k) => wide(k) > 0), shown = there.filter((k) => wide(k) > LINK);
    if (!there.length || !values.every(Number.isNaN) || !parts.length || !parts.every(Boolean)) return null;
    if (!shown.length) return { way: () => "", size: SMALLEST, first: there.find((k) => wide(k) > 0.9 * Math.max(...there.map(wide))), lead: parts[0][1].trim() };
    const bare = (word) => /(\d\S*)( \S+)?$/.exec(word)[1], brief = (word) => Number(bare(word)).toFixed(1);
    const ways = [[(word) => word, TEXT, 8], [(word) => word.replace(/ \S+$/, ""), TEXT, 8], [bare, TEXT, 6], [bare, SMALLEST, 2], [brief, 12, 2], [brief, SMALLEST, 2]];
    const fits = ([way, size, room]) => shown.every((k) => this.sx(x1[k]) - this.sx(x0[k]) >= widthOf(context, way(words[k]), size) + room);
    const at = ways.findIndex(fits), [way, size] = ways.at(at);
    return { way, size, first: shown[0], lead: at === 0 || at === 1 ? "" : parts[0][1].trim() };
  }

  // A link of a chain: large enough for an eye on a phone; the next one reaches into it.
  chained(context, x, y, colour) {
    for (const [ink, width] of [[this.kit.theme.back, 5], [colour, 2.2]]) {
      Object.assign(context, { strokeStyle: ink, lineWidth: width, globalAlpha: 1 });
      context.beginPath();
      context.roundRect(x - 5, y - 6.5, 10, 13, 5);
      context.stroke();
    }
  }

  // The value of the block under a position, or undefined.
  blockAt(x, y) {
    let found;
    for (const { mark, x0, y0, x1, y1, values } of this.marks ?? []) {
      if (mark !== "Blocks") continue;
      for (let k = 0; k < x0.length; k += 1) {
        if (x >= this.sx(x0[k]) && x <= this.sx(x1[k]) && y >= this.sy(y0[k]) && y <= this.sy(y1[k]) && !Number.isNaN(values[k])) found = values[k];
      }
    }
    return found;
  }

  spots() {}  // are not drawn

  // Words that would touch their neighbours are written smaller, then cut short.
  note(context, { x, y, text, align, room: wide, tight, small, math }) {
    const level = this.sy(y), { width } = this.panel, barred = wide && this.spec.opens[0] === 0;  // of formulas
    let at = this.sx(x);
    if (this.sliced && (at < 0 || at > this.area.right)) return;  // of another slice
    if (wide < 0) {  // beside a place: on its left, where its right has no room
      if (widthOf(context, text) > width - at) [align, at] = ["right", this.sx(x + wide)];
      this.ground(context, align === "left" ? at : at - widthOf(context, text), level, widthOf(context, text), 1);
      wide = 0;
    } else if (this.kit.crops && this.panel.ceiling) at += 8;  // beside a handle, which is large for its axis
    let room = align === "left" ? width - at : align === "right" ? at : 2 * Math.min(at, width - at);
    if (wide) room = Math.min(room, Math.abs(this.sx(x + wide) - at) - (math ? barred ? 17 : 12 : 6));
    for (const other of wide ? [] : this.marks) {
      if (other.mark !== "Note" || other.align !== align || Math.abs(this.sy(other.y) - level) > 6) continue;
      const away = (this.sx(other.x) - at) * (align === "right" ? -1 : 1);
      if (away > 0 || align === "center" && away) room = Math.min(room, Math.abs(away) - 4);
    }
    const starts = (other) => this.sx(other.x) - widthOf(context, other.text) * { left: 0, center: 0.5, right: 1 }[other.align];
    const meets = (other) => other.mark === "Note" && other.x > x && Math.abs(this.sy(other.y) - level) < 6 && starts(other) < at + widthOf(context, text) + 6;
    if (this.spec.folds > 0 && align === "left" && this.marks.some(meets)) [text] = text.split(/[:：]/);  // the name of a matrix without what it is
    if (math) {
      let size = FORMULA, set = typeset(context, math, size);
      if (set.wide > room) set = typeset(context, math, size = Math.max(SMALLEST, size * room / set.wide));
      if (set.wide <= room + (barred ? 12 : 1)) {
        const left = align === "left" ? at : align === "right" ? at - set.wide : at - set.wide / 2;
        Object.assign(context, { textAlign: "left", fillStyle: this.kit.theme.text, strokeStyle: this.kit.theme.text, lineWidth: 1, textBaseline: "alphabetic" });
        set.paint(left, level + (set.up - set.down) / 2);
        Object.assign(context, { font: fontOf(TEXT), textBaseline: "middle" });
        return;
      }
    }
    if (barred && /^-?\d/.test(text)) {
      const ways = [...((tight ? Math.abs(this.sx(x + tight) - this.sx(x)) : room) < NARROW ? [] : [text]), rounder(text), rounder(text).replace(/[,，][^↑-↙]*(?=( [↑-↙])?$)/, "")];
      text = ways.find((one) => widthOf(context, one) <= room - 11) ?? [6, 0].map((less) => ways.find((one) => widthOf(context, one, SMALLEST) <= room - less)).find(Boolean) ?? ways.at(-1);
    }
    const rows = this.sliced && wide ? wrapped(context, text, room + 2) : text.split("\n"), size = small ? SMALLEST : Math.max(SMALLEST, Math.min(TEXT, TEXT * room / Math.max(...rows.map((row) => widthOf(context, row)))));
    if (small) context.globalAlpha = QUIET;
    rows.forEach((row, k) => {
      const kept = shortened(context, row, room, size), long = widthOf(context, kept, size), lies = level + (k - (rows.length - 1) / 2) * LINE;
      if (this.sliced || this.spec.second || this.panel.ceiling) this.ground(context, at - long * { left: 0, center: 0.5, right: 1 }[align], lies, long, 1);  // what lies below strikes no word
      if (this.spec.name === "machine") {  // names of what is there: quiet, and whole or not at all
        if (kept !== row) return;
        context.globalAlpha = QUIET;
      }
      write(context, kept, at, lies, this.kit.theme.text, size, align);
      context.globalAlpha = 1;
    });
  }
}
