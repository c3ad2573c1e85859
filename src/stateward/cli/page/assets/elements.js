// What every part of the page is made of: its state, its elements and its times. All text is set as text: names and
// messages may be hostile.
export const $ = (id) => document.getElementById(id);
export const state = { hello: {}, rows: new Map(), ref: "", detail: null, timeline: null, changes: [], extra: null, clock: null, rates: [], spoken: "" };

// --- elements ---

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function svg(tag, attributes = {}, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const ICONS = {
  good: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm-1 9.6L3.9 8l1.2-1.2L7 8.7l3.9-3.9L12.100 6z",
  busy: "M8 1.500a6.500 6.500 0 1 0 6.500 6.500h-2a4.500 4.500 0 1 1-4.500-4.500z",
  wait: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm0 1.800a4.700 4.700 0 1 1 0 9.400 4.700 4.700 0 0 1 0-9.400zM7.200 4.600v4l3 1.800.8-1.300-2.200-1.300V4.600z",
  bad: "M5.200 1.500 1.500 5.200v5.600l3.700 3.700h5.600l3.700-3.700V5.200l-3.700-3.700zM5.700 4.500 8 6.800l2.300-2.300 1.200 1.200L9.200 8l2.300 2.300-1.200 1.200L8 9.200l-2.300 2.300-1.200-1.200L6.800 8 4.500 5.700z",
  off: "M2.500 2.500h11v11h-11z",
  unknown: "M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zm-.9 9.100h1.800v1.700H7.100zm-2-4.500C5.200 4.500 6.400 3.600 8 3.600s2.900.9 2.900 2.400c0 1.900-2 2-2 3.500H7.200c0-2.100 1.900-2.300 1.900-3.400 0-.6-.4-1-1.100-1s-1.200.4-1.200 1z",
};

function icon(tone) {
  const made = svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" });
  made.append(svg("path", { d: ICONS[tone] || ICONS.unknown, fill: "currentColor", "fill-rule": "evenodd" }));
  return made;
}

export const toned = (tone, text, more = "") => el("span", { class: `tone ${tone} ${more}` }, icon(tone), text);
/** Text with the parts between backquotes as code. */
export const coded = (text) => text.split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));
export const put = (id, ...children) => $(id).replaceChildren(...children.filter((child) => child !== null));
export const once = new Map();

/** Draw a part again only if what it is drawn from has changed: focus, selection and speed stay. */
export function drawn(id, from, draw) {
  const key = JSON.stringify(from);
  if (once.get(id) === key) return;
  once.set(id, key);
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : "";
  draw();
  if (focused) document.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

// --- time ---

export const now = () => (state.clock ? state.clock.now + ((performance.now() - state.clock.got) / 1000) * state.clock.rate : Date.now() / 1000);

export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole}s`;
  if (whole < 7200) return `${Math.floor(whole / 60)}m`;
  if (whole < 172800) return `${Math.floor(whole / 3600)}h${String(Math.floor(whole / 60) % 60).padStart(2, "0")}m`;
  return `${Math.floor(whole / 86400)}d`;
}

export const age = (since) => (since ? duration(now() - since) : "");
export const aged = (since) => el("span", { "data-since": since || null }, age(since));
export const offset = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds) % 60).padStart(2, "0")}`;
export const wall = (at) => new Date(at * 1000).toISOString().slice(11, 19);
export const day = (at) => (at ? new Date(at * 1000).toISOString().slice(0, 10) : "");
export const count = (number) => Math.round(number).toLocaleString("en");
export const counted = (number, one, more = `${one}s`) => `${number} ${number === 1 ? one : more}`;
export const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(bytes < 2 ** 30 * 10 ? 1 : 0)} GiB`;
