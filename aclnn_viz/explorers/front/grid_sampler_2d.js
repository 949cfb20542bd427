// The panels of the grid-sampler explorer. Positions on the image are pixel coordinates, 0 the centre of the first.

const AXIS = { x: 0, y: 1 };

function buildGridSampler(kit) {
  const head = element("ul", { class: "ae-headline ae-head" });
  kit.panels.append(head);
  const lines = ["■", "▲", "●"].map((shape, kind) => {
    const text = element("span"), sign = element("i", {}, shape);
    const line = element("li", {}, sign, element("b", {}, kit.theme.kinds[kind].name), text);
    head.append(line);
    return { line, text, sign };
  });
  const rounding = element("li", { class: "ae-rounding" });
  head.append(rounding);
  const image = new Panel(kit, "image", "image and sampling points", 2);
  const map = new Panel(kit, "map", "coordinate maps and their slopes");
  const taps = new Panel(kit, "taps", "taps of the chosen point");
  const corners = new Panel(kit, "corners", "alignCorners");
  const side = element("div", { class: "ae-side" });
  kit.panels.append(side);
  side.append(taps.figure, corners.figure);
  const outs = kit.theme.kinds.map(({ name }) => new Panel(kit, "out", `out, ${name}`));
  const inputGrad = new Panel(kit, "inputGrad", "inputGrad");
  const gridGrad = new Panel(kit, "gridGrad", "gridGrad");
  let seen = null;  // {picture, arrays, state} of the last answer

  // Where pixel coordinates of the image stand on a panel that also shows the margin.
  function place(panel) {
    const { state, picture } = seen;
    const [rows, columns] = picture.margin;
    const box = cells(panel, state.height + 2 * rows, state.width + 2 * columns);
    return {
      ...box, x: (u) => box.left + (u + 0.5 + columns) * box.size, y: (v) => box.top + (v + 0.5 + rows) * box.size,
      column: (x) => (x - box.left) / box.size - 0.5 - columns, row: (y) => (y - box.top) / box.size - 0.5 - rows,
    };
  }
  const chosenAt = (state) => 2 * (state.row * state.grid_width + state.column);

  function drawImage() {
    const { arrays, picture, state } = seen, theme = kit.theme, context = image.begin();
    const at = place(image), [rows, columns] = picture.margin;
    const [, low, high] = picture.maps.outs;
    const small = sheet(arrays.surround.data, at.rows, at.columns, colourTable(theme, "grey"), low, high);
    context.imageSmoothingEnabled = false;
    context.globalAlpha = 0.42;
    context.drawImage(small, at.left, at.top, at.size * at.columns, at.size * at.rows);
    context.globalAlpha = 1;
    const inner = [at.x(-0.5), at.y(-0.5), at.size * state.width, at.size * state.height];
    context.drawImage(small, columns, rows, state.width, state.height, ...inner);
    if (at.size > 5) {  // the pixel grid
      context.beginPath();
      for (let k = 0; k <= state.width; k += 1) { context.moveTo(at.x(k - 0.5), inner[1]); context.lineTo(at.x(k - 0.5), inner[1] + inner[3]); }
      for (let k = 0; k <= state.height; k += 1) { context.moveTo(inner[0], at.y(k - 0.5)); context.lineTo(inner[0] + inner[2], at.y(k - 0.5)); }
      context.strokeStyle = "rgba(128,128,128,0.35)";
      context.lineWidth = 0.5;
      context.stroke();
    }
    context.strokeStyle = theme.text;
    context.lineWidth = 1;
    context.strokeRect(...inner);
    const edge = state.alignCorners ? 0 : 0.5;  // where x and y are -1 and 1
    context.setLineDash([5, 4]);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.6;
    context.strokeRect(at.x(-edge), at.y(-edge), at.size * (state.width - 1 + 2 * edge), at.size * (state.height - 1 + 2 * edge));
    context.setLineDash([]);
    write(context, "x=−1", at.x(-edge), at.y(state.height - 0.5) + 9, theme.text, 10);
    write(context, "x=1", at.x(state.width - 1 + edge), at.y(state.height - 0.5) + 9, theme.text, 10);
    if (state.paddingMode === 0) write(context, "outside: zeros", at.left, image.height - 8, theme.text, 11, "left");
    const points = arrays.pixels.data;
    for (const [colour, size] of [["#000", 4], [theme.point, 2.6]]) {
      context.fillStyle = colour;
      for (let k = 0; k < points.length; k += 2) {
        context.fillRect(at.x(points[k]) - size / 2, at.y(points[k + 1]) - size / 2, size, size);
      }
    }
    image.say(`image, continued by ${theme.kinds[state.paddingMode].name}`);
  }

  // Where the chosen point is held now, which may be ahead of the kernel.
  function chosenPixel() {
    const { moved, row, column, alignCorners } = kit.values, { state, arrays } = seen;
    const pixel = (x, size) => (alignCorners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2);
    const held = moved.find(([r, c]) => r === row && c === column);
    if (held) return [pixel(held[2], state.width), pixel(held[3], state.height)];
    const known = row < state.grid_height && column < state.grid_width ? { ...state, row, column } : state;
    return arrays.pixels.data.subarray(chosenAt(known), chosenAt(known) + 2);
  }

  // The chosen point, where each padding mode sends it, and its taps; during a drag the point is drawn where it is held.
  function drawChosen() {
    const { arrays, state } = seen, theme = kit.theme, context = image.begin(1), at = place(image);
    const limit = (value, most) => Math.min(Math.max(value, 6), most - 6);
    const [u, v] = chosenPixel();
    const [x, y] = [limit(at.x(u), image.width), limit(at.y(v), image.height)];
    outlineTaps(context, at, arrays, state);
    for (const kind of [0, 1, 2].filter((m) => m !== state.paddingMode).concat(state.paddingMode)) {
      const { colour, dash } = theme.kinds[kind];
      const [column, row] = [arrays.sources.data[kind * 4], arrays.sources.data[kind * 4 + 2]];
      const [sx, sy] = [limit(at.x(column), image.width), limit(at.y(row), image.height)];
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(sx, sy);
      context.strokeStyle = colour;
      context.lineWidth = kind === state.paddingMode ? 2.2 : 1.2;
      context.stroke();
      context.setLineDash([]);
      mark(context, kind, sx, sy, kind === state.paddingMode ? 5 : 4, colour, "#fff");
    }
    ring(context, x, y, 9, theme);
  }

  function outlineTaps(context, at, arrays, state) {
    const [, count, width] = arrays.taps.shape;
    context.strokeStyle = kit.theme.accent;
    context.lineWidth = 1.5;
    for (let k = 0; k < count; k += 1) {
      const [row, column, , , , inside] = arrays.taps.data.subarray((state.paddingMode * count + k) * width);
      if (inside) context.strokeRect(at.x(column - 0.5), at.y(row - 0.5), at.size, at.size);
    }
  }

  // The three maps of one axis, and under them their slopes on the same horizontal axis.
  const frame = { left: 34, right: 8, top: 6, gap: 30, bottom: 16 };
  function mapScales() {
    const { arrays, state } = seen, axis = AXIS[state.axis];
    const size = axis ? state.height : state.width, steepest = Math.max(size / 2, 0.5) * 1.25;
    const upper = (map.height - frame.top - frame.gap - frame.bottom) * 0.66;
    const lower = map.height - frame.top - upper - frame.gap - frame.bottom, below = frame.top + upper + frame.gap;
    const [low, high] = [-0.55 * size - 0.5, 1.55 * size - 0.5];
    return {
      axis, size, upper, lower, below,
      x: (x) => frame.left + (x + 3) / 6 * (map.width - frame.left - frame.right),
      value: (x) => (x - frame.left) / (map.width - frame.left - frame.right) * 6 - 3,
      y: (u) => frame.top + (high - u) / (high - low) * upper,
      slope: (s) => below + (steepest - s) / (2 * steepest) * lower,
      of: (name, kind) => { const n = arrays[name].shape[2]; return arrays[name].data.subarray((kind * 2 + axis) * n, (kind * 2 + axis + 1) * n); },
      breaks: arrays.breaks.data.subarray(axis * arrays.breaks.shape[1], (axis + 1) * arrays.breaks.shape[1]).filter((b) => !Number.isNaN(b)),
      here: arrays.grid.data[chosenAt(state) + axis],
    };
  }

  function drawMap() {
    const { arrays, state } = seen, theme = kit.theme, context = map.begin(), s = mapScales();
    const right = map.width - frame.right;
    context.fillStyle = theme.dark ? "#ffffff18" : "#00000012";
    context.fillRect(frame.left, s.y(s.size - 0.5), right - frame.left, s.y(-0.5) - s.y(s.size - 0.5));
    write(context, "the image", s.x(-0.25), s.y(0.85 * s.size), theme.text, 10, "right");
    context.strokeStyle = theme.faint;
    context.lineWidth = 1;
    context.strokeRect(frame.left, frame.top, right - frame.left, s.upper);
    context.strokeRect(frame.left, s.below, right - frame.left, s.lower);
    for (let x = -3; x <= 3; x += 1) write(context, String(x), s.x(x), map.height - 6, theme.text, 10);
    for (const u of [0, s.size - 1]) write(context, number(u), frame.left - 4, s.y(u), theme.text, 10, "right");
    for (const slope of [s.size / 2, 0, -s.size / 2]) write(context, number(slope), frame.left - 4, s.slope(slope), theme.text, 10, "right");
    write(context, "slope = factor of gridGrad", frame.left + 2, s.below - 9, theme.text, 11, "left");
    write(context, `◇ kink`, right, s.below - 9, theme.text, 11, "right");
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, right - frame.left, map.height);
    context.clip();
    const order = [0, 1, 2].filter((m) => m !== state.paddingMode).concat(state.paddingMode);
    for (const kind of order) {
      const { colour, dash } = theme.kinds[kind], values = s.of("coordinates", kind), slopes = s.of("slopes", kind);
      context.strokeStyle = colour;
      context.lineWidth = kind === state.paddingMode ? 3 : 1.8;
      context.setLineDash(dash);
      context.save();
      context.beginPath();
      context.rect(frame.left, frame.top, right - frame.left, s.upper);
      context.clip();
      context.beginPath();
      s.breaks.forEach((b, k) => context.lineTo(s.x(b), s.y(values[k])));
      context.stroke();
      context.restore();
      context.beginPath();
      for (let k = 0; k + 1 < s.breaks.length; k += 1) {
        const y = s.slope(slopes[k]) + (kind - 1) * 1.5;  // side by side where they agree
        context.lineTo(s.x(s.breaks[k]), y);
        context.lineTo(s.x(s.breaks[k + 1]), y);
      }
      context.stroke();
      context.setLineDash([]);
    }
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(s.x(s.here), frame.top);
    context.lineTo(s.x(s.here), s.below + s.lower);
    context.stroke();
    for (const kind of order) {
      const values = s.of("coordinates", kind), kinks = s.of("kinks", kind), { colour } = theme.kinds[kind];
      s.breaks.forEach((b, k) => { if (kinks[k]) diamond(context, s.x(b), s.y(values[k]), colour); });
      const [u, slope] = arrays.sources.data.subarray(kind * 4 + s.axis * 2, kind * 4 + s.axis * 2 + 2);
      const y = Math.min(Math.max(s.y(u), frame.top + 6), frame.top + s.upper - 6);
      mark(context, kind, s.x(s.here), y, 5, colour, "#fff");
      mark(context, kind, s.x(s.here), s.slope(slope) + (kind - 1) * 1.5, 4, colour, "#fff");
    }
    context.restore();
    map.say(`which ${s.axis ? "row" : "column"} is read for ${state.axis} = −3 … 3`);
  }

  function diamond(context, x, y, colour) {
    context.beginPath();
    context.moveTo(x, y - 5);
    context.lineTo(x + 5, y);
    context.lineTo(x, y + 5);
    context.lineTo(x - 5, y);
    context.closePath();
    context.fillStyle = kit.theme.back;
    context.fill();
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.stroke();
  }

  function drawTaps() {
    const { arrays, picture, state } = seen, context = taps.begin();
    const [, count, width] = arrays.taps.shape, across = Math.round(Math.sqrt(count));
    const [w, h] = [taps.width / across, taps.height / across], [, low, high] = picture.maps.outs;
    const colours = colourTable(kit.theme, "grey");
    for (let k = 0; k < count; k += 1) {
      const [row, column, weight, , , inside, value] = arrays.taps.data.subarray((state.paddingMode * count + k) * width);
      const shade = colours[3 * Math.round(Math.min(Math.max((value - low) / (high - low), 0), 1) * 255)];
      const [x, y] = [k % across * w, Math.floor(k / across) * h];
      context.fillStyle = inside ? `rgb(${shade},${shade},${shade})` : kit.theme.back;
      context.fillRect(x + 1, y + 1, w - 2, h - 2);
      context.strokeStyle = inside ? kit.theme.accent : kit.theme.faint;
      context.lineWidth = 1;
      context.strokeRect(x + 1, y + 1, w - 2, h - 2);
      const ink = inside ? (shade < 120 ? "#fff" : "#000") : kit.theme.text, size = across === 4 ? 10 : 13;
      write(context, across === 4 ? weight.toFixed(3) : number(weight), x + w / 2, y + h / 2 - 7, ink, size);
      write(context, inside ? `${row}, ${column}` : "outside", x + w / 2, y + h / 2 + 7, ink, 10);
    }
    taps.say(`${count} tap${count > 1 ? "s" : ""}: weight / row, column`);
  }

  function drawCorners() {
    const { state } = seen, theme = kit.theme, context = corners.begin();
    const size = Math.min(corners.width / 6.5, corners.height / 3.6), left = (corners.width - 4 * size) / 2;
    for (const [line, edge] of [[0, 0.5], [1, 0]]) {
      const now = state.alignCorners === (line === 1), top = (line + 0.5) * corners.height / 2 - size / 2 + 4;
      context.strokeStyle = theme.text;
      context.lineWidth = now ? 1.8 : 0.7;
      for (let k = 0; k < 4; k += 1) {
        context.strokeRect(left + k * size, top, size, size);
        context.fillStyle = theme.text;
        context.fillRect(left + (k + 0.5) * size - 1.5, top + size / 2 - 1.5, 3, 3);
      }
      for (const [x, label] of [[0.5 - edge, "−1"], [3.5 + edge, "1"]]) {
        context.strokeStyle = theme.accent;
        context.lineWidth = now ? 3 : 1.2;
        context.beginPath();
        context.moveTo(left + x * size, top - 3);
        context.lineTo(left + x * size, top + size + 3);
        context.stroke();
        write(context, label, left + x * size + (edge ? (x < 2 ? -9 : 8) : 0), edge ? top + size / 2 : top - 8, theme.text, 11);
      }
      write(context, now ? "▶" : "", 6, top + size / 2, theme.accent, 12, "left");
    }
    corners.say(`alignCorners ${state.alignCorners ? "True: ±1 at centres" : "False: ±1 at edges"}`);
  }

  const boxes = new Map();
  function drawOuts() {
    const { arrays, picture, state } = seen, [, rows, columns] = arrays.outs.shape;
    outs.forEach((panel, kind) => {
      const context = panel.begin(), values = arrays.outs.data.subarray(kind * rows * columns, (kind + 1) * rows * columns);
      const box = heat(panel, context, values, rows, columns, picture.maps.outs);
      boxes.set(panel, box);
      context.strokeStyle = kit.theme.accent;
      context.lineWidth = 2;
      context.strokeRect(box.left + state.column * box.size, box.top + state.row * box.size, box.size, box.size);
      const value = values[state.row * columns + state.column];
      panel.say(`${kind === state.paddingMode ? "▶ " : ""}out, ${kit.theme.kinds[kind].name}: ${number(value)}`);
    });
  }

  function drawInputGrad() {
    const { arrays, picture, state } = seen, context = inputGrad.begin(), values = arrays.inputGrad.data;
    const box = heat(inputGrad, context, values, state.height, state.width, picture.maps.inputGrad);
    boxes.set(inputGrad, box);
    if (picture.maps.inputGrad[0] === "diverging" && box.size >= 4) {  // the sign not by colour alone
      context.fillStyle = "#000";
      values.forEach((value, k) => {
        if (value < -0.15 * picture.maps.inputGrad[2]) {
          const x = box.left + (k % state.width + 0.5) * box.size, y = box.top + (Math.floor(k / state.width) + 0.5) * box.size;
          context.fillRect(x - box.size / 4, y - 0.5, box.size / 2, 1);
        }
      });
    }
    const at = { size: box.size, x: (u) => box.left + (u + 0.5) * box.size, y: (v) => box.top + (v + 0.5) * box.size };
    outlineTaps(context, at, arrays, state);
    const [, low, high] = picture.maps.inputGrad;
    inputGrad.say(`inputGrad ${number(low)} … ${number(high)}`);
  }

  function drawGridGrad() {
    const { arrays, picture, state } = seen, theme = kit.theme, context = gridGrad.begin(), at = place(gridGrad);
    const vectors = arrays.gridGrad.data, points = arrays.pixels.data;
    context.strokeStyle = theme.faint;
    context.strokeRect(at.x(-0.5), at.y(-0.5), at.size * state.width, at.size * state.height);
    let longest = 0;
    for (let k = 0; k < vectors.length; k += 2) longest = Math.max(longest, Math.hypot(vectors[k], vectors[k + 1]) || 0);
    const factor = longest ? 22 / longest : 0, chosen = chosenAt(state);
    const shafts = new Path2D(), tips = new Path2D(), mine = new Path2D();
    for (let k = 0; k < vectors.length; k += 2) {
      const [x, y] = [at.x(points[k]), at.y(points[k + 1])], path = k === chosen ? mine : shafts;
      const [dx, dy] = [(vectors[k] || 0) * factor, (vectors[k + 1] || 0) * factor], length = Math.hypot(dx, dy);
      if (length < 1.5) { tips.rect(x - 0.75, y - 0.75, 1.5, 1.5); continue; }
      const [ux, uy] = [dx / length, dy / length], head = Math.min(5, length * 0.6);
      path.moveTo(x, y);
      path.lineTo(x + dx, y + dy);
      path.lineTo(x + dx - head * (ux + 0.5 * uy), y + dy - head * (uy - 0.5 * ux));
      path.moveTo(x + dx, y + dy);
      path.lineTo(x + dx - head * (ux - 0.5 * uy), y + dy - head * (uy + 0.5 * ux));
    }
    context.fillStyle = theme.faint;
    context.fill(tips);
    context.lineWidth = 1.1;
    context.strokeStyle = theme.text;
    context.stroke(shafts);
    context.lineWidth = 2.6;
    context.strokeStyle = theme.accent;
    context.stroke(mine);
    ring(context, at.x(points[chosen]), at.y(points[chosen + 1]), 4, theme);
    gridGrad.say(`gridGrad, up to ${number(longest)}`);
  }

  // Reading and moving by pointer and keys.
  function nearest(panel, x, y, reach) {
    const at = place(panel), points = seen.arrays.pixels.data;
    let best = null, least = reach * reach;
    for (let k = 0; k < points.length; k += 2) {
      const distance = (at.x(points[k]) - x) ** 2 + (at.y(points[k + 1]) - y) ** 2;
      if (distance < least) [least, best] = [distance, k / 2];
    }
    return best === null ? null : [Math.floor(best / seen.state.grid_width), best % seen.state.grid_width];
  }
  const pair = (data, [row, column]) => data.subarray(2 * (row * seen.state.grid_width + column)).slice(0, 2);

  image.probe = (x, y) => {
    const { arrays, picture, state } = seen, at = place(image), found = nearest(image, x, y, 8);
    if (found) {
      const [gx, gy] = pair(arrays.grid.data, found);
      return `point (${found}): x ${number(gx)}, y ${number(gy)}`;
    }
    const [row, column] = [Math.round(at.row(y)), Math.round(at.column(x))], [rows, columns] = picture.margin;
    if (row < -rows || row >= state.height + rows || column < -columns || column >= state.width + columns) return "";
    const value = arrays.surround.data[(row + rows) * at.columns + column + columns];
    return `row ${row}, column ${column}: ${Number.isNaN(value) ? "outside, reads 0" : number(value)}`;
  };
  gridGrad.probe = (x, y) => {
    const found = nearest(gridGrad, x, y, 10);
    return found ? `point (${found}): gridGrad ${[...pair(seen.arrays.gridGrad.data, found)].map(number).join(", ")}` : "";
  };
  inputGrad.probe = (x, y) => {
    const cell = cellAt(boxes.get(inputGrad), x, y);
    return cell ? `row ${cell[0]}, column ${cell[1]}: ${number(seen.arrays.inputGrad.data[cell[0] * seen.state.width + cell[1]])}` : "";
  };
  taps.probe = (x, y) => {
    const { arrays, state } = seen, [, count, width] = arrays.taps.shape, across = Math.round(Math.sqrt(count));
    const k = Math.floor(y / taps.height * across) * across + Math.floor(x / taps.width * across);
    if (k < 0 || k >= count) return "";
    const [row, column, weight, dx, dy, , value] = arrays.taps.data.subarray((state.paddingMode * count + k) * width);
    return `row ${row}, column ${column}\nweight ${number(weight)}, pixel ${number(value)}\nd/dx ${number(dx)}, d/dy ${number(dy)}\n`
      + `inputGrad gets ${number(weight * seen.picture.upstream)}`;
  };
  map.probe = (x) => {
    const s = mapScales(), value = s.value(x);
    const k = s.breaks.findIndex((b) => b > value) - 1;
    if (k < 0) return "";
    const share = (value - s.breaks[k]) / (s.breaks[k + 1] - s.breaks[k]);
    return [`${seen.state.axis} = ${number(value)}`, ...kit.theme.kinds.map(({ name }, kind) => {
      const values = s.of("coordinates", kind);
      return `${name}: ${number(values[k] + share * (values[k + 1] - values[k]))}, slope ${number(s.of("slopes", kind)[k])}`;
    })].join("\n");
  };
  corners.probe = () => seen.picture.corners.join("\n").replaceAll(": ", ":\n").replaceAll("; ", "\n");
  outs.forEach((panel, kind) => {
    panel.probe = (x, y) => {
      const cell = cellAt(boxes.get(panel), x, y), { grid_width: across, grid_height: down } = seen.state;
      return cell ? `point (${cell}): ${number(seen.arrays.outs.data[(kind * down + cell[0]) * across + cell[1]])}` : "";
    };
    panel.top.addEventListener("pointerdown", (event) => {
      const cell = cellAt(boxes.get(panel), event.offsetX, event.offsetY);
      if (cell) kit.set({ row: cell[0], column: cell[1] });
    });
  });

  function moveChosen(u, v) {
    const { row, column, width, height, alignCorners, moved } = kit.values;
    const grid = (pixel, size) => (alignCorners ? (size > 1 ? 2 * pixel / (size - 1) - 1 : 0) : (2 * pixel + 1) / size - 1);
    const others = moved.filter(([r, c]) => r !== row || c !== column);
    kit.set({ moved: [...others, [row, column, grid(u, width), grid(v, height)]] });
  }
  const canvas = image.top;
  canvas.tabIndex = 0;
  canvas.removeAttribute("aria-hidden");
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", "sampling points: arrow keys move the chosen point by a quarter pixel, with Shift by "
    + "a pixel; Page Up and Page Down choose another point; Home puts it back");
  let held = false;
  canvas.addEventListener("pointerdown", (event) => {
    const found = seen && nearest(image, event.offsetX, event.offsetY, 16);
    if (!found) return;
    held = true;
    canvas.setPointerCapture(event.pointerId);
    kit.set({ row: found[0], column: found[1] });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    const at = place(image);
    moveChosen(at.column(event.offsetX), at.row(event.offsetY));
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = false; });
  canvas.addEventListener("keydown", (event) => {
    const { row, column, grid_width: across, grid_height: down, moved } = kit.values;
    const step = event.shiftKey ? 1 : 0.25;
    const steps = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    const turn = { PageDown: 1, PageUp: -1 }[event.key];
    if (steps) {
      const [u, v] = chosenPixel();
      moveChosen(u + steps[0], v + steps[1]);
    } else if (turn) {
      const next = (row * across + column + turn + across * down) % (across * down);
      kit.set({ row: Math.floor(next / across), column: next % across });
    } else if (event.key === "Home") {
      kit.set({ moved: moved.filter(([r, c]) => r !== row || c !== column) });
    } else return;
    event.preventDefault();
  });

  return {
    fit(values) {  // a smaller grid takes the chosen and the dragged points along
      const { grid_height: down, grid_width: across } = values;
      if (!(down >= 1 && across >= 1)) return values;
      return {
        ...values, row: values.row === null ? null : Math.min(values.row, down - 1),
        column: values.column === null ? null : Math.min(values.column, across - 1),
        moved: values.moved.filter(([row, column]) => row < down && column < across),
      };
    },
    draw(picture, arrays) {
      seen = { picture, arrays, state: picture.for };
      rounding.textContent = `${seen.state.dtype}: inputGrad differs from the float64 truth by at most ${picture.errors[0]}, `
        + `gridGrad by ${picture.errors[1]}. ${picture.notices.join(" ")}`;
      lines.forEach(({ line, text, sign }, kind) => {
        sign.style.color = kit.theme.kinds[kind].colour;
        line.toggleAttribute("aria-current", kind === seen.state.paddingMode);
        text.textContent = picture.headline[kind];
      });
      for (const part of [drawImage, drawChosen, drawMap, drawTaps, drawCorners, drawOuts, drawInputGrad, drawGridGrad]) part();
    },
    overlay() { if (seen) drawChosen(); },
  };
}

export default explorer(buildGridSampler);
