import "@xyflow/react/dist/base.css";
import "./graph.css";
import { Background, BaseEdge, type Edge, type EdgeProps, Handle, MarkerType, type Node, type NodeProps, Position, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { Check, ChevronsDownUp, ChevronsUpDown, Clock, Hand, LoaderCircle, Maximize, Minus, Plus, TriangleAlert } from "lucide-react";
import { createContext, useContext, useEffect, useMemo, useRef, useState } from "react";
import { IconButton } from "../parts/Button";
import { duration } from "../parts/Time";
import type { Drawing } from "./data";
import { type Box, pathOf, plan } from "./graphLayout";

/** NodeState is what a node of the drawing did in the run that is shown. */
export type NodeState = { state: "due" | "running" | "done" | "failed" | "waiting"; times: number; took?: number; tokens?: number };

type Shared = { states: Map<string, NodeState>; chosen?: string; toggle: (id: string) => void; choose: (id: string) => void; open: ReadonlySet<string> };
const Context = createContext<Shared>({ states: new Map(), toggle: () => undefined, choose: () => undefined, open: new Set() });

const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

const looks: Record<NodeState["state"], { ring: string; icon: typeof Check; color: string; word: string; spin?: boolean }> = {
  running: { ring: "border-info shadow-[0_0_0_3px_color-mix(in_srgb,var(--info)_22%,transparent)]", icon: LoaderCircle, color: "text-info", word: "running", spin: true },
  done: { ring: "border-ok", icon: Check, color: "text-ok", word: "done" },
  failed: { ring: "border-danger shadow-[0_0_0_3px_color-mix(in_srgb,var(--danger)_18%,transparent)]", icon: TriangleAlert, color: "text-danger", word: "failed" },
  waiting: { ring: "border-warn shadow-[0_0_0_3px_color-mix(in_srgb,var(--warn)_22%,transparent)]", icon: Hand, color: "text-warn", word: "waiting" },
  due: { ring: "border-accent border-dashed", icon: Clock, color: "text-accent", word: "due next" },
};

function NodeBox({ data }: NodeProps<Node<{ box: Box }>>) {
  const { box } = data;
  const { states, chosen, toggle, choose, open } = useContext(Context);
  const s = states.get(box.id);
  const hidden = "size-1! min-h-0! min-w-0! border-0! bg-transparent!";
  const handles = (
    <>
      <Handle type="target" position={Position.Top} className={hidden} isConnectable={false} />
      <Handle type="source" position={Position.Bottom} className={hidden} isConnectable={false} />
    </>
  );
  if (box.kind === "start" || box.kind === "end") {
    return (
      <div className="grid h-full place-items-center rounded-full border bg-sunk text-xs text-muted" style={{ width: box.width, height: box.height }}>
        {handles}
        {box.kind}
      </div>
    );
  }
  const look = s && looks[s.state];
  const Icon = look?.icon;
  const facts = s ? [s.times > 1 ? `×${s.times}` : "", s.took !== undefined ? duration(s.took) : "", s.tokens ? `${compact.format(s.tokens)} tok` : ""].filter(Boolean) : [];
  const title = (
    <button
      type="button"
      onClick={() => choose(box.id)}
      aria-pressed={chosen === box.id}
      className={`nodrag flex min-w-0 flex-1 items-center gap-2 rounded-inner px-3 text-start ${box.kind === "group" ? "h-8" : "h-full"}`}
    >
      {Icon && <Icon size={15} aria-hidden className={`shrink-0 ${look.color} ${look.spin ? "animate-spin" : ""}`} />}
      <span className="min-w-0 flex-1">
        <span className="block truncate text-[13px] leading-tight font-medium"><span className="sr-only">Node </span>{box.name}{look && <span className="sr-only">, {look.word}</span>}</span>
        {facts.length > 0 && box.kind === "node" && <span className="num block truncate text-[11px] leading-tight text-muted">{facts.join(" · ")}</span>}
      </span>
      {facts.length > 0 && box.kind === "group" && <span className="num text-[11px] text-muted">{facts.join(" · ")}</span>}
      {box.pauses && <span title="Every run pauses here" className="text-xs text-warn">❚❚</span>}
      {box.deferred && <span title="Runs when nothing else is due" className="text-xs text-muted">⏷</span>}
    </button>
  );
  return (
    <div
      className={`pointer-events-auto flex rounded-control border-[1.5px] transition-colors duration-150 ${box.kind === "group" ? "items-start bg-[color-mix(in_srgb,var(--sunk)_60%,transparent)]" : "items-stretch bg-raised"} ${look?.ring ?? "border-line"} ${chosen === box.id ? "outline-2 outline-offset-2 outline-accent" : ""}`}
      style={{ width: box.width, height: box.height }}
    >
      {handles}
      {title}
      {box.expandable && (
        <button type="button" onClick={() => toggle(box.id)} aria-expanded={open.has(box.id)} aria-label={`${open.has(box.id) ? "Close" : "Open"} the subgraph ${box.name}`} className="nodrag grid w-8 place-items-center self-stretch rounded-e-inner text-muted hover:text-text [&>svg]:my-2">
          {open.has(box.id) ? <ChevronsDownUp size={15} /> : <ChevronsUpDown size={15} />}
        </button>
      )}
    </div>
  );
}

function LineEdge({ data, style, markerEnd }: EdgeProps<Edge<{ path: string }>>) {
  return <BaseEdge path={data?.path ?? ""} style={style} markerEnd={markerEnd} />;
}

const nodeTypes = { box: NodeBox };
const edgeTypes = { line: LineEdge };

type Props = { drawing: Drawing; states: Map<string, NodeState>; chosen?: string; onChoose: (id: string | undefined) => void; traveled?: ReadonlySet<string> };

/** GraphView draws a graph. Subgraphs can be opened. */
export function GraphView(props: Props) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}

