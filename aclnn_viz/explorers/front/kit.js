// The common front end of all explorers: controls, messages, export, theme, and the redraw that counts revisions.
// The script that draws follows in the same module and ends with: export default explorer(build).

// What is said here by itself: each text is its own key, in double quotes, so that the kernel finds and translates it.
let texts = {};
const REST = 30;  // milliseconds without a movement, after which the kernel is asked
const IN_SIGHT = 4;  // controls beside the picture, at most, one of them what plays; the others are folded
const LATE = 2000;  // milliseconds without its answer, after which that is said
const tr = (text, values = {}) => (texts[text] ?? text).replace(/\{(\w+)\}/g, (place, name) => values[name]);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Another text in a node that has one: no node is made, so that nothing is styled anew.
function put(node, text) {
  if (node.textContent === text) return;
  if (node.firstChild) node.firstChild.data = text;
  else node.textContent = text;
}

// Two different letters that are drawn alike are boxes: no font here has them.
function areBoxes(...letters) {
  const drawn = letters.map((letter) => {
    const canvas = element("canvas", { width: 24, height: 24 }), context = canvas.getContext("2d");
    context.font = "20px system-ui, sans-serif";
    context.fillText(letter, 2, 20);
    return canvas.toDataURL();
  });
  return new Set(drawn).size === 1;
}

// The arrays of a picture as views of its one buffer; {data, shape} each.
function unpacked(picture) {
  const view = picture.buffer;
  const bytes = view.byteOffset % 4 ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view.buffer;
  const start = view.byteOffset % 4 ? 0 : view.byteOffset / 4;
  const numbers = new Float32Array(bytes);
  const arrays = {};
  for (const [name, [at, shape]] of Object.entries(picture.index)) {
    const size = shape.reduce((a, b) => a * b, 1);
    arrays[name] = { data: numbers.subarray(start + at, start + at + size), shape };
  }
  return arrays;
}

// A choice among few, all of them in sight: buttons with the properties of a select.
function segments({ options }, id) {
  const radios = options.map(([, text], k) => element("input", { type: "radio", name: id, value: String(k), title: text }));
  const made = element("fieldset", { class: "ae-segments", "aria-labelledby": `${id}-label` },
    ...radios.map((radio, k) => element("label", {}, radio, element("span", {}, options[k][1]))));
  return Object.defineProperties(made, { options: { value: radios }, selectedIndex: {
    get: () => radios.findIndex(({ checked }) => checked),
    set: (at) => radios.forEach((radio, k) => { radio.checked = k === at; }),
  } });
}

// The control of a field: its nodes, and what reads and writes it.
function makeControl(c, id, first) {
  const digits = (value) => Number(value).toFixed(c.step < 1 ? 2 : 0), shown = element("output", { for: id });
  let input, read, write;
  if (c.kind === "choice") {
    input = first && c.options.length < 5 && !c.named ? segments(c, id) : element("select", {}, ...c.options.map(([, text], k) => element("option", { value: String(k) }, text)));
    read = () => c.options[input.selectedIndex][0];
    write = (value, all) => {
      const index = c.options.findIndex(([option]) => option === value);
      if (input.selectedIndex !== index) input.selectedIndex = index;
      const names = c.named?.[all[c.of]];
      if (names) [...input.options].forEach((option, k) => Object.assign(option, { text: names[k] ?? "", hidden: !(k in names) }));
      c.owners.forEach((owner, k) => { input.options[k].hidden = Boolean(owner) && owner !== all[c.of]; });
    };
  } else if (c.kind === "flag") {
    input = element("input", { type: "checkbox" });
    read = () => input.checked;
    write = (value) => { if (input.checked !== value) input.checked = value; };
  } else {
    input = element("input", { type: c.kind === "real" ? "range" : "number" });
    Object.assign(input, { min: c.low, max: c.high, step: c.step });
    const longest = Math.max(3, ...[c.low, c.high].map((end) => digits(end).length));
    if (c.kind === "whole") input.style.width = `calc(${first ? 35 : 25}px + ${longest + 1}ch)`;
    else shown.style.width = `${longest}ch`;
    read = () => (input.value === "" ? null : Number(input.value));
    write = (value) => {
      if (read() !== value) input.value = value ?? "";
      put(shown, c.kind === "real" ? digits(value) : "");
    };
  }
  input.id = id;
  input.dataset.field = c.field;
  const label = element("label", { for: id, id: `${id}-label`, title: c.help || c.label }, c.label);
  const row = element("div", { class: `ae-control ae-${c.kind}` }, label, input, ...(c.kind === "real" ? [shown] : []));
  return { input, read, row, write: (value, all) => {
    write(value, all);
    row.inert = Boolean(all[c.without]);  // a control without effect beside that one
  } };
}

