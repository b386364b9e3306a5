// The tab "Kernel".

const kernels = {
  answer: null,
  at: 0,  // the kernel shown

  examples: [
    { group: "Formulas", name: "softmax", text: "softmax(x[4,9])" },
    { group: "Formulas", name: "a product of matrices", text: "relu(matmul(a[4,6], b[6,3]) + c[3])" },
    { group: "Formulas", name: "a sum that loses digits", text: "sum(x[3,40]:f16, axis=1, accumulate=f16)" },
    { group: "Formulas", name: "a tenth, three times", text: "x[4]:f32 + x + x", inputs: { x: "0.1 0.7 1e-40 16777217" } },
    { group: "Formulas", name: "special values", text: "maximum(x[6], y[6]) / x", inputs: { x: "0 -0.0 nan inf -inf 1", y: "1 0 2 -inf inf nan" } },
    { group: "Formulas", name: "a transpose, added", text: "x[4,6] + transpose(y[6,4])" },
    { group: "Programs", name: "pad, then add", text: "float32 2,3: 1 -2.5 nan; exp2 %0; pad %1 0:1,0:0; const float32 3,3: 2; add %2 %3" },
    { group: "Programs", name: "two kernels", text: "float32 3,4: 1 2 3 4 5; reduce_sum %0 1; contiguous %1; expand %2 3,4; sub %0 %3" },
    { group: "Programs", name: "integers wrap", text: "int8 4: 100 -128 127 1; add %0 %0; mul %1 %0" },
  ],

  init() {
    fillExamples($("k-examples"), this.examples, e => this.set(e));
    const typed = calmly(() => this.ask(), 120);
    $("k-text").addEventListener("input", typed);
    $("k-inputs").addEventListener("input", typed);
    $("k-profile").addEventListener("change", () => this.ask());
    $("k-which").addEventListener("change", () => { this.at = Number($("k-which").value); this.show(); });
  },

  open(query) {
    $("k-profile").value = query.get("profile") ?? "";
    this.set(query.has("text") ? { text: query.get("text"), inputs: query.get("inputs") ?? "" } : this.examples[0]);
  },

  set(e) {
    $("k-text").value = e.text;
    $("k-inputs").value = typeof e.inputs === "string" ? e.inputs : Object.entries(e.inputs ?? {}).map(([n, v]) => `${n}: ${v}`).join("\n");
    this.at = 0;
    this.ask();
  },

  inputs() {
    const out = {};
    for (const line of $("k-inputs").value.split("\n")) {
      const [, name, values] = /^\s*([A-Za-z_]\w*)\s*[:=]\s*(.*)$/.exec(line) ?? [];
      if (name) out[name] = values.trim();
    }
    return out;
  },

  question(ask, more = {}) {
    return { ask, text: $("k-text").value, inputs: this.inputs(), profile: $("k-profile").value, ...more };
  },

  async ask() {
    state.write({ text: $("k-text").value, inputs: $("k-inputs").value, profile: $("k-profile").value });
    const a = await engine.ask("kernel", this.question("kernel"), ["element"]);
    if (a === null) return;
    complain($("k-error"), a.error);
    $("k-result").hidden = Boolean(a.error);
    if (a.error) return;
    this.answer = a;
    $("k-profile").title = `${a.profile}: ${a.profile_from}`;
    this.at = Math.min(this.at, a.kernels.length - 1);
    $("k-which-label").hidden = a.kernels.length < 2;
    $("k-which").replaceChildren(...a.kernels.map((k, i) => make("option", { value: i }, `${i + 1}: ${k.name}`)));
    $("k-which").value = this.at;
    this.show();
    shown();
  },

  show() {
    const k = this.answer.kernels[this.at];
    if (!k) { $("k-code").replaceChildren(make("p", { class: "soft" }, "Nothing is computed.")); $("k-output").replaceChildren(); return; }
    showCode({ ast: $("k-ast"), uops: $("k-uops"), c: $("k-c") }, k);
    this.values(k);
  },

  values(k) {
    const size = k.shape.reduce((a, b) => a * b, 1), columns = [...k.shape].reverse().find(s => s > 1) ?? 1;
    $("k-title").textContent = `${k.name}: ${k.dtype} (${k.shape.join(", ")})`;
    $("k-fed").replaceChildren(...k.inputs.map(i => make("div", { class: "mono fed" }, make("strong", {}, i.name),
      ` ${i.dtype}, ${count1(i.size, "element")}: ${i.values.slice(0, 12).map(v => v[0]).join("  ")}${i.size > 12 ? " …" : ""}`)));
    const rows = [];
    for (let i = 0; i < k.output.length; i += columns)
      rows.push(make("tr", {}, ...k.output.slice(i, i + columns).map(([text, bits, legal], j) => {
        const exact = legal.startsWith("0x") && !legal.includes(" or ");
        return make("td", { class: exact ? "determined" : "open", tabindex: i + j === 0 ? 0 : -1, "data-place": i + j, title: `${bits}\nlegal ${legal}` }, text);
      })));
    const body = make("table", { class: "elements mono" }, make("tbody", {}, ...rows));
    const pick = e => { const cell = e.target.closest("td"); if (cell) { this.explain(k, Number(cell.dataset.place)); } };
    body.addEventListener("pointerover", pick);
    body.addEventListener("focusin", pick);
    body.addEventListener("keydown", e => {
      const at = Number(e.target.dataset?.place), to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + columns, ArrowUp: at - columns }[e.key];
      const cell = body.querySelector(`[data-place="${to}"]`);
      if (cell) { e.preventDefault(); cell.focus(); }
    });
    $("k-output").replaceChildren(body, ...(size > k.output.length ? [make("p", { class: "soft" }, `the first ${k.output.length} of ${size}`)] : []));
    this.shown = null;
    if (k.output.length) this.explain(k, 0);
    else $("k-detail").replaceChildren(make("p", { class: "soft" }, "no elements"));
  },

  async explain(k, place) {
    if (this.shown === place) return;
    this.shown = place;
    for (const cell of $("k-output").querySelectorAll("td")) cell.classList.toggle("picked", Number(cell.dataset.place) === place);
    const at = unravel(place, k.shape);
    const e = await engine.ask("element", this.question("element", { kernel: this.at, at }));
    if (e === null || this.shown !== place) return;
    if (e.error) { complain($("k-detail"), e.error); return; }
    const brief = x => x !== 0 && Math.abs(x) < 1e-3 ? x.toExponential(2) : String(Number(x.toPrecision(3)));
    const row = n => make("li", {}, make("div", { class: "mono node" }, n.text), make("dl", {},
      ...[["reference", n.reference], ["exact", n.exact], ["legal", n.legal],
          ["radius", n.radius === null ? "" : `${brief(n.radius)} = ${n.terms.map(([what, amount]) => `${brief(amount)} ${what}`).join(" + ")}`]]
        .filter(([, v]) => v).flatMap(([t, v]) => [make("dt", {}, t), make("dd", { class: "mono" }, v)])));
    $("k-detail").replaceChildren(make("h3", {}, `Element (${at.join(", ")})`), make("ol", { class: "nodes", start: 0 }, ...e.nodes.map(row)));
  },
};
