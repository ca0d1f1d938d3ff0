import { ArrowLeft, ListTree, MessagesSquare, Play, RotateCcw, Square } from "lucide-react";
import { useState } from "react";
import { client, messageOf } from "../client";
import { Button } from "../parts/Button";
import { Id } from "../parts/copy";
import { Skeleton } from "../parts/Skeleton";
import { duration, Time } from "../parts/Time";
import { toast } from "../parts/Toast";
import { Tree } from "../parts/Tree";
import { href, navigate, useRoute } from "../route";
import { Chip, Empty, Failure, Page, plural, price, RunState, User } from "./bits";
import { changed, type RunInfo, type RunStatus, type Trace, useData, useInfo, weft, whyNot } from "./data";
import { NewRun } from "./NewRun";
import { inputOf, RunTable, tookOf } from "./RunTable";
import { Locking } from "./Thread";
import { Waterfall } from "./Waterfall";

const filters: { word: string; statuses: RunStatus[] }[] = [
  { word: "Running", statuses: ["running"] }, { word: "Queued", statuses: ["pending"] }, { word: "Failed", statuses: ["error", "timeout"] },
  { word: "Done", statuses: ["success"] }, { word: "Stopped", statuses: ["interrupted"] },
];

export default function Runs() {
  const { path, query } = useRoute();
  const other = query.get("with")?.split("/");
  if (path[1] && path[2]) {
    if (other?.[0] && other[1]) return <Pair a={[path[1], path[2]]} b={[other[0], other[1]]} />;
    return <One key={path[2]} thread={path[1]} run={path[2]} />;
  }
  return <All />;
}

const pageSize = 50;

function All() {
  const { query } = useRoute();
  const word = query.get("status") ?? "";
  const thread = query.get("thread") ?? "";
  const [limit, setLimit] = useState(pageSize);
  const [picked, setPicked] = useState<string[]>([]);
  const [creating, setCreating] = useState(false);
  const info = useInfo();
  const why = whyNot(info, true);
  const statuses = filters.find((f) => f.word === word)?.statuses;
  const list = useData(`runs ${word} ${thread} ${limit}`, (signal) => weft<{ runs: RunInfo[]; total: number }>("/runs/search", { method: "POST", json: { limit, status: statuses, thread_id: thread || undefined }, signal }), 3000);
  const totals = useData("run totals", (signal) => Promise.all(filters.slice(0, 3).map((f) => weft<{ total: number }>("/runs/search", { method: "POST", json: { limit: 1, status: f.statuses }, signal }).then((r) => r.total))), 5000).data;
  const compare = () => {
    const [a, b] = picked.map((id) => list.data?.runs.find((r) => r.run_id === id));
    if (a && b) navigate(href(["runs", a.thread_id, a.run_id], { with: `${b.thread_id}/${b.run_id}` }));
  };
  return (
    <Page
      title="Runs"
      note={list.data ? plural(list.data.total, "run") + (thread ? " of one thread" : "") : undefined}
      actions={<>
        {picked.length > 0 && <Button disabled={picked.length !== 2} onClick={compare}>{picked.length === 2 ? "Compare the two" : "Choose one more"}</Button>}
        <Locking why={why}><Button kind="primary" disabled={why !== undefined} icon={<Play size={15} />} onClick={() => setCreating(true)}>Start a run</Button></Locking>
      </>}
    >
      <div role="group" aria-label="Filter by status" className="mb-4 flex flex-wrap gap-1.5">
        {filters.map((f, i) => (
          <Chip key={f.word} on={word === f.word} onClick={() => navigate(href(["runs"], { status: word === f.word ? "" : f.word, thread }), true)}>
            {f.word} {totals?.[i] !== undefined && <span className="num">{totals[i]}</span>}
          </Chip>
        ))}
        {thread && <Chip on onClick={() => navigate(href(["runs"], { status: word }), true)}>one thread ✕</Chip>}
      </div>
      {list.error !== undefined && <Failure error={list.error} again={list.reload} />}
      {!list.data ? list.loading && <Skeleton lines={8} /> : list.data.runs.length === 0 ? <Empty title="No runs" icon={<ListTree size={20} aria-hidden />}>{word ? "No run has this status." : "A run is here as soon as a client has begun it on this server."}</Empty> : (
        <RunTable runs={list.data.runs} picked={picked} onPick={(id) => setPicked((old) => (old.includes(id) ? old.filter((x) => x !== id) : [...old.slice(-1), id]))} />
      )}
      {list.data && list.data.runs.length < list.data.total && <div className="mt-4 text-center"><Button onClick={() => setLimit(limit + 200)}>Show more of {list.data.total}</Button></div>}
      {creating && <NewRun onClose={() => setCreating(false)} />}
    </Page>
  );
}

function useTrace(thread: string, run: string) {
  const first = useData(`trace ${thread} ${run}`, (signal) => weft<Trace>(`/threads/${thread}/runs/${run}`, { signal }), 0);
  const going = first.data && (first.data.status === "running" || first.data.status === "pending");
  const again = useData(going ? `trace live ${thread} ${run}` : null, (signal) => weft<Trace>(`/threads/${thread}/runs/${run}`, { signal }), 800);
  return { ...first, data: again.data ?? first.data };
}

