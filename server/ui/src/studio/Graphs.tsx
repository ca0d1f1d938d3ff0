import type { Assistant } from "@langchain/langgraph-sdk";
import { Boxes } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { client, messageOf } from "../client";
import { Button } from "../parts/Button";
import { Id } from "../parts/copy";
import { Skeleton } from "../parts/Skeleton";
import { Time } from "../parts/Time";
import { toast } from "../parts/Toast";
import { Tree } from "../parts/Tree";
import { href, useRoute } from "../route";
import { Badge, Empty, Page, plural } from "./bits";
import { changed, type GraphInfo, useData, useInfo, whyNot } from "./data";
import { NewRun } from "./NewRun";
import { Locking } from "./Thread";

const GraphView = lazy(() => import("./GraphView").then((m) => ({ default: m.GraphView })));
const none = new Map();

export default function Graphs() {
  const info = useInfo();
  const { path } = useRoute();
  if (!info) return <Page title="Graphs"><Skeleton lines={6} /></Page>;
  if (info.graphs.length === 0) return <Page title="Graphs"><Empty title="This program has no graphs" icon={<Boxes size={20} aria-hidden />}>The studio was opened over a store. Each thread shows its graph as its checkpoints tell it.</Empty></Page>;
  const g = info.graphs.find((x) => x.name === path[1]);
  if (g) return <One key={g.name} graph={g} all={info.graphs} />;
  return (
    <Page title="Graphs" note={`${plural(info.graphs.length, "graph")} on this server`}>
      <ul className="grid gap-4 sm:grid-cols-2 xl:grid-cols-3">
        {info.graphs.map((x) => (
          <li key={x.name} className="relative overflow-hidden rounded-card border transition-colors duration-150 focus-within:border-accent hover:border-accent">
            <div className="pointer-events-none h-44 border-b bg-surface" aria-hidden><Picture graph={x} /></div>
            <div className="px-4 py-3">
              <a href={href(["graphs", x.name])} className="font-medium after:absolute after:inset-0">{x.name}</a>
              <p className="text-xs text-muted">{plural(x.drawing.nodes.length, "node")} · {plural(x.drawing.channels.length, "channel")}{x.drawing.nodes.some((n) => n.subgraph) ? " · subgraphs" : ""}</p>
            </div>
          </li>
        ))}
      </ul>
    </Page>
  );
}

// Picture is a small drawing without controls.
function Picture({ graph }: { graph: GraphInfo }) {
  return (
    <div className="size-full [&_.absolute.end-2]:hidden [&_.react-flow__attribution]:hidden" inert>
      <Suspense><GraphView drawing={graph.drawing} states={none} onChoose={() => undefined} /></Suspense>
    </div>
  );
}

function One({ graph, all }: { graph: GraphInfo; all: GraphInfo[] }) {
  const [node, setNode] = useState<string>();
  const [running, setRunning] = useState(false);
  const why = whyNot(useInfo(), true);
  const schemas = useData(`schemas ${graph.assistant_id}`, () => client.assistants.getSchemas(graph.assistant_id));
  const chosen = useMemo(() => find(graph.drawing, node), [graph, node]);
  return (
    <Page
      title={graph.name}
      note={<>A graph of {plural(graph.drawing.nodes.length, "node")} and {plural(graph.drawing.channels.length, "channel")}</>}
      actions={<>
        <label className="text-sm"><span className="sr-only">Graph</span>
          <select className="h-9 rounded-control border bg-raised px-2.5" value={graph.name} onChange={(e) => { location.hash = href(["graphs", e.target.value]); }}>{all.map((g) => <option key={g.name}>{g.name}</option>)}</select>
        </label>
        <Locking why={why}><Button kind="primary" disabled={why !== undefined} onClick={() => setRunning(true)}>Start a run</Button></Locking>
      </>}
    >
      <div className="mb-6 grid gap-4 lg:grid-cols-[1fr_300px]">
        <div className="h-[56dvh] min-h-80 overflow-hidden rounded-card border bg-surface"><Suspense fallback={<Skeleton />}><GraphView drawing={graph.drawing} states={none} chosen={node} onChoose={setNode} /></Suspense></div>
        <section aria-label="Node" className="rounded-card border p-4 text-sm">
          {chosen ? (
            <div className="space-y-3">
              <h2 className="font-semibold break-words">{node?.replaceAll("/", " › ")}</h2>
              <p className="flex flex-wrap gap-1.5">
                {chosen.node.subgraph && <Badge>subgraph</Badge>}{chosen.node.persist && <Badge>keeps “{chosen.node.persist}”</Badge>}{chosen.node.deferred && <Badge>deferred</Badge>}
                {chosen.node.pauseBefore && <Badge>pauses before</Badge>}{chosen.node.pauseAfter && <Badge>pauses after</Badge>}
              </p>
              <Edges title="From" names={chosen.from} /><Edges title="To" names={chosen.to} />
            </div>
          ) : <p className="text-muted">Choose a node to see its edges. A subgraph opens with the button on its node.</p>}
        </section>
      </div>
      <section className="mb-6">
        <h2 className="mb-2 text-sm font-semibold">Channels</h2>
        <div tabIndex={0} role="region" aria-label="Channels" className="overflow-x-auto rounded-card border">
          <table className="w-full text-sm">
            <thead className="bg-surface text-start text-xs text-muted"><tr>{["Name", "Kind", "Type", "Stored"].map((h) => <th key={h} className="px-3.5 py-2 text-start font-medium">{h}</th>)}</tr></thead>
            <tbody>{graph.drawing.channels.map((c) => <tr key={c.name} className="border-t"><td className="px-3.5 py-2 font-mono text-[13px]">{c.name}</td><td className="px-3.5 py-2">{c.kind}</td><td className="px-3.5 py-2 font-mono text-xs text-muted">{c.type}</td><td className="px-3.5 py-2 text-xs text-muted">{c.stored ? "yes" : "no"}</td></tr>)}</tbody>
          </table>
        </div>
      </section>
      <Assistants graph={graph} />
      {schemas.data && (
        <section className="mt-6 grid gap-4 md:grid-cols-2">
          {(["input_schema", "state_schema"] as const).map((s) => (
            <div key={s} className="min-w-0"><h2 className="mb-2 text-sm font-semibold">{s === "input_schema" ? "Schema of the input" : "Schema of the state"}</h2><div className="max-h-96 overflow-auto rounded-card border p-3.5" tabIndex={0} role="region" aria-label={s === "input_schema" ? "Schema of the input" : "Schema of the state"}><Tree value={schemas.data?.[s]} open={2} /></div></div>
          ))}
        </section>
      )}
      {running && <NewRun graph={graph.name} onClose={() => setRunning(false)} />}
    </Page>
  );
}

