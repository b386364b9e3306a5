// Views drawn as grids of cells, with what each cell reads.
const kMost = 2048, kCropped = 640;  // cells of a grid drawn whole, and of a cropped one
const svg = (name, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
};
const html = (name, text, className) => {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
};
const count = shape => shape.reduce((a, b) => a * b, 1);
const tuple = list => "(" + list.join(", ") + (list.length === 1 ? ",)" : ")");
const axisColor = axis => `hsl(${[212, 12, 140, 280, 38, 320, 175, 60][axis % 8]} 75% 48%)`;

function unravel(flat, shape) {
  const index = new Array(shape.length);
  for (let i = shape.length; i-- > 0;) { index[i] = flat % shape[i]; flat = Math.floor(flat / shape[i]); }
  return index;
}
// What the view reads at an index: a number, or null where masked.
function reads(view, index) {
  if (view.mask && index.some((x, i) => x < view.mask[i][0] || x >= view.mask[i][1])) return null;
  return index.reduce((sum, x, i) => sum + x * view.strides[i], view.offset);
}
// Places the cells of a shape: the last axis runs right, the one before down, and the others
// towards whichever side is shorter. A single long axis wraps.
function layout(shape) {
  const n = count(shape), long = shape.filter(s => s > 1);
  if (long.length <= 1 && n > 20) {
    let width = 10;
    for (const w of [10, 12, 16, 8, 9, 14, 15, 18, 20]) if (n % w === 0) { width = w; break; }
    return { width, height: Math.ceil(n / width), rows: width,
             at: index => { const f = Math.max(0, ...index); return [f % width, Math.floor(f / width)]; } };
  }
  const step = [], extent = [1, 1], gap = [0, 0], axis = [-1, -1];  // axis: the finest of each side
  for (let i = shape.length; i-- > 0;) {
    const side = shape[i] === 1 ? 0 : extent[0] === 1 && extent[1] === 1 ? 0
      : extent[1] === 1 ? 1 : extent[0] <= extent[1] ? 0 : 1;
    const pitch = extent[side] + (extent[side] > 1 && shape[i] > 1 ? gap[side] += 0.35 : 0);
    step[i] = [side, pitch];
    if (axis[side] < 0 && shape[i] > 1) axis[side] = i;
    extent[side] = pitch * (shape[i] - 1) + extent[side];
  }
  return { width: extent[0], height: extent[1], axis,
           side: i => step[i][0], at: index => { const p = [0, 0]; index.forEach((x, i) => { p[step[i][0]] += x * step[i][1]; }); return p; } };
}

// The first indices of each axis, as many as can be drawn; the longest axes are cropped first.
function cropOf(shape) {
  const crop = [...shape];
  while (count(shape) > kMost && count(crop) > kCropped) {
    const longest = crop.indexOf(Math.max(...crop));
    crop[longest] = Math.max(1, Math.min(Math.ceil(crop[longest] / 2), crop[longest] - 1));
  }
  return crop;
}

function grid(view, base, place, last) {
  const shape = view ? view.shape : base;
  const panel = html("section", undefined, "panel"), n = count(shape);
  const name = !view ? "buffer" : last === 1 ? "view" : place === 0 ? "outermost view"
    : place === last - 1 ? "innermost view" : "view below";
  panel.append(html("h2", `${name} ${tuple(shape)}`));
  if (view) panel.append(html("div", `strides ${tuple(view.strides)}  offset ${view.offset}` +
    (view.mask ? `  mask ${view.mask.map(m => `[${m[0]},${m[1]})`).join(" ")}` : ""), "mono soft"));
  else panel.append(html("div", `${n} element${n === 1 ? "" : "s"}`, "soft"));
  // Cells by the flat index of their element.
  const g = { view, shape, panel, n, cells: new Map(), numbers: new Map(), drawn: n > 0 };
  g.next = flat => view ? reads(view, unravel(flat, shape)) : flat;
  if (!g.drawn) {
    panel.append(html("p", "no elements", "soft"));
    return g;
  }
  const crop = cropOf(shape), flatten = index => index.reduce((f, x, i) => f * shape[i] + x, 0);
  if (count(crop) < n)
    panel.append(html("div", `drawn: the first ${crop.join(" × ")} of ${shape.join(" × ")}`, "soft"));
  const where = layout(crop);
  g.size = Math.max(11, Math.min(last < 2 ? 36 : 29, Math.floor((last < 2 ? 620 : 590) / Math.max(where.width, where.height * 0.8, 1))));
  const left = 34, top = 18;  // room for the indices of the axes
  g.centre = flat => where.at(unravel(flat, shape)).map((p, side) => (p + 0.5) * g.size + 3 + (side ? top : left));
  g.svg = svg("svg", { width: where.width * g.size + 6 + left, height: where.height * g.size + 6 + top, role: "img",
                       class: "grid", "aria-label": `${name} of shape ${tuple(shape)}` });
  ticks(g, crop, where);
  for (let place = 0; place < count(crop); ++place) {
    const flat = flatten(unravel(place, crop)), [x, y] = g.centre(flat);
    const cell = svg("rect", { x: x - g.size / 2 + 1, y: y - g.size / 2 + 1, width: g.size - 2, height: g.size - 2,
                               rx: 2, class: "cell" });
    const number = svg("text", { x, y, class: "number", "font-size": Math.min(13, g.size * 0.4) });
    g.cells.set(flat, cell);
    g.numbers.set(flat, number);
    g.svg.append(cell);
    if (g.size >= 17) g.svg.append(number);
  }
  panel.append(g.svg);
  return g;
}

