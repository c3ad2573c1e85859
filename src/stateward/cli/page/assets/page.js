// Draws what the server sends, and decides nothing. All text is set as text: names and messages may be hostile.
const $ = (id) => document.getElementById(id);
const state = { hello: {}, rows: new Map(), ref: "", detail: null, timeline: null, changes: [], extra: null, clock: null, rates: [], spoken: "" };
let source = null;

// --- elements ---

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function svg(tag, attributes = {}, text) {
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

const toned = (tone, text, more = "") => el("span", { class: `tone ${tone} ${more}` }, icon(tone), text);
const SHOWN = 4;
/** Text with the parts between backquotes as code. */
const coded = (text) => text.split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));
const put = (id, ...children) => $(id).replaceChildren(...children.filter((child) => child !== null));
const once = new Map();

/** Draw a part again only if what it is drawn from has changed: focus, selection and speed stay. */
function drawn(id, from, draw) {
  const key = JSON.stringify(from);
  if (once.get(id) === key) return;
  once.set(id, key);
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : "";
  draw();
  if (focused) document.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

// --- time ---

const now = () => (state.clock ? state.clock.now + ((performance.now() - state.clock.got) / 1000) * state.clock.rate : Date.now() / 1000);

function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole}s`;
  if (whole < 7200) return `${Math.floor(whole / 60)}m`;
  if (whole < 172800) return `${Math.floor(whole / 3600)}h${String(Math.floor(whole / 60) % 60).padStart(2, "0")}m`;
  return `${Math.floor(whole / 86400)}d`;
}

const age = (since) => (since ? duration(now() - since) : "");
const aged = (since) => el("span", { "data-since": since || null }, age(since));
const offset = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds) % 60).padStart(2, "0")}`;
const wall = (at) => new Date(at * 1000).toISOString().slice(11, 19);
const day = (at) => (at ? new Date(at * 1000).toISOString().slice(0, 10) : "");
const count = (number) => Math.round(number).toLocaleString("en");
const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(bytes < 2 ** 30 * 10 ? 1 : 0)} GiB`;

// --- the stream ---

function connect() {
  source?.close();
  source = new EventSource(`events${state.ref ? `?cluster=${encodeURIComponent(state.ref)}` : ""}`);
  const on = (name, take) => source.addEventListener(name, (event) => { take(JSON.parse(event.data)); soon(); });
  source.addEventListener("open", () => { state.rows.clear(); });
  on("hello", (hello) => { state.hello = hello; });
  on("clock", (clock) => { state.clock = { ...clock, got: performance.now() }; trouble(clock.trouble); });
  on("clusters", ({ rows, gone }) => { rows.forEach((row) => state.rows.set(row.ref, row)); gone.forEach((ref) => state.rows.delete(ref)); });
  on("cluster", (detail) => { state.detail = detail; });
  on("timeline", (timeline) => { state.timeline = timeline; });
  on("changes", (changes) => { state.changes = changes; });
  on("extra", (extra) => {
    state.extra = extra;
    if (extra?.writes) state.rates = [...state.rates, extra.writes.perSecond].slice(-120);
  });
  source.addEventListener("error", () => trouble("The program behind this page does not answer; it may have ended."));
}

function trouble(text) {
  $("trouble").hidden = !text;
  if ($("trouble").textContent !== (text || "")) $("trouble").textContent = text || "";
}

async function post(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const value = await answer.json().catch(() => ({ error: "the answer cannot be read" }));
  if (!answer.ok) throw new Error(value.error || `the server answered ${answer.status}`);
  return value;
}

// --- drawing ---

let due = false;
function soon() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; draw(); });
}

function draw() {
  document.body.dataset.ready = "yes";
  const tour = state.extra?.kind === "tour" ? state.extra : null;
  const pace = tour ? ` · ${tour.paused ? "time paused" : `time ×${tour.speed}`} · ${offset(tour.time)}` : "";
  $("host").textContent = `${state.hello.host || ""}${pace}`;
  $("rights").hidden = !state.hello.readOnly;
  if (!state.ref && tour && state.rows.size === 1 && !state.left) { open([...state.rows.keys()][0]); return; }
  $("list").hidden = Boolean(state.ref);
  $("cluster").hidden = !state.ref;
  drawn("path", state.ref, () => put("path", el("li", {}, el("a", { href: "#" }, "all clusters")), ...state.ref.split("/").filter((_, at) => at !== 1 && state.ref).map((part) => el("li", {}, part))));
  if (state.ref) drawCluster(tour); else drawList();
}

const ranks = new Map();

/** Note how urgent each cluster is. While a viewer points at the list or is in it, no known row moves. */
function ranked() {
  const held = $("rows").matches(":hover, :focus-within");
  ranks.forEach((_, ref) => { if (!state.rows.has(ref)) ranks.delete(ref); });
  state.rows.forEach((row) => { if (!held || !ranks.has(row.ref)) ranks.set(row.ref, row.urgency); });
}

function drawList() {
  ranked();
  const rank = (row) => ranks.get(row.ref), place = (row) => `${row.namespace}/${row.name}/${row.engine}`;
  const all = [...state.rows.values()].sort((a, b) => rank(a) - rank(b) || place(a).localeCompare(place(b)));
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = all.filter((row) => words.every((word) => `${row.ref} ${row.version} ${row.health} ${row.activity}`.toLowerCase().includes(word)));
  const tally = {};
  all.forEach((row) => { tally[row.health] = { tone: row.tone, number: (tally[row.health]?.number || 0) + 1 }; });
  drawn("tally", tally, () => put("tally", ...Object.entries(tally).map(([health, { tone, number }]) => el("button", { type: "button", class: "pill-button", "data-key": `tally ${health}`, title: `show only these`, onclick: () => { $("filter").value = $("filter").value === health ? "" : health; soon(); } }, toned(tone, `${number} ${health}`, "pill")))));
  $("none").hidden = shown.length > 0;
  $("none").textContent = all.length ? `No cluster matches the filter; there are ${all.length}.` : "There is no cluster here.";
  const body = $("rows"), known = new Map([...body.children].map((line) => [line.dataset.ref, line]));
  const kept = new Set(shown.map((row) => row.ref));
  known.forEach((line, ref) => { if (!kept.has(ref)) line.remove(); });
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.key : "";
  let after = null;
  for (const row of shown) {
    const key = JSON.stringify(row);
    let line = known.get(row.ref);
    if (!line || line.dataset.from !== key) {
      const made = drawRow(row);
      made.dataset.ref = row.ref;
      made.dataset.from = key;
      if (line) line.replaceWith(made); line = made;
    }
    const next = after ? after.nextSibling : body.firstChild;
    if (next !== line) body.insertBefore(line, next);
    after = line;
  }
  if (focused && document.activeElement.dataset.key !== focused) body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function drawRow(row) {
  return el("tr", {},
    el("td", {}, el("a", { href: `#${encodeURIComponent(row.ref)}`, "data-key": `row ${row.ref}` }, el("span", { class: "ns" }, `${row.namespace}/`), row.name)),
    el("td", {}, row.engine), el("td", {}, row.version), el("td", {}, toned(row.tone, row.health)),
    el("td", {}, `${row.ready}/${row.desired}`), el("td", {}, row.waits ? String(row.waits) : ""), el("td", {}, aged(row.created)),
    el("td", { class: "doing-cell" }, row.stalled ? toned("bad", "manual intervention is required") : null, el("span", { class: "clamped", title: row.activity }, row.activity)));
}

