// Overlaid plots of an expression's values, as written and simplified.

const plots = {
  finite(v) { return v === null ? NaN : Number(v); },

  // About `wanted` round numbers between two.
  ticks(lo, hi, wanted) {
    const raw = Math.max((hi - lo) / wanted, 1), power = 10 ** Math.floor(Math.log10(raw));
    const step = Math.max(1, power * [1, 2, 5, 10].find(f => f * power >= raw));
    const out = [];
    for (let t = Math.ceil(lo / step) * step; t <= hi && out.length < 100; t += step) out.push(t);
    return out;
  },

  curve(table) {
    const [[name, lo, hi]] = table.over.length ? table.over : [["", 0, 0]];
    const width = 640, height = 260, left = 52, right = 12, top = 12, bottom = 30;
    const both = [table.written, table.short].map(list => list.map(this.finite));
    const seen = both.flat().filter(Number.isFinite);
    let [low, high] = seen.length ? [Math.min(...seen), Math.max(...seen)] : [0, 1];
    if (low === high) { low -= 1; high += 1; }
    const x = i => left + (width - left - right) * (hi === lo ? 0.5 : i / (hi - lo));
    const y = v => height - bottom - (height - top - bottom) * (v - low) / (high - low);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img",
      "aria-label": `values of both forms for ${name} from ${lo} to ${hi}, between ${low} and ${high}` });
    for (const t of this.ticks(low, high, 5)) {
      root.append(svg("line", { x1: left, x2: width - right, y1: y(t), y2: y(t), class: "rule-line" }));
      const text = svg("text", { x: left - 6, y: y(t) + 4, class: "tick", "text-anchor": "end" });
      text.textContent = Math.abs(t) >= 1e6 ? t.toExponential(0) : t;
      root.append(text);
    }
    for (const t of this.ticks(lo, hi, 10)) {
      const text = svg("text", { x: x(t - lo), y: height - bottom + 16, class: "tick", "text-anchor": "middle" });
      text.textContent = t;
      root.append(text);
    }
    const label = svg("text", { x: width - right, y: height - 2, class: "tick", "text-anchor": "end" });
    label.textContent = name;
    root.append(label);
    both.forEach((values, form) => {
      let path = "", open = false;
      values.forEach((v, i) => {
        path += Number.isFinite(v) ? `${open ? "L" : "M"}${x(i).toFixed(1)},${y(v).toFixed(1)}` : "";
        open = Number.isFinite(v);
      });
      root.append(svg("path", { d: path, class: form === 0 ? "as-written" : "simplified" }));
      if (values.length <= 80)
        values.forEach((v, i) => {
          if (Number.isFinite(v))
            root.append(svg("circle", { cx: x(i), cy: y(v), r: form === 0 ? 5 : 2.4,
                                        class: `${form === 0 ? "as-written" : "simplified"}${table.asked[i] ? "" : " outside"}` }));
        });
    });
    const line = svg("line", { y1: top, y2: height - bottom, class: "cursor", visibility: "hidden" });
    root.append(line);
    root.addEventListener("pointermove", e => {
      const box = root.getBoundingClientRect();
      const i = Math.round(((e.clientX - box.left) * width / box.width - left) / (width - left - right) * (hi - lo));
      if (i < 0 || i >= table.written.length) return;
      line.setAttribute("x1", x(i));
      line.setAttribute("x2", x(i));
      line.setAttribute("visibility", "visible");
      this.say(`${name} = ${lo + i}`, table, i);
    });
    return root;
  },

  say(where, table, i) {
    const text = v => v === null ? "undefined" : v;
    $("e-point").textContent = `${where}: as written ${text(table.written[i])}, simplified ${text(table.short[i])}` +
      (table.asked[i] ? "" : " (outside the assumptions)");
  },

  heat(table) {
    const [[xn, xlo, xhi], [yn, ylo, yhi]] = table.over, across = xhi - xlo + 1, down = yhi - ylo + 1;
    const size = Math.max(5, Math.min(30, Math.floor(560 / across), Math.floor(420 / down))), left = 40, top = 20;
    const values = table.written.map(this.finite), seen = values.filter(Number.isFinite);
    const low = Math.min(...seen), high = Math.max(...seen);
    const root = svg("svg", { viewBox: `0 0 ${left + across * size + 4} ${top + down * size + 4}`, class: "plot heat", role: "img",
      style: `max-width:${left + across * size + 4}px`,
      "aria-label": `values for ${xn} from ${xlo} to ${xhi} and ${yn} from ${ylo} to ${yhi}, between ${low} and ${high}` });
    for (let i = 0; i < across; ++i)
      for (let j = 0; j < down; ++j) {
        const k = i * down + j, share = high > low ? (values[k] - low) / (high - low) : 0.5;
        const differs = table.asked[k] && table.written[k] !== null && table.written[k] !== table.short[k];
        const cell = svg("rect", { x: left + i * size, y: top + j * size, width: size - 0.6, height: size - 0.6,
          class: !Number.isFinite(values[k]) ? "cell masked" : `heat-cell${table.asked[k] ? "" : " outside"}${differs ? " differs" : ""}` });
        cell.style.setProperty("--share", `${Math.round(100 * share)}%`);
        cell.dataset.place = k;
        root.append(cell);
        if (size >= 20 && table.written[k] !== null && String(table.written[k]).length <= 3) {
          const text = svg("text", { x: left + (i + 0.5) * size, y: top + (j + 0.5) * size, class: "number",
                                     "font-size": 11 });
          text.textContent = table.written[k];
          root.append(text);
        }
      }
    const put = (x, y, text, anchor) => {
      const t = svg("text", { x, y, class: "tick", "text-anchor": anchor });
      t.textContent = text;
      root.append(t);
    };
    for (const t of this.ticks(xlo, xhi, Math.max(2, across * size / 40))) put(left + (t - xlo + 0.5) * size, top - 5, t, "middle");
    for (const t of this.ticks(ylo, yhi, Math.max(2, down * size / 24))) put(left - 5, top + (t - ylo + 0.5) * size + 4, t, "end");
    put(2, top - 5, `${yn}↓ ${xn}→`, "start");
    const hover = e => {
      const k = e.target.dataset?.place;
      if (k !== undefined)
        this.say(`${xn} = ${xlo + Math.floor(k / down)}, ${yn} = ${ylo + k % down}`, table, Number(k));
    };
    root.addEventListener("pointerover", hover);
    root.addEventListener("pointerdown", hover);
    return root;
  },

  list(table) {
    const [[name, lo]] = table.over.length ? table.over : [["", 0]];
    const text = v => v === null ? "undefined" : String(v);
    const rows = table.written.slice(0, 400).map((v, i) =>
      make("tr", { class: table.asked[i] ? (v !== null && v !== table.short[i] ? "differs" : undefined) : "outside" },
           make("th", { scope: "row" }, String(lo + i)), make("td", {}, text(v)), make("td", {}, text(table.short[i]))));
    return make("div", { class: "scroll", tabindex: 0 }, make("table", { class: "values mono" },
      make("thead", {}, make("tr", {}, ...[name, "as written", "simplified"].map(t => make("th", { scope: "col" }, t)))),
      make("tbody", {}, ...rows)));
  },

  grid(table) {
    const [[xn, xlo, xhi], [yn, ylo, yhi]] = table.over, down = yhi - ylo + 1;
    const xs = Array.from({ length: xhi - xlo + 1 }, (_, i) => i);
    const head = make("tr", {}, make("th", {}, `${yn} \\ ${xn}`), ...xs.map(i => make("th", { scope: "col" }, String(xlo + i))));
    const rows = Array.from({ length: down }, (_, j) => make("tr", {}, make("th", { scope: "row" }, String(ylo + j)),
      ...xs.map(i => { const k = i * down + j, v = table.written[k];
        return make("td", { class: !table.asked[k] ? "outside" : v !== null && v !== table.short[k] ? "differs" : undefined }, v === null ? "–" : String(v)); })));
    return make("div", { class: "scroll", tabindex: 0 }, make("table", { class: "values mono" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  },
};
