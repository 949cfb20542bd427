// A model without Python: it answers a state with a picture, of which `functions` compute what moves and `pool` describes the rest.

// The first `count` digits of a positive number and its power of ten; halves go to the even digit, as in Python.
function digitsOf(size, count) {
  if (count > 0 && count < 100) {  // the browser's own are quick, and differ where it may be a half
    const next = size.toExponential(count);
    if (Number(next) !== size || next[next.indexOf("e") - 1] !== "5") {
      const [mantissa, power] = size.toExponential(count - 1).split("e");
      return [mantissa.replace(".", ""), Number(power)];
    }
  }
  const [mantissa, power] = size.toExponential(Math.min(100, Math.max(count, 0) + 30)).split("e");
  if (count < 0) return ["", Number(power)];
  const all = mantissa.replace(".", ""), kept = all.slice(0, count) || "0", rest = all.slice(count);
  const half = `5${"0".repeat(rest.length - 1)}`, up = rest > half || (rest === half && Number(kept.at(-1)) % 2);
  const digits = String(BigInt(kept) + (up ? 1n : 0n)), grown = digits.length > Math.max(count, 1) || (!count && up);
  return [digits.slice(0, Math.max(count, grown ? 1 : 0)), Number(power) + (grown ? 1 : 0)];
}

function fixedTo(size, places) {
  const [digits, power] = size ? digitsOf(size, Number(size.toExponential().split("e")[1]) + 1 + places) : ["", 0];
  const all = digits.padEnd(digits ? power + 1 + places : 0, "0").padStart(places + 1, "0"), cut = all.length - places;
  return all.slice(0, cut) + (places ? `.${all.slice(cut)}` : "");
}