function drawCluster(tour) {
  const detail = state.detail;
  if (!detail || detail.row.ref !== state.ref) {
    drawn("title", state.ref, () => put("cluster-title", state.ref.split("/").pop()));
    return;
  }
  const row = detail.row;
  drawn("title", [row.name, row.health, row.paused, detail.kind], () => put("cluster-title", row.name, toned(row.tone, row.health, "pill"),
    row.paused ? toned("off", "paused", "pill") : null, el("small", {}, `${detail.kind} in ${row.namespace}`)));
  drawn("doing", [row.activity, detail.observed], () => ($("doing").title = row.activity, put("doing", row.activity, detail.observed ? null : " — the operator has not observed the latest change of the spec yet")));
  drawUpgrade(detail);
  drawn("verbs", [detail.verbs, state.hello.readOnly], () => put("verbs", el("button", { type: "button", "data-key": "plan", onclick: () => ask("", "What is left to do") }, "Plan"),
    ...(state.hello.readOnly ? [] : detail.verbs.map((verb) => el("button", { type: "button", "data-key": `verb ${verb.name}`, onclick: () => ask(verb, `${verb.label}: ${row.name}`) }, `${verb.label} …`)))));
  $("stalled").hidden = !detail.stalled;
  $("stalled").textContent = detail.stalled ? `Manual intervention is required. ${detail.stalled}` : "";
  drawTour(tour);
  drawMap(detail);
  drawWaits(detail);
  drawFacts(detail);
  drawNews();
  drawTimeline();
}

