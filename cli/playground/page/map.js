// The tab "Map".

const maps = {
  // As kLanguages of the toolkit names them, and a view's shape with its operations.
  languages: [...expression.languages, "view"],

  examples: [
    { group: "One map", name: "a layout", first: "(4,8):(8,1)" },
    { group: "One map", name: "a swizzle, by bank", first: "Swizzle<3,3,3> o (8,64):(64,1)", by: "bank" },
    { group: "One map", name: "lanes of a tile", first: "lane=1 -> (1), lane=2 -> (8), lane=4 -> (16), reg=1 -> (2), reg=2 -> (4)", by: "lane" },
    { group: "One map", name: "padding", first: "3,4 pad 1:1,0:1", from1: "view" },
    { group: "One map", name: "from an address back", first: "shape=(4, 6), strides=(8, 1)", operation: "inverse" },
    { group: "Two maps", name: "equal, step by step", first: "(x >> 2 << 2) + (x & 3)", from1: "c", second: "x", vars: "x=0..63", operation: "equal" },
    { group: "Two maps", name: "two layouts that differ", first: "((4,4),(4,2)):((1,32),(4,16))", second: "(16,8):(1,16)", operation: "equal" },
    { group: "Two maps", name: "a nested and a flat text", first: "(4,(2,4)):(8,(1,2))", second: "i%4*8 + i//4", vars: "i=0..31", operation: "equal" },
    { group: "Two maps", name: "a composition", first: "(10,2):(16,4)", second: "(3,4):(1,5)", operation: "compose" },
    { group: "Two maps", name: "an overlap", first: "i*3", second: "j*5 + 6", vars: "i=0..15 j=0..7", operation: "overlap" },
  ],

  init() {
    fillExamples($("m-examples"), this.examples, e => this.set(e));
    for (const id of ["m-from1", "m-from2"]) $(id).append(...this.languages.map(l => make("option", { value: l }, l)));
    const asked = calmly(() => this.ask(), 60);
    for (const id of this.fields) $(id).addEventListener("input", asked);
  },

  fields: ["m-first", "m-second", "m-from1", "m-from2", "m-vars", "m-assume", "m-symbols", "m-operation", "m-by", "m-banks", "m-bytes"],
  defaults: { operation: "show", by: "address", banks: "32", bytes: "4" },

  open(query) {
    this.set(query.has("first") ? Object.fromEntries(query) : this.examples[0]);
  },

  set(e) {
    for (const id of this.fields) $(id).value = e[id.slice(2)] ?? this.defaults[id.slice(2)] ?? "";
    this.ask();
  },

  question() {
    const vars = {}, list = id => $(id).value.split(/\s+/).filter(w => w);
    for (const word of list("m-vars")) {
      const [, name, lo, hi] = /^([^=]+)=(-?\d{1,15})?\.\.(-?\d{1,15})?$/.exec(word) ?? [];
      if (!name) throw new Error(`'${word}' is no variable with its bounds; write i=0..7, and n=1.. if it is open`);
      vars[name] = [lo, hi].map(end => end === undefined ? null : Number(end));
    }
    const second = $("m-second").value.trim() !== "", ids = second ? ["1", "2"] : ["1"];
    return { ask: "map", operation: $("m-operation").value, maps: second ? [$("m-first").value, $("m-second").value] : [$("m-first").value],
             from: ids.map(n => $(`m-from${n}`).value), vars, assume: $("m-assume").value.split("\n").filter(l => l.trim()),
             symbols: list("m-symbols"), by: $("m-by").value, banks: Number($("m-banks").value), bytes: Number($("m-bytes").value) };
  },

  async ask() {
    state.write(Object.fromEntries(this.fields.map(id => [id.slice(2), $(id).value]).filter(([k, v]) => v !== this.defaults[k])));
    let question, a;
    try {
      question = this.question();
      a = await engine.ask("map", question);
    } catch (e) {
      a = { error: e.message };
    }
    if (a === null) return;  // superseded
    complain($("m-error"), a.error);
    $("m-result").hidden = Boolean(a.error);
    shown();
    if (!a.error) this.show(a);
  },

  show(a) {
    $("m-verdict").textContent = a.answer ?? "";
    $("m-verdict").className = { yes: "good", no: "bad" }[a.answer] ?? "";
    $("m-why").textContent = a.why ?? "";
    if (a.drawing) $("m-drawing").innerHTML = a.drawing;
    else $("m-drawing").replaceChildren(make("p", { class: "soft" }, `Not drawn: ${a.undrawn}`));
    const rest = Object.entries(a).filter(([k, v]) => typeof v === "string" && !["operation", "answer", "why", "drawing", "undrawn"].includes(k));
    $("m-lines").replaceChildren(...rest.map(([k, v]) => make("tr", {}, make("th", {}, k), make("td", { class: "mono" }, v))));
    $("m-facts").hidden = rest.length === 0;
    const parts = (a.steps?.notes ?? []).map(n => make("p", {}, n));
    for (const part of a.steps?.parts ?? [])
      parts.push(make("h3", {}, `${part.title}: `, make("code", {}, part.start)), expression.chain(part, 0),
                 make("p", { class: part.good ? "good" : "bad" }, part.verdict));
    $("m-steps").replaceChildren(...parts);
    $("m-derivation").hidden = parts.length === 0;
  },
};
