// Panels (pictures/panels.py) as a page shows them: on a phone what stands side by side stands one below another, and all is in sight.

const PLACES = ["at", "x", "y", "x0", "y0", "x1", "y1"];
const BESIDE = 8, FINGER = 44, HIGHEST = 405;  // of two matrices: columns of those that stand side by side; pixels of a cell, and of all
// Of two slices of five columns, in voxels: the room left and right of them, that of words in it, a bar's width, and how near to the
// last column a point's weights would meet them.
const AHEAD = 1.45, ASIDE = 1.55, WORDS = 1.1, STRIP = 0.14, CLOSE_BY = 1.8;
const ABOVE = 0.65, DEEPER = 0.1, APART = 0.6;  // the room above without words, what names of slices lie deeper, and between two
const SLICES = 436;  // pixels of two slices, so that the gradient is in sight below them
const ACROSS = 53, LEGIBLE = 66, EDGE = 0.3;  // letters in a row of formulas, the most in one that is not scrolled, beside a bar
const ROOMY = 760, END = 1.15, BARRED = 1.6, TERMS = 0.62;  // pixels of a page with room beside a list; where its numbers end there, and their bars; where its terms begin
const GUIDE = 4, READ = 5, INK = 10;  // kinds of pictures/roles.py
const POINTERS = "↑↓↗↘↖↙";  // from a bar of a formula to the tree of its term

// The panel as a narrow page shows it: the middle of its x axis, or two slices as wide as the page.
function cropped(panel) {
  const { narrow, x, y, folds } = panel, off = (x.high - x.low) * (1 - narrow) / 2;
  if (!folds.length) return { ...panel, x: { ...x, low: x.low + off, high: x.high - off } };
  const columns = columnsOf(folds), unit = (columns + 1) / 6;
  return { ...panel, square: false, height: SLICES, x: { ...x, low: -0.5 - AHEAD * unit, high: columns - 0.5 + ASIDE * unit }, y: { ...y, low: y.low + folds[2] + APART + DEEPER, high: y.high + ABOVE } };
}

// Of a slice, which lies as far left of `folds` as the second one lies right of it.
function columnsOf([end, dx]) {
  return Math.round(2 * end + dx + 1);
}

// Whether a mark is of a slice that is not shown, which would stand where there is room for words.
function elsewhere({ mark, x, x0 = x }, { folds }) {
  return mark !== "Grip" && (x0 < folds[1] / 2 || x0 > columnsOf(folds) - folds[1] - 0.5);
}

// What is said above a slice stands beside it, its bar upright, on the side that a point in this column leaves free; returns whether it is that.
function aside(mark, { folds: [end, dx, rows] }, point) {
  const foot = rows - 0.5 + ((mark.x ?? mark.x0) > end ? rows + APART : 0), words = mark.mark === "Note" && mark.align === "left";
  const columns = columnsOf([end, dx]), unit = (columns + 1) / 6, left = point > columns - CLOSE_BY * unit, side = left ? -0.5 - 2 * STRIP * unit : columns - 0.5 + STRIP * unit;
  if (words) Object.assign(mark, { x: left ? -0.5 - (AHEAD - STRIP / 2) * unit : side + 2 * STRIP * unit, y: foot - rows / 2, room: WORDS * unit, text: mark.text.replace(/[,，] ?/g, "\n") });
  else if (mark.mark === "Box" && mark.y1 < -1) Object.assign(mark, { y0: foot - (mark.x1 - mark.x0) * rows / columns, y1: foot, x0: side, x1: side + STRIP * unit });
  else {
    if (mark.mark === "Note") mark.y += DEEPER;
    return false;
  }
  return true;
}