function drawUpgrade(detail) {
  const done = detail.current, all = detail.total;
  drawn("upgrade", [detail.deployed, detail.wanted, done, all], () => {
    const moving = detail.deployed !== detail.wanted;
    put("upgrade", el("p", {}, moving ? el("span", {}, `${detail.deployed || "new"} → `, el("b", {}, detail.wanted)) : el("span", {}, `version ${detail.wanted}`), el("span", {}, `${done} of ${all} members`)),
      el("div", { class: "bar", role: "progressbar", "aria-label": `members with version ${detail.wanted}`, "aria-valuenow": done, "aria-valuemin": 0, "aria-valuemax": all }, el("i")));
    $("upgrade").querySelector("i").style.width = `${all ? (100 * done) / all : 0}%`;
  });
}

function drawTour(tour) {
  $("tour").hidden = !tour;
  if (!tour) return;
  const writes = tour.writes, number = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value));
  drawn("numbers", [writes, state.rates.length], () => put("numbers",
    number("documents acknowledged", count(writes.acknowledged)),
    number("of them found on disks now", count(writes.found), writes.acknowledged ? el("small", {}, ` ${writes.found === writes.acknowledged ? "all" : `${count(writes.acknowledged - writes.found)} missing`}`) : null),
    number("writes a second", el("span", {}, count(writes.perSecond)), spark(state.rates)),
    number("in red health", `${count(writes.red)} s`),
    number("longest without a write", `${count(writes.longest)} s`)));
  drawn("controls", tour.controls, () => put("controls", ...tour.controls.map((control) => el("button", { type: "button", "data-key": `control ${control.command}`, disabled: !control.enabled, onclick: () => command(control.command) }, control.label, el("kbd", { "aria-label": `key ${control.key}` }, control.key)))));
  $("verdict").hidden = !tour.verdict;
  if (tour.verdict) drawn("verdict", tour.verdict, () => { $("verdict").className = `verdict ${tour.verdictTone}`; put("verdict", tour.verdict); say(tour.verdict); });
}

function spark(rates) {
  const most = Math.max(1, ...rates), made = svg("svg", { class: "spark", viewBox: "0 0 120 30", preserveAspectRatio: "none", "aria-hidden": "true" });
  const points = rates.map((rate, at) => `${(120 - rates.length + at).toFixed(1)},${(29 - (27 * rate) / most).toFixed(1)}`);
  if (points.length > 1) made.append(svg("path", { class: "area", d: `M${120 - rates.length},30 L${points.join(" L")} L119,30 Z` }), svg("path", { d: `M${points.join(" L")}` }));
  return made;
}