// A number in a format of Python's: [+][,][.digits][d, f or g]
function formatted(value, form) {
  const [, plus, comma, given, kind] = /^(\+?)(,?)(?:\.(\d+))?([dfg]?)$/.exec(form);
  if (Number.isNaN(value)) return `${plus}nan`;
  const sign = value < 0 ? "-" : plus, size = Math.abs(value);
  if (size === Infinity) return `${sign}inf`;
  if (kind === "d") return sign + size;
  const count = Number(given ?? 6);
  if (kind === "f") return sign + fixedTo(size, count).replace(/\B(?=(\d{3})+(?!\d))/g, comma);
  if (!size) return `${sign}0`;
  const [digits, power] = digitsOf(size, Math.max(count, 1)), trimmed = (text) => text.replace(/\.?0+$/, "");
  if (power < -4 || power >= count) {
    const tail = `e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
    return sign + (count > 1 ? trimmed(`${digits[0]}.${digits.slice(1)}`) : digits) + tail;
  }
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${digits.replace(/0+$/, "")}`;
  return sign + (digits.length > power + 1 ? trimmed(`${digits.slice(0, power + 1)}.${digits.slice(power + 1)}`) : digits);
}

// What puts its numbers into a description; null where it has none.
function filling(part) {
  if (part === null || typeof part !== "object") return null;
  const number = (one) => (one?.$ ? (found) => (typeof found[one.$] === "object" ? found[one.$][0] : found[one.$]) : () => one ?? NaN);
  const filled = (one) => filling(one) ?? (() => one);
  if ("$" in part) {
    const value = number(part);
    return (found) => (Number.isFinite(value(found)) ? value(found) : null);
  }
  if ("#" in part) {
    const value = number(part["#"]);
    return (found) => formatted(value(found) + 0, part.form);
  }
  if ("?" in part) {
    const value = number(part["?"]), options = part.options.map(filled);
    return (found) => options[Number(value(found))]?.(found);
  }
  if ("%" in part) {
    const pieces = part["%"].split(/\{(\w+)\}/).map((text, k) => (k % 2 ? filled(part.values[text]) : () => text));
    return (found) => pieces.map((piece) => piece(found)).join("");
  }
  const moving = Object.entries(part).map(([name, one]) => [name, filling(one)]).filter(([, fill]) => fill);
  return moving.length ? (found) => {
    const made = Array.isArray(part) ? [...part] : { ...part };
    for (const [name, fill] of moving) made[name] = fill(found);
    return made;
  } : null;
}

// The names of the numbers in a description.
function namesIn(part, names = new Set()) {
  if (part === null || typeof part !== "object") return names;
  if ("$" in part) names.add(part.$);
  else for (const one of Object.values(part)) namesIn(one, names);
  return names;
}

// A part of the pool with its numbers in place: that of the picture before, where they are the same.
function placed(page, k, found) {
  const part = page.parts[k] ??= { names: [...namesIn(page.pool[k])], fill: filling(page.pool[k]), made: page.pool[k] };
  const numbers = part.names.map((name) => found[name]);
  const same = part.call === page.calls - 1 && numbers.every((one, j) => Object.is(one, part.numbers[j]));
  if (part.fill && !same) part.made = part.fill(found);
  [part.call, part.numbers] = [page.calls, numbers];
  return part.made;
}

// The ends and ticks of axes, as pictures/panels.py finds them.
function reachOf({ marks }, axis, arrays) {
  let [low, high] = [Infinity, -Infinity];
  const positive = { low: Infinity, high: -Infinity };
  const take = (value) => {
    if (!Number.isFinite(value)) return;
    if (value < low) low = value;
    if (value > high) high = value;
    if (value > 0 && value < positive.low) positive.low = value;
    if (value > 0 && value > positive.high) positive.high = value;
  };
  for (const mark of marks) {
    if (mark.mark === "Heat" || mark.mark === "Image") {
      const start = (mark[axis] ?? 0) - 0.5;
      take(start);
      take(start + arrays[mark.values].shape["yx".indexOf(axis)]);
    } else if (mark.mark === "Rule") {
      if (mark.axis === axis) take(mark.at);
    } else {
      for (const name of axis === "x" ? ["x", "x0", "x1"] : ["y", "y0", "y1", "low", "high"]) {
        if (name in mark) (arrays[mark[name]]?.data ?? [mark[name] ?? NaN]).forEach(take);
      }
      if (mark.mark === "Arrows") arrays[mark[axis]].data.forEach((start, k) => take(start + arrays[mark[`d${axis}`]].data[k]));
      if (mark.mark === "Bars" && axis === "y") take(0);
    }
  }
  return { low, high, positive };
}

function endsOf(panel, name, arrays, share) {
  const axis = panel[name], log = axis.scale === "log";
  if (axis.low !== null && axis.high !== null) return [axis.low, axis.high];
  const reach = reachOf(panel, name, arrays);
  let { low, high } = log ? reach.positive : reach;
  [low, high] = low > high ? [0, 1] : log ? [Math.log10(low), Math.log10(high)] : [low, high];
  const room = high > low ? share * (high - low) : 0.5;
  [low, high] = [low - room, high + room];
  if (log) [low, high] = [10 ** low, 10 ** high];
  return [axis.low ?? low, axis.high ?? high];
}

function ticksOf(axis, one, other, whole) {
  if (axis.ticks !== null) return axis.ticks;
  const [low, high] = one < other ? [one, other] : [other, one];
  if (axis.scale === "log") {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9), found = [];
    if (first < last) {
      for (let p = first; p <= last; p += Math.max(1, Math.ceil((last - first) / 5))) {
        found.push([Number(`1e${p}`), Math.abs(p) > 3 ? `1e${p}` : formatted(Number(`1e${p}`), "g")]);
      }
      return found;
    }
    const values = [first - 1, first, last + 1].flatMap((p) => [1, 2, 5].map((m) => Number(`${m}e${p}`)));
    return [...new Set(values)].sort((a, b) => a - b).filter((v) => low <= v && v <= high).map((v) => [v, formatted(v, "g")]);
  }
  if (!(high > low)) return [[low, formatted(low, ".6g")]];
  const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((size) => size >= rough * (1 - 1e-9));
  if (whole) step = Math.max(1, Math.ceil(step));
  const digits = Math.max(6, 2 + Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / step))), found = [];
  for (let k = Math.ceil(low / step - 1e-6); k < Math.floor(high / step + 1e-6) + 1; k += 1) {
    found.push([k * step, formatted(k * step + 0, `.${digits}g`)]);
  }
  return found;
}

function withAxes(panel, arrays) {
  const cells = panel.marks.some(({ mark }) => mark === "Heat" || mark === "Image"), made = { ...panel };
  for (const name of ["x", "y"]) {
    let [low, high] = endsOf(panel, name, arrays, cells ? 0 : 0.05);
    const ticks = ticksOf(panel[name], low, high, cells);
    if (name === "y" && cells && panel.y.low === null && panel.y.high === null) [low, high] = [high, low];
    made[name] = { ...panel[name], low, high, ticks, given: panel[name].ticks };
  }
  return made;
}

