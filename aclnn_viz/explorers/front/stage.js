// What moves by itself: a change of mode, what is played, and the first opening. Nothing does where a reader asks for less motion.

// Milliseconds of a change of mode, and of a zoom; steps of what is played, and the most for which its ends are computed; most seconds of the first opening.
const GLIDE = 300, ZOOM = 600, STEPS = 12, MOST = 16, OPENING = 6;
const WIDER = 8, FARTHER = 1.5;  // times the least and the greatest of the axes of a play, from which on they differ too much to be joined
const still = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)") ?? {};

// The picture between two: numbers of marks and axes that both have lie between theirs, all else is that of the later one.
function between(one, two, t) {
  const arrays = Object.create(two.arrays), mid = (a, b) => (typeof a === "number" && typeof b === "number" ? a + (b - a) * t : b);
  const marked = (a, b) => {
    if (a?.mark !== b.mark) return b;
    const made = { ...b };
    for (const [field, name] of Object.entries(b)) {
      const [from, to] = [one.arrays[a[field]], typeof name === "string" ? two.arrays[name] : undefined];
      if (PLACES.includes(field) && !to) made[field] = mid(a[field], name);
      if (!from || from.data.length !== to?.data.length) continue;
      made[field] = `${a[field]} ${name}`;
      arrays[made[field]] ??= { data: d3.interpolateNumberArray(from.data, to.data)(t), shape: to.shape };
    }
    return made;
  };
  const panels = two.panels.map((panel) => {
    const old = one.panels.find(({ name }) => name === panel.name), ended = (axis) => (old[axis].scale === "log" || panel[axis].scale === "log" ? panel[axis]
      : { ...panel[axis], low: mid(old[axis].low, panel[axis].low), high: mid(old[axis].high, panel[axis].high) });
    return old ? { ...panel, x: ended("x"), y: ended("y"), marks: panel.marks.map((mark, k) => marked(old.marks[k], mark)) } : panel;
  });
  return { panels, arrays };
}

// Whether one axis for all of these would show little: each is far from the others, or a small part of all.
function strays(axes, { low, high }) {
  const sizes = axes.map((axis) => Math.abs(axis.high - axis.low)), whole = Math.abs(high - low);
  return axes[0].scale !== "log" && (whole > WIDER * Math.min(...sizes) || whole > FARTHER * Math.max(...sizes));
}

// The panel with the ends that hold its values and those of one before: of axes and of colours that follow what they show. `loose` axes keep their own.
function widened(old, panel) {
  if (!old || panel.opens.length) return panel;
  const beyond = (a, b) => Math.min(a.low, a.high) < Math.min(b.low, b.high) || Math.max(a.low, a.high) > Math.max(b.low, b.high);
  const joined = (a, b) => {
    if (!beyond(a, b)) return b;
    const ends = [a.low, a.high, b.low, b.high].sort((one, other) => one - other), [low, high] = b.low > b.high ? [ends[3], ends[0]] : [ends[0], ends[3]];
    return { ...b, low, high };
  };
  const axis = (name) => {
    if (old.loose?.includes(name)) return panel[name];
    const [a, b] = [old[name], panel[name]], made = joined(a, b), given = b.given === undefined ? a.given : b.given;
    return made === b ? b : { ...made, given, ticks: given ? b.ticks : beyond(b, a) ? ticksOf({ ...made, ticks: null }, made.low, made.high) : a.ticks };
  };
  const [x, y] = ["x", "y"].map(axis), filled = (mark) => (mark.mark === "Box" && mark.y1 === panel.y.high ? { ...mark, y1: y.high } : mark);  // an area up to the end of its axis
  const marks = panel.marks.map((mark, k) => (panel.name !== "map" && mark.map && old.marks[k]?.map === mark.map ? joined(old.marks[k], mark) : filled(mark)));  // the map of a loss stays: shares of the largest pull
  return { ...panel, x, y, marks, loose: old.loose };
}

