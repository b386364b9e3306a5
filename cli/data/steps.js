// The kinds of steps: list entry, searched text and display.

function facts(host, rows) {
  const list = html("div", undefined, "facts");
  for (const [name, value, className] of rows) {
    if (value === "" || value === undefined || value === null) continue;
    const cell = html("span", undefined, `mono ${className ?? ""}`);
    cell.append(value);
    if (className) cell.id = className;
    list.append(html("span", name, "soft"), cell);
  }
  if (list.children.length) host.append(list);
}
function marked([left, middle, right], name) {
  const line = html("span"), mark = html("mark", middle, name);
  line.append(left, mark, right);
  return line;
}
function codeColumns(host, code) {
  const columns = html("div", undefined, "code-columns"), boxes = {};
  for (const [id, title] of [["ast", "AST"], ["uops", "Steps"], ["c", "C"]]) {
    const column = html("div"), head = html("h2", title), box = html("div", undefined, "code mono");
    head.id = `h-${id}`;
    box.id = id;
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", head.id);
    column.append(head, box);
    columns.append(column);
    boxes[id] = box;
  }
  host.append(columns);
  showCode(boxes, code);
}
const heading = (text, id) => { const p = html("p", text, "head"); if (id) p.id = id; return p; };
const soft = text => html("p", text, "soft");

