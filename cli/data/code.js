// A kernel's AST, its steps and its C in three boxes. Pointing at an entry, or moving with the
// arrow keys, highlights the related entries.
function showCode(boxes, k) {
  const columns = { ast: k.ast, uops: k.uops, c: k.c };
  for (const [id, lines] of Object.entries(columns))
    boxes[id].replaceChildren(...lines.map((line, i) => {
      const e = document.createElement("div");
      e.className = "code-line";
      e.dataset.line = i;
      e.tabIndex = i === 0 ? 0 : -1;
      e.textContent = line || " ";
      return e;
    }));
  // Related entries: nodes of the AST, steps, lines of C.
  const related = (column, line) => {
    const nodes = new Set(), steps = new Set(), c = new Set();
    if (column === "ast") nodes.add(k.node[line]);
    if (column === "uops") steps.add(line);
    if (column === "c") k.lines.forEach((l, i) => { if (l === line) steps.add(i); });
    if (column === "ast") k.nodes.forEach((n, i) => { if (n === k.node[line]) steps.add(i); });
    else steps.forEach(i => { if (k.nodes[i] >= 0) nodes.add(k.nodes[i]); });
    steps.forEach(i => { if (k.lines[i] >= 0) c.add(k.lines[i]); });
    return { ast: i => nodes.has(k.node[i]), uops: i => steps.has(i), c: i => c.has(i) };
  };
  const light = (column, line) => {
    const on = line === null ? null : related(column, line);
    for (const id of Object.keys(columns)) {
      let first = null;
      [...boxes[id].children].forEach((e, i) => {
        const lit = Boolean(on?.[id](i));
        e.classList.toggle("lit", lit);
        if (lit) first ??= e;
      });
      // Scrolls its own column, not the page.
      const box = boxes[id];
      if (first && id !== column && (first.offsetTop < box.scrollTop || first.offsetTop + 20 > box.scrollTop + box.clientHeight))
        box.scrollTop = first.offsetTop - box.clientHeight / 3;
    }
  };
  for (const id of Object.keys(columns)) {
    const box = boxes[id];
    box.onpointerover = e => { const l = e.target.closest(".code-line"); if (l) light(id, Number(l.dataset.line)); };
    box.onpointerleave = () => light(id, null);
    box.onfocusin = e => { const l = e.target.closest(".code-line"); if (l) light(id, Number(l.dataset.line)); };
    box.onkeydown = e => {
      const at = Number(e.target.dataset?.line ?? 0), to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: box.children.length - 1 }[e.key];
      if (to === undefined || !box.children[to]) return;
      e.preventDefault();
      e.stopPropagation();
      box.children[to].focus();
    };
  }
}