// The state with choices of which the page has a picture: what was moved since `before` stays, of the others as many as can.
function heldNear(page, values, before) {
  const fields = Object.keys(page.options), wanted = fields.map((field) => {
    const all = page.options[field], at = all.indexOf(values[field]);
    if (at >= 0 || typeof values[field] !== "number") return at;
    return all.reduce((best, value, k) => (Math.abs(value - values[field]) < Math.abs(all[best] - values[field]) ? k : best), 0);
  });
  const kinds = Object.fromEntries((page.texts?.en.controls ?? []).map(({ field, kind }) => [field, kind]));  // a number gives way first
  const price = fields.map((field) => (kinds[field] === "whole" ? 0.5 : values[field] === before[field] ? 1 : fields.length + 1));
  let found = null, least = Infinity;
  for (const place of page.places) {
    const cost = price.reduce((sum, one, k) => sum + (place[k] === wanted[k] ? 0 : one), 0);
    if (cost < least) [found, least] = [place, cost];
  }
  return [page.variants[found.join()], { ...values, ...Object.fromEntries(fields.map((field, k) => [field, page.options[field][found[k]]])) }];
}

// The numbers in float32, as the kernel sends them: the same object, where they are those of `before`.
function narrowed(data, before) {
  const made = new Float32Array(data), same = before?.length === made.length && made.every((value, k) => Object.is(value, before[k]));
  return same ? before : made;
}

// The picture of a state: described panels, arrays by name as {data, shape}, `numbers` of them for marks, the headline; and the
// state, if it is another one.
function pictureOf(page, asked, language, before = asked) {
  const [variant, values] = heldNear(page, asked, before), given = { ...values }, arrays = Object.create(page.drawn);
  if (variant.dragged) {
    const [field, rows, columns] = variant.dragged;
    const text = JSON.stringify([variant.dragged, values[field]]);
    if (page.points?.text !== text) {
      page.points = { text, places: new Float64Array(2 * rows * columns).fill(NaN) };
      for (const [row, column, x, y] of values[field]) if (row < rows && column < columns) page.points.places.set([x, y], 2 * (row * columns + column));
    }
    given[field] = page.points.places;
  }
  const found = S.run(page.functions[variant.compute], given), { panels, headline, caption, plays } = variant.pictures[language];
  page.calls += 1;
  const last = page.numbers, numbers = page.numbers = Object.create(page.drawn);
  for (const [name, shape] of Object.entries(variant.shapes)) {
    const data = typeof found[name] === "object" ? found[name] : [found[name]];
    arrays[name] = { data, shape };
    numbers[name] = { data: narrowed(data, last?.[name]?.data), shape };
  }
  const drawn = panels.map((k) => {
    const panel = placed(page, k, found);
    return withAxes({ ...panel, marks: panel.marks.map((mark) => placed(page, mark, found)) }, arrays);
  });
  return { values, panels: drawn, arrays, numbers, caption: placed(page, caption, found), plays: placed(page, plays, found),
    headline: headline.map((k) => placed(page, k, found)).filter(Boolean) };
}

// The panels of another state. What is kept of the picture that is shown stays as it is.
function panelsAside(page, values, language) {
  page.aside ??= { ...page, parts: [], functions: page.functions.map((one) => (given) => one(given)) };
  return pictureOf(page.aside, values, language).panels;
}

// The values, where a number that a control does not take gives way to its last good one, and what is said of it.
function fitting(controls, values, good) {
  const now = { ...values }, wrong = {};
  for (const { field, kind, low, high, below } of controls) {
    if (kind !== "whole" && kind !== "real") continue;
    const value = values[field], last = below ? Math.min(high, now[below] - 1) : high;
    if (Number.isFinite(value) && low <= value && value <= last && (kind === "real" || Number.isInteger(value))) continue;
    now[field] = Math.min(good[field], last);
    wrong[field] = tr("{field} must be a number from {low} to {high}. The picture shows {value}.", { field, low, high: last, value: now[field] });
  }
  return [now, wrong];
}