function Flow({ drawing, states, chosen, onChoose, traveled }: Props) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const flow = useReactFlow();
  const box = useRef<HTMLDivElement>(null);
  const layout = useMemo(() => plan(drawing, open), [drawing, open]);
  const nodes = useMemo(() => layout.boxes.map((b): Node<{ box: Box }> => ({
    id: b.id, type: "box", position: { x: b.x, y: b.y }, data: { box: b }, parentId: b.parent, width: b.width, height: b.height, draggable: false, selectable: false, focusable: false, zIndex: b.path.length,
  })), [layout]);
  const edges = useMemo(() => layout.lines.map((l): Edge => {
    const hot = traveled?.has(`${l.from}>${l.to}`) ?? false;
    const color = hot ? "var(--accent)" : "var(--muted)";
    return {
      id: l.id, source: l.from, target: l.to, type: "line", focusable: false, selectable: false, zIndex: hot ? 11 : 10, data: { path: pathOf(l.points) },
      style: { stroke: color, strokeWidth: hot ? 2 : 1.4, opacity: hot ? 1 : 0.55, strokeDasharray: l.kind === "branch" || l.kind === "destination" ? "5 4" : undefined },
      markerEnd: { type: MarkerType.ArrowClosed, color, width: 13, height: 13 },
    } as Edge;
  }), [layout, traveled]);
  const fit = useMemo(() => () => void flow.fitView({ padding: 0.12, maxZoom: 1.15, duration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150 }), [flow]);
  useEffect(() => {
    const t = setTimeout(fit, 30);
    return () => clearTimeout(t);
  }, [layout, fit]);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const o = new ResizeObserver(() => fit());
    o.observe(el);
    return () => o.disconnect();
  }, [fit]);
  const shared = useMemo<Shared>(() => ({
    states, chosen, open, choose: (id) => onChoose(id === chosen ? undefined : id),
    toggle: (id) => setOpen((old) => {
      const next = new Set(old);
      if (!next.delete(id)) next.add(id);
      return next;
    }),
  }), [states, chosen, open, onChoose]);
  return (
    <div ref={box} role="group" aria-label={`Graph ${drawing.name}`} className="relative size-full min-h-48">
      <Context value={shared}>
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
          attributionPosition="bottom-left"
          nodesDraggable={false}
          nodesConnectable={false}
          elementsSelectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          disableKeyboardA11y
          proOptions={{ hideAttribution: false }}
          minZoom={0.15}
          maxZoom={2}
          fitView
          panOnScroll={false}
          zoomOnScroll
          preventScrolling={false}
        >
          <Background gap={22} size={1} color="var(--line)" />
        </ReactFlow>
      </Context>
      <div className="absolute end-2 bottom-2 flex flex-col rounded-control border bg-raised">
        <IconButton label="Zoom in" tip={false} onClick={() => void flow.zoomIn()}><Plus size={15} /></IconButton>
        <IconButton label="Zoom out" tip={false} onClick={() => void flow.zoomOut()}><Minus size={15} /></IconButton>
        <IconButton label="Show the whole graph" tip={false} onClick={fit}><Maximize size={14} /></IconButton>
      </div>
    </div>
  );
}