// The main picture opens out of a place of the one before, or goes back there; `draw` makes the later one. Returns it as it is at t.
function zoomed(drawing, before, after, draw) {
  const { panel } = drawing, taken = () => {
    const { top } = panel, copy = new OffscreenCanvas(top.width, top.height);
    copy.getContext("2d").drawImage(top, 0, 0);
    const [x0, y0, x1, y1] = drawing.spec.opens.slice(1), whole = [top.width, top.height];
    const at = (x, y) => [drawing.sx(x) * panel.ratio / whole[0], drawing.sy(y) * panel.ratio / whole[1]];
    return { copy, place: x1 === undefined ? null : [at(x0, y0), at(x1, y1)] };
  };
  const old = taken();
  draw();
  const made = taken(), deeper = after > before, outer = deeper ? old : made, inner = deeper ? made : old, [[a, b], [c, d]] = outer.place;
  return (t) => {
    const { top, context } = panel, s = deeper ? t : 1 - t;
    // The place grows by equal shares in equal times; where it is goes with its size.
    const along = (start, end) => {
      const size = Math.max(end - start, 1e-3) ** (1 - s), from = size < 1 ? start * (1 - size) / (1 - (end - start) || 1) : 0;
      return [from, size];
    };
    const [x, wide] = along(a, c), [y, tall] = along(b, d), [scaleX, scaleY] = [wide / (c - a), tall / (d - b)];
    const paint = (copy, left, up, width, height, alpha) => {
      context.globalAlpha = alpha;
      context.drawImage(copy, left * top.width, up * top.height, width * top.width, height * top.height);
    };
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, top.width, top.height);
    paint(outer.copy, x - a * scaleX, y - b * scaleY, scaleX, scaleY, 1 - s);
    paint(inner.copy, x, y, wide, tall, s);
    context.globalAlpha = 1;
  };
}

// step(t) for t from 0 to 1; returns what stops it.
function run(milliseconds, step, done) {
  const going = d3.timer((elapsed) => {
    const t = Math.min(elapsed / milliseconds, 1);
    if (t === 1) going.stop();
    step(t);
    if (t === 1) done();
  });
  return () => going.stop();
}

// Buttons that lead the state along its frames: play, step, back, speed.
class Player {
  constructor(kit, bar) {
    Object.assign(this, { kit, bar, plays: [], at: 0, speed: 1, chosen: null, frames: null, stop: null });
  }

  offer(plays) {
    const labels = plays.map(({ label }) => label).join("\n");
    this.plays = plays;
    if (this.labels === labels || this.stop) return;  // what goes keeps its button until it ends
    [this.labels, this.at] = [labels, 1];  // the next press begins anew
    const button = (text, name, press) => {
      const made = element("button", { type: "button", title: name, "aria-label": name }, text);
      made.addEventListener("click", press);
      return made;
    };
    this.buttons = plays.map(({ label }, k) => button(`▶ ${label}`, label, () => this.press(k)));
    const speed = button("1×", tr("speed"), () => {
      this.speed = this.speed === 2 ? 0.5 : 2 * this.speed;
      speed.textContent = `${this.speed}×`;
      if (this.stop) this.go();
    });
    this.steps = [button("◂", tr("one step back"), () => this.step(-1)), button("▸", tr("one step ahead"), () => this.step(1)), speed];
    this.steps.forEach((one) => { one.hidden = true; });
    this.bar.replaceChildren(...this.buttons, ...this.steps);
  }

  // What goes with a value of the field that leads a play by frames: the last frame that it has reached.
  frameAt(field, value) {
    const played = this.plays.filter(({ frames, steps }) => steps === frames.length - 1).find(({ frames }) => Object.keys(frames[0])[0] === field);
    return played?.frames.find((frame) => frame[field] >= value);
  }

  press(k) {
    const { back } = this, again = !back && this.chosen === k && this.stop;
    this.halt();
    this.back = null;
    if (again && this.jumps) this.show(this.reached(this.at) / (this.frames.length - 1));
    if (again) return;
    if (back || this.chosen !== k || this.at === 1 || this.begins(k)) this.begin(k);
    this.go();
  }

  // Whether the picture stands where a play begins.
  begins(k) {
    return Object.entries(this.plays[k].frames[0]).every(([field, value]) => this.kit.values[field] === value);
  }

  // A press on the picture ends what was played there, before the hand takes what it sees.
  leave() {
    const { after = {}, drops } = this.plays[this.chosen] ?? {}, { values } = this.kit;
    if (!drops && Object.entries(after).some(([field, value]) => values[field] !== value)) this.kit.set({});
  }

  // A frame whose points go no farther than the part of the x axis that a narrow page shows.
  inSight(frame) {
    const { handle, spec } = this.kit.all[0].drawing;
    if (!this.kit.crops || !(handle?.move in frame)) return frame;
    const { low, high } = spec.x, [[from, unit]] = handle.units, edge = 0.03 * (high - low);  // half a handle
    const [least, most] = [low + edge, high - edge].map((at) => from + unit * at);
    return { ...frame, [handle.move]: frame[handle.move].map(([row, column, x, y]) => [row, column, limited(x, least, most), y]) };
  }