// Moves the places of a mark that lie right of an edge, a box by its middle; what lies below a floor, between both sides, goes by half as much along.
function lowered(mark, [end, across, floor]) {
  const down = floor + APART, by = (x, y) => (y > floor ? [across / 2, down] : x > end ? [across, down] : [0, 0]);
  if (mark.mark === "Line") {
    const moves = Array.from(mark.x, (x, k) => by(x, mark.y[k]));
    [mark.x, mark.y] = [mark.x, mark.y].map((at, axis) => at.map((value, k) => value + moves[k][axis]));
    return;
  }
  const move = "x1" in mark ? by((mark.x0 + mark.x1) / 2, mark.y0) : by(mark.x, mark.y);
  for (const name of PLACES) if (name in mark) mark[name] += move["xy".indexOf(name[0])];
  mark.units &&= mark.units.map(([from, unit, axis]) => [from - unit * move[axis], unit, axis]);
}

// Two matrices side by side, the second from `folds` on, which a narrow page shows one above the other: the link crosses the
// row between them, from the column of the grip to the box that follows it. Adds to the arrays those of its own.
function folded(panel, arrays) {
  const { folds, x, y, marks } = panel;
  if (!folds || folds.length || x.high - x.low <= BESIDE) return panel;
  const { values } = marks.find(({ mark }) => mark === "Heat"), { data, shape: [, columns] } = arrays[values];
  const known = [...data.keys()].filter((k) => !Number.isNaN(data[k])).map((k) => [k % columns, Math.floor(k / columns), data[k]]);
  const deep = (second) => Math.max(...known.map(([u, v]) => (second === u >= folds ? v + 1 : 0)));
  const [upper, lower] = [deep(false), deep(true)], drop = upper + 1, down = drop + lower;
  const ticks = [x.ticks.filter(([at]) => at < folds), x.ticks.filter(([at]) => at >= folds).map(([at, text]) => [at - folds, text])].sort((a, b) => b.length - a.length)[0];
  const second = (u) => u >= folds - 0.5, across = ticks.length, cells = new Float32Array(across * down).fill(NaN);
  for (const [u, v, value] of known) cells[second(u) ? (v + drop) * across + u - folds : v * across + u] = value;
  const add = (name, made, shape) => {
    arrays[`${name} folded`] = { data: made, shape };
    return `${name} folded`;
  };
  const moved = (one, k) => {
    if (one.mark === "Heat") return { ...one, values: add(values, cells, [down, across]) };
    if (one.mark === "Line") {
      const { x0, x1 } = marks[k + 1], grip = marks.find(({ mark }) => mark === "Grip");
      const sides = [-0.5, 0.5].map((side) => Math.round(grip.x - 0.42) + side), ends = x0 === null ? [NaN, NaN] : [x0 - folds, x1 - folds];
      return { ...one, x: add(one.x, [sides[0], ends[0], NaN, sides[1], ends[1]], [5]), y: add(one.y, [upper - 0.5, drop - 0.5, NaN, upper - 0.5, drop - 0.5], [5]) };
    }
    if (one.mark === "Note" && second(one.x)) {
      const [name, text] = one.text.split(/[:：] ?/);  // the link leaves room for one of the two
      return { ...one, name, text, x: -0.45, y: drop - 0.85, align: "left" };
    }
    if (one.mark === "Note") return one;
    if (one.mark === "Dots") return { ...one, x: add(one.x, arrays[one.x].data.map((at) => at - folds), [1]), y: add(one.y, arrays[one.y].data.map((at) => at + drop), [1]) };
    if (!second(one.x0 ?? one.x)) return one;
    return { ...one, x0: one.x0 - folds, x1: one.x1 - folds, y0: one.y0 + drop, y1: one.y1 + drop };
  };
  const rows = [...y.ticks.slice(0, upper), ...y.ticks.slice(0, lower).map(([at, text]) => [at + drop, text])], low = down - 0.5, all = low - y.high;
  return { ...panel, marks: marks.map(moved), square: false, second: [0, drop], height: Math.round(all * Math.min(FINGER, HIGHEST / all)) + 3 * LINE,
    x: { ...x, high: across - 0.5, ticks }, y: { ...y, low, ticks: rows } };
}

