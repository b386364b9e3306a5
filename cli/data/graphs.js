// Graphs whose layout is in the report, before and after a step.
const kHigh = 34, kMarks = ["", "was", "now", "gone", "new"];

function drawGraph(graph) {
  const [width, height] = graph.size;
  const out = svg("svg", { width: Math.ceil(width), height: Math.ceil(height), viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
                           role: "img", "aria-label": `a graph: ${graph.note}` });
  for (const p of graph.edges) {
    let d = `M${p[0]} ${p[1]}`;
    for (let i = 2; i < p.length; i += 6) d += `C${p.slice(i, i + 6).join(" ")}`;
    out.append(svg("path", { class: "arrow", d, "marker-end": "url(#arrow)" }));
  }
  for (const [id, x, y, wide, mark, cut] of graph.boxes) {
    const [head, arg, line, origin, kind] = report.nodes[id];
    const g = svg("g", { class: `node ${kMarks[mark] || kind}`, "data-line": line });
    const title = svg("title", {});
    title.textContent = line + (report.origins[origin] ? "\nof " + report.origins[origin] : "");
    if (cut) out.append(svg("path", { class: "arrow cut", d: `M${x} ${y - kHigh / 2 - 14}V${y - kHigh / 2}` }));
    g.append(title, svg("rect", { x: x - wide / 2, y: y - kHigh / 2, width: wide, height: kHigh }));
    const text = (value, at, name) => {
      const t = svg("text", { x, y: at, "text-anchor": "middle", class: name });
      t.textContent = value;
      g.append(t);
    };
    text(head, y + (arg ? -3 : 4), "");
    if (arg) text(arg, y + 10, "arg");
    out.append(g);
  }
  return out;
}

// Both graphs of a step, the marked node of each in view.
function showGraphs(pair, host) {
  const panels = html("div", undefined, "graphs"), canvases = [];
  ["before", "after"].forEach((side, i) => {
    const graph = report.graphs[pair[i]], box = html("div", undefined, "box"), canvas = html("div", undefined, "canvas");
    canvas.id = `graph-${side}`;
    canvas.tabIndex = 0;
    canvas.append(drawGraph(graph));
    box.append(html("h2", `graph ${side}`), html("div", graph.note, "soft"), canvas);
    panels.append(box);
    canvases.push(canvas);
  });
  const legend = html("div", undefined, "legend soft");
  for (const [style, what] of [["background:var(--wash-was);border-color:var(--was)", "is replaced"], ["border:1.5px dashed var(--was)", "goes with it"],
                               ["background:var(--wash-now);border-color:var(--now)", "stands for it"], ["border:1.5px dashed var(--now)", "is new"]]) {
    const item = html("span", what), colour = html("i");
    colour.style = style;
    item.prepend(colour);
    legend.append(item);
  }
  if (pair.some(n => report.graphs[n].boxes.some(b => b[5]))) legend.append(html("span", "a dashed edge: it has more that is not shown"));
  host.append(panels, legend);
  for (const canvas of canvases) {
    const box = canvas.querySelector(".was rect, .now rect");
    if (box) canvas.scrollTo(+box.getAttribute("x") + box.getAttribute("width") / 2 - canvas.clientWidth / 2,
                             +box.getAttribute("y") - canvas.clientHeight / 2);
  }
}
