// What stands around the marks of a panel: axes with their ticks and labels, and the legend.

const LONG = 56, CLOSE = 13;  // pixels: of a name of a tick that may be broken, and between its rows
const RAMP = Float32Array.from({ length: 70 }, (_, k) => k / 69);

class Frame extends Marks {
  // The ticks of the y axis, a name in its own rows, or a long one in two on a narrow page with room for them: [value, rows].
  named(context, { y: { ticks, low, high }, height }) {
    const at = ticks.map(([value]) => value).sort((a, b) => a - b), share = (height || this.panel.height) / Math.abs(high - low);
    const broken = this.kit.crops && at.every((value, k) => !k || (value - at[k - 1]) * share >= 2 * CLOSE);
    return ticks.map(([value, text]) => {
      const ways = [...text.matchAll(/ |(?<=[a-z])(?=[A-Z])/g)].map(({ index }) => [text.slice(0, index), text.slice(index).trim()]);
      const [best] = broken && !text.includes("\n") && widthOf(context, text) > LONG ? ways.sort((a, b) => Math.max(a[0].length, a[1].length) - Math.max(b[0].length, b[1].length)) : [];
      return [value, best ?? text.split("\n")];
    });
  }

  axes(context, spec, box, upright, under, bare, plain) {
    const { x, y } = spec;
    const { theme } = this.kit, [wide, tall] = [box.right - box.left, box.bottom - box.top];
    if (!bare) {
      context.strokeStyle = theme.faint;
      context.lineWidth = 1;
      context.strokeRect(box.left, box.top, wide, tall);
    }
    context.strokeStyle = `${theme.dark ? theme.cell.light : theme.cell.dark}1c`;
    context.beginPath();
    const across = x.ticks.map(([value, text]) => [this.sx(value), text]).sort(([a], [b]) => a - b)
      .filter(([at]) => at >= box.left - 1 && at <= box.right + 1);
    let free = -Infinity;
    const last = across.at(-1), kept = last && last[0] - widthOf(context, last[1]) / 2 - 4;  // the end is always named
    for (const [at, text] of across) {
      const half = widthOf(context, text) / 2;
      if (!plain) { context.moveTo(at, box.top); context.lineTo(at, box.bottom); }
      if (at - half < free || (at !== last[0] && at + half > kept)) continue;
      free = at + half + 4;
      write(context, text, Math.max(half, Math.min(at, this.panel.width - half)), box.bottom + LINE / 2 + 2, theme.text);
    }
    free = Infinity;
    for (const [value, rows] of this.none ? [] : this.named(context, spec).sort((a, b) => this.sy(b[0]) - this.sy(a[0]))) {
      const at = this.sy(value);
      if (!(at >= box.top - 1 && at <= box.bottom + 1)) continue;
      if (!plain) { context.moveTo(box.left, at); context.lineTo(box.right, at); }
      if (at > free) continue;
      free = at - 13;
      rows.forEach((row, k) => write(context, row, box.left - 4, at + (k - (rows.length - 1) / 2) * CLOSE, theme.text, TEXT, "right"));
    }
    context.stroke();
    (this.shared ? [] : under).forEach((row, k) => {
      const half = widthOf(context, row) / 2, middle = limited((box.left + box.right) / 2, half, this.panel.width - half);
      write(context, row, middle, box.bottom + (x.ticks.length ? LINE + 2 : 2) + LINE * (k + 0.5), theme.text);
    });
    context.save();
    context.translate(LINE / 2, (box.top + box.bottom) / 2);
    context.rotate(-Math.PI / 2);
    upright.forEach((text, k) => write(context, shortened(context, text, tall), 0, k * LINE, theme.text));
    context.restore();
  }

