// What the explorers take of D3; `make front` bundles it.
export { easeCubicInOut } from "d3-ease";
export { interpolateNumberArray, interpolateObject } from "d3-interpolate";
export { scaleLinear, scaleLog } from "d3-scale";
export { select } from "d3-selection";
export { area, line } from "d3-shape";
export { timer } from "d3-timer";