// Indices of the axis that runs right, above the grid; of the one that runs down, to the left.
function ticks(g, crop, where) {
  const put = (x, y, text, anchor) => {
    const t = svg("text", { x, y, class: "tick", "text-anchor": anchor });
    t.textContent = text;
    g.svg.append(t);
  };
  const every = (size, room) => Math.max(1, Math.ceil(room / size));
  if (where.rows) {  // one axis, wrapped: the first index of each row
    put(2, 11, `axis ${crop.findIndex(s => s > 1)}, ${where.rows} a row`, "start");
    for (let i = 0; i < count(crop); i += where.rows * every(g.size, 13)) put(30, g.centre(i)[1] + 4, i, "end");
    return;
  }
  const flatten = index => index.reduce((f, x, i) => f * g.shape[i] + x, 0);
  [0, 1].forEach(side => {
    const axis = where.axis[side];
    if (axis < 0) return;
    const step = every(g.size, side ? 13 : 8 * String(crop[axis] - 1).length + 6);
    // Along coarser axes of the same side the indices restart.
    const coarse = crop.map((s, i) => i !== axis && where.side(i) === side ? s : 1);
    for (let block = 0; block < count(coarse); ++block)
      for (let k = 0; k < crop[axis]; k += step) {
        const index = unravel(block, coarse);
        index[axis] = k;
        const [x, y] = g.centre(flatten(index));
        if (side) put(30, y + 4, k, "end"); else put(x, 15, k, "middle");
      }
  });
  const names = [where.axis[1] >= 0 ? `${where.axis[1]}↓` : "", where.axis[0] >= 0 ? `${where.axis[0]}→` : ""];
  put(1, 11, names.filter(n => n).join(" "), "start");
}

function connect(grids, readout) {
  const buffer = grids[grids.length - 1];
  // The final address of each cell; null is padding.
  for (let i = grids.length; i-- > 0;) {
    const g = grids[i], below = grids[i + 1];
    const final = k => k === null ? null : !below ? k : below.final(k);
    g.final = flat => final(g.next(flat));
  }
  const read = new Set();
  for (const f of grids[0].cells.keys()) follow(grids, 0, f).forEach((k, i) => read.add(i + ":" + k));
  grids.forEach((g, place) => {
    if (!g.drawn) return;
    g.cells.forEach((cell, flat) => {
      const address = g.final(flat), own = g.next(flat), number = g.numbers.get(flat);
      const reached = !grids[0].drawn || read.has(place + ":" + flat);
      if (address === null) cell.classList.add("masked");
      else if (reached) {
        cell.classList.add("read");
        cell.style.setProperty("--h", Math.round(310 * address / Math.max(1, buffer.n)));
      }
      number.textContent = own === null ? "" : g.view ? own : flat;
      if (!reached || address === null) number.classList.add("faint");
      for (const event of ["pointerenter", "pointerdown"])
        cell.addEventListener(event, () => light(grids, place, flat, readout));
    });
    // A lifted finger keeps its selection; a mouse that leaves clears it.
    g.svg.addEventListener("pointerleave", e => { if (e.pointerType === "mouse") light(grids, -1, 0, readout); });
  });
  for (let i = 0; i + 1 < grids.length; ++i) arrows(grids[i], grids[i + 1]);
}

// The cell reached in each grid from `place` on; stops at padding.
function follow(grids, place, flat) {
  const path = new Array(place).fill(-1);
  for (let i = place; i < grids.length && flat !== null; ++i) {
    path.push(flat);
    flat = grids[i].next(flat);
  }
  return path;
}

function light(grids, place, flat, readout) {
  grids.forEach(g => g.cells.forEach(cell => cell.classList.remove("lit")));
  if (place < 0) return;
  const path = follow(grids, place, flat);
  path.forEach((k, i) => { const cell = grids[i].cells.get(k); if (cell) cell.classList.add("lit"); });
  for (let i = place; i-- > 0;) {  // and the cells that read it
    if (!grids[i].drawn) break;
    grids[i].cells.forEach((cell, f) => { if (follow(grids, i, f)[place] === flat) cell.classList.add("lit"); });
  }
  const words = [];
  for (let i = place; i < path.length; ++i)
    words.push(grids[i].view ? `${tuple(unravel(path[i], grids[i].shape))} of ${tuple(grids[i].shape)}`
                             : `address ${path[i]}`);
  if (path.length < grids.length) words.push("padding");
  readout.textContent = words.join("  →  ");
}

