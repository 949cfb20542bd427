// What pointer and keys do in the panels of the grid sampler: hover tells numbers, a point is chosen or dragged.

function nearest(panel, seen, x, y, reach) {
  const at = place(panel, seen), points = seen.arrays.pixels.data;
  let best = null, least = reach * reach;
  for (let k = 0; k < points.length; k += 2) {
    const distance = (at.x(points[k]) - x) ** 2 + (at.y(points[k + 1]) - y) ** 2;
    if (distance < least) [least, best] = [distance, k / 2];
  }
  return best === null ? null : [Math.floor(best / seen.state.grid_width), best % seen.state.grid_width];
}

function tellNumbers(view) {
  const { image, map, taps, corners, outs, inputGrad, gridGrad, boxes } = view;
  const pair = (name, [row, column]) => {
    const at = chosenAt({ ...view.seen.state, row, column });
    return view.seen.arrays[name].data.slice(at, at + 2);
  };
  image.probe = (x, y) => {
    const { arrays, picture, state } = view.seen, at = place(image, view.seen), found = nearest(image, view.seen, x, y, 8);
    if (found) {
      const [gx, gy] = pair("grid", found);
      return `point (${found}): x ${number(gx)}, y ${number(gy)}`;
    }
    const [row, column] = [Math.round(at.row(y)), Math.round(at.column(x))], [rows, columns] = picture.margin;
    if (row < -rows || row >= state.height + rows || column < -columns || column >= state.width + columns) return "";
    const value = arrays.surround.data[(row + rows) * at.columns + column + columns];
    return `row ${row}, column ${column}: ${Number.isNaN(value) ? "outside, reads 0" : number(value)}`;
  };
  gridGrad.probe = (x, y) => {
    const found = nearest(gridGrad, view.seen, x, y, 10);
    return found ? `point (${found}): gridGrad ${[...pair("gridGrad", found)].map(number).join(", ")}` : "";
  };
  inputGrad.probe = (x, y) => {
    const cell = cellAt(boxes.get(inputGrad), x, y), { arrays, state } = view.seen;
    return cell ? `row ${cell[0]}, column ${cell[1]}: ${number(arrays.inputGrad.data[cell[0] * state.width + cell[1]])}` : "";
  };
  taps.probe = (x, y) => {
    const { arrays, picture, state } = view.seen, [, count, width] = arrays.taps.shape, across = Math.round(Math.sqrt(count));
    const k = Math.floor(y / taps.height * across) * across + Math.floor(x / taps.width * across);
    if (k < 0 || k >= count) return "";
    const [row, column, weight, dx, dy, , value] = arrays.taps.data.subarray((state.paddingMode * count + k) * width);
    return `row ${row}, column ${column}\nweight ${number(weight)}, pixel ${number(value)}\nd/dx ${number(dx)}, d/dy ${number(dy)}\n`
      + `inputGrad gets ${number(weight * picture.upstream)}`;
  };
  map.probe = (x) => tellMap(view, x);
  corners.probe = () => view.seen.picture.corners.join("\n").replaceAll(": ", ":\n").replaceAll("; ", "\n");
  outs.forEach((panel, kind) => {
    panel.probe = (x, y) => {
      const cell = cellAt(boxes.get(panel), x, y), { arrays, state: { grid_width: across, grid_height: down } } = view.seen;
      return cell ? `point (${cell}): ${number(arrays.outs.data[(kind * down + cell[0]) * across + cell[1]])}` : "";
    };
  });
}

function takeHand(view) {
  const { kit, image, outs, boxes } = view, canvas = image.top;
  outs.forEach((panel) => panel.top.addEventListener("pointerdown", (event) => {
    const cell = cellAt(boxes.get(panel), event.offsetX, event.offsetY);
    if (cell) kit.set({ row: cell[0], column: cell[1] });
  }));

  function moveChosen(u, v) {
    const { row, column, width, height, alignCorners, moved } = kit.values;
    const grid = (pixel, size) => (alignCorners ? (size > 1 ? 2 * pixel / (size - 1) - 1 : 0) : (2 * pixel + 1) / size - 1);
    const others = moved.filter(([r, c]) => r !== row || c !== column);
    kit.set({ moved: [...others, [row, column, grid(u, width), grid(v, height)]] });
  }
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", "sampling points: arrow keys move the chosen point by a quarter pixel, with Shift by "
    + "a pixel; Page Up and Page Down choose another point; Home puts it back");
  let held = false;
  canvas.addEventListener("pointerdown", (event) => {
    const found = view.seen && nearest(image, view.seen, event.offsetX, event.offsetY, 16);
    if (!found) return;
    held = true;
    canvas.setPointerCapture(event.pointerId);
    kit.set({ row: found[0], column: found[1] });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    const at = place(image, view.seen);
    moveChosen(at.column(event.offsetX), at.row(event.offsetY));
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = false; });
  canvas.addEventListener("keydown", (event) => {
    const { row, column, grid_width: across, grid_height: down, moved } = kit.values;
    const step = event.shiftKey ? 1 : 0.25;
    const steps = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    const turn = { PageDown: 1, PageUp: -1 }[event.key];
    if (steps) {
      const [u, v] = chosenPixel(view);
      moveChosen(u + steps[0], v + steps[1]);
    } else if (turn) {
      const next = (row * across + column + turn + across * down) % (across * down);
      kit.set({ row: Math.floor(next / across), column: next % across });
    } else if (event.key === "Home") {
      kit.set({ moved: moved.filter(([r, c]) => r !== row || c !== column) });
    } else return;
    event.preventDefault();
  });
}
