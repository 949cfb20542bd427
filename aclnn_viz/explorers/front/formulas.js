// Formulas in a few commands of TeX (Note in pictures/marks.py), set as boxes: {wide, up, down, paint(x, y)} of one that stands on the line y.

const FORMULA = 16, SERIF = '"STIX Two Text", "Cambria Math", "DejaVu Serif", Georgia, serif';

const across = (boxes) => boxes.reduce((sum, { wide }) => sum + wide, 0);

// Letters slanted, all else upright, as in print.
function lettered(context, text, size, upright) {
  const parts = (text.match(/\p{L}+|[^\p{L}]+/gu) ?? []).map((part) => {
    context.font = `${!upright && /\p{L}/u.test(part) ? "italic " : ""}${size}px ${SERIF}`;
    return { part, font: context.font, wide: context.measureText(part).width };
  });
  return { wide: across(parts), up: 0.75 * size, down: 0.25 * size, paint(x, y) {
    for (const { part, font, wide } of parts) {
      context.font = font;
      context.fillText(part, x, y);
      x += wide;
    }
  } };
}

function typeset(context, tex, size) {
  const tokens = tex.match(/\\[a-z]+|\\ |[{}^_]|[^\\{}^_]+/g) ?? [];
  let at = 0;
  const bar = (x, y, wide) => {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + wide, y);
    context.stroke();
  };
  const list = (px, upright) => {
    const boxes = [];
    while (at < tokens.length && tokens[at] !== "}") boxes.push(one(px, upright));
    return { wide: across(boxes), up: Math.max(0, ...boxes.map(({ up }) => up)), down: Math.max(0, ...boxes.map(({ down }) => down)), paint(x, y) {
      for (const box of boxes) {
        box.paint(x, y);
        x += box.wide;
      }
    } };
  };
  const group = (px, upright) => {
    at += 1;  // its brackets
    const made = list(px, upright);
    at += 1;
    return made;
  };
  const raised = (box, by) => ({ ...box, up: box.up + by, down: Math.max(box.down - by, 0), paint: (x, y) => box.paint(x, y - by) });
  const commands = {
    "\\frac"(px, upright) {
      const [a, b] = [group(0.8 * px, upright), group(0.8 * px, upright)], wide = Math.max(a.wide, b.wide) + 6, axis = 0.28 * px;
      return { wide, up: axis + 3 + a.up + a.down, down: b.up + b.down + 3 - axis, paint(x, y) {
        a.paint(x + (wide - a.wide) / 2, y - axis - 3 - a.down);
        bar(x + 1, y - axis, wide - 2);
        b.paint(x + (wide - b.wide) / 2, y - axis + 3 + b.up);
      } };
    },
    "\\overline"(px, upright) {
      const box = group(px, upright);
      return { ...box, up: box.up + 3, paint(x, y) { box.paint(x, y); bar(x, y - box.up - 1, box.wide); } };
    },
    "\\hat"(px, upright) {
      const box = group(px, upright), hat = lettered(context, "ˆ", px, true);
      return { ...box, paint(x, y) { box.paint(x, y); hat.paint(x + (box.wide - hat.wide) / 2 + 0.08 * px, y); } };
    },
    "\\mathrm": (px) => group(px, true),
    "\\ ": (px) => ({ wide: 0.3 * px, up: 0, down: 0, paint() {} }),
    "^": (px, upright) => raised(group(0.75 * px, upright), 0.4 * px),
    _: (px, upright) => raised(group(0.75 * px, upright), -0.2 * px),
  };
  function one(px, upright) {
    const token = tokens[at];
    at += 1;
    return commands[token]?.(px, upright) ?? lettered(context, token, px, upright);
  }
  return list(size, false);
}
