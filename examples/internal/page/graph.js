// Draws a graph from its description: rows by the distance from the start, nodes
// as boxes, subgraphs within the node that runs them.

const NS = "http://www.w3.org/2000/svg";
const START = "__start__", END = "__end__";
const GAP = { x: 18, y: 34 }, PAD = 14, HEIGHT = 30;

function element(name, attributes, parent) {
  const e = document.createElementNS(NS, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (parent) parent.append(e);
  return e;
}

// rows puts each node below all that lead to it, but for what leads back; the end is
// below all.
function rows(d) {
  const next = new Map();
  for (const e of d.edges) if (e.to !== END) next.set(e.from, [...(next.get(e.from) ?? []), e.to]);
  const row = new Map(), order = [], path = new Set(), back = new Set();
  const visit = (name) => {
    path.add(name);
    for (const to of next.get(name) ?? []) {
      if (path.has(to)) back.add(name + "\n" + to);
      else if (!order.includes(to)) visit(to);
    }
    path.delete(name);
    order.push(name);
  };
  for (const name of [START, ...d.nodes.map((n) => n.name)]) if (!order.includes(name)) visit(name);
  for (const name of order.reverse()) {
    row.set(name, row.get(name) ?? (name === START ? 0 : 1));
    for (const to of next.get(name) ?? []) {
      if (!back.has(name + "\n" + to)) row.set(to, Math.max(row.get(to) ?? 0, row.get(name) + 1));
    }
  }
  row.set(END, Math.max(...row.values()) + 1);
  return row;
}

// layout says where everything is, subgraphs first, as they are as large as they are.
function layout(d) {
  const boxes = new Map();
  for (const [name, row] of rows(d)) {
    const child = d.nodes.find((n) => n.name === name)?.subgraph;
    const inner = child ? layout(child) : null;
    const label = name === START ? "start" : name === END ? "end" : name;
    const w = Math.max(label.length * 7.6 + 22, inner ? inner.w + 2 * PAD : 0);
    boxes.set(name, { name, label, row, inner, w, h: inner ? inner.h + HEIGHT + PAD : HEIGHT });
  }
  const lines = [];
  for (const b of boxes.values()) (lines[b.row] ??= []).push(b);
  const width = (line) => line.reduce((sum, b) => sum + b.w + GAP.x, -GAP.x);
  const side = 22;
  const w = Math.max(...lines.filter(Boolean).map(width)) + 2 * side;
  let y = 4;
  for (const line of lines) {
    if (!line) continue;
    let x = (w - width(line)) / 2;
    const h = Math.max(...line.map((b) => b.h));
    for (const b of line) {
      Object.assign(b, { x, y: y + (h - b.h) / 2 });
      x += b.w + GAP.x;
    }
    y += h + GAP.y;
  }
  return { boxes, edges: d.edges, w, h: y - GAP.y + 4 };
}

// curve is the way of an edge. To the next row it goes straight down, a little to the
// left of one that comes back; within a row it goes below; past other rows it goes
// around them, down on the left and up on the right.
function curve(l, a, b) {
  const middle = (box) => box.x + box.w / 2;
  if (a.row === b.row) {
    const y = a.y + a.h, x = a === b ? 12 : 0;
    return `M${middle(a) - x} ${y} C${middle(a) - x} ${y + 20} ${middle(b) + x} ${y + 20} ${middle(b) + x} ${b.y + b.h + 2}`;
  }
  if (b.row === a.row + 1) {
    const [x1, x2, y1, y2] = [middle(a) - 5, middle(b) - 5, a.y + a.h, b.y];
    return `M${x1} ${y1} C${x1} ${y1 + 16} ${x2} ${y2 - 16} ${x2} ${y2 - 2}`;
  }
  if (b.row === a.row - 1) {
    const [x1, x2, y1, y2] = [middle(a) + 9, middle(b) + 9, a.y, b.y + b.h];
    return `M${x1} ${y1} C${x1} ${y1 - 16} ${x2} ${y2 + 16} ${x2} ${y2 + 2}`;
  }
  const down = b.row > a.row;
  const between = [...l.boxes.values()].filter((box) => box.row >= Math.min(a.row, b.row) && box.row <= Math.max(a.row, b.row));
  const out = down ? Math.min(...between.map((box) => box.x)) - 14 : Math.max(...between.map((box) => box.x + box.w)) + 14;
  const [x1, x2] = down ? [a.x, b.x - 2] : [a.x + a.w, b.x + b.w + 2];
  const [y1, y2] = [a.y + a.h / 2, b.y + b.h / 2];
  const turn = down ? 14 : -14;
  return `M${x1} ${y1} Q${out} ${y1} ${out} ${y1 + turn} L${out} ${y2 - turn} Q${out} ${y2} ${x2} ${y2}`;
}

function paint(l, parent, prefix, found) {
  for (const e of l.edges) {
    const [a, b] = [l.boxes.get(e.from), l.boxes.get(e.to)];
    if (!a || !b) continue;
    const chosen = e.kind === "branch" || e.kind === "route";
    element("path", { d: curve(l, a, b), "marker-end": "url(#arrow)", class: chosen ? "chosen" : "" }, parent);
  }
  for (const b of l.boxes.values()) {
    const end = b.name === START || b.name === END;
    const g = element("g", { class: end ? "end" : "node", transform: `translate(${b.x} ${b.y})` }, parent);
    element("rect", { width: b.w, height: b.h, rx: end ? HEIGHT / 2 : 6 }, g);
    element("text", { x: b.w / 2, y: HEIGHT / 2 }, g).textContent = b.label;
    if (!end) {
      g.dataset.node = prefix + b.name;
      found.set(prefix + b.name, g);
    }
    if (b.inner) {
      const box = element("g", { transform: `translate(${(b.w - b.inner.w) / 2} ${HEIGHT})` }, g);
      paint(b.inner, box, prefix + b.name + "/", found);
    }
  }
}

function inWords(d, prefix = "") {
  const name = (n) => (n === START ? "the start" : n === END ? "the end" : prefix + n);
  const own = d.edges.map((e) => `${name(e.from)} leads to ${name(e.to)}${e.kind === "branch" || e.kind === "route" ? " if chosen" : ""}.`);
  return own.concat(d.nodes.filter((n) => n.subgraph).map((n) => inWords(n.subgraph, prefix + n.name + "/"))).join(" ");
}

// draw draws into a place and returns the elements of the nodes by their path,
// such as "agent/tools".
export function draw(description, place) {
  const l = layout(description);
  const svg = element("svg", { viewBox: `0 0 ${l.w} ${l.h}`, role: "img", "aria-labelledby": "graphtitle graphwords" });
  svg.style.maxWidth = `${l.w}px`;
  element("title", { id: "graphtitle" }, svg).textContent = `The graph ${description.name}`;
  element("desc", { id: "graphwords" }, svg).textContent = inWords(description);
  const marker = element("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, element("defs", {}, svg));
  element("path", { d: "M0 0 L8 4 L0 8 z" }, marker);
  const found = new Map();
  paint(l, svg, "", found);
  place.replaceChildren(svg);
  return found;
}
