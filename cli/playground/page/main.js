// Tabs, and the start.

const tabs = { expression, view: views, map: maps, kernel: kernels };

function openTab(name, query, focus = false) {
  state.tab = name;
  for (const id of Object.keys(tabs)) {
    const tab = $(`tab-${id}`), chosen = id === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(id).hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
  tabs[name].open(query);
  document.title = `Touchstone: ${$(`tab-${name}`).textContent.trim().toLowerCase()}`;
}

const engine = new Engine(String(inWorker).replace(/^[^{]*{|}$/g, "") + bytesOf);
for (const tab of Object.values(tabs)) tab.init();
const left = {};
for (const id of Object.keys(tabs)) {
  // A tab restores its last state.
  $(`tab-${id}`).addEventListener("click", () => {
    if (id === state.tab) return;
    state.flush();
    left[state.tab] = location.hash.split("?", 2)[1] ?? "";
    openTab(id, new URLSearchParams(left[id] ?? ""));
  });
}
$("tabs").addEventListener("keydown", e => {
  const all = Object.keys(tabs), at = all.indexOf(state.tab);
  const to = { ArrowRight: (at + 1) % all.length, ArrowLeft: (at + all.length - 1) % all.length, Home: 0, End: all.length - 1 }[e.key];
  if (to === undefined) return;
  e.preventDefault();
  $(`tab-${all[to]}`).click();
  $(`tab-${all[to]}`).focus();
});
addEventListener("hashchange", () => { const query = state.read(); openTab(state.tab, query); });
const query = state.read();
openTab(state.tab, query);
// From here on the page accepts input.
document.documentElement.dataset.typing = Math.round(performance.now());

// Called by the rest of the file, after the program.
function begin() {
  const packed = $("packed");
  engine.load(packed.textContent, Number(packed.dataset.size), Number(packed.dataset.unpacked)).then(() => setTimeout(() => expression.rules(), 300),
    e => complain($("broken"), `This browser cannot run the page: ${e.message}`));
  packed.remove();
}
