// Parts, their steps and the selected step: by arrow keys, list or search.
const $ = id => document.getElementById(id);
const kMostListed = 4000;
const state = { part: 0, at: report.parts.map(() => 0), search: "" };
const steps = () => report.parts[state.part].steps.list ?? report.parts[state.part].steps;
const kind = () => kinds[report.parts[state.part].kind];

function found() {
  const wanted = state.search.toLowerCase(), all = [...steps().keys()];
  return wanted ? all.filter(i => kind().words(steps()[i]).toLowerCase().includes(wanted)) : all;
}
function list(all) {
  const at = state.at[state.part];
  $("list").replaceChildren(...all.slice(0, kMostListed).map(i => {
    const li = html("li");
    li.append(html("span", String(i + 1)), html("span", kind().name(steps()[i])));
    if (i === at) li.setAttribute("aria-current", "step");
    li.onclick = () => { state.at[state.part] = i; show(); };
    return li;
  }));
  $("found").textContent = state.search ? `${all.length} of ${steps().length} found` : `${steps().length} in this part`;
  $("list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}
function show() {
  const p = report.parts[state.part], all = found();
  if (all.length && !all.includes(state.at[state.part])) state.at[state.part] = all.find(i => i >= state.at[state.part]) ?? all[0];
  const i = state.at[state.part], s = steps()[i];
  [...$("parts").children].forEach((b, k) => k === state.part ? b.setAttribute("aria-current", "true") : b.removeAttribute("aria-current"));
  $("position").textContent = `${p.name}: ${p.noun} ${s ? i + 1 : 0} of ${steps().length}`;
  list(all);
  $("step").replaceChildren();
  if (s) kind().show(s, $("step"), i); else kind().none(p, $("step"));
}
function move(by) {
  const all = found(), to = all.indexOf(state.at[state.part]) + by;
  if (!all.length || to < 0 || to >= all.length) return;
  state.at[state.part] = all[to];
  show();
}
function turn(by) {
  const to = Math.min(report.parts.length - 1, Math.max(0, state.part + by));
  if (to !== state.part) { state.part = to; show(); }
}
// Selects a step by pointing; the picture stays in place.
function choose(i) {
  state.at[state.part] = i;
  kind().chosen = true;
  show();
}

$("title").textContent = report.title;
document.title = `${report.what}: ${report.title}`;
$("notes").append(...report.notes.map(n => html("p", n)));
report.parts.forEach((p, k) => {
  const b = html("button", `${p.name} (${(p.steps.list ?? p.steps).length})`);
  b.onclick = () => { state.part = k; show(); };
  $("parts").append(b);
});
$("parts").hidden = $("keys-parts").hidden = report.parts.length < 2;
$("back").onclick = () => move(-1);
$("next").onclick = () => move(1);
$("search").oninput = () => { state.search = $("search").value; show(); };
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey || e.target.tagName === "SELECT") return;
  const typing = document.activeElement === $("search"), one = report.parts.length < 2;
  if (typing && !["Escape", "Enter", "ArrowUp", "ArrowDown"].includes(e.key)) return;
  const keys = {
    ...kind().keys,
    ArrowLeft: () => move(-1), ArrowRight: () => move(1), ArrowUp: () => one ? move(-1) : turn(-1), ArrowDown: () => one ? move(1) : turn(1),
    Home: () => move(-found().indexOf(state.at[state.part])), Enter: () => move(e.shiftKey ? -1 : 1),
    End: () => { const all = found(); move(all.length - 1 - all.indexOf(state.at[state.part])); },
    "/": () => $("search").focus(),
    Escape: () => { state.search = $("search").value = ""; $("search").blur(); show(); }
  };
  if (!(e.key in keys) || (e.key === "Enter" && !typing)) return;
  e.preventDefault();
  keys[e.key]();
});
const wanted = /step=(\d+)/.exec(location.hash);
if (wanted) state.at[0] = Math.min(Number(wanted[1]), Math.max(0, steps().length - 1));
show();