// What the kernel sent of a picture: whether it is of these values but for what moves, and the picture as a function of them.
function computedHere({ values: traced, moving, content, functions }, language) {
  const written = JSON.parse(content), page = opened(written);
  const T = Object.fromEntries(Object.entries(written.tables).map(([name, table]) => [name, decoded(table)]));
  try {
    page.functions = new Function("S", "T", `return [${functions}]`)(S, T);
  } catch { page.places = []; }  // a page that allows no such thing: the kernel draws
  const fits = (values) => Object.entries(traced).every(([field, value]) => moving.includes(field)
    || JSON.stringify(value) === JSON.stringify(values[field]));
  const drawnBy = (draw) => (values, controls) => {
    if (!page.places.length || !fits(values) || Object.keys(fitting(controls, values, values)[1]).length) return null;
    return draw(page, values, language);
  };
  return { fits, picture: drawnBy(pictureOf), aside: drawnBy(panelsAside) };
}

const stateText = (values, saved) => new URLSearchParams(Object.entries(values)
  .filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(saved[field]))
  .map(([field, value]) => [field, JSON.stringify(value)])).toString();

// What is no state of this page is left out.
function readState(text, page) {
  const values = { ...page.values }, [dragged, ...sizes] = page.dragged ?? [];
  const placed = (point) => point?.length === 4 && point.every(Number.isFinite) && sizes.every((size, k) => Number.isInteger(point[k]) && 0 <= point[k] && point[k] < size);
  for (const [field, written] of new URLSearchParams(text)) {
    try {
      const value = JSON.parse(written);
      if (field === dragged && value.every(placed) || page.alive.includes(field) && typeof value === typeof page.initial[field]) values[field] = value;
    } catch { /* no JSON, or no list of points */ }
  }
  for (const { field, options, of, owners } of page.texts.en.controls) {
    const fits = ([option], k) => option === values[field] && [null, values[of]].includes(owners[k] ?? null);
    if (options.length && !options.some(fits)) values[field] = page.values[field];
  }
  return values;
}

// Of what an address asks for, the fields that this page cannot move.
const beyond = (text, page) => [...new URLSearchParams(text)].filter(([field, written]) => field in page.texts.en.needs
  && written !== JSON.stringify(page.values[field])).map(([field]) => field);

// Numbers from [type, base 64].
const decoded = ([kind, text]) => new { u1: Uint8Array, f4: Float32Array, f8: Float64Array }[kind](
  Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);

function opened(page) {
  const each = (lists, make) => Object.fromEntries(Object.entries(lists).map(([name, one]) => [name, make(one)]));
  const maps = each(page.colours?.maps ?? {}, (table) => new DataView(decoded(table).buffer));
  return { ...page, drawn: each(page.drawn, ([table, shape]) => ({ data: decoded(table), shape })), colours: { ...page.colours, maps },
    parts: [], calls: 1, places: Object.keys(page.variants).map((place) => (place ? place.split(",").map(Number) : [])) };
}

