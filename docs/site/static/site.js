// Frames of explorers are as high as what they show, and as light or dark as the page; long tables get a field that filters their rows;
// figures get their width as a number of the style.

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => ({ dark: true, light: false })[document.body.dataset.theme] ?? dark.matches;

function sendTheme() {
  for (const frame of document.querySelectorAll("iframe.explorer")) frame.contentWindow.postMessage({ dark: isDark() }, "*");
}

addEventListener("message", ({ source, data }) => {
  const frame = [...document.querySelectorAll("iframe.explorer")].find(({ contentWindow }) => contentWindow === source);
  if (!frame || !(data.height > 0)) return;
  frame.style.height = `${data.height}px`;
  sendTheme();
});
dark.addEventListener("change", sendTheme);

// Sphinx 9.0 names this for searches in Chinese, whose Latin words it stems in English, and does not define it.
globalThis.ChineseStemmer = class {
  stemWord(word) { return new EnglishStemmer().stemWord(word); }
};

// What the theme leaves out for keyboards and screen readers: levels of captions, names of both side bars, a way to scroll.
function nameParts() {
  for (const caption of document.querySelectorAll("p.caption[role=heading]")) caption.ariaLevel = "2";
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "this page");
  for (const part of document.querySelectorAll("pre, .math-wrapper, .cell_output, .table-wrapper")) {
    if (part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight) part.tabIndex = 0;
  }
}

addEventListener("DOMContentLoaded", () => {
  nameParts();
  for (const image of document.querySelectorAll(".cell_output img")) {
    image.decode().then(() => image.style.setProperty("--wide", `${image.naturalWidth}px`));
  }
  for (const gallery of document.querySelectorAll(".gallery")) {
    gallery.querySelector(".filter").addEventListener("input", ({ target }) => {
      const words = target.value.toLowerCase().split(/\s+/);
      for (const card of gallery.querySelectorAll("a")) card.hidden = !words.every((word) => card.dataset.words.includes(word));
      for (const family of gallery.querySelectorAll("section")) family.hidden = !family.querySelector("a:not([hidden])");
    });
  }
  new MutationObserver(sendTheme).observe(document.body, { attributeFilter: ["data-theme"] });
  for (const table of document.querySelectorAll("article table")) {
    const rows = [...table.querySelectorAll("tr")].filter((row) => row.querySelector("td"));
    if (rows.length < 20 || table.parentElement.querySelector(".filter")) continue;
    const field = document.createElement("input");
    const label = document.documentElement.lang.startsWith("zh") ? "筛选行" : "filter rows";
    Object.assign(field, { type: "search", className: "filter", placeholder: label, ariaLabel: label });
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
    table.before(field);
  }
});
