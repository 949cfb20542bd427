// What the panels of the grid sampler show, but for the coordinate maps. Positions on the image are pixel coordinates,
// 0 the centre of the first.

// Where pixel coordinates of the image stand on a panel that also shows the margin.
function place(panel, { picture, state }) {
  const [rows, columns] = picture.margin;
  const box = cells(panel, state.height + 2 * rows, state.width + 2 * columns);
  return {
    ...box, x: (u) => box.left + (u + 0.5 + columns) * box.size, y: (v) => box.top + (v + 0.5 + rows) * box.size,
    column: (x) => (x - box.left) / box.size - 0.5 - columns, row: (y) => (y - box.top) / box.size - 0.5 - rows,
  };
}

const chosenAt = (state) => 2 * (state.row * state.grid_width + state.column);

function drawImage(view) {
  const { kit: { theme }, captions, image, seen } = view, { arrays, picture, state } = seen;
  const context = image.begin(), at = place(image, seen), [, low, high] = picture.maps.outs;
  const { height, width, dtype, seed, paddingMode, alignCorners, sample, channel } = state;
  const still = [state.image, height, width, dtype, seed, paddingMode, alignCorners, sample, channel, low, high];
  image.backdrop(still, (context) => drawSurround(context, at, view));
  const points = arrays.pixels.data;
  for (const [colour, size] of [["#000", 4], [theme.point, 2.6]]) {
    context.fillStyle = colour;
    for (let k = 0; k < points.length; k += 2) {
      context.fillRect(at.x(points[k]) - size / 2, at.y(points[k + 1]) - size / 2, size, size);
    }
  }
  drawChosen(context, at, view);
  captions.set(image, `image${plane(state)}, continued by ${theme.kinds[paddingMode].name}`);
}

// Which sample and channel is shown, where there are several.
function plane({ samples, channels, sample, channel }) {
  return samples * channels > 1 ? ` (n ${sample}, c ${channel})` : "";
}

function drawSurround(context, at, { kit: { theme }, image, seen: { arrays, picture, state } }) {
  const [rows, columns] = picture.margin, [, low, high] = picture.maps.outs;
  const small = sheet(arrays.surround.data, at.rows, at.columns, colourTable(theme, "grey"), low, high);
  context.imageSmoothingEnabled = false;
  context.globalAlpha = 0.42;
  context.drawImage(small, at.left, at.top, at.size * at.columns, at.size * at.rows);
  context.globalAlpha = 1;
  const [left, top, wide, tall] = [at.x(-0.5), at.y(-0.5), at.size * state.width, at.size * state.height];
  context.drawImage(small, columns, rows, state.width, state.height, left, top, wide, tall);
  if (at.size > 5) {  // the pixel grid
    context.beginPath();
    for (let k = 0; k <= state.width; k += 1) { context.moveTo(at.x(k - 0.5), top); context.lineTo(at.x(k - 0.5), top + tall); }
    for (let k = 0; k <= state.height; k += 1) { context.moveTo(left, at.y(k - 0.5)); context.lineTo(left + wide, at.y(k - 0.5)); }
    context.strokeStyle = "rgba(128,128,128,0.35)";
    context.lineWidth = 0.5;
    context.stroke();
  }
  context.strokeStyle = theme.text;
  context.lineWidth = 1;
  context.strokeRect(left, top, wide, tall);
  const edge = state.alignCorners ? 0 : 0.5;  // where x and y are -1 and 1
  context.setLineDash([5, 4]);
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.6;
  context.strokeRect(at.x(-edge), at.y(-edge), at.size * (state.width - 1 + 2 * edge), at.size * (state.height - 1 + 2 * edge));
  context.setLineDash([]);
  const [minus, plus, below] = [at.x(-edge), at.x(state.width - 1 + edge), at.y(state.height - 0.5) + 9];
  const tight = plus - minus < 34;  // side by side then
  write(context, "x=−1", minus - 2 * tight, below, theme.text, 10, tight ? "right" : "center");
  write(context, "x=1", plus + 2 * tight, below, theme.text, 10, tight ? "left" : "center");
  if (state.paddingMode === 0) write(context, "outside: zeros", at.left, image.height - 8, theme.text, 11, "left");
}

