// The page's state is the URL's fragment: #view?words=4,6+permute+1,0

const state = {
  tab: "expression",
  read() {
    const [tab, rest = ""] = location.hash.slice(1).split("?", 2);
    this.tab = ["expression", "view", "map", "kernel"].includes(tab) ? tab : "expression";
    return new URLSearchParams(rest);
  },
  // Not on every key: browsers limit the rate of address changes and the length.
  write(values) {
    this.values = values;
    this.timer ??= setTimeout(() => this.flush(), 200);
  },
  flush() {
    clearTimeout(this.timer);
    this.timer = null;
    if (!this.values) return;
    const text = String(new URLSearchParams(Object.entries(this.values).filter(([, v]) => v !== "" && v !== undefined)));
    this.values = null;
    history.replaceState(null, "", `#${this.tab}${text && text.length <= 20_000 ? "?" + text : ""}`);
  },
};

const $ = id => document.getElementById(id);
const make = (name, attributes = {}, ...children) => {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes))
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
};
// Runs after a quiet period; at once if it was quiet before.
function calmly(run, quiet = 0) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(run, quiet); };
}
function fillExamples(select, examples, use) {
  for (const group of new Set(examples.map(e => e.group))) {
    const part = make("optgroup", { label: group });
    for (const e of examples.filter(x => x.group === group)) part.append(make("option", { value: examples.indexOf(e) }, e.name));
    select.append(part);
  }
  select.addEventListener("change", () => { if (select.value !== "") use(examples[Number(select.value)]); });
}
function complain(host, message) {
  host.replaceChildren(...(message ? [make("pre", { class: "error", role: "alert" }, message)] : []));
}
// Marks that an answer is shown, and records how long the first one took.
function shown() { document.documentElement.dataset.ready ??= Math.round(performance.now()); }
const count1 = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
