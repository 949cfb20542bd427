// Writes one script of the pinned modules of D3, with their licence, which pages and widgets begin with.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const licence = readFileSync("node_modules/d3-scale/LICENSE", "utf8").trim();
const names = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`).join(", ");
const { outputFiles: [script] } = await build({
  entryPoints: ["d3.mjs"], bundle: true, minify: true, format: "iife", globalName: "d3", target: "es2022", write: false });
// A page holds it within a script element.
writeFileSync("../../aclnn_viz/explorers/front/d3.js", `/* ${names}, and what they need\n\n${licence}\n*/\n${script.text.replaceAll("</", "<\\/")}`);