// Where the chosen point is held now, which may be ahead of the kernel.
function chosenPixel({ kit, seen: { arrays, state } }) {
  const { moved, row, column, alignCorners } = kit.values;
  const pixel = (x, size) => (alignCorners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2);
  const held = moved.find(([r, c]) => r === row && c === column);
  if (held) return [pixel(held[2], state.width), pixel(held[3], state.height)];
  const known = row < state.grid_height && column < state.grid_width ? { ...state, row, column } : state;
  return arrays.pixels.data.subarray(chosenAt(known), chosenAt(known) + 2);
}

// The chosen point, where each padding mode sends it, and its taps; during a drag the point is drawn where it is held.
function drawChosen(context, at, view) {
  const { kit: { theme }, image, seen: { arrays, state } } = view;
  const limit = (value, most) => Math.min(Math.max(value, 6), most - 6);
  const [u, v] = chosenPixel(view);
  const [x, y] = [limit(at.x(u), image.width), limit(at.y(v), image.height)];
  outlineTaps(context, at, view);
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

function outlineTaps(context, at, { kit, seen: { arrays, state } }) {
  const [, count, width] = arrays.taps.shape;
  context.strokeStyle = kit.theme.accent;
  context.lineWidth = 1.5;
  for (let k = 0; k < count; k += 1) {
    const [row, column, , , , inside] = arrays.taps.data.subarray((state.paddingMode * count + k) * width);
    if (inside) context.strokeRect(at.x(column - 0.5), at.y(row - 0.5), at.size, at.size);
  }
}

function drawTaps({ kit: { theme }, captions, taps, seen: { arrays, picture, state } }) {
  const [, count, width] = arrays.taps.shape, across = Math.round(Math.sqrt(count)), context = taps.begin();
  const [w, h] = [taps.width / across, taps.height / across], [, low, high] = picture.maps.outs;
  const colours = colourTable(theme, "grey");
  for (let k = 0; k < count; k += 1) {
    const [row, column, weight, , , inside, value] = arrays.taps.data.subarray((state.paddingMode * count + k) * width);
    const shade = colours[3 * Math.round(Math.min(Math.max((value - low) / (high - low), 0), 1) * 255)];
    const [x, y] = [k % across * w, Math.floor(k / across) * h];
    context.fillStyle = inside ? `rgb(${shade},${shade},${shade})` : theme.back;
    context.fillRect(x + 1, y + 1, w - 2, h - 2);
    context.strokeStyle = inside ? theme.accent : theme.faint;
    context.lineWidth = 1;
    context.strokeRect(x + 1, y + 1, w - 2, h - 2);
    const ink = inside ? (shade < 120 ? "#fff" : "#000") : theme.text, size = across === 4 ? 10 : 13;
    write(context, across === 4 ? weight.toFixed(3) : number(weight), x + w / 2, y + h / 2 - 7, ink, size);
    write(context, inside ? `${row}, ${column}` : "outside", x + w / 2, y + h / 2 + 7, ink, 10);
  }
  captions.set(taps, `${count} tap${count > 1 ? "s" : ""}: weight / row, column`);
}

function drawCorners({ kit: { theme }, captions, corners, seen: { state } }) {
  if (corners.shows(state.alignCorners)) return;
  const context = corners.begin();
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
  captions.set(corners, `alignCorners ${state.alignCorners ? "True: ±1 at centres" : "False: ±1 at edges"}`);
}

function drawOuts({ kit: { theme }, captions, outs, boxes, seen: { arrays, picture, state } }) {
  const [, rows, columns] = arrays.outs.shape;
  outs.forEach((panel, kind) => {
    const context = panel.begin(), values = arrays.outs.data.subarray(kind * rows * columns, (kind + 1) * rows * columns);
    const box = heat(panel, context, values, rows, columns, picture.maps.outs);
    boxes.set(panel, box);
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.strokeRect(box.left + state.column * box.size, box.top + state.row * box.size, box.size, box.size);
    const value = values[state.row * columns + state.column];
    captions.set(panel, `${kind === state.paddingMode ? "▶ " : ""}out, ${theme.kinds[kind].name}: ${number(value)}`);
  });
}

function drawInputGrad(view) {
  const { captions, inputGrad, boxes, seen: { arrays, picture, state } } = view, [map, low, high] = picture.maps.inputGrad;
  const context = inputGrad.begin(), values = arrays.inputGrad.data;
  const box = heat(inputGrad, context, values, state.height, state.width, [map, low, high]);
  boxes.set(inputGrad, box);
  if (map === "diverging" && box.size >= 4) {  // the sign not by colour alone
    context.fillStyle = "#000";
    values.forEach((value, k) => {
      if (value < -0.15 * high) {
        const x = box.left + (k % state.width + 0.5) * box.size, y = box.top + (Math.floor(k / state.width) + 0.5) * box.size;
        context.fillRect(x - box.size / 4, y - 0.5, box.size / 2, 1);
      }
    });
  }
  const at = { size: box.size, x: (u) => box.left + (u + 0.5) * box.size, y: (v) => box.top + (v + 0.5) * box.size };
  outlineTaps(context, at, view);
  captions.set(inputGrad, `inputGrad ${number(low)} … ${number(high)}`);
}

function drawGridGrad({ kit: { theme }, captions, gridGrad, seen }) {
  const { arrays, state } = seen, context = gridGrad.begin(), at = place(gridGrad, seen);
  const vectors = arrays.gridGrad.data, points = arrays.pixels.data;
  context.strokeStyle = theme.faint;
  context.lineWidth = 1;
  context.strokeRect(at.x(-0.5), at.y(-0.5), at.size * state.width, at.size * state.height);
  let longest = 0;
  for (let k = 0; k < vectors.length; k += 2) longest = Math.max(longest, Math.hypot(vectors[k], vectors[k + 1]) || 0);
  const factor = longest ? 22 / longest : 0, chosen = chosenAt(state);
  const shafts = new Path2D(), mine = new Path2D();
  context.fillStyle = theme.faint;
  for (let k = 0; k < vectors.length; k += 2) {
    const [x, y] = [at.x(points[k]), at.y(points[k + 1])], path = k === chosen ? mine : shafts;
    const [dx, dy] = [(vectors[k] || 0) * factor, (vectors[k + 1] || 0) * factor], length = Math.hypot(dx, dy);
    if (length < 1.5) { context.fillRect(x - 0.75, y - 0.75, 1.5, 1.5); continue; }
    const [ux, uy] = [dx / length, dy / length], head = Math.min(5, length * 0.6);
    path.moveTo(x, y);
    path.lineTo(x + dx, y + dy);
    path.lineTo(x + dx - head * (ux + 0.5 * uy), y + dy - head * (uy - 0.5 * ux));
    path.moveTo(x + dx, y + dy);
    path.lineTo(x + dx - head * (ux - 0.5 * uy), y + dy - head * (uy + 0.5 * ux));
  }
  context.strokeStyle = theme.text;  // lines of one pixel are the ones that are drawn fast without a graphics card
  context.stroke(shafts);
  context.lineWidth = 2.6;
  context.strokeStyle = theme.accent;
  context.stroke(mine);
  ring(context, at.x(points[chosen]), at.y(points[chosen + 1]), 4, theme);
  captions.set(gridGrad, `gridGrad${state.samples > 1 ? ` (n ${state.sample})` : ""} ≤ ${number(longest)}`);
}