  // Labels beside samples of their marks, in rows above the axes; returns where the rows end.
  legend(context) {
    let x = 2, y = LINE / 2, rows = 0;
    const step = (wide) => {
      if (x > 2 && x + wide > this.panel.width) [x, y] = [2, y + LINE];
      rows = y + LINE / 2;
      const at = x;
      x += wide + 12;
      return at;
    };
    const entries = new Map(), image = this.marks.find((one) => one.mark === "Image"), bands = [];  // a band lies over those before it
    for (const mark of this.marks) {
      if (mark.mark === "Heat" || this.sliced && mark === image) this.bar(context, mark, step, () => y);
      if (mark.label && ["Line", "Dots", "Bars", "Band", "Arrows"].includes(mark.mark)) {
        const key = `${mark.kind} ${mark.label}`;
        if (!entries.has(key)) entries.set(key, []);
        entries.get(key).push(mark);
      }
    }
    for (const marks of entries.values()) {
      const at = step(26 + widthOf(context, marks[0].label));
      if (marks[0].mark === "Band") bands.push(...marks);
      for (const mark of marks[0].mark === "Band" ? bands : marks) this.sample(context, mark, at, y);
      write(context, marks[0].label, at + 26, y, this.kit.theme.text, TEXT, "left");
    }
    return rows;
  }

  sample(context, mark, x, y) {
    context.save();
    if (mark.mark === "Dots") {
      context.beginPath();
      if (this.spec.folds > 0) {  // the ticks of its row and its column
        context.rect(x + 4, y - 5, 4, 10);
        context.rect(x + 11, y - 2, 10, 4);
      } else addShape(context, mark.shape, x + 11, y, 3.5);
      context.fillStyle = mark.colour;
      context.fill();
    } else if (mark.mark === "Bars" || mark.mark === "Band") {
      const alike = (this.spec.aims || this.marks.some(({ dashed }) => dashed)) && this.marks.find((one) => one.mark === "Box" && one.kind === mark.kind);
      if (alike) { this.little(context, alike, x, y); context.restore(); return; }
      const empty = this.empty(mark), band = mark.mark === "Band" && !empty;
      if (band) context.globalAlpha = this.kit.theme.opacity.band;
      context.fillStyle = empty ? this.stripes(context) : band ? mark.colour : this.pattern(context, mark);
      context.fillRect(x, y - 5, 22, 10);
    } else {
      context.strokeStyle = mark.colour;
      context.lineWidth = mark.width ?? 1.6;
      if (mark.mark === "Line") context.setLineDash(mark.dash);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + 22, y);
      for (const side of mark.mark === "Arrows" ? [-4, 4] : []) {
        context.moveTo(x + 22, y);
        context.lineTo(x + 16, y + side);
      }
      context.stroke();
    }
    context.restore();
  }

  // A sample of boxes that differ by their fill and dash as well.
  little(context, { filled, dashed, colour }, x, y) {
    context.fillStyle = context.strokeStyle = colour;
    context.lineWidth = this.kit.theme.line.box;
    context.globalAlpha = filled;
    context.fillRect(x, y - 5, 22, 10);
    context.globalAlpha = 1;
    context.setLineDash(dashed ? DASHED : []);
    context.strokeRect(x + 1, y - 5, 20, 10);
  }

  bar(context, { map, low, high, values, bright }, step, height) {
    const roots = map === "roots", [from, to] = [number(low), roots ? tr("{high} (colour by square root)", { high: number(high) }) : number(high)], { theme } = this.kit;
    const [a, b] = [widthOf(context, from), widthOf(context, to)], wide = limited(this.panel.width - a - b - 10, 16, 70);
    const at = step(a + b + wide + 8), y = height();
    if (values.every(Number.isNaN)) return;  // its room stays
    context.drawImage(sheet(RAMP, 1, RAMP.length, colourTable(theme, map), 0, 1), at + a + 4, y - 4, wide, 8);
    if (bright) {  // the lower half is the key to faded cells
      Object.assign(context, { fillStyle: theme.back, globalAlpha: FADED });
      context.fillRect(at + a + 4, y, wide, 4);
      context.globalAlpha = 1;
    }
    write(context, from, at, y, theme.text, TEXT, "left");
    write(context, to, at + a + wide + 8, y, theme.text, TEXT, "left");
    if (!roots || !values.some(Number.isNaN)) return;
    const masked = tr("masked"), aside = step(26 + widthOf(context, masked));
    context.fillStyle = this.stripes(context);
    context.fillRect(aside, height() - 5, 22, 10);
    write(context, masked, aside + 26, height(), theme.text, TEXT, "left");
  }

  shade(table, share) {
    return `rgb(${table.slice(3 * Math.round(share * 255), 3 * Math.round(share * 255) + 3).join()})`;
  }
}
