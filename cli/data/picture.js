// A whole schedule as Graphviz drew it: dragging moves it, two fingers or the wheel zoom, a click
// selects a node.
function pictureOf(host, text, choose) {
  host.innerHTML = text;
  const drawing = host.querySelector("svg");
  const size = drawing.viewBox.baseVal, all = { x: size.x, y: size.y, width: size.width, height: size.height };
  drawing.removeAttribute("width");
  drawing.removeAttribute("height");
  const nodes = [];
  for (let i = 0; drawing.querySelector(`#i${i}`); ++i) nodes.push(drawing.querySelector(`#i${i}`));
  let view = { ...all };
  const look = to => {
    view = to;
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  };
  const scale = () => Math.max(view.width / host.clientWidth, view.height / host.clientHeight);
  const zoom = (by, x, y) => {
    const width = Math.min(Math.max(view.width * by, 60), all.width * 4), ratio = width / view.width;
    look({ x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio, width, height: view.height * ratio });
  };
  const pointOf = e => {
    const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(drawing.getScreenCTM().inverse());
    return [at.x, at.y];
  };
  const held = new Map();
  let moved = 0;
  host.addEventListener("pointerdown", e => {
    held.set(e.pointerId, [e.clientX, e.clientY]);
    if (held.size === 1) moved = 0;
    host.setPointerCapture(e.pointerId);
  });
  host.addEventListener("pointermove", e => {
    const before = held.get(e.pointerId);
    if (!before) return;
    const dx = e.clientX - before[0], dy = e.clientY - before[1];
    moved += Math.abs(dx) + Math.abs(dy);
    if (held.size === 2) {
      const [other] = [...held].filter(([id]) => id !== e.pointerId).map(([, at]) => at);
      const was = Math.hypot(before[0] - other[0], before[1] - other[1]);
      const is = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
      if (was > 0 && is > 0) zoom(was / is, ...pointOf(e));
    } else {
      look({ ...view, x: view.x - dx * scale(), y: view.y - dy * scale() });
    }
    held.set(e.pointerId, [e.clientX, e.clientY]);
  });
  for (const end of ["pointerup", "pointercancel"])
    host.addEventListener(end, e => {
      held.delete(e.pointerId);
      if (end === "pointercancel" || moved > 6) return;
      const hit = document.elementsFromPoint(e.clientX, e.clientY).map(n => n.closest(".node")).find(n => n);
      const i = hit ? nodes.indexOf(hit) : -1;
      if (i >= 0) choose(i);
    });
  host.addEventListener("click", e => e.preventDefault());
  host.addEventListener("wheel", e => {
    e.preventDefault();
    zoom(Math.exp(Math.sign(e.deltaY) * 0.18), ...pointOf(e));
  }, { passive: false });
  return {
    whole() { look({ ...all }); },
    zoom(by) { zoom(by, view.x + view.width / 2, view.y + view.height / 2); },
    // Marks a node; `move` centres it at a readable size unless all fits.
    mark(i, move) {
      nodes.forEach((n, k) => n.classList.toggle("lit", k === i));
      if (!nodes[i] || !move || (all.width <= host.clientWidth * 1.6 && all.height <= host.clientHeight * 1.6)) return;
      const box = nodes[i].getBBox(), origin = drawing.querySelector(".graph").transform.baseVal.consolidate().matrix;
      const x = box.x + box.width / 2 + origin.e, y = box.y + box.height / 2 + origin.f;
      const width = host.clientWidth * 0.8, height = host.clientHeight * 0.8;
      // Stays within the picture's edges as far as possible.
      const within = (at, from, whole, shown) =>
        shown >= whole ? from + (whole - shown) / 2 : Math.min(Math.max(at, from - 12), from + whole - shown + 12);
      look({ x: within(x - width / 2, all.x, all.width, width), y: within(y - height / 2, all.y, all.height, height), width, height });
    },
  };
}