function drawMap(detail) {
  const compact = detail.members.length > 40;
  drawn("map", [detail.zones, detail.pools, detail.members], () => {
    const cell = (pool, zone) => el("td", {}, el("ul", { class: "cards" }, ...detail.members.filter((member) => member.pool === pool && member.zone === zone).map((member) => el("li", {}, card(member, compact)))));
    const names = [...new Set([...detail.pools.map((pool) => pool.name), ...detail.members.map((member) => member.pool)])];
    const about = Object.fromEntries(detail.pools.map((pool) => [pool.name, pool]));
    put("map", el("table", { class: `map ${compact ? "compact" : ""}` },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "pool"), ...detail.zones.map((zone) => el("th", { scope: "col" }, zone)))),
      el("tbody", {}, ...names.map((name) => el("tr", {}, el("th", { scope: "row" }, name, about[name] ? el("small", {}, `${about[name].ready} of ${about[name].desired} ready`) : null), ...detail.zones.map((zone) => cell(name, zone)))))));
  });
  drawn("legend", [detail.shards > 0, compact], () => put("legend", ...(detail.shards && !compact ? [["primary", "primary shard"], ["", "replica"], ["moving", "being copied"]].map(([kind, text]) => el("span", {}, el("i", { class: `shard ${kind}` }), text)) : []), el("span", {}, "Select a member for its explanation and its verbs.")));
}

/** What is known of a member, in words. */
function known(member) {
  const primaries = member.shards.filter((shard) => shard.primary).length, moving = member.shards.filter((shard) => shard.moving).length;
  return [member.version ? `version ${member.version}` : "has not joined yet", member.node ? `on ${member.node}` : "", member.leader ? "elected manager" : "",
    member.diskTotal ? `${gib(member.diskUsed)} of ${gib(member.diskTotal)} of its disk used` : "", member.shardsKnown ? `${member.shards.length} shards, ${primaries} primary${moving ? `, ${moving} being copied` : ""}` : "", member.pending ? `pending: ${member.pending}` : ""].filter(Boolean).join(", ");
}

function card(member, compact) {
  const spoken = [member.name, member.state, known(member), member.reason].filter(Boolean).join(", ");
  const button = (...inside) => el("button", { type: "button", class: `card ${member.tone}`, "aria-label": spoken, title: spoken, "data-key": `member ${member.name}`, onclick: () => explain(member.name) }, ...inside);
  if (compact) {
    const about = [member.leader ? "★ leader" : "", member.version || "–", member.shardsKnown ? `${member.shards.length} shards` : "", member.diskTotal ? `disk ${Math.round((100 * member.diskUsed) / member.diskTotal)} %` : ""];
    return button(toned(member.tone, member.short), member.tone === "good" ? null : el("span", { class: "word" }, member.state), el("span", { class: "about" }, about.filter(Boolean).join(" · ")));
  }
  const disk = el("span", { class: `disk ${member.diskTotal ? "" : "empty"}`, title: member.diskTotal ? `${gib(member.diskUsed)} of ${gib(member.diskTotal)} used` : null }, el("i"));
  if (member.diskTotal) disk.firstChild.style.width = `${Math.max(1, (100 * member.diskUsed) / member.diskTotal)}%`;
  return button(
    el("b", {}, el("span", {}, member.short), member.leader ? el("span", { class: "leader" }, "★ leader") : null),
    el("span", { class: "state" }, toned(member.tone, member.state), aged(member.missing || member.since)),
    el("span", { class: "shards" }, ...member.shards.slice(0, 40).map((shard) => el("i", { class: `shard ${shard.primary ? "primary" : ""} ${shard.moving ? "moving" : ""}`, title: shard.name })), member.shards.length > 40 ? `+${member.shards.length - 40}` : null),
    disk,
    el("span", { class: "about" }, el("span", { class: `version ${member.current ? "current" : ""}` }, member.version || "–"), el("span", {}, member.node)));
}

