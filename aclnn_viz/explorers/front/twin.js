// What a picture shows in words, as pictures/twin.py says it.

function inWords({ panels, arrays, headline, caption = "" }) {
  const MOST = 64, brief = (value) => formatted(value + 0, ".4g"), isWord = (text) => /[^\W\d_]{3}|[\u4e00-\u9fff]{3}/u.test(text);
  const width = (text) => text.length + (text.match(/[\u2e80-\u9fff\uff00-\uffef]/g) ?? []).length;
  const list = (mark, field) => [...(arrays[mark[field]]?.data ?? [])];
  const named = (name, what) => (name ? tr("{name}: {what}", { name, what }) : what);
  const table = (head, rows) => {
    const wide = head.map((text, k) => Math.max(width(text), ...rows.map((row) => width(row[k]))));
    return [head, ...rows].map((row) => row.map((text, k) => text + " ".repeat(wide[k] - width(text))).join("  ").trimEnd());
  };
  const extent = (values) => {
    const there = values.filter(Number.isFinite), mean = there.reduce((a, b) => a + b, 0) / there.length;
    return there.length ? tr(", ") + tr("from {low} to {high}, mean {mean}", { low: brief(there.reduce((a, b) => Math.min(a, b))),
      high: brief(there.reduce((a, b) => Math.max(a, b))), mean: brief(mean) }) : "";
  };
  const points = (mark) => {
    const parts = (mark.mark === "Band" ? ["low", "high"] : ["y"]).map((name) => [name, list(mark, name)]);
    const x = list(mark, "x"), kept = x.map((_, k) => k).filter((k) => Number.isFinite(x[k]) && !parts.every(([, values]) => Number.isNaN(values[k])));
    const whole = kept.map((k) => Math.round(x[k])), sides = mark.mark === "Bars" && new Set(whole).size === whole.length;
    return { mark, x: sides ? whole : kept.map((k) => x[k]),
      parts: parts.map(([name, values]) => [name, kept.map((k) => values[k])]) };
  };
  const together = (marks) => {
    const groups = [], known = new Set();
    for (const one of marks.map(points).sort((a, b) => b.x.length - a.x.length)) {
      const { x, parts, mark } = one, pairs = x.map((at, k) => [at, ...parts.map(([, values]) => values[k])].join());
      const home = groups.find(([{ x: first }]) => first.join() === x.join() || (x.length <= MOST && new Set(x).size === x.length
        && new Set(first).size === first.length && x.every((at) => first.includes(at))));
      if (!mark.label && pairs.every((pair) => known.has(pair))) continue;
      pairs.forEach((pair) => known.add(pair));
      if (home) home.push(one);
      else if (x.length) groups.push([one]);
    }
    return groups;
  };
  const series = (panel, marks) => {
    const [{ x: at }] = marks, columns = new Map();
    for (const { mark, x, parts } of marks) {
      for (const [part, some] of parts) {
        const name = mark.label || panel.y.label || part;
        const values = x.length < at.length ? at.map((place) => (x.includes(place) ? some[x.indexOf(place)] : NaN)) : some;
        const repeats = [...columns.values()].some((known) => values.every((value, k) => Number.isNaN(value) || value === known[k]));
        const title = { low: tr("{name}: lower end", { name }), high: tr("{name}: upper end", { name }) }[part] ?? name;
        if (mark.label || !repeats) columns.set(title, values);
      }
    }
    const all = [...columns];
    if (at.length > MOST) return all.map(([name, values]) => named(name, tr("{n} places", { n: at.length }) + extent(values)));
    const across = new Map(panel.x.given), down = new Map((panel.y.given ?? []).filter(([, text]) => isWord(text)));
    return table([panel.x.label || "x", ...columns.keys()], at.map((place, k) => [across.get(place) ?? brief(place),
      ...all.map(([, values]) => (Number.isNaN(values[k]) && all.length > 1 ? "" : down.get(values[k]) ?? brief(values[k])))]));
  };
  const matrix = (mark) => {
    const { data, shape } = arrays[mark.values], [rows, columns] = shape;
    if (mark.words?.length) return [mark.words.filter(Boolean).map((word) => word.replace("\n", " / ")).join(tr(", "))];
    if (data.length > MOST) return [shape.join("×") + extent([...data])];
    return Array.from({ length: rows }, (_, r) => [...data.slice(r * columns, (r + 1) * columns)].map((v) => brief(v).padStart(9)).join(" "));
  };
  const one = {
    Heat: matrix, Image: matrix,
    Arrows(mark) {
      const [x, y, dx, dy] = ["x", "y", "dx", "dy"].map((name) => list(mark, name));
      if (x.length > 4) return [tr("{n} places", { n: x.length }) + extent(dx) + extent(dy)];
      return x.map((at, k) => `${mark.label} (${brief(at)}, ${brief(y[k])}) → (${brief(at + dx[k])}, ${brief(y[k] + dy[k])})`.trim());
    },
    Handles: (mark) => [named(mark.label, arrays[mark.x].shape.join("×"))],
    Rule: (mark) => (mark.label ? [named(mark.label, `${mark.axis} = ${brief(mark.at)}`)] : []),
    Box: (mark) => (mark.label ? [mark.label] : []),
  };
  const notes = (panel) => {
    const rows = new Map(), across = new Map(panel.x.given), down = new Map(panel.y.given);
    for (const mark of panel.marks) if (mark.mark === "Note" && mark.text.trim()) rows.set(mark.y, [...rows.get(mark.y) ?? [], mark]);
    const upwards = panel.y.high > panel.y.low ? -1 : 1;
    return [...rows].sort(([a], [b]) => upwards * (a - b)).map(([y, marks]) => named(down.get(y),
      marks.sort((a, b) => a.x - b.x).map(({ x, text }) => {
        const said = text.split("\n").join(" ").trimEnd();
        return panel.x.label || across.has(x) ? named(across.get(x) ?? brief(x), said) : said;
      }).join("  ")));
  };
  const lines = [caption.replace(/\[(?:\d+|b):([^\]]*)\]/g, "$1"), ...headline].filter(Boolean);
  for (const panel of panels) {
    const ticks = (panel.y.given ?? []).map(([, text]) => text.replaceAll("\n", " ")).filter(isWord), marks = panel.marks.filter(({ mark }) => ["Line", "Dots", "Bars", "Band"].includes(mark));
    lines.push("", panel.title, ...[...(ticks.length ? [named(panel.y.label, ticks.join(tr(", ")))] : []),
      ...together(marks).flatMap((group) => series(panel, group)), ...panel.marks.flatMap((mark) => one[mark.mark]?.(mark) ?? []),
      ...notes(panel)].map((line) => `  ${line}`));
  }
  return lines.join("\n");
}
