// What a hand takes: points that pointer and keys choose and move, and grips. Their fields of the state are named by the mark.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const FEW = 64;  // most points of which a finger takes any at once

// Row and column of the chosen point; where no field holds its row, there is only one.
const chosenOf = ({ values }, { choose }) => choose.map((field) => (field ? values[field] : 0));

// Where the chosen point is held now, which may be ahead of the kernel.
function held(kit, handle) {
  const { x, y, columns, rows, row, column, move, units: [[ox, fx], [oy, fy]] } = handle, { values } = kit;
  const [r, c] = chosenOf(kit, handle), moved = values[move].find(([a, b]) => a === r && b === c);
  const k = r < rows && c < columns ? r * columns + c : row * columns + column;
  return [moved && fx ? (moved[2] - ox) / fx : x[k], moved && fy ? (moved[3] - oy) / fy : y[k]];
}

// The nearest place within a frame, some pixels off its sides: what leaves it waits there.
const clamped = ({ left, right, top, bottom }, x, y, off = 4) => [limited(x, left + off, right - off), limited(y, top + off, bottom - off)];

// The values without the moved points that a smaller grid leaves behind.
function remaining(kit, { choose, move }, values) {
  const sizes = choose.map((field) => values[kit.model.get("controls").find((control) => control.field === field)?.below] ?? Infinity);
  return { ...values, [move]: values[move].filter((point) => sizes.every((size, k) => !(point[k] >= size))) };
}

// [row, column] of the point nearest to a position within reach, or null.
function nearest(drawing, x, y, reach) {
  const { x: xs, y: ys, columns } = drawing.handle;
  let best = null, least = reach * reach;
  for (let k = 0; k < xs.length; k += 1) {
    const distance = (drawing.sx(xs[k]) - x) ** 2 + (drawing.sy(ys[k]) - y) ** 2;
    if (distance < least) [least, best] = [distance, k];
  }
  return best === null ? null : [Math.floor(best / columns), best % columns];
}

// [row, column] of the point on top of a box or a bar that holds a position, or null.
function onTop({ marks, handle: { x: xs, y: ys, columns }, sx, sy }, x, y) {
  const between = (at, a, b) => at >= Math.min(a, b) && at <= Math.max(a, b), near = (a, b) => Math.abs(a - b) < 1;
  const areas = marks.flatMap(({ mark, width, ...one }) => (mark === "Box" ? [one]
    : mark === "Bars" ? Array.from(one.x, (at, k) => ({ x0: at - width / 2, y0: 0, x1: at + width / 2, y1: one.y[k] })) : []))
    .map(({ x0, y0, x1, y1 }) => [sx(x0), sy(y0), sx(x1), sy(y1)]).filter(([a, b, c, d]) => between(x, a, c) && between(y, b, d));
  const best = xs.findIndex((at, k) => areas.some(([a, , b, top]) => near(sx(at), (a + b) / 2) && near(sy(ys[k]), top)));
  return best < 0 ? null : [Math.floor(best / columns), best % columns];
}

// Drag a node by a pointer: start(x, y), move(x, y) and end() in pixels of the canvas. start says whether it is held.
function grab(drawing, node, start, move, end = () => {}) {
  const { panel: { top: canvas } } = drawing;
  const at = ({ clientX, clientY }) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  let pointer = null;
  node.addEventListener("pointerdown", (event) => {
    if (event.button || pointer !== null || start(...at(event), event) === false) return;
    pointer = event.pointerId;
    node.setPointerCapture(pointer);
  });
  node.addEventListener("pointermove", (event) => {
    if (pointer === null) drawing.panel.point(...at(event));  // the node lies over what is hinted at
    if (event.pointerId !== pointer) return;
    if (drawing.sliced || event.pointerType === "touch") drawing.panel.leave();  // it would cover what it speaks of
    else drawing.panel.over = drawing.holds ? clamped(drawing.area, ...at(event)) : at(event);  // the next picture has its hint there
    move(...at(event));
  });
  node.addEventListener("pointerleave", () => { if (pointer === null) drawing.panel.leave(); });
  for (const name of ["pointerup", "pointercancel"]) {
    node.addEventListener(name, (event) => {
      if (event.pointerId !== pointer) return;
      pointer = null;
      end();
    });
  }
}

