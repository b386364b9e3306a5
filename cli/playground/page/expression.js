// The tab "Expression".

const expression = {
  // name -> { lo, hi, value } as text; kept while its name is edited away
  variables: new Map(),
  answer: null,
  steps: null,

  examples: [
    { group: "Simplify", name: "digits of a number", in: "x//12*12 + x%12//4*4 + x%4", vars: "x=0..99" },
    { group: "Simplify", name: "a sum under a division", in: "(a*4 + b)//4", vars: "a=0..10 b=0..3" },
    { group: "Simplify", name: "the same, b too large", in: "(a*4 + b)//4", vars: "a=0..10 b=0..7" },
    { group: "Simplify", name: "two variables, modulo", in: "(a*5 + b)%5 + (a*5 + b)//5*5", vars: "a=0..9 b=0..4" },
    { group: "Simplify", name: "a comparison that is known", in: "x%12//4*4 + x%4 + (x < 20)", vars: "x=0..99", assume: "x < 12" },
    { group: "Simplify", name: "minima and maxima", in: "max(min(x, 7), 0) + min(x - 3, x)", vars: "x=0..7" },
    { group: "Simplify", name: "a choice", in: "where(x < 8, x%8, x//8)", vars: "x=0..15", assume: "x < 8" },
    { group: "Simplify", name: "floor, with negative numbers", in: "-(x//2) - (-x)//2", vars: "x=-8..8" },
    { group: "Simplify", name: "beyond 64 bits", in: "(x*10000000000000000000 + 7)//10000000000000000000", vars: "x=0..9" },
    { group: "It stays", name: "as short as it gets", in: "a//2*2 + a//3", vars: "a=0..20" },
    { group: "Prove", name: "a false rule", in: "x//2", vars: "x=-9..9", claim: "x//-2 -> -(x//2)" },
    { group: "Prove", name: "a true rule, condition needed", in: "(6*x + y)//6", vars: "x=0..9 y=0..5", claim: "(6*x + y)//6 -> x ; 0 <= y and y < 6" },
  ],

  // As kLanguages of the toolkit names them; the last four are only read.
  languages: ["c", "python", "sympy", "jax", "tvm", "halide", "mlir", "isl", "cute", "triton", "strides", "einops"],

  init() {
    fillExamples($("e-examples"), this.examples, e => this.set(e));
    $("e-from").append(...this.languages.map(l => make("option", { value: l }, l)));
    $("e-to").append(...this.languages.slice(0, -4).map(l => make("option", { value: l }, l)));
    $("e-from").addEventListener("change", () => this.translate());
    $("e-to").addEventListener("change", () => this.write());
    const typed = calmly(() => this.ask());
    $("e-in").addEventListener("input", () => { this.find(); typed(); });
    $("e-assume").addEventListener("input", typed);
    for (const id of ["e-x", "e-y"]) $(id).addEventListener("change", () => this.values());
    $("e-table").addEventListener("change", () => this.draw());
    $("e-prove").addEventListener("submit", e => { e.preventDefault(); this.prove(); });
    $("e-steps").addEventListener("keydown", e => {
      const steps = [...$("e-steps").querySelectorAll(".step")], at = steps.indexOf(document.activeElement);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: steps.length - 1 }[e.key];
      if (to === undefined || !steps[to]) return;
      e.preventDefault();
      steps[to].focus();
    });
  },

  open(query) {
    this.set({ in: query.get("in") ?? this.examples[0].in, vars: query.get("vars") ?? (query.has("in") ? "" : this.examples[0].vars),
               assume: query.get("assume") ?? "", claim: query.get("claim") ?? "" });
  },

  set(e) {
    $("e-in").value = e.in;
    $("e-assume").value = e.assume ?? "";
    $("e-claim").value = e.claim ?? "";
    $("e-proof").replaceChildren();
    this.variables.clear();
    for (const word of (e.vars ?? "").split(/\s+/).filter(w => w)) {
      const [, name, lo, hi] = /^([^=]+)=(.*?)\.\.(.*)$/.exec(word) ?? [];
      if (name) this.variables.set(name, { lo, hi });
    }
    this.fresh = true;
    this.find();
    this.ask();
    if (e.claim) this.prove();
  },

  names() {
    const words = `${$("e-in").value} ${$("e-assume").value}`.match(/[A-Za-z_][A-Za-z_0-9]*/g) ?? [];
    const known = new Set(["and", "or", "not", "min", "max", "where", "True", "False", "tdiv", "tmod"]);
    return [...new Set(words)].filter(w => !known.has(w)).sort().slice(0, 24);
  },

  // Shows rows for the text's variables.
  find() {
    const names = this.names(), rows = $("e-variables");
    if (names.join() === [...rows.children].map(r => r.dataset.name).join() && !this.fresh) return;
    this.fresh = false;
    rows.replaceChildren(...names.map(name => {
      const v = this.variables.get(name) ?? { lo: "0", hi: "15" };
      this.variables.set(name, v);
      const changed = calmly(() => this.ask());
      const end = which => make("input", { class: "end mono", value: v[which], inputmode: "numeric", size: 5, placeholder: "open",
        "aria-label": `${which === "lo" ? "least" : "largest"} ${name}`,
        oninput: e => { v[which] = e.target.value.trim(); this.slide(name); changed(); } });
      const slider = make("input", { type: "range", "aria-label": `value of ${name}`, oninput: e => {
        v.value = Number(e.target.value); this.point(); } });
      const row = make("div", { class: "variable", "data-name": name }, end("lo"), make("span", { class: "mono" }, ` ≤ ${name} ≤ `),
                       end("hi"), slider, make("output", { class: "mono" }));
      return row;
    }));
    for (const name of names) this.slide(name);
  },

  ends(name) {
    const v = this.variables.get(name), whole = /^-?\d{1,15}$/;
    return v && whole.test(v.lo) && whole.test(v.hi) && Number(v.lo) <= Number(v.hi) ? [Number(v.lo), Number(v.hi)] : null;
  },

  slide(name) {
    const row = [...$("e-variables").children].find(r => r.dataset.name === name), slider = row.querySelector("[type=range]");
    const ends = this.ends(name), v = this.variables.get(name);
    slider.disabled = !ends;
    if (!ends) return;
    [slider.min, slider.max] = ends;
    v.value = Math.max(ends[0], Math.min(ends[1], v.value ?? ends[0] + Math.floor((ends[1] - ends[0]) / 2)));
    slider.value = v.value;
  },

  // The question as text: bounds may have more digits than JSON.stringify keeps.
  question(ask) {
    const end = t => t === "" || t === undefined ? "null" : /^-?\d+$/.test(t) ? t.replace(/^(-?)0+(?=\d)/, "$1") : JSON.stringify(t);
    const vars = this.names().map(n => { const v = this.variables.get(n); return `${JSON.stringify(n)}:[${end(v.lo)},${end(v.hi)}]`; });
    const assume = $("e-assume").value.split("\n").map(l => l.trim()).filter(l => l);
    return `{"ask":"${ask}","vars":{${vars}},"assume":${JSON.stringify(assume)},"in":${JSON.stringify($("e-in").value)}}`;
  },

  async ask() {
    this.find();
    const vars = this.names().map(n => `${n}=${this.variables.get(n).lo}..${this.variables.get(n).hi}`).join(" ");
    state.write({ in: $("e-in").value, vars, assume: $("e-assume").value, claim: $("e-claim").value });
    const asked = this.question("simplify"), text = await engine.askText("simplify", asked, ["steps", "values"]);
    if (text === null || asked !== this.question("simplify")) return;  // superseded
    const a = JSON.parse(text);
    complain($("e-error"), a.error);
    $("e-result").hidden = Boolean(a.error);
    if (a.error) { this.answer = null; $("e-steps").replaceChildren(); this.clearPlot(); return; }
    // Reads bounds from the text, because numbers may have any length.
    const [, min] = /"min":(null|-?\d+)/.exec(text), [, max] = /"max":(null|-?\d+)/.exec(text);
    const short = t => t.length > 24 ? `${t.slice(0, 10)}…(${t.replace("-", "").length} digits)` : t;
    this.answer = a;
    $("e-out").textContent = a.out;
    $("e-facts").textContent = `${min === "null" ? "(−∞" : "[" + short(min)}, ${max === "null" ? "∞)" : short(max) + "]"} · size ${a.size}` +
      ` · ${a.ns >= 2e5 ? (a.ns / 1e6).toFixed(1) + " ms" : "under 0.2 ms"}`;
    shown();
    this.choose();
    await Promise.all([this.derive(), this.values(), this.write()]);
  },

  // Replaces the text in another language by ours, with its ranges.
  async translate() {
    const from = $("e-from").value, assume = $("e-assume").value.split("\n").filter(l => l.trim());
    $("e-from").value = "";
    if (!from) return;
    const t = await engine.ask("translate", JSON.stringify({ ask: "translate", from, in: $("e-in").value, assume }));
    if (t === null) return;
    complain($("e-error"), t.error);
    $("e-result").hidden = Boolean(t.error);
    if (t.error) return;
    this.set({ in: t.results[0], assume: t.assume.join("\n"),
               vars: Object.entries(t.vars).map(([name, [lo, hi]]) => `${name}=${lo ?? ""}..${hi ?? ""}`).join(" ") });
  },

  // The answer in another language.
  async write() {
    const asked = this.question("simplify").replace(/}$/, `,"to":${JSON.stringify($("e-to").value)}}`);
    const d = await engine.ask("write", asked);
    if (d !== null) $("e-written").textContent = d.error ?? d.out;
  },

  async derive() {
    const asked = this.question("steps"), d = await engine.ask("steps", asked);
    if (d === null || asked !== this.question("steps")) return;
    if (d.error) { $("e-verdict").textContent = d.error; $("e-steps").replaceChildren(); return; }
    const parts = [];
    let number = 0;
    for (const [i, a] of d.assumptions.entries()) {
      if (a.steps.length === 0) continue;
      parts.push(make("h3", {}, "What is assumed: ", make("code", {}, a.start)), this.chain(a, number));
      number += a.steps.length;
      if (i === d.assumptions.length - 1) parts.push(make("h3", {}, "The expression"));
    }
    parts.push(this.chain(d, number));
    $("e-steps").replaceChildren(...parts);
    $("e-verdict").textContent = d.verdict;
    $("e-verdict").className = d.good ? "good" : "bad";
  },

  chain(chain, before) {
    const list = make("ol", { class: "steps", start: before + 1 });
    chain.steps.forEach(s => list.append(this.step(s)));
    if (chain.steps.length === 0) list.append(make("li", { class: "soft none" }, "Nothing to do: it is as short as it gets."));
    return list;
  },

  step(s) {
    const line = (sign, [left, middle, right], mark) => make("p", { class: "line mono" }, make("span", { class: "sign" }, sign), left,
                                                             make("mark", { class: mark }, middle || "\u200b"), right);
    const facts = make("dl");
    const fact = (name, ...what) => facts.append(make("dt", {}, name), make("dd", { class: "mono" }, ...what));
    if (s.law[0]) fact("law", `${s.law[0]} → ${s.law[1]}`);
    if (s.bindings.length) fact("with", s.bindings.map(([n, v]) => `${n} = ${v}`).join(", "));
    if (s.when) fact("if", s.when);
    if (s.facts.length) fact("since", s.facts.join(", "));
    return make("li", { class: `step${s.explained ? "" : " open"}`, tabindex: 0 },
      make("h4", {}, s.rule ? make("a", { href: `#expression?claim=${s.rule}`, class: "rule", title: "look for a counterexample",
                                          onclick: e => { e.preventDefault(); $("e-claim").value = s.rule; this.prove(); $("e-claim").scrollIntoView({ block: "center" }); } },
                                   s.rule) : null, s.rule ? " " : null, s.title),
      line(" ", s.before, "was"), line("=", s.after, "now"), facts.children.length ? facts : null);
  },

  // The variables of the picture: the chosen ones, else those with the widest ranges.
  choose() {
    const able = this.names().filter(n => this.ends(n));
    const size = n => this.ends(n)[1] - this.ends(n)[0];
    const sorted = [...able].sort((a, b) => size(b) - size(a));
    for (const [id, first, none] of [["e-x", sorted[0], false], ["e-y", sorted[1], true]]) {
      const chosen = $(id).value, known = [...$(id).options].map(o => o.value).join();
      const wanted = [...(none ? [""] : []), ...able];
      if (known === wanted.join()) continue;
      $(id).replaceChildren(...wanted.map(n => make("option", { value: n }, n || "none")));
      $(id).value = wanted.includes(chosen) && chosen !== "" ? chosen : first ?? "";
    }
    if ($("e-y").value === $("e-x").value) $("e-y").value = "";
  },

  clearPlot() { this.table = null; $("e-plot").replaceChildren(); $("e-point").textContent = ""; $("e-agree").textContent = ""; },

  async values() {
    if (!this.answer) return;
    if ($("e-y").value === $("e-x").value) $("e-y").value = "";
    const axes = [$("e-x").value, $("e-y").value].filter(n => n);
    const all = this.names(), free = all.filter(n => !axes.includes(n));
    if (free.some(n => !this.ends(n))) { this.clearPlot(); $("e-agree").textContent = "A picture needs both ends of every variable."; return; }
    if (axes.length === 0 && all.length) { this.clearPlot(); return; }
    const most = axes.length === 2 ? 64 : 400;
    const ends = axes.map(n => this.ends(n));
    if (ends.includes(null)) { this.clearPlot(); return; }
    const over = axes.map((n, i) => { const [lo, hi] = ends[i]; return [n, lo, Math.min(hi, lo + most - 1)]; });
    const at = Object.fromEntries(free.map(n => [n, this.variables.get(n).value]));
    const assume = $("e-assume").value.split("\n").map(l => l.trim()).filter(l => l);
    const asked = this.question("values");
    const t = await engine.ask("values", { ask: "values", written: $("e-in").value, short: this.answer.out, assume, over, at });
    if (t === null || !this.answer || asked !== this.question("values")) return;
    if (t.error) { this.clearPlot(); $("e-agree").textContent = t.error; return; }
    this.table = { ...t, over, at };
    const cut = axes.some((_, i) => over[i][2] < ends[i][1]);
    $("e-agree").textContent = `${t.agree ? "Both forms agree" : "The forms differ"} at ${count1(t.written.length, "point")}` +
      `${cut ? ", the first of each range" : ""}${free.length ? ` with ${free.map(n => `${n} = ${at[n]}`).join(", ")}` : ""}.`;
    $("e-agree").className = t.agree ? "soft" : "bad";
    this.draw();
    this.point(false);
  },

  draw() {
    if (!this.table) return;
    const wide = this.table.over.length === 2;
    $("e-legend").hidden = wide || $("e-table").checked;
    $("e-plot").replaceChildren($("e-table").checked ? (wide ? plots.grid(this.table) : plots.list(this.table))
                                                     : wide ? plots.heat(this.table) : plots.curve(this.table));
  },

  // The values at the sliders.
  point(again = true) {
    for (const row of $("e-variables").children)
      row.querySelector("output").textContent = row.querySelector("[type=range]").disabled ? "" : `= ${this.variables.get(row.dataset.name).value}`;
    if (again) { this.values(); return; }
    const t = this.table;
    if (!t) return;
    let place = 0;
    for (const [n, lo, hi] of t.over) {
      const v = this.variables.get(n).value;
      if (v < lo || v > hi) { $("e-point").textContent = ""; return; }
      place = place * (hi - lo + 1) + v - lo;
    }
    const say = v => v === null ? "undefined" : v;
    $("e-point").textContent = `at the sliders: as written ${say(t.written[place])}, simplified ${say(t.short[place])}`;
  },

  async prove() {
    const claim = $("e-claim").value.trim();
    if (!claim) return;
    const within = [$("e-lo").value, $("e-hi").value].map(t => Math.round(Number(t)));
    const p = await engine.ask("prove", { ask: "prove", claim, within });
    if (p === null) return;
    const parts = [];
    if (p.error) parts.push(make("pre", { class: "error", role: "alert" }, p.error));
    else {
      const words = { proved: "proved", refuted: "refuted", open: "not refuted" }[p.verdict];
      parts.push(make("p", { class: "mono" }, p.claim),
                 make("p", {}, make("strong", { class: p.verdict === "refuted" ? "bad" : p.verdict === "proved" ? "good" : "" }, words), ` ${p.text}`));
      if (p.verdict === "open")
        parts.push(make("p", { class: "soft" }, "That is no proof. Z3, which decides for all integers, is not in this page: ",
                        make("code", {}, `touchstone prove '${claim}'`)));
    }
    $("e-proof").replaceChildren(...parts);
    const vars = this.names().map(n => `${n}=${this.variables.get(n).lo}..${this.variables.get(n).hi}`).join(" ");
    state.write({ in: $("e-in").value, vars, assume: $("e-assume").value, claim });
  },

  async rules() {
    const r = await engine.ask("rules", { ask: "rules" });
    for (const rule of r?.rules ?? []) $("e-rules").append(make("option", { value: rule.name }, rule.title || rule.claim));
  },
};
