// What the marks of panels are made of: scales, shapes, lines and measured words. Positions are in CSS pixels.

const TEXT = 13, SMALLEST = 10.5, LINE = 17, CLOUD = 600;  // more dots than that are stamped into an image
const FAR = 4000;  // pixels above or below a panel

// Chinese letters and their punctuation; the pieces of a text between which a row may end.
const HAN = /[\u2e80-\u9fff\uff00-\uffef]/, EACH_HAN = new RegExp(HAN, "g");
const BREAKABLE = / ?(?:[\u2e80-\u9fff\uff00-\uffef]|[^ \u2e80-\u9fff\uff00-\uffef]+)[，。；：、）]?/g;

const fontOf = (size) => `${size}px system-ui, sans-serif`;

const tiles = new Map(), widths = new Map();
function widthOf(context, text, size = TEXT) {
  const key = `${size} ${text}`;
  if (!widths.has(key)) {
    if (widths.size > 4000) widths.clear();
    context.font = fontOf(size);
    widths.set(key, context.measureText(text).width);
    context.font = fontOf(TEXT);
  }
  return widths.get(key);
}

// From the values of an axis to pixels; `invert` leads back.
function scaling({ low, high, scale }, from, to) {
  const log = scale === "log", [start, end] = log ? [Math.log(low), Math.log(high)] : [low, high], unit = (to - from) / (end - start || 1);
  const place = log ? (value) => from + (Math.log(value) - start) * unit : (value) => from + (value - start) * unit;
  place.invert = log ? (at) => Math.exp(start + (at - from) / unit) : (at) => start + (at - from) / unit;
  return place;
}

// The box shrunk from its left end, and about its middle, until a unit is as long on both axes.
function squared(box, across, down) {
  const unit = Math.min((box.right - box.left) / across, (box.bottom - box.top) / down);
  Object.assign(box, { right: box.left + unit * across, bottom: box.top + unit * down });  // below its title
}

// Square, triangle, circle, diamond, triangle on its tip: kinds can be distinguished without colour.
function addShape(path, kind, x, y, r) {
  if (kind === 0) return path.rect(x - r, y - r, 2 * r, 2 * r);
  if (kind === 2) {
    path.moveTo(x + r, y);
    return path.arc(x, y, r, 0, 2 * Math.PI);
  }
  const corners = {
    1: [[0, -1.2], [1.15, 0.9], [-1.15, 0.9]], 3: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    4: [[0, 1.2], [1.15, -0.9], [-1.15, -0.9]],
  }[kind];
  corners.forEach(([dx, dy], k) => (k ? path.lineTo(x + dx * r, y + dy * r) : path.moveTo(x + dx * r, y + dy * r)));
  path.closePath();
}

const INSIDE = [
  () => true, (i, j, r) => Math.abs(i) <= (j + r + 1) / 2, (i, j, r) => i * i + j * j <= r * r + 0.5,
  (i, j, r) => Math.abs(i) + Math.abs(j) <= r, (i, j, r) => Math.abs(i) <= (r - j + 1) / 2,
];

// A line without the points between the ends of what is straight, for each costs a joint; what is not finite interrupts it.
function trace(path, xs, ys, sx, sy) {
  let pen = false, x0 = 0, y0 = 0, dx = 0, dy = 0, far = 0, x1 = 0, y1 = 0;  // where what is straight begins, leads to, and ends so far
  for (let k = 0; k < xs.length; k += 1) {
    const x = sx(xs[k]), y = limited(sy(ys[k]), -FAR, FAR), there = Number.isFinite(x) && Number.isFinite(ys[k]) && !Number.isNaN(y);
    const along = (x - x0) * dx + (y - y0) * dy;
    if (!there || !far || along < far || Math.abs((x - x0) * dy - (y - y0) * dx) > 0.01) {
      if (far) {
        path.lineTo(x1, y1);
        x0 = x1;
        y0 = y1;
      }
      if (there && !pen) {
        path.moveTo(x, y);
        x0 = x;
        y0 = y;
      }
      far = there ? Math.hypot(x - x0, y - y0) : 0;
      dx = (x - x0) / far;
      dy = (y - y0) / far;
    } else far = along;
    pen = there;
    x1 = x;
    y1 = y;
  }
  if (far) path.lineTo(x1, y1);
}

// A line of many points, with at most three in a column of pixels.
function traceDense(path, xs, ys, sx, sy) {
  let pen = false, column = NaN, low = 0, high = 0, last = 0;
  const flush = () => {
    if (low < high) for (const y of [low, high, last]) path.lineTo(column, y);
  };
  for (let k = 0; k < xs.length; k += 1) {
    const x = sx(xs[k]), y = limited(sy(ys[k]), -FAR, FAR);
    if (!Number.isFinite(x) || Number.isNaN(y) || !Number.isFinite(ys[k])) {
      flush();
      [pen, column, low, high] = [false, NaN, 0, 0];
    } else if (Math.round(x) === column) {
      low = Math.min(low, y);
      high = Math.max(high, y);
      last = y;
    } else {
      flush();
      column = Math.round(x);
      low = high = last = y;
      if (pen) path.lineTo(x, y); else path.moveTo(x, y);
      pen = true;
    }
  }
  flush();
}

function shortened(context, text, wide, size = TEXT) {
  if (widthOf(context, text, size) <= wide + 0.5) return text;
  const tail = /^\S{30}/.test(text) ? 16 : 0;  // a long name says by its end what it does
  const cut = (kept) => `${text.slice(0, kept)}…${text.slice(text.length - tail)}`;
  let kept = text.length - tail;
  while (kept > 1 && widthOf(context, cut(kept), size) > wide) kept -= 1;
  return cut(kept);
}

function wrapped(context, text, wide) {
  const rows = [];
  for (const paragraph of text ? text.split("\n") : []) {
    let row = "";
    if (HAN.test(paragraph)) {  // a row may end at every Chinese letter
      for (const part of paragraph.match(BREAKABLE)) {
        if (row && widthOf(context, row + part) > wide) { rows.push(row); row = part.trimStart(); } else row += part;
      }
      rows.push(row);
      continue;
    }
    for (const word of paragraph.split(" ")) {
      const longer = row ? `${row} ${word}` : word;
      if (row && widthOf(context, longer) > wide) { rows.push(row); row = word; } else row = longer;
    }
    rows.push(row);
  }
  return rows;
}