// One step along each axis from the first valid cell, here and in the grid below.
function arrows(g, below) {
  const axes = html("div", undefined, "axes");
  const begin = g.shape.map((_, i) => g.view.mask ? g.view.mask[i][0] : 0);
  const end = g.shape.map((s, i) => g.view.mask ? g.view.mask[i][1] : s);
  const flatten = index => index.reduce((f, x, i) => f * g.shape[i] + x, 0);
  g.shape.forEach((size, axis) => {
    const entry = html("span", `axis ${axis}: size ${size}, stride ${g.view.strides[axis]}`);
    entry.style.setProperty("--axis", axisColor(axis));
    axes.append(entry);
    if (!g.drawn || end[axis] - begin[axis] < 2) return;
    const next = [...begin];
    ++next[axis];
    const from = reads(g.view, begin), to = reads(g.view, next);
    if (!g.cells.has(flatten(begin)) || !g.cells.has(flatten(next))) return;
    arrow(g, flatten(begin), flatten(next), axis, g.shape.length);
    if (below.cells.has(from) && below.cells.has(to) && from !== to)
      arrow(below, from, to, axis, g.shape.length);
  });
  if (g.shape.length > 0) g.panel.append(axes);
}

function arrow(g, from, to, axis, axes) {
  const [x0, y0] = g.centre(from), [x1, y1] = g.centre(to);
  const dx = x1 - x0, dy = y1 - y0, length = Math.hypot(dx, dy);
  if (length === 0) return;
  // Between cells, beside their numbers: ends lie off the centres, arrows of different axes apart.
  const side = axes > 1 ? (axis / (axes - 1) - 0.5) * 0.34 * g.size : 0;
  const bend = side * 1.6 + Math.min(26, Math.max(0, length - 1.5 * g.size) * 0.2);
  const nx = dy / length, ny = -dx / length, off = Math.min(0.3 * g.size, length * 0.3);
  const sx = x0 + dx / length * off + nx * side, sy = y0 + dy / length * off + ny * side;
  const mx = (x0 + x1) / 2 + nx * (bend + side), my = (y0 + y1) / 2 + ny * (bend + side);
  const tx = x1 + nx * side - mx, ty = y1 + ny * side - my, t = Math.hypot(tx, ty), ux = tx / t, uy = ty / t;
  const head = Math.max(5, g.size * 0.2);
  const ex = x1 + nx * side - ux * (off + head * 0.5), ey = y1 + ny * side - uy * (off + head * 0.5);
  const path = `M${sx},${sy} Q${mx},${my} ${ex},${ey}`;
  const tip = `M${ex + ux * head},${ey + uy * head} L${ex - uy * head * 0.6},${ey + ux * head * 0.6}` +
    ` L${ex + uy * head * 0.6},${ey - ux * head * 0.6} Z`;
  g.svg.append(svg("path", { d: path, class: "halo" }),
               svg("path", { d: path, class: "stride", stroke: axisColor(axis) }),
               svg("path", { d: tip, fill: axisColor(axis), "pointer-events": "none" }));
}

// Draws a stack into `host`, outermost view first, above the buffer of shape `base`. `readout`
// describes the cell pointed at.
function drawStack(host, stack, base, readout) {
  readout.textContent = "Point at a cell, or tap it, to follow what it reads.";
  const grids = stack.map((view, i) => grid(view, base, i, stack.length));
  grids.push(grid(null, base, stack.length, stack.length));
  connect(grids, readout);
  const parts = [];
  grids.forEach((g, i) => { if (i > 0) parts.push(html("div", "→", "then")); parts.push(g.panel); });
  host.replaceChildren(...parts);
  return grids;
}

// Marks the points that show why two neighbouring views are no single view; place: of the view in
// the grids. Each point and the cell it reads are numbered.
function drawWitness(grids, place, witness) {
  const below = grids[place + 1];
  const mark = (g, flat, text) => {
    if (!g.cells.has(flat)) return;
    const [x, y] = g.centre(flat), r = Math.max(5.5, g.size * 0.23);
    const at = { x: x + g.size * 0.33, y: y - g.size * 0.33 };
    g.svg.append(svg("rect", { x: x - g.size / 2 + 1, y: y - g.size / 2 + 1, width: g.size - 2, height: g.size - 2,
                               rx: 2, class: "witness" }),
                 svg("circle", { cx: at.x, cy: at.y, r, class: "badge" }));
    const t = svg("text", { x: at.x, y: at.y, class: "badge-text", "font-size": r * 1.5 });
    t.textContent = text;
    g.svg.append(t);
  };
  witness.points.forEach((point, i) => {
    const flat = point.reduce((f, x, k) => f * grids[place].shape[k] + x, 0);
    mark(grids[place], flat, "abcdefgh"[i] || "·");
    if (witness.reads[i] !== null && below) mark(below, grids[place].next(flat), "abcdefgh"[i] || "·");
  });
}