function drawWaits(detail) {
  const missing = detail.members.filter((member) => member.next && !detail.removals.some((removal) => removal.name === member.name));
  drawn("waits", [detail.waits, detail.removals, detail.idle, missing.map((member) => [member.name, member.missing, member.next])], () => {
    if (!detail.waits.length && !detail.removals.length && !missing.length) { put("waits", el("p", { class: "quiet" }, detail.stalled ? "Nothing else waits." : detail.idle)); return; }
    put("waits", el("ul", { class: "waits" },
      ...missing.map((member) => el("li", {}, el("p", { class: "why" }, el("b", {}, member.name), " has been missing for ", aged(member.missing), member.reason ? `: ${member.reason}` : null), el("p", { class: "ends" }, ...coded(`It ${member.next}.`)))),
      ...detail.removals.map((removal) => el("li", {}, el("p", { class: "why" }, el("b", {}, removal.name), " is being replaced or leaves (", aged(removal.since), "): ", removal.phase), removal.reason ? el("p", { class: "ends" }, removal.reason) : null)),
      ...detail.waits.map((wait) => el("li", {}, el("p", { class: "reason" }, wait.reason),
        ...wait.held.slice(0, SHOWN).map((held) => el("p", { class: "why" }, el("b", {}, held.subject), " for ", aged(held.since), `: ${held.message}`)),
        wait.held.length > SHOWN ? el("p", { class: "ends" }, `and ${wait.held.length - SHOWN} more`) : null,
        el("p", { class: "ends" }, ...coded(`It ends when ${wait.ends}.`)), wait.do ? el("p", { class: "ends" }, ...coded(`You can: ${wait.do}.`)) : null))));
  });
}

function drawFacts(detail) {
  const secured = detail.certificates;
  drawn("facts", [detail.pools, detail.shards, detail.unassigned, detail.certificates, detail.notes], () => {
    const lines = detail.pools.map((pool) => [`pool ${pool.name}`, `${pool.ready}/${pool.desired} ready, ${pool.version || "no version yet"}${pool.upgrade ? `, ${pool.upgrade.toLowerCase()}` : ""}`]);
    if (detail.shards) lines.push(["shards", `${detail.shards}${detail.unassigned ? `, ${detail.unassigned} copies without a member` : ", all copies have a member"}`]);
    lines.push(["certificates", secured.secured ? `first expires ${day(secured.expire)}, renewed ${day(secured.renewal)}; CA until ${day(secured.caExpires)}` : secured.reason || "none: the cluster is not secured"]);
    if (secured.rotation) lines.push(["new CA", secured.rotation]);
    detail.notes.forEach((note) => lines.push(["not known", note]));
    put("facts", ...lines.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  });
}

function drawNews() {
  const changes = [...state.changes].reverse();
  drawn("news", changes, () => {
    put("news", changes.length ? null : el("li", { class: "quiet plain" }, "No change since this page was opened."), ...changes.map((change) => el("li", {}, el("time", {}, timed(change.at)), el("span", {}, change.text))));
    if (changes.length && changes[0].text !== state.spoken && state.spoken) say(changes[0].text);
    state.spoken = changes.length ? changes[0].text : "";
  });
}

/** A time of the day; in the tour, the time since its begin. */
const timed = (at) => (state.extra?.kind === "tour" ? offset(Math.max(0, state.extra.time - (now() - at))) : wall(at));
const say = (text) => { $("spoken").textContent = text; };

// --- the timeline ---

const LEFT = 150, ROW = 20, TOP = 46, LEVELS = 3;
const dark = matchMedia("(prefers-color-scheme: dark)");
let lineDrawn = 0;

function drawTimeline() {
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
/** Black or white, whichever reads better on a colour. */
const ink = (hex) => { const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)); return 0.3 * r + 0.59 * g + 0.11 * b > 125 ? "#10151f" : "#ffffff"; };

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

// --- dialogs ---

function show(title, body, ...buttons) {
  put("dialog-title", title);
  put("dialog-body", ...body);
  put("dialog-buttons", ...buttons);
  $("dialog-error").hidden = true;
  if (!$("dialog").open) $("dialog").showModal();
  $("dialog-title").focus();
}

const close = () => el("button", { type: "button", onclick: () => $("dialog").close() }, "Close");

function failed(error) {
  $("dialog-error").textContent = error.message;
  $("dialog-error").hidden = false;
}

