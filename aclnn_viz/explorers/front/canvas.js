// Drawing: panels, heat maps, marks, numbers. Positions are in CSS pixels; sharp on any display.

function readTheme(el, model) {
  const style = getComputedStyle(el);
  const dark = document.body.dataset.jpThemeLight === "false"
    || (!("jpThemeLight" in document.body.dataset) && matchMedia("(prefers-color-scheme: dark)").matches);
  el.style.colorScheme = dark ? "dark" : "light";  // of scroll bars and of what a control has beside its own colours
  const { maps, handle, opacity, line, cell } = model.get("colours");
  return {
    dark,
    text: style.getPropertyValue("--ae-text").trim(), faint: style.getPropertyValue("--ae-faint").trim(),
    back: style.getPropertyValue("--ae-back").trim(),
    handle, maps, opacity, cell, line: Object.fromEntries(Object.entries(line).map(([name, points]) => [name, points / 0.72])),
  };
}

const limited = (value, low, high) => Math.min(Math.max(value, low), high);

function number(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e5)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

// One canvas under a caption; `probe(x, y)` gives the words for a position or "".
class Panel {
  constructor(kit, name, label) {
    this.kit = kit;
    this.caption = element("figcaption", {}, label);
    this.top = element("canvas", { role: "img", "aria-label": label });
    this.context = this.top.getContext("2d");
    this.hint = element("div", { class: "ae-hint", hidden: true });
    this.stage = element("div", { class: "ae-stage" }, this.top, this.hint);
    this.figure = element("figure", { class: `ae-panel ae-${name}` }, this.caption, this.stage);
    this.probe = () => "";
    this.top.addEventListener("pointermove", (event) => this.point(event.offsetX, event.offsetY));
    this.top.addEventListener("pointerleave", () => this.leave());
    kit.panels.append(this.figure);
    kit.all.push(this);
  }

  // The place stays, so that the words are those of each picture that is drawn while the pointer is there.
  point(x, y) {
    this.over = [x, y];
    const text = this.ready ? this.probe(x, y) : "";
    this.hint.hidden = !text;
    if (!text) return;
    this.hint.textContent = text;
    const { offsetWidth: wide, offsetHeight: tall } = this.hint, { scrollLeft: left, clientWidth: seen } = this.figure;
    const room = this.sideways ? left + seen : this.room;  // to the end of the explorer, or of what is scrolled to
    this.hint.style.left = `${Math.max(left, Math.min(x + 12 + wide > room ? x - 12 - wide : x + 12, room - wide))}px`;
    this.hint.style.top = this.lined ? `${this.lined(x, y, tall)}px` : this.ceiling ? `${this.ceiling - tall}px` : `${y + 12 + tall > this.height && y > tall + 12 ? y - 12 - tall : y + 12}px`;
  }

  leave() {
    this.over = null;
    this.hint.hidden = true;
  }

  // The sizes are read once in a repaint, not at every redraw: reading them forces a layout.
  measure() {
    this.width = this.stage.clientWidth;
    this.height = this.stage.clientHeight;
    this.seen = this.figure.clientWidth;
    this.alike = getComputedStyle(this.figure).getPropertyValue("--alike") === "1";  // as high as its neighbours, label or not
    this.sideways = this.width > this.seen;
    this.figure.dataset.sideways = this.sideways ? tr("⇆ wider than the page: scroll sideways") : "";
    this.room = this.kit.el.getBoundingClientRect().right - this.stage.getBoundingClientRect().left;
    this.ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(this.width * this.ratio), Math.round(this.height * this.ratio)];
    if (this.top.width !== width || this.top.height !== height) Object.assign(this.top, { width, height });
    Object.assign(this.context, { font: fontOf(TEXT), textBaseline: "middle" });  // of all words but smaller ones
  }

  begin() {
    this.ready = true;
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }
}

const sheets = new Map(), ALIKE = 4;  // small canvases by their size, at most so many a size

// Paint values (rows x columns) through a colour map; nan stays transparent. Returns a small canvas, or null where all are nan.
function sheet(values, rows, columns, table, low, high) {
  const key = `${rows}x${columns}`;
  if (sheets.size > 40) sheets.clear();
  if (!sheets.has(key)) sheets.set(key, []);
  const all = sheets.get(key), at = all.findIndex((each) => each.values === values && each.table === table && each.low === low && each.high === high);
  const [made] = at >= 0 ? all.splice(at, 1) : all.length < ALIKE ? [{ canvas: new OffscreenCanvas(columns, rows) }] : all.splice(0, 1);
  all.push(made);  // the first is the one that was not asked for the longest
  if (at >= 0) return made.shown;
  made.context ??= made.canvas.getContext("2d", { willReadFrequently: true });
  made.image ??= made.context.createImageData(columns, rows);
  const { image, image: { data: pixels } } = made, factor = high > low ? 255 / (high - low) : 0;
  let seen = 0;
  for (let k = 0, at = 0; k < values.length; k += 1, at += 4) {
    const share = (values[k] - low) * factor;
    const from = 3 * (share >= 255 ? 255 : share > 0 ? (share + 0.5) | 0 : 0);
    pixels[at] = table[from];
    pixels[at + 1] = table[from + 1];
    pixels[at + 2] = table[from + 2];
    seen |= pixels[at + 3] = Number.isNaN(values[k]) ? 0 : 255;
  }
  made.context.putImageData(image, 0, 0);
  return Object.assign(made, { values, table, low, high, shown: seen ? made.canvas : null }).shown;
}

const tables = new WeakMap();
function colourTable(theme, name) {
  const view = theme.maps[theme.dark && `${name}_dark` in theme.maps ? `${name}_dark` : name];
  if (!tables.has(view)) tables.set(view, new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return tables.get(view);
}

function ring(context, x, y, size, theme, full) {
  for (const [colour, width] of [[theme.dark ? theme.cell.dark : theme.cell.light, 5], [theme.handle, 3]]) {
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
  }
  context.fillStyle = theme.handle;
  if (full) context.fill();
}

function write(context, text, x, y, colour, size = TEXT, align = "center") {
  if (size !== TEXT) context.font = fontOf(size);  // to set it takes longer than to write
  context.textAlign = align;
  context.fillStyle = colour;
  context.fillText(text, x, y);
  if (size !== TEXT) context.font = fontOf(TEXT);
}