// The trees of a zoom's formulas, of which a mark fades each: where they are, and the term of their first bar.
function treesOf({ marks }, arrays) {
  const trees = [], { sets, ...spots } = marks.find(({ mark }) => mark === "Spots"), [left, top, right, bottom] = PLACES.slice(3).map((name) => arrays[spots[name]].data);
  for (const { filled, y0, x1, y1 } of marks) if (filled < 0) trees.push({ x0: trees.at(-1)?.y0 === y0 ? trees.at(-1).x1 + 1 : 0, y0, x1, y1 });
  const bars = sets.map((set, k) => ({ k, term: Object.fromEntries(set).term, x0: left[k], y0: top[k], x1: right[k], y1: bottom[k], tree: trees.find((tree) => left[k] >= tree.x0 && right[k] <= tree.x1 && top[k] >= tree.y0 && top[k] < tree.y1) }));
  for (const { tree, term } of bars) tree.term ??= term;
  return { trees, bars };
}

// The formulas of a zoom as a phone shows them: in rows as wide as the page, where bars are together as wide as the one above them.
function packed(panel, arrays) {
  const { trees, bars } = treesOf(panel, arrays), rows = [], { opens, x, y, height } = panel, widest = Math.max(...trees.map((tree) => tree.x1 - tree.x0));
  const across = widest > LEGIBLE ? widest : ACROSS, sum = (those) => those.reduce((all, { x0, x1 }) => all + x1 - x0 + 2 * EDGE, 0);
  for (const tree of trees) {
    if (!rows.length || rows.at(-1).wide + tree.x1 - tree.x0 > across) rows.push({ wide: 0, those: [] });
    rows.at(-1).wide += rows.at(-1).those.push(tree) && tree.x1 - tree.x0 + 1;
  }
  let deep = 0, tight = {};
  for (const { wide, those } of rows) {
    let along = 0;
    for (const tree of those) {
      const end = along + (across - those.length + 1) / (wide - those.length) * (tree.x1 - tree.x0);
      [tree.place, tree.down, along] = [[along, end], deep - tree.y0, end + 1];
    }
    deep += Math.max(...those.map((tree) => tree.y1 - tree.y0));
  }
  for (const bar of bars) bar.above = bars.find((one) => one.tree === bar.tree && Math.abs(bar.y0 - one.y0 - 1) < 0.1 && one.x0 < bar.x1 && one.x1 > bar.x0) ?? bar.tree;
  for (const bar of bars) {  // which follows the one above it
    const [from, to] = bar.above.place, beside = bars.filter(({ above }) => above === bar.above), unit = (to - from) / sum(beside), left = from + unit * sum(beside.slice(0, beside.indexOf(bar)));
    bar.place = [left, left + unit * sum([bar])];
    tight[bar.term] = Math.min(tight[bar.term] ?? Infinity, unit * sum([bar]));  // its number is written alike in all
  }
  const moved = (one) => {
    if (one.mark === "Spots") {
      const put = (name, value) => [name, (arrays[`${one[name]} packed`] = { data: Float64Array.from(bars, value), shape: [bars.length] }) && `${one[name]} packed`];
      return { ...one, ...Object.fromEntries([put("x0", ({ place }) => place[0] + EDGE), put("x1", ({ place }) => place[1] - EDGE), put("y0", (bar) => bar.y0 + bar.tree.down), put("y1", (bar) => bar.y1 + bar.tree.down)]) };
    }
    const [u, v] = [one.x ?? one.x1 - 1, one.y ?? (one.filled < 0 ? one.y0 : (one.y0 + one.y1) / 2)], bar = bars.find(({ x0, y0, x1, y1 }) => u > x0 - EDGE && u < x1 + EDGE && v > y0 - 0.1 && v < y1);
    if (!bar) return one;
    const { term, place: [from, to], tree: { down } } = bar;
    return one.mark === "Note" ? { ...one, x: (from + to) / 2, y: one.y + down, room: to - from, tight: tight[term] } : { ...one, x0: one.x0 === null ? null : from + one.x0 - bar.x0 + EDGE, x1: to + one.x1 - bar.x1 - EDGE, y0: one.y0 + down, y1: one.y1 + down };
  };
  const [depth, x0, y0, x1, y1] = opens, place = moved({ x0, y0, x1, y1 });
  return { ...panel, marks: panel.marks.map(moved), opens: [depth, ...PLACES.slice(3).map((name) => place[name])], least: across > ACROSS ? Math.round(5.5 * across) : 0,
    height: Math.round(height * deep / y.low), x: { ...x, low: -0.15, high: across + 0.15 }, y: { ...y, low: deep } };
}