// One control for each field of the state, the first ones in sight. `change(field, value)` is called at every movement.
function makeControls(described, sight, top, folded, change) {
  const groups = new Map(), inputs = {};
  described.forEach((c, k) => {
    const first = k < sight, name = first ? c.field : `group ${c.group}`, id = `ae-${Math.random().toString(36).slice(2)}`;
    if (!groups.has(name)) {
      const set = first ? element("div", { class: "ae-group" }) : element("fieldset", { class: "ae-group" }, element("legend", {}, c.group));
      groups.set(name, set);
      (first ? top : folded).append(set);
    }
    const problem = element("span", { class: "ae-problem", id: `${id}-problem`, role: "alert" });
    const { input, read, write, row } = makeControl(c, id, first);
    input.setAttribute("aria-describedby", problem.id);
    groups.get(name).append(row, problem);
    input.addEventListener("input", () => change(c.field, read()));
    inputs[c.field] = { input, write, problem };
  });
  return inputs;
}

// Write a sentence with words that are bold, [b:so], or have the colour of their marks, [3:so]; nodes of the same kinds stay.
function worded(node, text) {
  const parts = text.split(/(\[(?:\d+|b):[^\]]*\])/).map((part) => /^\[(\d+|b):([^\]]*)\]$/.exec(part) ?? ["", "", part]);
  const kinds = parts.map(([, kind]) => kind).join();
  if (node.kinds !== kinds) {
    node.kinds = kinds;
    node.replaceChildren(...parts.map(([, kind]) => (kind ? element("b", kind === "b" ? {} : { style: `color: var(--ae-own-${kind})` }) : "")));
  }
  parts.forEach(([, kind, words], k) => {
    const part = node.childNodes[k];
    if (kind) put(part, words);
    else if (part.data !== words) part.data = words;
  });
}

