// Draws the timeline of a cluster: bands, spans of members, and marks.
import { $, state, el, svg, put, drawn, now, duration, offset, wall } from "./elements.js";

const LEFT = 150, ROW = 20, TOP = 46, LEVELS = 3;
export const dark = matchMedia("(prefers-color-scheme: dark)");
let lineDrawn = 0;

export function drawTimeline() {
  const line = state.timeline;
  if (!line || performance.now() - lineDrawn < 400) return;
  lineDrawn = performance.now();
  const names = [...line.bands.map((band) => band.name), ...line.rows.map((row) => row.name)];
  const width = Math.max(480, $("line").clientWidth), until = Math.max(now(), line.begin + 60), height = TOP + names.length * ROW + 20;
  const x = (at) => LEFT + ((Math.max(at, line.begin) - line.begin) / (until - line.begin)) * (width - LEFT - 12);
  const place = new Map(names.map((name, at) => [name, TOP + at * ROW]));
  const made = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": described(line) });
  names.forEach((name) => made.append(svg("text", { class: "name", x: LEFT - 10, y: place.get(name) + 13, "text-anchor": "end" }, short(name)), svg("rect", { class: "lane", x: LEFT, y: place.get(name) + 2, width: width - LEFT - 12, height: ROW - 5, rx: 3 })));
  ticks(line.begin, until, width).forEach((at) => made.append(svg("line", { class: "grid", x1: x(at), x2: x(at), y1: TOP - 6, y2: height - 16 }), svg("text", x(at) + 60 > width ? { x: x(at) - 3, y: height - 5, "text-anchor": "end" } : { x: x(at) + 3, y: height - 5 }, state.extra?.kind === "tour" ? offset(at - line.begin) : wall(at))));
  const bars = [...line.bands.flatMap((band) => band.stretches.map((part) => ({ ...part, row: band.name, word: part.value, look: state.hello.bands?.[part.value] || state.hello.bands?.unknown, text: "" }))),
    ...line.spans.map((span) => ({ ...span, word: span.phase, look: state.hello.phases?.[span.phase] }))];
  bars.filter((bar) => bar.look && place.has(bar.row)).forEach((bar) => made.append(...barShapes(bar, x, place.get(bar.row), until)));
  const ends = Array(LEVELS).fill(-1e9);
  line.marks.forEach((mark) => {
    const text = mark.text.length > 46 ? `${mark.text.slice(0, 44)}…` : mark.text, size = text.length * 6.6 + 8, at = x(mark.at), right = at + size > width;
    const from = right ? at - size : at, level = ends.findIndex((end) => end <= from);
    if (level < 0) { made.append(svg("line", { class: "mark", x1: at, x2: at, y1: TOP - 6, y2: height - 16 })); made.lastChild.append(svg("title", {}, mark.text)); return; }
    ends[level] = from + size;
    const shown = svg("text", { class: "mark-text", x: right ? at - 4 : at + 4, y: 11 + level * 12, "text-anchor": right ? "end" : "start" }, text);
    shown.append(svg("title", {}, mark.text));
    made.append(svg("line", { class: "mark", x1: at, x2: at, y1: 4 + level * 12, y2: height - 16 }), shown);
  });
  $("line").replaceChildren(made);
  const present = [...new Set(line.spans.map((span) => span.phase))].filter((phase) => state.hello.phases?.[phase]).sort();
  drawn("phases", [present, dark.matches], () => put("phases", ...present.map((phase) => el("span", {}, el("i", { class: "swatch", "data-color": colour(state.hello.phases[phase]) }, state.hello.phases[phase].letter), `${phase}: ${state.hello.phases[phase].meaning}`))));
  document.querySelectorAll("#phases .swatch").forEach((swatch) => { swatch.style.background = swatch.dataset.color; swatch.style.color = ink(swatch.dataset.color); });
}

const colour = (look) => (dark.matches ? look.dark : look.light);
/** Black or white, whichever reads better on a colour: one of them always has the contrast that WCAG AA asks for. */
function ink(hex) {
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

function barShapes(bar, x, y, until) {
  const from = x(bar.begin), to = Math.max(from + 2.5, x(bar.end ?? until)), fill = colour(bar.look);
  const shape = svg("rect", { class: "span", x: from, y: y + 2, width: to - from, height: ROW - 5, rx: 3, fill });
  shape.append(svg("title", {}, `${bar.row}: ${bar.word}, ${bar.look.meaning}, ${duration((bar.end ?? until) - bar.begin)}${bar.text ? `\n${bar.text}` : ""}`));
  const room = to - from, text = room > 8 * bar.word.length + 6 ? bar.word : room > 11 ? bar.look.letter : "";
  return text ? [shape, svg("text", { class: "label", x: from + 5, y: y + 13, fill: ink(fill) }, text)] : [shape];
}

function ticks(begin, until, width) {
  const wanted = ((until - begin) * 110) / (width - LEFT), step = [10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].find((size) => size >= wanted) || 86400;
  const found = [];
  for (let at = state.extra?.kind === "tour" ? begin : Math.ceil(begin / step) * step; at <= until; at += step) found.push(at);
  return found;
}

const short = (row) => { const name = state.detail ? row.replace(`${state.detail.row.name}-`, "") : row; return name.length > 22 ? `…${name.slice(-21)}` : name; };

function described(line) {
  const open = line.spans.filter((span) => span.end === null).map((span) => `${short(span.row)} ${span.phase}`);
  return `Timeline of ${line.rows.length} rows over ${duration(now() - line.begin)}. ${open.length ? `Now: ${open.join(", ")}.` : "No member is changing."} The latest changes are listed as text beside it.`;
}
