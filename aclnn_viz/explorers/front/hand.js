// Handles: points of a panel that pointer and keys choose and move. Their fields of the state are named by the mark.

// Where the chosen point is held now, which may be ahead of the kernel.
function held({ values }, { x, y, columns, rows, row, column, choose, move, units: [[ox, fx], [oy, fy]] }) {
  const [r, c] = choose.map((field) => values[field]), moved = values[move].find(([a, b]) => a === r && b === c);
  const k = r < rows && c < columns ? r * columns + c : row * columns + column;
  return [moved && fx ? (moved[2] - ox) / fx : x[k], moved && fy ? (moved[3] - oy) / fy : y[k]];
}

// The values without the moved points that a smaller grid leaves behind.
function remaining(kit, { choose, move }, values) {
  const sizes = choose.map((field) => values[kit.model.get("controls").find((control) => control.field === field).below]);
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

function takeHand(drawing) {
  const { kit, panel: { top: canvas } } = drawing;
  const chosen = () => drawing.handle.choose.map((field) => kit.values[field]);
  const choose = (point) => kit.set(Object.fromEntries(drawing.handle.choose.map((field, k) => [field, point[k]])));
  const others = () => {
    const [row, column] = chosen();
    return kit.values[drawing.handle.move].filter(([r, c]) => r !== row || c !== column);
  };
  const moveTo = (u, v) => {
    const { move, units: [[ox, fx], [oy, fy]] } = drawing.handle;
    kit.set({ [move]: [...others(), [...chosen(), ox + fx * u, oy + fy * v]] });
  };
  canvas.tabIndex = 0;
  canvas.style.cursor = "grab";
  canvas.style.touchAction = "none";
  canvas.setAttribute("role", "application");
  canvas.addEventListener("pointerdown", (event) => {
    const found = nearest(drawing, event.offsetX, event.offsetY, 16);
    if (!found) return;
    drawing.holds = true;
    canvas.setPointerCapture(event.pointerId);
    choose(found);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drawing.holds) return;
    moveTo(drawing.sx.invert(event.offsetX), drawing.sy.invert(event.offsetY));
    drawing.panel.point(event.offsetX, event.offsetY);  // the hint came before the movement
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { drawing.holds = false; });
  canvas.addEventListener("keydown", (event) => {
    const { rows, columns, step: small, move } = drawing.handle, step = small * (event.shiftKey ? 4 : 1);
    const steps = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    const turn = { PageDown: 1, PageUp: -1 }[event.key];
    if (steps) {
      const [u, v] = held(kit, drawing.handle);
      moveTo(u + steps[0], v + steps[1]);
    } else if (turn) {
      const [row, column] = chosen(), next = (row * columns + column + turn + rows * columns) % (rows * columns);
      choose([Math.floor(next / columns), next % columns]);
    } else if (event.key === "Home") kit.set({ [move]: others() });
    else return;
    event.preventDefault();
  });
  return true;
}