  // The panels of this play with ends that hold all of it: axes and colours stay, so that what grows is seen to grow.
  spans() {
    const found = new Map(), last = this.frames.length - 1, many = Math.min(this.plays[this.chosen].steps ?? MOST, MOST);
    for (let k = 0; k <= many; k += 1) {
      const panels = this.kit.foreseen(this.stateAt(this.jumps ? Math.round(k * last / many) / last : k / many));
      for (const panel of panels ?? []) found.set(panel.name, [...(found.get(panel.name) ?? []), panel]);
    }
    return new Map([...found].map(([name, all]) => {
      const whole = all.reduce((old, panel) => widened(old, panel), null);
      return [name, { ...whole, loose: ["x", "y"].filter((axis) => strays(all.map((panel) => panel[axis]), whole[axis])) }];
    }));
  }

  begin(k) {
    const { values } = this.kit, { seconds, drops = [] } = this.plays[k], dropped = Object.fromEntries(drops.map((field) => [field, []])), together = (frame) => Object.fromEntries(Object.entries(frame).map(([field, list]) => [field,
      Array.isArray(list) ? [...values[field].filter(([r, c]) => !list.some((point) => point[0] === r && point[1] === c)), ...list] : list]));
    const after = Object.assign({}, ...this.plays.filter((_, at) => at !== k).map((other) => other.after));  // what the others leave goes
    const frames = this.plays[k].frames.map((frame, at, all) => ({ ...after, ...together(at && at < all.length - 1 ? this.inSight(frame) : frame), ...dropped }));  // other points stay, but for those that this play would not move
    const jumps = this.plays[k].steps === frames.length - 1;  // with a frame for each step there is none between two
    Object.assign(this, { chosen: k, at: 0, frames, seconds, jumps });
    this.held = null;
    this.steps.forEach((one) => { one.hidden = false; });
  }

  go(done = () => {}) {
    this.halt();
    if (still.matches) {  // where nothing moves, its end is shown
      this.show(1);
      return;
    }
    const from = this.at;
    this.stop = run(1000 * this.seconds * (1 - from) / this.speed, (t) => this.show(from + (1 - from) * t), () => {
      this.halt();
      this.kit.free();
      done();
    });
    this.buttons.forEach((button, k) => { button.textContent = `${k === this.chosen && !this.back ? "■" : "▶"} ${this.plays[k].label}`; });
  }

  halt() {
    if (!this.stop) return;
    this.stop();
    this.stop = null;
    this.buttons.forEach((button, k) => { if (this.plays[k]) button.textContent = `▶ ${this.plays[k].label}`; });
    this.offer(this.plays);
  }

  step(by) {
    this.halt();
    this.back = null;
    const many = this.plays[this.chosen].steps ?? STEPS;
    this.show(limited((Math.round(this.at * many) + by) / many, 0, 1));
  }

  // The frame to which what is played at a share of the way belongs: what is half done is ended there.
  reached(at) {
    return Math.ceil(at * (this.frames.length - 1) - 1e-9);
  }

  // The state at a share of the way: numbers, and numbers of lists, between those of two frames.
  stateAt(at) {
    const last = this.frames.length - 1, k = Math.min(Math.floor(at * last + 1e-9), last - 1);
    const mixed = structuredClone(d3.interpolateObject(this.frames[k], this.frames[k + 1])(at * last - k));
    for (const { field, kind } of this.kit.model.get("controls")) if (kind === "whole" && field in mixed) mixed[field] = this.jumps ? this.frames[this.reached(at)][field] : Math.round(mixed[field]);
    return mixed;
  }

  show(at) {
    const { values } = this.kit, mixed = this.stateAt(at);
    this.at = at;
    this.held ??= this.spans();
    if (Object.entries(mixed).every(([field, value]) => JSON.stringify(value) === JSON.stringify(values[field]))) return;
    this.playing = true;  // or else the hand has taken over
    this.kit.set(mixed);
    this.playing = false;
  }

  // Once, when it is seen; a touch ends it, and the state is then as it was.
  open(el) {
    if (this.opened || still.matches || !this.plays.length || this.plays[0].waits) return;  // which waits for its button
    this.opened = true;
    const { values } = this.kit, touches = ["pointerdown", "keydown", "wheel", "touchstart"];
    const end = (event) => {
      touches.forEach((name) => el.removeEventListener(name, end, true));
      seen.disconnect();
      if (this.chosen === null || this.bar.contains(event?.target)) return;  // its own button plays it anew, the others go on from there
      this.halt();
      this.back();
    };
    const seen = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting || this.chosen !== null) return;
      // A picture that stands elsewhere than where its play begins was prepared, and stays.
      if (!this.begins(0)) return;
      this.begin(0);
      this.back = () => {
        this.chosen = null;
        this.steps.forEach((one) => { one.hidden = true; });
        this.kit.set(values);
      };
      this.seconds = Math.min(2 * this.seconds, OPENING);
      this.go(() => end());
    }, { threshold: 0.4 });
    seen.observe(el.querySelector(".ae-panels > .stage"));
    touches.forEach((name) => el.addEventListener(name, end, { capture: true, passive: true }));
  }
}
