// name="generator" content="aclnn-viz", of {{name}}
{{scripts}}
const content = {{content}};
const T = Object.fromEntries(Object.entries(content.tables).map(([name, table]) => [name, decoded(table)]));
const functions = [{{functions}}];
export default {
  render({ el }) {
    const here = element("div", {}), dark = document.body.dataset.jpThemeLight === "false";
    el.append(element("div", dark ? { "data-jp-theme-light": "false" } : {}, element("style", {}, {{sheet}}), here));
    return openLive(here, { ...content, functions }, false);
  },
};