// A bar whose term has a tree of its own names the way to it beside its number, and a pointer there frames it.
function aimed(panel, arrays) {
  const { trees, bars } = treesOf(panel, arrays), aims = bars.map(({ term, tree }) => trees.find((one) => one !== tree && one.term === term && tree.term !== term));
  const marks = panel.marks.filter(({ mark, text }) => !(mark === "Note" && POINTERS.includes(text))).map((one) => {
    const { k, x0, y0, x1 } = one.mark === "Note" && !one.math && bars.find((bar) => one.x > bar.x0 && one.x < bar.x1 && one.y > (bar.y0 + bar.y1) / 2 && one.y < bar.y1) || {}, to = aims[k];
    return to ? { ...one, text: `${one.text} ${POINTERS[(to.y0 > y0) + 2 * (to.x0 > x1) + 4 * (to.x1 < x0)]}` } : one;
  });
  return { ...panel, marks, aims };
}

// The tensor of a zoom as a phone shows it: all of it, its columns one below another where it has more of them than rows.
function turned(panel, arrays) {
  const { x, y, height } = panel, { values } = panel.marks.find(({ mark }) => mark === "Heat"), { data, shape: [rows, columns] } = arrays[values];
  if (columns <= rows) return { ...panel, least: 0 };
  const whole = (list) => Array.from(list, (_, k) => list[k % rows * columns + Math.floor(k / rows)]), named = y.ticks.some(([, text]) => Number.isNaN(Number(text)));
  arrays[`${values} turned`] = { data: Float32Array.from(whole(data)), shape: [columns, rows] };
  const marks = panel.marks.map((one) => (one.mark === "Heat" ? { ...one, values: `${values} turned`, words: whole(one.words) } : { ...one, x0: one.y0, y0: one.x0, x1: one.y1, y1: one.x1 }));
  if (named) marks.push(...y.ticks.map(([at, text]) => ({ mark: "Note", x: at, y: -1.5, text: text.replace(/[:,，：] ?/g, "\n"), align: "center", room: 0 })));
  const [depth, x0, y0, x1, y1] = panel.opens;
  return { ...panel, marks, opens: [depth, y0, x0, y1, x1], turned: true, least: 0, height: Math.max(height, 112 + 26 * columns),
    x: { ...y, low: y.high, high: y.low, ticks: named ? [] : y.ticks }, y: { ...x, low: x.high, high: x.low - (named ? 2 : 0) } };
}

// The tensor of a zoom, where the tile of a row follows its number.
function withRows(panel, arrays) {
  const { marks: [{ mark, values }], y } = panel, rows = mark === "Heat" && arrays[values].shape[0];
  if (rows < 2 || y.ticks.length !== rows || y.label) return panel;
  return { ...panel, y: { ...y, ticks: y.ticks.map(([at, text]) => [at, `${tr("row")} ${at}: ${text}`.replace(/ (?=\d)/g, "\u00a0")]) } };  // a number stays with its word
}

// Of the gradient of a volume the two slices from the first on that gets one; names of the others lie beyond the axis.
function sent(panel, arrays) {
  const { y, height, marks: [heat, ...others] } = panel, { data, shape: [rows, columns] } = arrays[heat.values], many = y.ticks.filter(([, text]) => Number.isNaN(Number(text))).length;
  if (many < 3) return panel;
  const deep = rows / many, from = deep * limited(Math.floor(data.findIndex((value) => value > 0) / columns / deep), 0, many - 2), values = `${heat.values} sent`;
  arrays[values] = { data: data.slice(from * columns, (from + 2 * deep) * columns), shape: [2 * deep, columns] };
  return { ...panel, height: Math.round(height * 0.75), marks: [{ ...heat, values }, ...others], y: { ...y, low: 2 * deep - 0.5, ticks: y.ticks.map(([at, text]) => [at - from, text]) } };
}

