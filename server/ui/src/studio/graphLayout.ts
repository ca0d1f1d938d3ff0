import dagre from "@dagrejs/dagre";
import type { Drawing, GraphEdge } from "./data";

/** A Box is a node of a drawing with its place, relative to the box around it. */
export type Box = { id: string; path: string[]; name: string; kind: "start" | "end" | "node" | "group"; x: number; y: number; width: number; height: number; parent?: string; expandable: boolean; deferred: boolean; pauses: boolean };
export type Point = { x: number; y: number };
export type Line = { id: string; from: string; to: string; kind: GraphEdge["kind"]; points: Point[] };
export type Plan = { boxes: Box[]; lines: Line[]; width: number; height: number };

const nodeHeight = 46;
const headHeight = 34;
const pad = 16;

function widthOf(name: string): number {
  return Math.max(168, Math.min(260, 70 + name.length * 7.6));
}

/** plan places the nodes of a graph, and inside of them the nodes of the subgraphs that are open. */
export function plan(g: Drawing, open: ReadonlySet<string>, prefix: string[] = []): Plan {
  const d = new dagre.graphlib.Graph({ multigraph: true });
  d.setGraph({ rankdir: "TB", nodesep: 30, edgesep: 18, ranksep: 42, marginx: 4, marginy: 4 });
  d.setDefaultEdgeLabel(() => ({}));
  const id = (name: string) => [...prefix, name].join("/");
  const inner = new Map<string, Plan>();
  const ends = g.edges.some((e) => e.to === "__end__");
  const leaves = g.nodes.filter((n) => !g.edges.some((e) => e.from === n.name));
  const size = (name: string) => {
    if (name === "__start__" || name === "__end__") return { width: 64, height: 28 };
    const p = inner.get(name);
    return p ? { width: Math.max(p.width + pad * 2, widthOf(name)), height: p.height + pad + headHeight } : { width: widthOf(name), height: nodeHeight };
  };
  for (const n of g.nodes) if (n.subgraph && open.has(id(n.name))) inner.set(n.name, plan(n.subgraph, open, [...prefix, n.name]));
  const names = ["__start__", ...g.nodes.map((n) => n.name), ...(ends || leaves.length > 0 ? ["__end__"] : [])];
  for (const name of names) d.setNode(name, size(name));
  const all: GraphEdge[] = [...g.edges, ...leaves.map((n) => ({ from: n.name, to: "__end__", kind: "edge" as const }))];
  const seen = new Set<string>();
  const lines: Line[] = [];
  for (const e of all) {
    const key = `${e.from}>${e.to}>${e.kind === "edge" || e.kind === "join"}`;
    if (seen.has(key) || !names.includes(e.from) || !names.includes(e.to)) continue;
    seen.add(key);
    if (e.from !== e.to) d.setEdge(e.from, e.to, {}, key);
    lines.push({ id: id(key), from: id(e.from), to: id(e.to), kind: e.kind, points: [] });
  }
  dagre.layout(d);
  for (const l of lines) if (l.from === l.to) l.points = loop(d.node(l.from.slice(prefix.length > 0 ? prefix.join("/").length + 1 : 0)));
  for (const e of d.edges()) {
    const line = lines.find((l) => l.id === id(e.name as string));
    if (line) line.points = d.edge(e).points;
  }
  const boxes: Box[] = [];
  for (const name of names) {
    const at = d.node(name);
    const n = g.nodes.find((x) => x.name === name);
    const p = inner.get(name);
    boxes.push({
      id: id(name), path: [...prefix, name], name, kind: name === "__start__" ? "start" : name === "__end__" ? "end" : p ? "group" : "node",
      x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height, parent: prefix.length > 0 ? prefix.join("/") : undefined,
      expandable: n?.subgraph !== undefined, deferred: n?.deferred ?? false, pauses: (n?.pauseBefore || n?.pauseAfter) ?? false,
    });
    if (!p) continue;
    for (const b of p.boxes) {
      const direct = b.parent === id(name);
      boxes.push(direct ? { ...b, x: b.x + (at.width - p.width) / 2, y: b.y + headHeight } : b);
    }
    const left = at.x - at.width / 2 + (at.width - p.width) / 2;
    const above = at.y - at.height / 2 + headHeight;
    lines.push(...p.lines.map((l) => ({ ...l, points: l.points.map((q) => ({ x: q.x + left, y: q.y + above })) })));
  }
  const size2 = d.graph();
  const loops = lines.some((l) => l.from === l.to) ? 36 : 0;
  return { boxes, lines, width: (size2.width ?? 0) + loops, height: size2.height ?? 0 };
}

// loop returns the points of a line from a node to itself, on its right.
function loop(at: { x: number; y: number; width: number; height: number }): Point[] {
  const right = at.x + at.width / 2;
  return [{ x: right, y: at.y + 10 }, { x: right + 30, y: at.y + 10 }, { x: right + 30, y: at.y - 10 }, { x: right + 2, y: at.y - 10 }];
}

/** pathOf returns the path of a line through its points, with round corners. */
export function pathOf(points: Point[]): string {
  const first = points[0];
  if (!first) return "";
  let path = `M${first.x} ${first.y}`;
  for (let i = 1; i < points.length - 1; i++) {
    const at = points[i]!;
    const before = points[i - 1]!;
    const after = points[i + 1]!;
    const from = towards(at, before);
    const to = towards(at, after);
    path += `L${from.x} ${from.y}Q${at.x} ${at.y} ${to.x} ${to.y}`;
  }
  const last = points.at(-1)!;
  return `${path}L${last.x} ${last.y}`;
}

// towards returns the point half way, and at most 26 away, on the line to another one.
function towards(a: Point, b: Point): Point {
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const f = Math.min(0.5, 26 / length);
  return { x: a.x + (b.x - a.x) * f, y: a.y + (b.y - a.y) * f };
}