function takeHand(drawing) {
  const { kit, panel: { top: canvas, stage } } = drawing;
  const chosen = () => chosenOf(kit, drawing.handle);
  const choose = (point) => kit.set(Object.fromEntries(drawing.handle.choose.map((field, k) => [field, point[k]]).filter(([field]) => field)), true);
  const others = () => {
    const [row, column] = chosen();
    return kit.values[drawing.handle.move].filter(([r, c]) => r !== row || c !== column);
  };
  const moveTo = (u, v) => {
    const { move, units: [[ox, fx], [oy, fy]] } = drawing.handle, [row] = chosen(), top = (at) => Math.min(at, 0.999);
    // Of probabilities what one gains the others lose, those too that a hand has moved before.
    const left = drawing.spec.name === "row" ? (1 - top(v)) / (1 - top(held(kit, drawing.handle)[1])) : 1, rest = others().map(([r, c, x, y]) => [r, c, x, r === row ? y * left : y]);
    kit.set({ [move]: [...rest, [...chosen(), ox + fx * u, oy + fy * v]] }, true);
  };
  let above = 0;  // pixels from the pointer to the top that it moves
  const drag = (x, y) => {
    const [left, top] = clamped(drawing.area, x, y + above);
    moveTo(drawing.sx.invert(left), drawing.sy.invert(top));
  };
  const take = () => {
    drawing.holds = true;
    kit.hold(drawing.spec.name);
  };
  const drop = () => {
    drawing.holds = false;
    above = 0;
    kit.release();
  };
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  // A finger drags the chosen point, and where points are few the one on which it begins; elsewhere it scrolls, and a tap chooses.
  // A mouse takes a whole column as well.
  grab(drawing, canvas, (x, y, { pointerType }) => {
    const near = nearest(drawing, x, y, 16), point = near ?? (pointerType === "mouse" ? onTop(drawing, x, y) : null);
    if (!point || (pointerType === "touch" && drawing.handle.y.filter(Number.isFinite).length > FEW)) return false;
    choose(point);
    if (!near) above = drawing.sy(drawing.handle.y[point[0] * drawing.handle.columns + point[1]]) - y;
    take();
    return true;
  }, drag, drop);
  canvas.addEventListener("touchstart", (event) => { if (drawing.holds) event.preventDefault(); }, { passive: false });
  canvas.addEventListener("click", ({ pointerType, offsetX, offsetY }) => {
    const point = pointerType === "touch" && nearest(drawing, offsetX, offsetY, 16);
    if (point) choose(point);
  });
  const pad = element("div", { class: "ae-grip" });
  stage.append(pad);
  grab(drawing, pad, take, drag, drop);
  canvas.addEventListener("keydown", (event) => {
    const { rows, columns, step: small, move } = drawing.handle, step = small * (event.shiftKey ? 4 : 1);
    const arrow = ARROWS[event.key], turn = { PageDown: 1, PageUp: -1 }[event.key];
    if (arrow) {
      const [u, v] = held(kit, drawing.handle), { x, y } = drawing.spec;
      moveTo(u + step * arrow[0] * Math.sign(x.high - x.low), v + step * arrow[1] * Math.sign(y.low - y.high));
    } else if (turn) {
      const [row, column] = chosen(), next = (row * columns + column + turn + rows * columns) % (rows * columns);
      choose([Math.floor(next / columns), next % columns]);
    } else if (event.key === "Home") kit.set({ [move]: others() });
    else return;
    event.preventDefault();
  });
  return pad;
}

