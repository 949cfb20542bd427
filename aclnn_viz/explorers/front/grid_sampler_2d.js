// The grid-sampler explorer: its panels, the sentences above them, and the order in which they are drawn.

const DRAWN = [drawImage, drawMap, drawTaps, drawCorners, drawOuts, drawInputGrad, drawGridGrad];

function buildGridSampler(kit) {
  const head = element("ul", { class: "ae-headline ae-head" });
  kit.panels.append(head);
  const lines = ["■", "▲", "●"].map((shape, kind) => {
    const text = element("span"), sign = element("i", {}, shape);
    const line = element("li", { class: "ae-line" }, sign, element("b", {}, kit.theme.kinds[kind].name), text);
    head.append(line);
    return { line, text, sign };
  });
  const rounding = element("li", { class: "ae-line ae-rounding" }), notices = element("li", { class: "ae-notice" });
  head.append(rounding, notices);
  const view = {
    kit, seen: null,  // {picture, arrays, state} of the last answer
    boxes: new Map(),  // where the cells of each heat map lie
    captions: new Map(),  // panel -> text
    image: new Panel(kit, "image", "image and sampling points"),
    map: new Panel(kit, "map", "coordinate maps and their slopes"),
    taps: new Panel(kit, "taps", "taps of the chosen point"),
    corners: new Panel(kit, "corners", "alignCorners"),
  };
  kit.panels.append(element("div", { class: "ae-side" }, view.taps.figure, view.corners.figure));
  view.outs = kit.theme.kinds.map(({ name }) => new Panel(kit, "out", `out, ${name}`));
  view.inputGrad = new Panel(kit, "inputGrad", "inputGrad");
  view.gridGrad = new Panel(kit, "gridGrad", "gridGrad");
  tellNumbers(view);
  takeHand(view);

  // Text on a canvas brings the page's layout up to date first, so texts in the page wait until all canvases are drawn.
  function say({ state, picture }) {
    for (const [panel, text] of view.captions) panel.say(text);
    const [inputGrad, gridGrad] = picture.errors;
    rounding.textContent = `${state.dtype}: inputGrad differs from the float64 truth by at most ${inputGrad}, `
      + `gridGrad by ${gridGrad}.`;
    notices.textContent = picture.notices.join(" ");
    notices.hidden = !picture.notices.length;
    lines.forEach(({ line, text, sign }, kind) => {
      sign.style.color = kit.theme.kinds[kind].colour;
      line.toggleAttribute("aria-current", kind === state.paddingMode);
      text.textContent = picture.headline[kind];
    });
  }

  return {
    fit(values) {  // a smaller grid leaves dragged points behind
      const { grid_height: down, grid_width: across } = values;
      return { ...values, moved: values.moved.filter(([row, column]) => !(row >= down || column >= across)) };
    },
    draw(picture, arrays) {
      view.seen = { picture, arrays, state: picture.for };
      for (const draw of DRAWN) draw(view);
      say(view.seen);
    },
    overlay(changes) {
      if (view.seen && ["row", "column", "moved"].some((field) => field in changes)) drawImage(view);
    },
  };
}

export default explorer(buildGridSampler);