function One({ thread, run }: { thread: string; run: string }) {
  const t = useTrace(thread, run);
  const info = useInfo();
  const [again, setAgain] = useState(false);
  const why = whyNot(info, true);
  const r = t.data;
  const going = r && (r.status === "running" || r.status === "pending");
  if (t.error !== undefined && !r) return <Page title="Run"><Failure error={t.error} again={t.reload} /></Page>;
  return (
    <Page
      title={r ? inputOf(r) : "Run"}
      note={r && <span className="flex flex-wrap items-center gap-x-3 gap-y-1"><RunState status={r.status} /><span>{r.graph_id}</span>{r.user_id && <User id={r.user_id} />}<Time at={r.created_at} /><Id id={run} /></span>}
      actions={r && <>
        <a href={href(["runs"])} className="inline-flex min-h-9 items-center gap-2 rounded-control px-2 text-sm text-muted hover:text-text"><ArrowLeft size={15} aria-hidden /> All runs</a>
        <a href={href(["threads", thread], { checkpoint: undefined })} className="inline-flex min-h-9 items-center gap-2 rounded-control border bg-raised px-3.5 text-sm font-medium hover:bg-sunk"><MessagesSquare size={15} aria-hidden /> Thread</a>
        {going ? <Locking why={why}><Button kind="danger" disabled={why !== undefined} icon={<Square size={14} />} onClick={() => void client.runs.cancel(thread, run).then(() => { toast("The run was stopped."); changed(); }, (e: unknown) => toast(`It was not stopped. ${messageOf(e)}`))}>Stop</Button></Locking>
          : <Locking why={why}><Button disabled={why !== undefined} icon={<RotateCcw size={15} />} onClick={() => setAgain(true)}>Run again</Button></Locking>}
      </>}
    >
      {!r ? <Skeleton lines={8} /> : <>
        <Facts trace={r} />
        {r.error && <p role="alert" className="mb-5 rounded-card border border-danger/50 px-4 py-3 text-sm text-danger"><b>{r.error.error}</b>: {r.error.message}</p>}
        {!r.complete && <p className="mb-3 text-sm text-muted">The server keeps the events of a run for a limited time, and has removed those of this one. The thread still has its checkpoints with the times of their tasks.</p>}
        {r.spans.length > 0 && <Waterfall trace={r} />}
        <section className="mt-6"><h2 className="mb-2 text-sm font-semibold">Request</h2><div className="rounded-card border p-3.5"><Tree value={r.kwargs} open={2} /></div></section>
        {again && <NewRun thread={thread} graph={r.graph_id} input={r.kwargs.input ?? {}} onClose={() => setAgain(false)} />}
      </>}
    </Page>
  );
}

function tokensOf(t: Trace): number {
  return t.spans.reduce((n, s) => n + (s.usage?.total_tokens ?? 0), 0);
}

/** costOf is the sum of the costs, or undefined if the program knows no prices. */
function costOf(t: Trace): number | undefined {
  const costs = t.spans.flatMap((s) => (s.cost === undefined ? [] : [s.cost]));
  return costs.length > 0 ? costs.reduce((a, b) => a + b) : undefined;
}

function Facts({ trace }: { trace: Trace }) {
  const wait = trace.began_at ? Date.parse(trace.began_at) - Date.parse(trace.created_at) : undefined;
  const steps = new Set(trace.spans.filter((s) => s.kind === "task" && !s.path).map((s) => s.step)).size;
  const n = (kind: string) => trace.spans.filter((s) => s.kind === kind).length;
  const facts: [string, string][] = [
    ["Duration", tookOf(trace) === undefined ? "–" : duration(tookOf(trace) as number)],
    ["In the queue", wait === undefined ? "–" : duration(wait)],
    ["Supersteps", String(steps)], ["Tasks", String(n("task"))], ["Model calls", String(n("model"))], ["Tool calls", String(n("tool"))],
    ["Tokens", tokensOf(trace) ? tokensOf(trace).toLocaleString() : "–"], ["Attempts", String(Math.max(1, trace.attempt))],
  ];
  const cost = costOf(trace);
  if (cost !== undefined) facts.splice(7, 0, ["Cost", price(cost)]);
  return (
    <dl className={`mb-5 grid grid-cols-2 gap-px overflow-hidden rounded-card border bg-line sm:grid-cols-4 ${cost === undefined ? "lg:grid-cols-8" : "sm:grid-cols-3 lg:grid-cols-9"}`}>
      {facts.map(([k, v]) => (
        <div key={k} className="bg-bg px-3.5 py-2.5"><dt className="text-xs text-muted">{k}</dt><dd className="num text-[17px] leading-6 font-semibold">{v}</dd></div>
      ))}
    </dl>
  );
}

// Pair shows two runs in the same scale.
function Pair({ a, b }: { a: [string, string]; b: [string, string] }) {
  const first = useTrace(...a).data;
  const second = useTrace(...b).data;
  const span = (t?: Trace) => (t ? Math.max(1, tookOf(t) ?? 1) : 1);
  const scale = Math.max(span(first), span(second));
  const side = (t: Trace | undefined, id: [string, string]) => (
    <section className="min-w-0">
      <h2 className="mb-2 flex items-center gap-3 text-sm font-semibold"><a className="truncate text-accent underline-offset-2 hover:underline" href={href(["runs", ...id])}>{t ? inputOf(t) : id[1]}</a>{t && <RunState status={t.status} />}</h2>
      {t ? <><p className="num mb-2 text-xs text-muted">{duration(span(t))} · {tokensOf(t).toLocaleString()} tokens{costOf(t) !== undefined && ` · ${price(costOf(t) as number)}`} · {plural(t.spans.length, "span")}</p><Waterfall trace={t} scale={scale} label={`Waterfall of ${id[1].slice(-6)}`} /></> : <Skeleton lines={6} />}
    </section>
  );
  return (
    <Page title="Two runs" note="Both are drawn in the same scale." actions={<a href={href(["runs"])} className="inline-flex min-h-9 items-center gap-2 px-2 text-sm text-muted hover:text-text"><ArrowLeft size={15} aria-hidden /> All runs</a>}>
      <div className="grid gap-6 xl:grid-cols-2">{side(first, a)}{side(second, b)}</div>
    </Page>
  );
}