/** Show the plan of a verb (none: of what is left to do), and perform the verb only if it is confirmed then. */
async function ask(verb, title, member = "") {
  const asked = { cluster: state.ref, verb: verb ? verb.name : "", member };
  show(title, [el("p", { class: "quiet" }, "The plan is being made; nothing has been changed.")], close());
  try {
    const plan = await post("plan", asked);
    const confirm = verb ? el("button", { type: "button", class: "first", onclick: () => perform(asked, verb) }, verb.label) : null;
    show(title, [verb ? el("p", {}, verb.does) : null, ...planned(plan)].filter(Boolean), el("button", { type: "button", onclick: () => $("dialog").close() }, verb ? "Cancel" : "Close"), ...(confirm ? [confirm] : []));
  } catch (error) { failed(error); }
}

function planned(plan) {
  const head = (...names) => el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name))));
  const parts = [el("h3", {}, plan.headline), el("p", {}, toned(plan.tone, plan.verdict))];
  if (plan.members.length) parts.push(el("h3", {}, "Effect on members"), el("div", { class: "scroll" }, el("table", {}, head("member", "effect", "mode", "takes", "because"), el("tbody", {}, ...plan.members.map((change) => el("tr", {}, ...[change.name, change.effect, change.mode, change.takes, change.because].map((text) => el("td", {}, text))))))), plan.unchanged ? el("p", { class: "quiet" }, `${plan.unchanged} ${plan.unchanged === 1 ? "other does" : "others do"} not change.`) : "");
  if (plan.steps.length) parts.push(el("h3", {}, "Order"), el("ol", { class: "steps" }, ...plan.steps.map((step) => el("li", {}, step))));
  plan.sections.forEach((section) => parts.push(el("h3", {}, section.title), ...section.lines.map((text) => el("p", {}, text))));
  return parts;
}

async function perform(asked, verb) {
  try {
    await post("act", asked);
    $("dialog").close();
    say(`${verb.label} was requested.`);
  } catch (error) { failed(error); }
}

async function explain(name) {
  const member = state.detail.members.find((found) => found.name === name);
  if (!member) return;
  const verbs = state.hello.readOnly ? [] : member.verbs.map((verb) => el("button", { type: "button", onclick: () => ask(verb, `${verb.label}: ${name}`, name) }, `${verb.label} …`));
  show(name, [el("p", { class: "quiet" }, "…")], close(), ...verbs);
  try {
    const lines = await post("explain", { cluster: state.ref, member: name });
    show(name, [el("p", { class: "quiet" }, known(member)), el("div", { class: "lines" }, ...lines.filter(Boolean).map((text) => el("p", {}, text)))], close(), ...verbs);
  } catch (error) { failed(error); }
}

const command = (name) => post("command", { command: name }).catch((error) => trouble(error.message));

// --- navigation ---

function open(ref) {
  location.hash = ref ? encodeURIComponent(ref) : "";
}

function follow() {
  const ref = decodeURIComponent(location.hash.slice(1));
  if (ref === "main") return;
  state.left = state.ref && !ref;
  state.ref = ref;
  state.detail = state.timeline = null;
  state.changes = [];
  once.clear();
  document.title = ref ? `${ref.split("/").pop()} · Stateward` : "Stateward";
  connect();
  draw();
  $(ref ? "cluster-title" : "main").focus();
}

addEventListener("hashchange", follow);
addEventListener("resize", soon);
dark.addEventListener("change", soon);
$("filter").addEventListener("input", soon);
["mouseleave", "focusout"].forEach((left) => $("rows").addEventListener(left, soon));
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement || $("dialog").open || event.ctrlKey || event.metaKey || event.altKey;
  const control = typing ? null : state.extra?.controls?.find((found) => found.key === event.key || (found.key === "space" && event.key === " "));
  if (!control || !control.enabled || (event.key === " " && event.target instanceof HTMLButtonElement)) return;
  event.preventDefault();
  command(control.command);
});
setInterval(() => { document.querySelectorAll("[data-since]").forEach((found) => { found.textContent = age(Number(found.dataset.since)); }); if (state.ref) drawTimeline(); }, 1000);
follow();