// A grip at a place: dragged it sets fields, by their units, or by the distance from the middle of a thing or the angle about it.
function makeGrip(drawing) {
  const { kit, panel: { stage } } = drawing, node = element("div", { class: "ae-grip ae-seen", role: "slider", tabIndex: 0 });
  const control = (field) => kit.model.get("controls").find((one) => one.field === field);
  // Ends of a field; in a volume the point stays on its slice, so that the square about it stays within the frame.
  const ends = (field) => {
    const { low, high } = control(field), { marks } = drawing, slice = drawing.sliced && marks.find(({ mark }) => mark === "Image");
    const { sets, units } = slice && marks.find((one) => one.mark === "Grip" && one.sets.length > 1) || { sets: [] }, k = sets.indexOf(field);
    if (k < 0) return [low, high];
    const [from, unit, axis] = units[k];
    return [Math.max(low, from - unit / 2), Math.min(high, from + unit * ((axis ? slice.rows : slice.columns) - 0.5))];
  };
  const set = (values) => kit.set(kit.within(Object.fromEntries(Object.entries(values).map(([field, value]) => {
    const { step, kind } = control(field), [low, high] = ends(field);
    if (kind === "flag") return [field, value > 0.5];
    const near = limited(value, low, high);
    return [field, kind === "whole" ? Math.round(near) : Math.round(near / step) * step];
  }))));
  let start = null;
  const polar = (x, y) => {
    const [a, b] = [x - drawing.sx(node.mark.about[0]), y - drawing.sy(node.mark.about[1])];
    return [Math.hypot(a, b), Math.atan2(b, a) * 180 / Math.PI];
  };
  grab(drawing, node, (x, y) => {
    const { sets, way, x: u, y: v } = node.mark;
    start = { values: sets.map((field) => kit.values[field]), polar: way === "place" ? null : polar(x, y), aside: [drawing.sx(u) - x, drawing.sy(v) - y] };
  }, (x, y) => {
    const { sets, units, way } = node.mark, [from] = start.values;
    if (way === "place") {
      const places = [drawing.sx.invert(x + start.aside[0]), drawing.sy.invert(y + start.aside[1])];
      const [[base, unit, axis]] = units, stops = sets.length > 1 && ends(sets[0]);
      if (stops) places[axis] = (limited(base + unit * places[axis], ...stops) - base) / unit;  // what goes with it stops with it
      set(Object.fromEntries(sets.map((field, k) => [field, units[k][0] + units[k][1] * places[units[k][2]]])));
    } else {
      const [far, angle] = polar(x, y), [old, before] = start.polar;
      set({ [sets[0]]: way === "scale" ? from * far / (old || 1) : ((from + angle - before + 540) % 360) - 180 });
    }
  });
  node.addEventListener("keydown", (event) => {
    const arrow = ARROWS[event.key];
    if (!arrow) return;
    const { sets, units, way } = node.mark, many = event.shiftKey ? 4 : 1, { x, y } = drawing.spec;
    const shown = [node.mark.x, node.mark.y];  // where an index lies, which may be beyond the last one
    const turned = [Math.sign(x.high - x.low), Math.sign(y.low - y.high)];
    set(Object.fromEntries(sets.map((field, k) => {
      const by = way === "place" ? arrow[units[k][2]] * turned[units[k][2]] * Math.sign(units[k][1]) : arrow[0] - arrow[1];
      const { kind, step = 1 } = control(field), [from, unit, axis] = units[k] ?? [];
      if (k && axis === units[0]?.[2]) return [field, from + unit * (shown[axis] + by * many * 5 * control(sets[0]).step / units[0][1])];
      return [field, kind === "whole" ? Math.round(from + unit * shown[axis]) + by * many : kit.values[field] + by * many * 5 * step];
    })));
    event.preventDefault();
  });
  stage.append(node);
  return node;
}
