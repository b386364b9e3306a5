// The tab "View".

const views = {
  ops: [],      // [op, argument]
  current: null,
  story: null,

  examples: [
    { group: "One view", name: "transpose", words: "4,6 permute 1,0" },
    { group: "One view", name: "split an axis", words: "12 reshape 3,4 permute 1,0" },
    { group: "One view", name: "padding", words: "3,4 pad 1:1,2:0" },
    { group: "One view", name: "backwards, every other", words: "8 stride -2" },
    { group: "One view", name: "broadcast", words: "3,1 expand 3,5" },
    { group: "One view", name: "windows", words: "8 as_strided 3,4:2,1:0" },
    { group: "One view", name: "merged again", words: "4,6 permute 1,0 reshape 24 reshape 6,4 permute 1,0" },
    { group: "Two views", name: "a cut row is no row", words: "4,6 shrink 0:4,0:3 reshape 12" },
    { group: "Two views", name: "a transpose, read flat", words: "3,4 permute 1,0 reshape 12" },
    { group: "Two views", name: "padding, split", words: "5 pad 1:2 reshape 2,4" },
    { group: "Two views", name: "reversed and padded", words: "4,4 flip 1 pad 0:0,1:1 reshape 24" },
    { group: "Sizes with variables", name: "rows of n", words: "n,6 permute 1,0 reshape 6*n", vars: "n=2..5" },
  ],

  init() {
    fillExamples($("v-examples"), this.examples, e => this.set(e));
    const typed = calmly(() => this.ask(), 60);
    $("v-words").addEventListener("input", () => { this.parse(); typed(); });
    $("v-vars").addEventListener("input", typed);
    $("v-add").addEventListener("submit", e => {
      e.preventDefault();
      this.ops.push([$("v-op").value, $("v-argument").value.trim() || "()"]);
      this.write();
    });
    $("v-slider").addEventListener("input", () => this.show(Number($("v-slider").value)));
    $("v-plain").addEventListener("change", () => this.draw());
    $("v-values").addEventListener("change", () => {
      const choice = this.story.choices[Number($("v-values").value)];
      this.story.base = choice.base;
      choice.steps.forEach((step, i) => Object.assign(this.story.steps[i], step));
      this.draw();
    });
  },

  open(query) {
    this.set(query.has("words") ? { words: query.get("words"), vars: query.get("vars") ?? "" } : this.examples[7]);
  },

  set(e) {
    $("v-words").value = e.words;
    $("v-vars").value = e.vars ?? "";
    this.current = null;
    this.parse();
    this.ask();
  },

  parse() {
    const words = $("v-words").value.trim().split(/\s+/);
    this.shape = words[0];
    this.ops = [];
    for (let i = 1; i < words.length; i += 2) this.ops.push([words[i], words[i + 1] ?? ""]);
  },

  write() {
    $("v-words").value = [this.shape, ...this.ops.flat()].join(" ").trim();
    this.ask();
  },

  async ask() {
    const words = $("v-words").value, vars = $("v-vars").value.trim();
    state.write({ words, vars });
    this.chips();
    const s = await engine.ask("view", { ask: "view", words, vars: vars ? vars.split(/\s+/) : [] });
    if (s === null) return;
    complain($("v-error"), s.error);
    $("v-result").hidden = Boolean(s.error);
    if (s.error) { this.story = null; return; }
    this.story = s;
    const merged = s.steps.some(step => step.composed.length !== step.views.length);
    $("v-plain-label").hidden = !merged;
    if (!merged) $("v-plain").checked = false;
    $("v-values-label").hidden = !s.choices;
    $("v-values").replaceChildren(...(s.choices ?? []).map((c, i) => make("option", { value: i }, c.label)));
    $("v-slider").max = s.steps.length - 1;
    this.chips();
    this.show(this.current === null ? s.steps.length - 1 : Math.min(this.current, s.steps.length - 1), true);
    this.index();
    shown();
  },

  // Chips for the shape and each operation: click to select, drag or Alt+arrow to move, Delete to
  // remove.
  chips() {
    const chips = [make("button", { class: "chip", type: "button", onclick: () => this.show(0, true) }, this.shape)];
    this.ops.forEach(([op, argument], i) => {
      const chip = make("button", { class: "chip", type: "button", draggable: true, title: "drag to move; Alt and an arrow move it, Delete takes it out",
                                    onclick: () => this.show(i + 1, true) }, `${op} ${argument}`);
      chip.addEventListener("keydown", e => {
        const to = e.altKey && e.key === "ArrowLeft" ? i - 1 : e.altKey && e.key === "ArrowRight" ? i + 1 : null;
        if (e.key === "Delete" || e.key === "Backspace") { e.preventDefault(); this.ops.splice(i, 1); this.write(); this.focusChip(i); }
        if (to !== null && this.ops[to]) { e.preventDefault(); this.move(i, to); this.focusChip(to + 1); }
      });
      chip.addEventListener("dragstart", e => { this.dragged = i; e.dataTransfer.setData("text/plain", `${op} ${argument}`); chip.classList.add("dragged"); });
      chip.addEventListener("dragend", () => { this.dragged = null; chip.classList.remove("dragged"); });
      chip.addEventListener("dragover", e => { if (this.dragged !== null) { e.preventDefault(); chip.classList.add("target"); } });
      chip.addEventListener("dragleave", () => chip.classList.remove("target"));
      chip.addEventListener("drop", e => { e.preventDefault(); if (this.dragged !== null) this.move(this.dragged, i); });
      chips.push(chip);
    });
    if (this.story?.steps.length > this.ops.length + 1)
      chips.push(make("button", { class: "chip last", type: "button", onclick: () => this.show(this.story.steps.length - 1, true) }, "simplified"));
    $("v-chips").replaceChildren(...chips);
    this.mark();
  },
  focusChip(i) { $("v-chips").children[Math.min(i, $("v-chips").children.length - 1)].focus(); },
  move(from, to) {
    const [op] = this.ops.splice(from, 1);
    this.ops.splice(to, 0, op);
    this.write();
  },
  mark() {
    [...$("v-chips").children].forEach((chip, i) => i === this.current ? chip.setAttribute("aria-current", "step") : chip.removeAttribute("aria-current"));
  },

  show(step, draw = true) {
    if (!this.story) return;
    this.current = Math.max(0, Math.min(this.story.steps.length - 1, step));
    if (draw) this.draw();
  },

  draw() {
    const step = this.story.steps[this.current];
    $("v-slider").value = this.current;
    $("v-slider").setAttribute("aria-valuetext", step.title);
    this.mark();
    $("v-notes").replaceChildren(...step.notes.map(note => make("li", {}, note)));
    const stack = [...($("v-plain").checked ? step.composed : step.views)].reverse();
    const grids = drawStack($("v-panels"), stack, this.story.base, $("v-readout"));
    if (!$("v-plain").checked) for (const w of step.witnesses) drawWitness(grids, stack.length - 1 - w.on, w);
  },

  index() {
    const rows = [["as composed", this.story.composed], ["simplified", this.story.simplified]].map(([title, text]) =>
      make("tr", {}, make("th", { scope: "row" }, title), make("td", {}, make("code", {}, text.index),
        make("div", { class: "mono soft" }, `valid ${text.valid === "1" ? "always" : "where " + text.valid}`),
        make("div", { class: "soft" }, [count1(text.cost.divisions, "division"), count1(text.cost.modulos, "modulo"), count1(text.cost.steps, "part")].join(", ")))));
    const strides = `(${this.story.strides.map(s => s ?? "?").join(", ")})${this.story.contiguous ? ", contiguous" : ""}`;
    rows.push(make("tr", {}, make("th", { scope: "row" }, "strides"), make("td", {}, make("code", {}, strides))));
    $("v-index").replaceChildren(...rows);
  },
};