const kinds = {
  // A rule was used on a graph: [rule, node before, node after, [graph before, graph after] or null].
  match: {
    name: s => report.rules[s[0]][0],
    words: s => `${report.rules[s[0]][0]} ${report.nodes[s[1]][2]} ${report.nodes[s[2]][2]} ${report.origins[report.nodes[s[1]][3]]}`,
    show(s, host) {
      const [name, why] = report.rules[s[0]], origin = report.origins[report.nodes[s[1]][3]];
      host.append(heading(name, "rule"), soft(why));
      if (origin) host.append(soft(`of ${origin}`));
      facts(host, [["before", report.nodes[s[1]][2], "before"], ["after", report.nodes[s[2]][2], "after"]]);
      if (s[3]) showGraphs(s[3], host);
      else host.append(soft("No graphs were made of this match: --graphs says of how many they are."));
    },
    none: (p, host) => { host.append(heading("no match", "rule"), soft("This pass left the graph as it was.")); if (p.steps.graphs) showGraphs(p.steps.graphs, host); },
  },

  // A law was used on an expression.
  law: {
    name: s => s.rule || s.title,
    words: s => `${s.rule} ${s.title} ${s.before.join("")} ${s.after.join("")}`,
    show(s, host) {
      host.append(heading(s.rule ? `${s.rule}: ${s.title}` : s.title, "rule"));
      facts(host, [["before", marked(s.before, "was"), "before"], ["after", marked(s.after, "now"), "after"],
                   ["law", s.law[0] && `${s.law[0]}  \u2192  ${s.law[1]}`], ["with", s.bindings.map(([n, v]) => `${n} = ${v}`).join(", ")],
                   ["if", s.when], ["since", s.facts.join(", ")]]);
      if (s.graphs) showGraphs(s.graphs, host);
    },
    none: (p, host) => host.append(heading("no step", "rule"), soft("It is as short as it gets.")),
  },

  kernel: {
    name: s => s.name,
    words: s => `${s.name} ${s.origin ?? ""} ${s.code.ast.join(" ")}`,
    show(s, host) {
      host.append(heading(s.name));
      if (s.origin) host.append(soft(`of ${s.origin}`));
      if (s.cost) host.append(soft(s.cost));
      codeColumns(host, s.code);
    },
    none: (p, host) => host.append(heading("no kernel"), soft("Nothing is computed.")),
  },

  // An item of a schedule, in the whole picture.
  item: {
    name: s => s.name,
    words: s => `${s.line} ${s.code ? s.code.ast.join(" ") : ""}`,
    show(s, host, i) {
      if (!this.picture) {
        this.host = html("div");
        this.host.id = "picture";
        this.host.tabIndex = 0;
        this.host.setAttribute("aria-label", "the schedule as a graph");
        host.append(this.host);
        this.picture = pictureOf(this.host, report.svg, k => choose(k));
        this.key = html("p", undefined, "legend soft");
        for (const [name, what] of [["--reduce", "reduce"], ["--elementwise", "elementwise"], ["--load", "load or copy"]]) {
          const item = html("span", what), colour = html("i");
          colour.dataset.of = name;
          item.prepend(colour);
          this.key.append(item);
        }
        this.key.append(html("span", "drag to move, wheel or + and - to zoom, 0: all of it"));
      }
      host.append(this.host, this.key);
      const colours = getComputedStyle(this.host.querySelector("svg"));  // of the picture, light or dark
      for (const i of this.key.querySelectorAll("i")) i.style.background = colours.getPropertyValue(i.dataset.of);
      this.picture.mark(i, !this.chosen);
      this.chosen = false;
      host.append(heading(`${i}  ${s.name}`), soft(s.line.trim()));
      if (s.code) codeColumns(host, s.code);
    },
    keys: { "+": () => kinds.item.picture.zoom(0.8), "-": () => kinds.item.picture.zoom(1.25), 0: () => kinds.item.picture.whole() },
    none: (p, host) => host.append(heading("nothing to run")),
  },

  // A movement operation, as grids.
  view: {
    name: s => s.title,
    words: s => `${s.title} ${s.notes.join(" ")}`,
    show(s, host, i) {
      const controls = html("div", undefined, "controls");
      const control = (text, e, id) => { const l = html("label", `${text} `); e.id = id; l.append(e); controls.append(l); return e; };
      if (report.choices) {
        const select = control("with", html("select"), "values");
        report.choices.forEach((c, k) => { const o = html("option", c.label); o.value = k; select.append(o); });
        select.value = this.choice ?? 0;
        select.addEventListener("change", () => {
          this.choice = Number(select.value);
          const choice = report.choices[this.choice];
          report.base = choice.base;
          choice.steps.forEach((step, k) => Object.assign(report.parts[state.part].steps[k], step));
          show();
        });
      }
      if (report.parts[state.part].steps.some(t => t.composed.length !== t.views.length)) {
        const plain = html("input");
        plain.type = "checkbox";
        plain.checked = Boolean(this.plain);
        control("nothing merged", plain, "plain").addEventListener("change", () => { this.plain = plain.checked; show(); });
      }
      const notes = html("ul", undefined, "notes"), panels = html("div", undefined, "panels"), readout = html("p", undefined, "readout mono");
      panels.id = "panels";
      readout.id = "readout";
      readout.setAttribute("aria-live", "polite");
      notes.append(...s.notes.map(n => html("li", n)));
      host.append(heading(s.title), controls, notes, panels, readout);
      const stack = [...(this.plain ? s.composed : s.views)].reverse();  // outermost first
      const grids = drawStack(panels, stack, report.base, readout);
      if (!this.plain) for (const w of s.witnesses) drawWitness(grids, stack.length - 1 - w.on, w);
      const legend = html("div", undefined, "legend soft");
      legend.innerHTML = `<span><svg width="15" height="15"><rect class="cell read" style="--h:200" x="1" y="1" width="13" height="13"/></svg>one colour an address, in all grids</span>
<span><svg width="15" height="15"><rect class="cell masked" x="1" y="1" width="13" height="13"/></svg>padding: nothing is read</span>
<span><svg width="15" height="15"><rect class="cell" x="1" y="1" width="13" height="13"/></svg>no index drawn here reads it</span>
<span>an arrow: one step along an axis, and where it leads below</span>`;
      const table = html("table", undefined, "index"), s1 = n => n === 1 ? "" : "s";
      for (const [title, text] of [["as composed", report.composed], ["simplified", report.simplified]]) {
        const row = html("tr"), body = html("td"), cost = text.cost;
        body.append(html("code", text.index), html("div", `valid ${text.valid === "1" ? "always" : "where " + text.valid}`, "mono soft"),
          html("div", `${cost.divisions} division${s1(cost.divisions)}, ${cost.modulos} modulo${s1(cost.modulos)}, ${cost.steps} part${s1(cost.steps)}`, "soft"));
        const head = html("th", title);
        head.scope = "row";
        row.append(head, body);
        table.append(row);
      }
      const title = html("h2", "The index after all operations");
      title.style.marginTop = "20px";
      host.append(legend, title, table);
    },
    none: () => {},
  },
};