function Edges({ title, names }: { title: string; names: string[] }) {
  return <div><h3 className="text-xs text-muted">{title}</h3>{names.length > 0 ? <ul>{names.map((n) => <li key={n}>{n}</li>)}</ul> : <p className="text-muted">none</p>}</div>;
}

const kinds: Record<string, string> = { edge: "", branch: " (a branch chooses)", destination: " (the node chooses)", join: " (join)" };
const plain = (n: string) => (n === "__start__" ? "start" : n === "__end__" ? "end" : n);

function find(g: GraphInfo["drawing"], id: string | undefined) {
  if (!id) return undefined;
  let at = g;
  const path = id.split("/");
  for (const part of path.slice(0, -1)) {
    const sub = at.nodes.find((n) => n.name === part)?.subgraph;
    if (!sub) return undefined;
    at = sub;
  }
  const node = at.nodes.find((n) => n.name === path.at(-1));
  return node && {
    node, from: at.edges.filter((e) => e.to === node.name).map((e) => plain(e.from) + (kinds[e.kind] ?? "")), to: at.edges.filter((e) => e.from === node.name).map((e) => plain(e.to) + (kinds[e.kind] ?? "")),
  };
}

function Assistants({ graph }: { graph: GraphInfo }) {
  const list = useData(`assistants ${graph.name}`, (signal) => client.assistants.search({ graphId: graph.name, limit: 100, signal }) as Promise<Assistant[]>);
  const [open, setOpen] = useState<string>();
  return (
    <section>
      <h2 className="mb-2 text-sm font-semibold">Assistants</h2>
      {!list.data ? <Skeleton lines={3} /> : (
        <ul className="divide-y rounded-card border">
          {list.data.map((a) => (
            <li key={a.assistant_id} className="px-4 py-2.5">
              <div className="flex flex-wrap items-center gap-x-3 text-sm">
                <span className="font-medium">{a.name}</span><Badge>version {a.version}</Badge>
                {a.assistant_id === graph.assistant_id && <Badge title="The server made it for the graph">of the graph</Badge>}
                <span className="flex-1" /><Time at={a.updated_at} /><Id id={a.assistant_id} />
                <Button kind="quiet" className="min-h-8! px-2!" aria-expanded={open === a.assistant_id} onClick={() => setOpen(open === a.assistant_id ? undefined : a.assistant_id)}>Details</Button>
              </div>
              {open === a.assistant_id && <Versions assistant={a} own={a.assistant_id === graph.assistant_id} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Versions({ assistant, own }: { assistant: Assistant; own: boolean }) {
  const why = whyNot(useInfo(), true);
  const list = useData(`versions ${assistant.assistant_id}`, () => client.assistants.getVersions(assistant.assistant_id, { limit: 50 }));
  return (
    <div className="space-y-3 py-2">
      <Tree value={{ config: assistant.config, context: (assistant as unknown as { context: unknown }).context, metadata: assistant.metadata }} open={1} />
      {list.data && list.data.length > 1 && (
        <ul className="space-y-1 text-sm">
          {list.data.map((v) => (
            <li key={v.version} className="flex items-center gap-3"><span className="num">Version {v.version}</span><Time at={v.created_at} />
              {v.version === assistant.version ? <Badge>in use</Badge> : !own && why === undefined && <Button kind="quiet" className="min-h-8! px-2!" onClick={() => void client.assistants.setLatest(assistant.assistant_id, v.version).then(() => { toast(`Version ${v.version} is in use.`); changed("assistants"); }, (e: unknown) => toast(messageOf(e)))}>Use it</Button>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
