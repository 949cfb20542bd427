// The three coordinate maps of one axis, and under them their slopes on the same horizontal axis.

const FRAME = { left: 34, right: 8, top: 6, gap: 30, bottom: 16 };

function mapScales({ map, seen: { arrays, state } }) {
  const axis = state.axis === "y" ? 1 : 0, size = axis ? state.height : state.width;
  const steepest = Math.max(size / 2, 0.5) * 1.25;
  const upper = (map.height - FRAME.top - FRAME.gap - FRAME.bottom) * 0.66;
  const lower = map.height - FRAME.top - upper - FRAME.gap - FRAME.bottom, below = FRAME.top + upper + FRAME.gap;
  const [low, high] = [-0.55 * size - 0.5, 1.55 * size - 0.5];
  const right = map.width - FRAME.right, wide = right - FRAME.left, breaks = arrays.breaks.shape[1];
  return {
    axis, size, upper, lower, below, right, wide,
    x: (x) => FRAME.left + (x + 3) / 6 * wide,
    value: (x) => (x - FRAME.left) / wide * 6 - 3,
    y: (u) => FRAME.top + (high - u) / (high - low) * upper,
    slope: (s) => below + (steepest - s) / (2 * steepest) * lower,
    of(name, kind) {
      const n = arrays[name].shape[2];
      return arrays[name].data.subarray((kind * 2 + axis) * n, (kind * 2 + axis + 1) * n);
    },
    breaks: arrays.breaks.data.subarray(axis * breaks, (axis + 1) * breaks).filter((b) => !Number.isNaN(b)),
    here: arrays.grid.data[chosenAt(state) + axis],
    order: [0, 1, 2].filter((kind) => kind !== state.paddingMode).concat(state.paddingMode),
  };
}

function drawMap(view) {
  const { kit: { theme }, captions, map, seen: { arrays, state } } = view, context = map.begin(), s = mapScales(view);
  const { interpolationMode, paddingMode, alignCorners } = state;
  map.backdrop([s.axis, s.size, interpolationMode, paddingMode, alignCorners], (still) => {
    drawAxes(still, map, s, theme);
    for (const kind of s.order) drawCurve(still, s, kind, kind === paddingMode, theme);
    for (const kind of s.order) {
      const values = s.of("coordinates", kind), kinks = s.of("kinks", kind), { colour } = theme.kinds[kind];
      s.breaks.forEach((b, k) => { if (kinks[k]) diamond(still, s.x(b), s.y(values[k]), colour, theme); });
    }
  });
  context.save();
  context.beginPath();
  context.rect(FRAME.left, FRAME.top, s.wide, map.height);
  context.clip();
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(s.x(s.here), FRAME.top);
  context.lineTo(s.x(s.here), s.below + s.lower);
  context.stroke();
  for (const kind of s.order) {
    const [u, slope] = arrays.sources.data.subarray(kind * 4 + s.axis * 2, kind * 4 + s.axis * 2 + 2);
    const y = Math.min(Math.max(s.y(u), FRAME.top + 6), FRAME.top + s.upper - 6), { colour } = theme.kinds[kind];
    mark(context, kind, s.x(s.here), y, 5, colour, "#fff");
    mark(context, kind, s.x(s.here), s.slope(slope) + (kind - 1) * 1.5, 4, colour, "#fff");
  }
  context.restore();
  captions.set(map, `which ${s.axis ? "row" : "column"} is read for ${state.axis} = −3 … 3`);
}

function drawAxes(context, map, s, theme) {
  context.fillStyle = theme.dark ? "#ffffff18" : "#00000012";
  context.fillRect(FRAME.left, s.y(s.size - 0.5), s.wide, s.y(-0.5) - s.y(s.size - 0.5));
  write(context, "the image", s.x(-0.25), s.y(0.85 * s.size), theme.text, 10, "right");
  context.strokeStyle = theme.faint;
  context.lineWidth = 1;
  context.strokeRect(FRAME.left, FRAME.top, s.wide, s.upper);
  context.strokeRect(FRAME.left, s.below, s.wide, s.lower);
  for (let x = -3; x <= 3; x += 1) write(context, String(x), s.x(x), map.height - 6, theme.text, 10);
  for (const u of [0, s.size - 1]) write(context, number(u), FRAME.left - 4, s.y(u), theme.text, 10, "right");
  for (const slope of [s.size / 2, 0, -s.size / 2]) {
    write(context, number(slope), FRAME.left - 4, s.slope(slope), theme.text, 10, "right");
  }
  write(context, "slope = factor of gridGrad", FRAME.left + 2, s.below - 9, theme.text, 11, "left");
  write(context, "◇ kink", s.right, s.below - 9, theme.text, 11, "right");
}

function drawCurve(context, s, kind, now, theme) {
  const { colour, dash } = theme.kinds[kind], values = s.of("coordinates", kind), slopes = s.of("slopes", kind);
  context.strokeStyle = colour;
  context.lineWidth = now ? 3 : 1.8;
  context.setLineDash(dash);
  context.save();
  context.beginPath();
  context.rect(FRAME.left, FRAME.top, s.wide, s.upper);
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

function diamond(context, x, y, colour, theme) {
  context.beginPath();
  context.moveTo(x, y - 5);
  context.lineTo(x + 5, y);
  context.lineTo(x, y + 5);
  context.lineTo(x - 5, y);
  context.closePath();
  context.fillStyle = theme.back;
  context.fill();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.stroke();
}

function tellMap(view, x) {
  const { kit, seen: { state } } = view, s = mapScales(view), value = s.value(x);
  const k = s.breaks.findIndex((b) => b > value) - 1;
  if (k < 0) return "";
  const share = (value - s.breaks[k]) / (s.breaks[k + 1] - s.breaks[k]);
  return [`${state.axis} = ${number(value)}`, ...kit.theme.kinds.map(({ name }, kind) => {
    const values = s.of("coordinates", kind);
    return `${name}: ${number(values[k] + share * (values[k + 1] - values[k]))}, slope ${number(s.of("slopes", kind)[k])}`;
  })].join("\n");
}