// Within the page of another, not `alone`, it leaves address, title and colours of that page as they are. Returns what takes it away.
function openLive(el, written, alone = true) {
  const page = opened(written);
  const listeners = {}, { body } = document, hash = alone ? location.hash : "", dark = matchMedia("(prefers-color-scheme: dark)");
  page.dragged = Object.values(page.variants)[0].dragged;
  const initial = { ...page.values };
  let good = initial, language = /[#&]lang=zh/.test(hash) || navigator.language.startsWith("zh") ? "zh" : "en", later = 0, refused = beyond(hash.slice(1), page);
  const kept = { values: readState(hash.slice(1), page), initial, colours: page.colours, problem: {}, words: {}, picture: {},
    opens: !hash };
  const notify = (name) => (listeners[name] ?? []).forEach((call) => call());
  const link = () => `#${[stateText(kept.values, page.values), language === "zh" ? "lang=zh" : ""].filter(Boolean).join("&")}`;
  const answer = () => {
    const start = performance.now(), texts = page.texts[language], [now, wrong] = fitting(texts.controls, kept.values, good);
    let made = null;
    try { made = pictureOf(page, now, language, good); } catch (error) { kept.problem = { "": String(error) }; }
    if (made) {
      [kept.problem, good] = [{ ...Object.fromEntries(refused.map((field) => [field, texts.needs[field]])), ...wrong }, made.values];
      if (Object.keys(page.options).some((field) => kept.values[field] !== good[field])) {  // other controls moved along
        kept.values = { ...good, ...Object.fromEntries(Object.keys(wrong).map((field) => [field, kept.values[field]])) };
        notify("change:values");
      }
      kept.picture = { ...made, for: kept.values };
      const shown = made;  // in words only when somebody reads it: that takes as long as to draw it
      kept.words = { ...made, for: kept.values, get text() { return inWords(shown); }, notices: [...texts.notices, texts.notice] };
    }
    for (const name of ["picture", "words", "problem"]) notify(`change:${name}`);
    offer();
    queueMicrotask(() => (globalThis.times ??= []).push(performance.now() - start));  // the front end draws in a microtask, too
    clearTimeout(later);
    if (alone) later = setTimeout(() => history.replaceState(null, "", link()), 200);
  };
  const model = {
    get: (name) => kept[name],
    set: (name, value) => { kept[name] = value; },
    aside: (values, controls) => panelsAside(page, fitting(controls, values, good)[0], language),
    on: (name, call) => (listeners[name] ??= []).push(call),
    off: (name, call) => { listeners[name] = (listeners[name] ?? []).filter((one) => one !== call); },
    save_changes: () => {
      refused = [];
      answer();
    },
    send: ({ lift }) => {  // there is no kernel that could trace
      const state = stateText(kept.values, page.initial);
      const text = lift === "link" ? location.href.split("#")[0] + link()
        : `import aclnn_viz as av\n\nav.explore("${page.name}"${state && `, state="${state}"`})\n`;
      listeners["msg:custom"].forEach((call) => call({ lift }, [new TextEncoder().encode(text)]));
    },
  };
  const useLanguage = (name) => {
    language = name;
    kept.controls = page.texts[name].controls.filter(({ field }) => !(field in page.texts[name].needs));  // the others need Python
    kept.wording = page.texts[name].wording;
    if (alone) document.documentElement.lang = name;
  };
  // What needs Python is not offered: a value that no picture has, or none of the program that is chosen.
  const offer = () => {
    const fields = Object.keys(page.options), owners = new Set(kept.controls.map((control) => control.of));
    fields.forEach((field, k) => {
      const { options, of } = kept.controls.find((control) => control.field === field), input = el.querySelector(`[data-field=${field}]`);
      const free = of || owners.has(field), held = (place) => free || fields.every((name, at) => !owners.has(name) || page.options[name][place[at]] === kept.values[name]);
      const there = new Set(page.places.filter(held).map((place) => page.options[field][place[k]]));
      [...input?.options ?? []].forEach((option, at) => { option.disabled = !there.has(options[at][0]); });
      input?.closest(".ae-control").toggleAttribute("hidden", there.size < 2);
    });
  };
  const settle = () => {  // what is made anew with the words
    offer();
    for (const name of ["test", "cpp", "png", "svg"]) el.querySelector(`[data-lift=${name}]`).hidden = true;
    const other = element("button", { type: "button", "data-lift": "language", lang: language === "zh" ? "en" : "zh" },
      language === "zh" ? "English" : "中文");
    other.addEventListener("click", () => {
      useLanguage(language === "zh" ? "en" : "zh");
      notify("change:wording");
      settle();
      answer();
    });
    el.querySelector(".ae-top").append(other);
  };
  const themed = (isDark) => {
    (alone ? body : el.parentNode).dataset.jpThemeLight = String(!isDark);
    if (!alone) return;
    const { background, quiet } = page.colours[isDark ? "dark" : "light"];
    Object.assign(body.style, { background, color: quiet });
  };
  themed(dark.matches);
  dark.addEventListener("change", () => themed(dark.matches));
  if (alone && parent !== window) {  // in a frame, which asks for its theme and is as high as the explorer
    addEventListener("message", ({ source, data }) => { if (source === parent && "dark" in data) themed(data.dark); });
    new ResizeObserver(() => parent.postMessage({ height: document.documentElement.offsetHeight }, "*")).observe(document.documentElement);
  }
  addEventListener("hashchange", ({ newURL }) => {  // the page may have written its own address since
    const asked = new URL(newURL).hash;
    if (!alone || asked === link()) return;
    [kept.values, refused] = [readState, beyond].map((read) => read(asked.slice(1), page));
    notify("change:values");
    answer();
  });
  useLanguage(language);
  answer();
  const away = explorer(buildPanels).render({ model, el });
  settle();
  answer();
  return away;
}
