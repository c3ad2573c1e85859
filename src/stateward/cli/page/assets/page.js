// Draws what the server sends, and decides nothing.
import { $, state, el, svg, toned, coded, put, once, drawn, now, age, aged, offset, wall, day, count, counted, gib } from "./elements.js";
import { dark, drawTimeline } from "./timeline.js";

let source = null;
const SHOWN = 4;

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
  return [member.version ? `version ${member.version}` : "has not joined yet", member.node ? `on ${member.node}` : "", member.leader ? "elected manager" : "",
    member.diskTotal ? `${gib(member.diskUsed)} of ${gib(member.diskTotal)} of its disk used` : "", member.shardsKnown ? `${counted(member.shardCount, "shard")}, ${member.primaries} primary${member.moving ? `, ${member.moving} being copied` : ""}` : "shards not known", member.pending ? `pending: ${member.pending}` : ""].filter(Boolean).join(", ");
}

function card(member, compact) {
  const spoken = [member.name, member.state, known(member), member.reason].filter(Boolean).join(", ");
  const button = (...inside) => el("button", { type: "button", class: `card ${member.tone}`, "aria-label": spoken, title: spoken, "data-key": `member ${member.name}`, onclick: () => explain(member.name) }, ...inside);
  if (compact) {
    const about = [member.leader ? "★ leader" : "", member.version || "–", member.shardsKnown ? counted(member.shardCount, "shard") : "shards not known", member.diskTotal ? `disk ${Math.round((100 * member.diskUsed) / member.diskTotal)} %` : ""];
    return button(toned(member.tone, member.short), member.tone === "good" ? null : el("span", { class: "word" }, member.state), el("span", { class: "about" }, about.filter(Boolean).join(" · ")));
  }
  const disk = el("span", { class: `disk ${member.diskTotal ? "" : "empty"}`, title: member.diskTotal ? `${gib(member.diskUsed)} of ${gib(member.diskTotal)} used` : null }, el("i"));
  if (member.diskTotal) disk.firstChild.style.width = `${Math.max(1, (100 * member.diskUsed) / member.diskTotal)}%`;
  return button(
    el("b", {}, el("span", {}, member.short), member.leader ? el("span", { class: "leader" }, "★ leader") : null),
    el("span", { class: "state" }, toned(member.tone, member.state), aged(member.missing || member.since)),
    el("span", { class: "shards" }, ...(member.shardsKnown ? member.shards.map((shard) => el("i", { class: `shard ${shard.primary ? "primary" : ""} ${shard.moving ? "moving" : ""}`, title: shard.name })) : ["shards not known"]), member.shardCount > member.shards.length ? `+${member.shardCount - member.shards.length}` : null),
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
  drawn("facts", [detail.pools, detail.dataKnown, detail.shards, detail.unassigned, detail.certificates, detail.notes], () => {
    const lines = detail.pools.map((pool) => [`pool ${pool.name}`, `${pool.ready}/${pool.desired} ready, ${pool.version || "no version yet"}${pool.upgrade ? `, ${pool.upgrade.toLowerCase()}` : ""}`]);
    const placed = detail.unassigned ? `${counted(detail.unassigned, "copy", "copies")} without a member` : "all copies have a member";
    lines.push(["shards", !detail.dataKnown ? "not known" : detail.shards ? `${detail.shards}, ${placed}` : "none"]);
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