// The list of a zoom: what else only its hints say, how far each number is off, stands beside it on a wide page, and below each
// line on a narrow one, with bars whose lines are at half an ulp.
function erring(panel, narrow) {
  const { texts } = panel.marks.find(({ mark }) => mark === "Spots"), offs = texts.map((text) => /-?(\d[\d.]*(e[-+]?\d+)?|inf|nan)/.exec(text.split("\n")[1])?.[0] ?? "");
  const off = offs.map((text) => Number(text) || 0), [from, to] = narrow ? [TERMS, 1] : [END, BARRED], middle = (from + to) / 2, unit = 0.45 * (to - from) / Math.max(1, ...off.map(Math.abs));
  const [down, half] = narrow ? [0.27, 0.12] : [0, 0.3], note = (x, y, text, align) => ({ mark: "Note", x, y, text, align, room: 0 });
  const bars = off.map((value, y) => ({ mark: "Box", kind: INK, x0: middle, x1: middle + unit * value, y0: y + down - half, y1: y + down + half, label: "", filled: 0.6 })).filter(({ x1 }) => x1 !== middle);
  const known = [...offs.keys()].filter((y) => !narrow || offs[y]), ends = [-0.5, 0, 0.5].map((at) => ({ mark: "Line", width: 1, dash: [], kind: at ? READ : GUIDE,
    x: narrow ? known.flatMap(() => [middle + unit * at, middle + unit * at, NaN]) : [middle + unit * at, middle + unit * at], y: narrow ? known.flatMap((y) => [y + down - half, y + down + half, NaN]) : [-0.45, offs.length - 0.55] }));
  if (narrow) {
    const marks = panel.marks.flatMap((one) => {
      if (one.mark !== "Note" || one.x < 0.5) return [one.x === 0.19 ? { ...one, room: 0.225 } : one];  // a name stays off the number
      const y = one.y < 0 ? -1 : one.y, below = one.y < 0 ? tr("off by, ulp") : offs[one.y];
      return !below ? [one] : one.align === "right" ? [{ ...one, y: y - 0.17, text: rounder(one.text) }, { ...one, y: y + down, text: below, small: true }] : [{ ...one, y: y - 0.19 }];
    });
    return { ...panel, marks: [...marks, ...bars, ...ends, { ...note(middle, -1 + down, "±½ ulp", "center"), small: true }], y: { ...panel.y, high: -1.5 }, height: Math.max(panel.height, 42 * offs.length) };
  }
  const written = [[-0.75, tr("off by, ulp")], ...offs.entries()].map(([y, text]) => note(END - 0.01, y, text, "right")), marks = panel.marks.map((one) => (one.mark === "Box" && one.x1 === 1 ? { ...one, x1: BARRED } : one));
  return { ...panel, marks: [...marks, ...written, ...bars, ...ends, note(middle, -0.75, "±½ ulp", "center")], least: BARRED * panel.least, x: { ...panel.x, high: BARRED } };
}

// The panel as this page shows it; of a zoom it is at least as wide as its letters, numbers or list.
function fitted(panel, arrays, { crops, wide }) {
  const { x: { low, high }, opens: [level] } = panel, least = level === undefined ? 0 : [6.9 * high, 43 * (high - low) + 100, 360][level];
  const made = { ...(crops ? folded(cropped(panel), arrays) : panel), least: Math.trunc(least) };
  if (crops && made.marks[0]?.map === "shares") return sent(made, arrays);
  if (level === undefined) return made;
  const used = new Set(made.marks.map(({ mark, kind }) => mark === "Box" && kind));
  made.marks = made.marks.filter(({ mark, kind }) => mark !== "Bars" || used.has(kind));  // the legend names what is there
  if (level === 0) return aimed(crops ? packed(made, arrays) : made, arrays);
  if (level === 2) return erring(made, wide < ROOMY);
  const tensor = withRows(made, arrays);
  return crops && made.marks[0].mark === "Heat" ? turned(tensor, arrays) : tensor;
}
