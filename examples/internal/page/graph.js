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

// rows puts each node at its distance from the start; the end is below all.
function rows(d) {
  const row = new Map([[START, 0]]);
  const queue = [START];
  while (queue.length) {
    const from = queue.shift();
    for (const e of d.edges) {
      if (e.from === from && e.to !== END && !row.has(e.to)) {
        row.set(e.to, row.get(from) + 1);
        queue.push(e.to);
      }
    }
  }
  for (const n of d.nodes) if (!row.has(n.name)) row.set(n.name, 1);
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
  const side = 26 + 8 * Math.min(4, d.edges.length);
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

// curve is the way of an edge: straight down to the next row, around on the left
// when it leaves rows out, and up again on the right.
function curve(a, b) {
  const [ax, ay, bx, by] = [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y];
  if (b.row === a.row + 1) return `M${ax} ${ay} C${ax} ${ay + 16} ${bx} ${by - 16} ${bx} ${by - 2}`;
  const right = b.row <= a.row;
  const [x1, x2] = right ? [a.x + a.w, b.x + b.w + 2] : [a.x, b.x - 2];
  const [y1, y2] = [a.y + a.h / 2, b.y + b.h / 2];
  const out = (right ? Math.max(x1, x2) + 30 : Math.min(x1, x2) - 30);
  return `M${x1} ${y1} C${out} ${y1} ${out} ${y2} ${x2} ${y2}`;
}

function paint(l, parent, prefix, found) {
  for (const e of l.edges) {
    const [a, b] = [l.boxes.get(e.from), l.boxes.get(e.to)];
    if (!a || !b) continue;
    const chosen = e.kind === "branch" || e.kind === "route";
    element("path", { d: curve(a, b), "marker-end": "url(#arrow)", class: chosen ? "chosen" : "" }, parent);
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