function makeLifts(model, parent, before) {
  const lifts = [["link", tr("Copy link")], ["cell", tr("Copy as cell")], ["test", tr("Copy as test")], ["cpp", tr("Copy as C++")],
    ["png", tr("Save PNG")], ["svg", tr("Save SVG")]];
  const status = element("span", { role: "status" });
  const text = element("textarea", { readOnly: true, hidden: true, rows: 8, "aria-label": tr("exported text") });
  const bar = element("div", { class: "ae-lifts" });
  for (const [kind, label] of lifts) {
    const button = element("button", { type: "button", "data-lift": kind }, label);
    button.addEventListener("click", () => { before(); model.send({ lift: kind }); });
    bar.append(button);
  }
  bar.firstChild.title = tr("copies the state of the picture, for state= of av.explore or for the address of a saved page");
  bar.append(status);
  parent.append(bar, text);
  const receive = async (message, buffers) => {
    if (!message.lift) return;
    if (message.problem) { status.textContent = message.problem; return; }
    const data = buffers[0];
    if (message.lift === "png" || message.lift === "svg") {
      const type = message.lift === "png" ? "image/png" : "image/svg+xml";
      const address = URL.createObjectURL(new Blob([data], { type }));
      element("a", { href: address, download: message.file }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
      status.textContent = tr("saved {file}", message);
      return;
    }
    text.value = new TextDecoder().decode(data);
    text.hidden = false;
    try {
      await navigator.clipboard.writeText(text.value);
      status.textContent = tr("copied; it also stands below");
    } catch {
      text.select();
      status.textContent = tr("select and copy the text below: the browser allows no copying here");
    }
  };
  const outdated = () => {  // what was copied is of a state that is no more shown
    text.hidden = true;
    status.textContent = "";
  };
  model.on("msg:custom", receive);
  return { bar, status, outdated, stop: () => model.off("msg:custom", receive) };
}

// The indices that must shrink with the sizes in `moved`, and the choices that are not offered beside the new values.
function followed(controls, values, moved) {
  const indices = controls.filter((c) => c.below && moved[c.below] !== undefined && !(c.field in moved)
    && values[c.field] >= moved[c.below] && Number.isFinite(moved[c.below]));
  const gone = controls.filter((c) => {
    if (!(c.of in moved) || c.field in moved) return false;
    if (!c.options?.length) return true;  // a place in what has changed
    const at = c.options.findIndex(([option]) => option === values[c.field]), names = c.named?.[moved[c.of]];
    return (c.owners[at] ?? moved[c.of]) !== moved[c.of] || (names && at >= names.length);
  });
  return Object.fromEntries([...indices.map((c) => [c.field, Math.max(c.low, moved[c.below] - 1)]),
    ...gone.map((c) => [c.field, c.initial])]);
}

// build(kit) makes the panels in kit.panels and returns {draw(picture, arrays), say(words), overlay(changes)}: draw and say
// after each answer of the kernel, whose words come after its picture; overlay at once after each movement of a control.
function explorer(build) {
  // Another language: all is made anew, for there is no node without words.
  function render({ model, el }) {
    let stop = made({ model, el });
    const reworded = () => {
      const folds = () => [...el.querySelectorAll("details")], open = folds().map((fold) => fold.open);
      stop();
      stop = made({ model, el });
      folds().forEach((fold, k) => { fold.open = open[k]; });
    };
    model.on("change:wording", reworded);
    return () => {
      model.off("change:wording", reworded);
      stop();
    };
  }

  function made({ model, el }) {
    texts = model.get("wording").texts ?? {};
    el.lang = model.get("wording").lang ?? "en";
    el.classList.add("aclnn-explorer");
    el.setAttribute("data-lm-suppress-shortcuts", "true");
    el.dataset.revision ??= "0";
    const top = element("div", { class: "ae-top" }), controls = element("div", { class: "ae-controls" });
    const problem = element("div", { class: "ae-problem", role: "alert" });
    const panels = element("div", { class: "ae-panels" }), caption = element("p", { class: "caption", "aria-live": "polite", "aria-atomic": "true" }, element("span"));
    const head = element("ul", { class: "ae-headline" });
    const words = element("pre", { tabindex: "0" });
    const twin = element("details", { class: "ae-twin" }, element("summary", {}, tr("The picture in words")), words);
    const foot = element("div", { class: "ae-foot" });
    const more = element("details", { class: "more" }, element("summary", {}, tr("More: numbers, inputs, export")), controls, head, foot);
    const aside = element("div", { class: "ae-panels ae-aside" });  // panels beside the lesson
    more.firstChild.after(aside);
    const body = element("div", { class: "ae-body" }, top, problem, panels, more);
    const plays = element("div", { class: "ae-plays" });
    panels.append(plays, caption);
    el.append(body);

    const waiting = tr("Python computes …");
    let values = { ...model.get("values") };
    // What the kernel sends to compute pictures here: then a movement is drawn at once, and the kernel asked when the hand rests.
    let here = null, shown = null, asking = 0, idle = 0, late = 0;
    const ask = () => {
      clearTimeout(asking);
      clearTimeout(late);
      asking = 0;
      const asked = JSON.stringify(values) !== JSON.stringify(model.get("picture").for);  // what is shown already is not answered
      if (asked) late = setTimeout(() => { lifts.status.textContent = waiting; }, LATE);
      el.removeAttribute("data-moving");
      model.save_changes();
      if (asked || !shown) return;
      shown = null;  // the kernel's own picture of this state is still there
      finish();
      showWords();
    };
    const came = () => {
      clearTimeout(late);
      if (lifts.status.textContent === waiting) lifts.status.textContent = "";
    };
    const drawnHere = () => {
      const made = here?.picture(values, model.get("controls"));
      if (!made) return false;
      shown = made;
      parts.say({ ...made, notices: model.get("words").notices ?? [] });
      finish();
      clearTimeout(asking);
      asking = setTimeout(ask, REST);
      if (!el.hasAttribute("data-moving")) el.setAttribute("data-moving", "");
      return true;
    };
    const traced = ({ traced: sent }) => {
      if (!sent) return;
      here = computedHere(sent, el.lang);
      if (here.picture({ ...values, ...player.plays[0]?.frames[1] }, model.get("controls"))) player.open(el);
      el.setAttribute("data-traced", "");
    };
    const kit = {
      model, el, panels, aside, more, caption, head, words, all: [], theme: readTheme(el, model),
      get values() { return values; },
      // The values of a hand or a field, where a grip and spots set the same at most those of the spots: beyond them lies nothing.
      within(moved) {
        for (const { drawing: { marks = [] } } of kit.all) {
          const sets = marks.flatMap((mark) => (mark.mark === "Spots" ? mark.sets.flat() : []));
          for (const field of marks.flatMap((mark) => (mark.mark === "Grip" ? mark.sets : []))) {
            const ends = sets.filter(([name]) => name === field).map(([, value]) => value);
            if (ends.length && Number.isFinite(moved[field])) moved = { ...moved, [field]: Math.min(moved[field], Math.max(...ends)) };
          }
        }
        return moved;
      },
      foreseen: (moved) => (here ?? model).aside?.({ ...values, ...moved }, model.get("controls")),
      // When a play is over its axes and colours follow their values again, after its last picture.
      free: () => queueMicrotask(() => {
        if (!spans || player.stop) return;
        spans = null;
        finish(true);
      }),
      set(moved, byHand = false) {  // which goes on from what a play has left, where that drops what the hand has moved
        if (!player.playing) player.halt();
        if (!player.playing) player.held = null;  // another control frees what a play holds
        spans = player.held ?? null;
        const { after, drops } = player.plays[player.chosen] ?? {}, changes = { ...(player.playing || (byHand && drops) ? {} : after), ...moved, ...followed(model.get("controls"), values, moved) };
        values = parts.fit ? parts.fit({ ...values, ...changes }) : { ...values, ...changes };
        model.set("values", values);
        lifts.outdated();
        for (const [field, made] of Object.entries(inputs)) made.write(values[field], values);
        if (drawnHere()) return;
        ask();
        parts.overlay(changes);
      },
      // While a hand holds a point of a panel its axes stay, as do those with the same ends, so that the point stays in the hand.
      hold(name) {
        kit.dragged = true;
        const { y: own } = last.panels.find((panel) => panel.name === name);
        kept = last.panels.filter((panel) => panel.name === name || panel.y.low === own.low && panel.y.high === own.high);
      },
      release() {
        const axes = (panels) => JSON.stringify(panels.map(({ x, y }) => [x, y])), { panels } = shown ?? model.get("picture");
        const before = axes(last.panels);
        kept = null;
        kit.dragged = false;
        if (before !== axes(panels)) finish(true);
      },
    };
    const inputs = makeControls(model.get("controls"), IN_SIGHT - Boolean(model.get("picture").plays?.length), top, controls, (field, value) => kit.set(kit.within({ ...player.frameAt(field, value), [field]: value })));
    const lifts = makeLifts(model, foot, () => { if (asking) ask(); });
    const reset = element("button", { type: "button", "data-lift": "reset" }, tr("Reset"));
    reset.addEventListener("click", () => kit.set(model.get("initial")));
    lifts.bar.insertBefore(reset, lifts.bar.lastChild);
    foot.append(twin);
    if (el.lang === "zh" && areBoxes("梯", "度")) {
      foot.append(element("div", { class: "ae-notice", lang: "en" },
        "This browser has no font with Chinese letters: install one, such as the package fonts-noto-cjk."));
    }
    const parts = build(kit), player = new Player(kit, plays);
    panels.addEventListener("pointerdown", ({ pointerType, target }) => {  // a finger that scrolls leaves it
      if (pointerType !== "touch" && !plays.contains(target)) player.leave();
    }, true);
    let last = null, glide = null;  // the picture that was drawn, and what leads from it to the next
    let kept = null, spans = null;  // panels whose axes stay, and those of what is played
    const spanned = (panel) => {
      const made = widened(spans.get(panel.name), panel);
      if (spans.has(panel.name)) spans.set(panel.name, made);
      return made;
    };
    const held = (panel) => {
      const old = kept.find(({ name }) => name === panel.name), ends = (axis) => ({ ...panel[axis], low: old[axis].low, high: old[axis].high, ticks: old[axis].ticks });
      return old ? { ...panel, x: ends("x"), y: ends("y") } : panel;
    };
    const modes = () => JSON.stringify(model.get("controls").filter(({ kind }) => kind === "choice" || kind === "flag").map(({ field }) => values[field]));

    function draw(done, freed) {
      const wrong = model.get("problem");
      for (const [field, { input, problem: place }] of Object.entries(inputs)) {
        const text = wrong[field] ?? "";
        if (place.textContent !== text) {
          place.textContent = text;
          input.toggleAttribute("aria-invalid", Boolean(text));
          if (text && more.contains(place)) more.open = true;
        }
      }
      problem.textContent = Object.keys(wrong).filter((field) => !(field in inputs)).map((field) => wrong[field]).join(" ");
      const picture = shown ?? model.get("picture");
      if (!picture.panels || (kit.all.length && !kit.all.some((panel) => panel.width))) { done(); return; }
      glide?.();
      glide = null;
      const before = last, now = last = { panels: kept ? picture.panels.map(held) : spans?.size ? picture.panels.map(spanned) : picture.panels, arrays: picture.numbers ?? unpacked(picture), modes: modes() };
      player.offer(picture.plays ?? []);
      const [from, to] = [before, now].map((one) => one?.panels[0].opens), deep = to.length && from?.length && from[0] !== to[0];
      if (!before || before.modes === now.modes && !freed || player.playing && !deep || still.matches) {
        parts.draw(now, now.arrays);
        done();
        return;
      }
      el.dataset.gliding = "";
      if (deep) {
        const step = zoomed(parts.main(), from[0], to[0], () => parts.draw(now, now.arrays));
        glide = run(ZOOM, (t) => { if (t < 1) step(d3.easeCubicInOut(t)); else parts.main().panel.again(); }, done);
        return;
      }
      glide = run(GLIDE, (t) => {
        const middle = t < 1 ? between(before, now, d3.easeCubicInOut(t)) : now;
        parts.draw(middle, middle.arrays);
      }, done);
    }
    let pending = 0;
    const twinned = () => { words.textContent = model.get("words").text; };
    const showWords = () => {
      const said = model.get("words");
      if (!said.for || asking) return;
      clearTimeout(idle);
      idle = setTimeout(() => { if (model.get("traces") && !here?.fits(values)) model.send({ trace: true }); }, REST);
      parts.say(said);
      clearTimeout(pending);
      if (twin.open) twinned();
      else pending = setTimeout(twinned, 100);  // nobody looks at a closed text, but searching in the page must find it
    };
    const finish = (freed) => draw(() => {
      delete el.dataset.gliding;
      el.dataset.revision = String(Number(el.dataset.revision) + 1);
      if (model.get("opens")) player.open(el);
    }, freed);
    let queued = false, gone = false;
    const answered = () => {  // both traits may change in one message: one redraw then
      if (queued || asking) return;  // the answer of a state that the hand has left
      came();
      shown = null;
      queued = true;
      queueMicrotask(() => {
        queued = false;
        if (!gone) finish();
      });
    };
    const restored = () => {  // the state was set in Python
      if (model.get("values") === values) return;
      shown = null;
      lifts.outdated();
      values = { ...model.get("values") };
      for (const [field, made] of Object.entries(inputs)) made.write(values[field], values);
      parts.overlay(values);
    };
    const repaint = () => {  // the first one comes when the browser has given the panels their sizes
      kit.wide = body.clientWidth;
      if (!kit.wide) return;
      kit.theme = readTheme(el, model);
      kit.crops = getComputedStyle(more).getPropertyValue("--crops") === "1";  // the axes of wide panels
      for (const panel of kit.all) panel.measure();
      last = null;
      finish();
      showWords();
    };
    // JupyterLab hides everything while it changes the theme; shown again before the next frame, no size has changed.
    const themes = new MutationObserver(() => requestAnimationFrame(repaint));
    themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"] });
    // A line more of words only moves panels: those of another height are drawn anew, the others stay.
    const sizes = new ResizeObserver(() => {
      if (kit.wide !== body.clientWidth) { repaint(); return; }
      const changed = kit.all.filter((panel) => panel.height !== panel.stage.clientHeight);
      for (const panel of changed) panel.measure();
      for (const panel of changed) panel.again();
    });
    sizes.observe(body);
    more.addEventListener("toggle", () => { for (const panel of kit.all) panel.again(); });
    const quiet = (event) => event.stopPropagation();  // letters and arrows are the notebook's commands otherwise
    el.addEventListener("keydown", quiet);
    model.on("change:picture", answered);
    model.on("change:words", showWords);
    model.on("change:problem", answered);
    model.on("change:values", restored);
    model.on("msg:custom", traced);
    for (const [field, made] of Object.entries(inputs)) made.write(values[field], values);
    return () => {
      gone = true;
      player.halt();
      glide?.();
      model.off("change:picture", answered);
      model.off("change:words", showWords);
      model.off("change:problem", answered);
      model.off("change:values", restored);
      model.off("msg:custom", traced);
      clearTimeout(asking);
      clearTimeout(late);
      clearTimeout(idle);
      lifts.stop();
      clearTimeout(pending);
      themes.disconnect();
      sizes.disconnect();
      el.removeEventListener("keydown", quiet);
      el.replaceChildren();
    };
  }
  return { render };
}
