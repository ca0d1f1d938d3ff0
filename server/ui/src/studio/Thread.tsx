import type { Thread, ThreadState as SdkState } from "@langchain/langgraph-sdk";
import { ArrowLeft, Copy, Ellipsis, GitBranch, GitCompare, ListTree, Pencil, Play, Plus, Square, Trash2, X } from "lucide-react";
import { lazy, memo, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { client, messageOf } from "../client";
import { Button, IconButton } from "../parts/Button";
import { Id } from "../parts/copy";
import { Dialog } from "../parts/Dialog";
import { Menu } from "../parts/Menu";
import { Skeleton } from "../parts/Skeleton";
import { Time } from "../parts/Time";
import { toast } from "../parts/Toast";
import { Tooltip } from "../parts/Tooltip";
import { href, navigate, useRoute } from "../route";
import { addQuestions, Empty, Failure, ThreadState, titleOf, User } from "./bits";
import { Conversation, type Interrupt, messagesIn } from "./Conversation";
import { changed, type GraphInfo, isGone, type RunInfo, useData, useInfo, useSettled, useWide, weft, whyNot } from "./data";
import { Diff } from "./Diff";
import { EditState } from "./Edit";
import type { NodeState } from "./GraphView";
import { type Dot, type History, lineage, useHistory } from "./history";
import { Inspector, stateAt } from "./Inspector";
import { type Live, useLive } from "./live";
import { NewRun } from "./NewRun";
import { QuestionCard } from "../parts/Question";
import { RunTable } from "./RunTable";
import { StateTree } from "./StateTree";
import { describe, Timeline } from "./Timeline";

const GraphView = lazy(() => import("./GraphView").then((m) => ({ default: m.GraphView })));

type State = SdkState<Record<string, unknown>>;
type Tab = "conversation" | "state" | "changes" | "graph" | "runs";

/** ThreadView shows a thread: its state at a checkpoint, its graph, and its history. */
export function ThreadView({ id }: { id: string }) {
  const route = useRoute();
  const info = useInfo();
  const wide = useWide(1200);
  const thread = useData(`thread ${id}`, async (signal) => {
    const found = await client.threads.search({ ids: [id], limit: 1, select: ["thread_id", "status", "metadata", "created_at", "updated_at"], signal });
    await addQuestions(found, signal);
    return found[0] ?? null;
  }, 2500);
  const busy = thread.data?.status === "busy";
  const { history, user, complete, error, reload } = useHistory(id, busy ? 1500 : 4000);
  const at = route.query.get("checkpoint") ?? undefined;
  const compare = route.query.get("compare") ?? undefined;
  const newest = history.dots.at(-1);
  const dot = (at ? history.byId.get(at) : undefined) ?? newest;
  const settled = useSettled(at);
  const shown = (settled ? history.byId.get(settled) : undefined) ?? newest;
  const state = useData(`state ${id} ${settled ?? "newest"}`, () => (settled ? stateAt(id, settled) : client.threads.getState(id)) as Promise<State>, 0);
  const graph = useData(`graph ${id} ${info?.stored ? newest?.mark.id : ""}`, (signal) => weft<GraphInfo | null>(`/threads/${id}/graph`, { signal }));
  const again = useCallback(() => {
    reload();
    state.reload();
    thread.reload();
  }, [reload, state.reload, thread.reload]); // eslint-disable-line
  const live = useLive(id, busy, again);
  useEffect(() => {
    if (!at) state.reload(); // the newest state has changed
  }, [newest?.mark.id, newest?.mark.tasks.length, thread.data?.status]); // eslint-disable-line

  const go = useCallback((query: Record<string, string | undefined>, replace = true) => {
    const old = Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));
    navigate(href(["threads", id], { ...old, ...query }), replace);
  }, [id]);
  const messages = useMemo(() => messagesIn(state.data?.values), [state.data]);
  const wanted = route.query.get("view") as Tab | null;
  const tab: Tab = (wanted === "graph" && wide ? null : wanted) ?? (messages || !state.data ? "conversation" : "state");
  const node = route.query.get("node") ?? undefined;
  const choose = useCallback((n: string | undefined) => go({ node: n }), [go]);
  const chain = useMemo(() => lineage(history, shown?.mark.id), [history, shown]);

  if (thread.data === null || isGone(thread.error)) {
    return <main id="main" className="flex-1"><Back /><Empty heading title="This thread does not exist">It may have been deleted, or belong to another user.</Empty></main>;
  }
  const drawing = graph.data?.drawing;
  const picture = drawing && (
    <Suspense fallback={<div className="p-6"><Skeleton lines={4} /></div>}>
      <Pictured drawing={drawing} chain={chain} tasks={settled ? undefined : state.data?.tasks} live={at ? undefined : live} node={node} onNode={choose} />
    </Suspense>
  );
  const inspector = node && <Inspector key={node} thread={id} node={node} dots={chain} onClose={() => choose(undefined)} onGo={(c) => go({ checkpoint: c === newest?.mark.id ? undefined : c })} />;
  const tabs: { tab: Tab; label: string }[] = [
    ...(messages || !state.data ? [{ tab: "conversation" as const, label: "Conversation" }] : []),
    { tab: "state", label: "State" }, { tab: "changes", label: "Changes" }, ...(wide ? [] : [{ tab: "graph" as const, label: "Graph" }]), { tab: "runs", label: "Runs" },
  ];
  return (
    <main id="main" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col outline-none">
      <Header thread={thread.data} id={id} user={user} graph={graph.data?.name} live={live} busy={busy} onChanged={again} />
      <div className="flex min-h-0 flex-1">
        <div className="flex min-w-0 flex-1 flex-col">
          <div role="tablist" aria-label="Parts of the thread" className="flex shrink-0 gap-1 overflow-x-auto border-b px-3" onKeyDown={tabKeys}>
            {tabs.map((t) => (
              <button key={t.tab} type="button" role="tab" id={`tab-${t.tab}`} aria-selected={tab === t.tab} aria-controls="part" tabIndex={tab === t.tab ? 0 : -1} onClick={() => go({ view: t.tab })}
                className={`relative h-10 px-2.5 text-sm whitespace-nowrap outline-offset-[-3px] ${tab === t.tab ? "font-medium after:absolute after:inset-x-2.5 after:bottom-0 after:h-0.5 after:rounded-full after:bg-accent" : "text-muted hover:text-text"}`}>
                {t.label}
              </button>
            ))}
          </div>
          <div id="part" role="tabpanel" aria-labelledby={`tab-${tab}`} className="flex min-h-0 flex-1 flex-col">
            {compare && dot ? <Comparison thread={id} before={compare} after={shown ?? dot} history={history} onClose={() => go({ compare: undefined })} />
              : state.error !== undefined && !state.data ? <Failure error={state.error} again={state.reload} />
              : !state.data ? <div className="p-6"><Skeleton lines={7} /></div>
              : tab === "conversation" && messages ? <Talk thread={id} state={state.data} messages={messages} live={at ? undefined : live} busy={busy} old={at !== undefined} graph={graph.data?.name} onDone={again} />
              : tab === "changes" ? <Changes thread={id} dot={shown} state={state.data} />
              : tab === "graph" ? <div className="relative min-h-0 flex-1">{inspector ? inspector : picture}</div>
              : tab === "runs" ? <RunsOf thread={id} />
              : <Values state={state.data} thread={id} graph={graph.data?.name} busy={busy} old={at !== undefined} onDone={again} />}
          </div>
        </div>
        {wide && drawing && (
          <aside aria-label="Graph" className="flex w-[42%] max-w-[640px] min-w-80 flex-col border-s">
            <div className={inspector ? "h-[44%] min-h-40 border-b" : "min-h-0 flex-1"}>{picture}</div>
            {inspector && <div className="min-h-0 flex-1">{inspector}</div>}
          </aside>
        )}
      </div>
      {error !== undefined && history.dots.length === 0 && <Failure error={error} again={reload} />}
      {history.dots.length > 0 && dot && (
        <footer aria-label="History" className="shrink-0 border-t bg-surface">
          <Actions id={id} dot={dot} newest={newest} at={at} graph={graph.data} state={state.data} busy={busy} onGo={go} onDone={again} history={history} />
          <div className="flex px-2 pb-1.5"><Timeline history={history} complete={complete} chosen={at} compared={compare} onChoose={(c) => go({ checkpoint: c })} onCompare={(c) => go({ compare: c })} /></div>
        </footer>
      )}
    </main>
  );
}

function tabKeys(e: React.KeyboardEvent<HTMLDivElement>) {
  const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
  if (by === 0) return;
  const list = [...e.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")];
  const next = list[(list.indexOf(document.activeElement as HTMLElement) + by + list.length) % list.length];
  next?.focus();
  next?.click();
}

function Back() {
  const wide = useWide(900);
  if (wide) return null;
  return <a href={href(["threads"])} aria-label="All threads" className="grid size-8 place-items-center rounded-control text-muted hover:bg-hover"><ArrowLeft size={18} /></a>;
}

function Header({ thread, id, user, graph, live, busy, onChanged }: { thread?: Thread; id: string; user?: string; graph?: string; live: Live; busy: boolean; onChanged: () => void }) {
  const info = useInfo();
  const [mode, setMode] = useState<"rename" | "delete" | "run">();
  const whyRun = whyNot(info, true);
  const whyChange = whyNot(info, false);
  const title = thread ? titleOf(thread) : "";
  const act = async (f: () => Promise<unknown>, done: string) => {
    try {
      await f();
      toast(done);
      onChanged();
    } catch (e) {
      toast(`It did not work. ${messageOf(e)}`);
    }
  };
  return (
    <header className="flex min-h-14 shrink-0 items-center gap-2 border-b px-3 py-2 md:px-4">
      <Back />
      <div className="min-w-0 flex-1">
        <h1 dir="auto" className="truncate text-[15px] leading-tight font-semibold">{title || <span className="text-muted">…</span>}</h1>
        <p className="flex items-center gap-2.5 text-xs text-muted">
          {thread && <ThreadState thread={thread} />}
          {graph && graph !== "unknown" && <span className="truncate">{graph}</span>}
          {user && <User id={user} />}
          {thread && <span className="hidden sm:inline"><Time at={thread.updated_at} /></span>}
          <span className="hidden sm:inline-flex"><Id id={id} /></span>
        </p>
      </div>
      {busy && live.run && <Button disabled={whyRun !== undefined} icon={<Square size={14} />} onClick={() => void act(() => client.runs.cancel(id, live.run as string), "The run was stopped.")}>Stop</Button>}
      {!info?.stored && (
        <Locking why={whyRun}><Button disabled={whyRun !== undefined} icon={<Plus size={16} />} onClick={() => setMode("run")}><span className="max-sm:sr-only">Run</span></Button></Locking>
      )}
      <Menu
        trigger={<button type="button" aria-label="More actions" className="inline-grid size-8 place-items-center rounded-control text-muted hover:bg-hover hover:text-text"><Ellipsis size={18} /></button>}
        items={[
          { label: "Show its runs", icon: <ListTree size={16} />, onSelect: () => navigate(href(["runs"], { thread: id })) },
          { label: "Copy the link", icon: <Copy size={16} />, onSelect: () => void act(() => navigator.clipboard.writeText(location.href), "The link was copied.") },
          ...(whyChange === undefined ? [
            { label: "Rename", icon: <Pencil size={16} />, onSelect: () => setMode("rename") },
            ...(info?.stored ? [] : [{ label: "Copy the thread", icon: <Copy size={16} />, onSelect: () => void client.threads.copy(id).then((t) => { changed("threads"); navigate(href(["threads", (t as unknown as Thread).thread_id])); }, (e: unknown) => toast(`It was not copied. ${messageOf(e)}`)) }]),
            { label: "Delete", icon: <Trash2 size={16} />, danger: true, onSelect: () => setMode("delete") },
          ] : []),
        ]}
      />
      {mode === "rename" && thread && <Rename thread={thread} onClose={() => setMode(undefined)} onSave={(t) => act(() => client.threads.update(id, { metadata: { title: t } }), "The thread was renamed.").then(() => changed("thread"))} />}
      {mode === "delete" && (
        <Dialog title="Delete the thread?" onClose={() => setMode(undefined)}>
          <p className="mb-4 text-sm">“{title}” is deleted with all its checkpoints, runs and events. This cannot be undone.</p>
          <div className="flex justify-end gap-2">
            <Button onClick={() => setMode(undefined)}>Keep it</Button>
            <Button kind="danger" onClick={() => void client.threads.delete(id).then(() => { toast("The thread was deleted."); navigate(href(["threads"])); changed("threads"); }, (e: unknown) => toast(`It was not deleted. ${messageOf(e)}`))}>Delete the thread</Button>
          </div>
        </Dialog>
      )}
      {mode === "run" && <NewRun thread={id} graph={graph} onClose={() => { setMode(undefined); onChanged(); }} />}
    </header>
  );
}

/** Locking says on hover why a button is disabled. */
export function Locking({ why, children }: { why?: string; children: React.ReactElement }) {
  if (!why) return children;
  return <Tooltip text={why}><span tabIndex={0} role="note" aria-label={why} className="inline-flex rounded-control">{children}</span></Tooltip>;
}

function Rename({ thread, onClose, onSave }: { thread: Thread; onClose: () => void; onSave: (title: string) => Promise<void> }) {
  const [text, setText] = useState(titleOf(thread));
  return (
    <Dialog title="Rename the thread" onClose={onClose}>
      <form className="space-y-4" onSubmit={(e) => { e.preventDefault(); void onSave(text).then(onClose); }}>
        <input aria-label="Title" dir="auto" value={text} onChange={(e) => setText(e.target.value)} className="h-10 w-full rounded-control border bg-bg px-3" />
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" disabled={!text.trim()}>Rename</Button></div>
      </form>
    </Dialog>
  );
}

/** answer resumes a thread with the answer to a question. */
export async function answer(thread: string, graph: string, question: Interrupt, value: unknown) {
  await client.runs.create(thread, graph, { command: { resume: { [question.id]: value } } as never, multitaskStrategy: "enqueue" });
  changed();
}

function Talk({ thread, state, messages, live, busy, old, graph, onDone }: { thread: string; state: State; messages: ReturnType<typeof messagesIn>; live?: Live; busy: boolean; old: boolean; graph?: string; onDone: () => void }) {
  const why = whyNot(useInfo(), true);
  const questions = (old ? [] : ((state as unknown as { interrupts?: Interrupt[] }).interrupts ?? []));
  const failed = busy ? [] : state.tasks.filter((t) => t.error);
  return (
    <>
      <Conversation messages={messages ?? []} questions={questions} live={live?.text ?? new Map()} busy={busy} locked={why} onAnswer={async (q, value) => { await answer(thread, graph ?? "", q, value); onDone(); }} />
      {failed.map((t) => <p key={t.id} role="alert" className="max-h-40 shrink-0 overflow-y-auto border-t px-4 py-2.5 text-sm break-words text-danger">{t.error}</p>)}
    </>
  );
}

function Values({ state, thread, graph, busy, old, onDone }: { state: State; thread: string; graph?: string; busy: boolean; old: boolean; onDone: () => void }) {
  const questions = old ? [] : ((state as unknown as { interrupts?: Interrupt[] }).interrupts ?? []);
  const why = whyNot(useInfo(), true);
  return (
    <>
      {questions.length > 0 && !messagesIn(state.values) && (
        <div className="max-h-[55%] shrink-0 overflow-y-auto border-b bg-surface p-4"><div className="mx-auto max-w-[760px]"><h2 className="sr-only">Open questions</h2><Conversation0 questions={questions} busy={busy} why={why} onAnswer={async (q, v) => { await answer(thread, graph ?? "", q, v); onDone(); }} /></div></div>
      )}
      <StateTree value={state.values} label="the state" />
    </>
  );
}

function Conversation0({ questions, busy, why, onAnswer }: { questions: Interrupt[]; busy: boolean; why?: string; onAnswer: (q: Interrupt, value: unknown) => Promise<void> }) {
  return (
    <div className="space-y-3">
      {why && <p className="text-xs text-muted">{why}</p>}
      {questions.map((q) => (
        <fieldset key={q.id} disabled={why !== undefined} className="contents"><QuestionCard question={q} busy={busy || why !== undefined} onAnswer={(v) => onAnswer(q, v)} /></fieldset>
      ))}
    </div>
  );
}

function Changes({ thread, dot, state }: { thread: string; dot?: Dot; state: State }) {
  const parent = dot?.mark.parent;
  const before = useData(parent ? `state ${thread} ${parent}` : null, () => stateAt(thread, parent as string));
  if (!dot) return <Empty title="No checkpoints" />;
  return (
    <div tabIndex={0} role="region" aria-label="Changes" className="min-h-0 flex-1 overflow-y-auto px-4 py-4">
      <p className="mb-3 text-sm text-muted">{describe(dot)}: what changed since {parent ? "the checkpoint before it" : "the thread began"}.</p>
      {parent && !before.data ? <Skeleton lines={4} /> : <Diff before={before.data?.values ?? {}} after={state.values} />}
    </div>
  );
}

function Comparison({ thread, before, after, history, onClose }: { thread: string; before: string; after: Dot; history: History; onClose: () => void }) {
  const a = useData(`state ${thread} ${before}`, () => stateAt(thread, before));
  const b = useData(`state ${thread} ${after.mark.id}`, () => stateAt(thread, after.mark.id));
  const from = history.byId.get(before);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <header className="flex items-center gap-2 border-b px-4 py-2 text-sm">
        <GitCompare size={16} aria-hidden className="text-info" />
        <span className="min-w-0 flex-1 truncate">{from ? describe(from) : before} <span className="text-muted">→</span> {describe(after)}</span>
        <IconButton label="End the comparison" onClick={onClose}><X size={16} /></IconButton>
      </header>
      <div tabIndex={0} role="region" aria-label="Comparison" className="min-h-0 flex-1 overflow-y-auto px-4 py-4">{a.data && b.data ? <Diff before={a.data.values} after={b.data.values} /> : <Skeleton lines={5} />}</div>
    </div>
  );
}

function RunsOf({ thread }: { thread: string }) {
  const list = useData(`runs of ${thread}`, (signal) => weft<{ runs: RunInfo[] }>("/runs/search", { method: "POST", json: { thread_id: thread, limit: 100 }, signal }), 4000);
  return (
    <div tabIndex={0} role="region" aria-label="Runs" className="min-h-0 flex-1 overflow-y-auto p-3">
      {list.data ? list.data.runs.length > 0 ? <RunTable runs={list.data.runs} narrow /> : <Empty title="No runs">The server has not stored runs of this thread. Its checkpoints may come from another program.</Empty> : <Skeleton lines={5} />}
    </div>
  );
}

type ActionProps = { id: string; dot: Dot; newest?: Dot; at?: string; graph?: GraphInfo | null; state?: State; busy: boolean; history: History; onGo: (q: Record<string, string | undefined>, replace?: boolean) => void; onDone: () => void };

function Actions({ id, dot, newest, at, graph, state, busy, history, onGo, onDone }: ActionProps) {
  const info = useInfo();
  const [editing, setEditing] = useState(false);
  const why = whyNot(info, true) ?? (busy ? "The thread is busy." : undefined);
  const run = async (f: () => Promise<unknown>, done: string) => {
    try {
      await f();
      toast(done);
      onGo({ checkpoint: undefined, compare: undefined });
      onDone();
      changed("thread");
    } catch (e) {
      toast(`It did not work. ${messageOf(e)}`);
    }
  };
  const name = graph?.name ?? "";
  const ended = dot.mark.next.length === 0;
  return (
    <div className="flex min-h-11 flex-wrap items-center gap-x-1 gap-y-1 px-3 pt-1.5">
      <p className="me-2 min-w-0 flex-1 basis-40 truncate text-xs" aria-live="polite">
        <span className="font-medium">{at ? describe(dot) : "Newest checkpoint"}</span>
        <span className="num text-muted"> · {dot.column + 1} of {history.dots.length} · <Time at={dot.mark.time} /></span>
      </p>
      {at && <Button kind="quiet" className="min-h-8! px-2.5!" onClick={() => onGo({ checkpoint: undefined, compare: undefined })}>Newest</Button>}
      <Locking why={why ?? (ended ? "Nothing is due at this checkpoint." : undefined)}><Button kind="quiet" className="min-h-8! px-2.5!" disabled={why !== undefined || ended} icon={<Play size={14} />} onClick={() => void run(() => client.runs.create(id, name, { input: null, checkpointId: dot.mark.id }), at ? "A run began at this checkpoint, on a branch of its own." : "The run goes on.")}><span className="max-sm:sr-only">Run from here</span></Button></Locking>
      <Locking why={why}><Button kind="quiet" className="min-h-8! px-2.5!" disabled={why !== undefined} icon={<GitBranch size={14} />} onClick={() => void run(() => client.threads.updateState(id, { values: {}, checkpointId: dot.mark.id }), "The thread now continues from this checkpoint.")}><span className="max-sm:sr-only">Fork here</span></Button></Locking>
      <Locking why={why}><Button kind="quiet" className="min-h-8! px-2.5!" disabled={why !== undefined || !state} icon={<Pencil size={14} />} onClick={() => setEditing(true)}><span className="max-sm:sr-only">Edit state</span></Button></Locking>
      <Compare history={history} dot={dot} newest={newest} onCompare={(c) => onGo({ compare: c })} />
      {editing && state && <EditState thread={id} checkpoint={dot.mark.id} values={state.values} drawing={graph?.drawing} onClose={() => setEditing(false)} onDone={() => { setEditing(false); onGo({ checkpoint: undefined }); onDone(); }} />}
    </div>
  );
}

function Compare({ history, dot, newest, onCompare }: { history: History; dot: Dot; newest?: Dot; onCompare: (id: string) => void }) {
  const choices: { label: string; dot: Dot }[] = [];
  if (dot.parent) choices.push({ label: "the checkpoint before", dot: dot.parent });
  if (newest && newest !== dot) choices.push({ label: "the newest", dot: newest });
  if (history.dots[0] && history.dots[0] !== dot) choices.push({ label: "the first", dot: history.dots[0] });
  const tips = history.dots.filter((d) => d.lane > 0 && d !== dot && history.dots[d.column + 1]?.parent !== d).slice(-5);
  for (const t of tips) if (!choices.some((c) => c.dot === t)) choices.push({ label: `branch: ${describe(t)}`, dot: t });
  return (
    <Menu
      trigger={<button type="button" disabled={choices.length === 0} className="inline-flex min-h-8 items-center gap-2 rounded-control px-2.5 text-sm font-medium text-muted hover:bg-hover hover:text-text disabled:opacity-50"><GitCompare size={14} aria-hidden /> <span className="max-sm:sr-only">Compare with …</span></button>}
      items={choices.map((c) => ({ label: c.label, onSelect: () => onCompare(c.dot.mark.id) }))}
    />
  );
}

// Pictured draws the graph with what the shown run did before the shown checkpoint.
const Pictured = memo(function Pictured({ drawing, chain, tasks, live, node, onNode }: { drawing: GraphInfo["drawing"]; chain: Dot[]; tasks?: State["tasks"]; live?: Live; node?: string; onNode: (id: string | undefined) => void }) {
  const liveKey = [...(live?.tasks.values() ?? [])].map((t) => t.id + t.state).join();
  const { states, traveled } = useMemo(() => statesOf(chain, tasks, live), [chain, tasks, liveKey]); // eslint-disable-line
  return <GraphView drawing={drawing} states={states} traveled={traveled} chosen={node} onChoose={onNode} />;
});

function statesOf(chain: Dot[], tasks: State["tasks"] | undefined, live?: Live): { states: Map<string, NodeState>; traveled: Set<string> } {
  const states = new Map<string, NodeState>();
  const traveled = new Set<string>();
  const newest = chain[0];
  if (!newest) return { states, traveled };
  const add = (name: string, state: NodeState["state"], took?: number, tokens?: number) => {
    const old = states.get(name);
    states.set(name, {
      state: old && (old.state === "failed" || old.state === "waiting") ? old.state : state, times: (old?.times ?? 0) + 1,
      took: took === undefined ? old?.took : (old?.took ?? 0) + took, tokens: tokens === undefined ? old?.tokens : (old?.tokens ?? 0) + tokens,
    });
  };
  // The marks of a turn, oldest first: from its input on.
  const turn: Dot[] = [];
  for (const d of chain) {
    turn.unshift(d);
    if (d.mark.source === "input") break;
  }
  let before = ["__start__"];
  turn.forEach((d, i) => {
    for (const n of new Set(d.mark.next)) for (const b of before) traveled.add(`${b}>${n}`);
    if (i === turn.length - 1 && d.mark.next.length === 0) for (const b of before) traveled.add(`${b}>__end__`);
    if (d.mark.next.length > 0) before = [...new Set(d.mark.next)];
    if (d === newest) return;
    for (const t of d.mark.tasks) if (t.node) add(t.node, t.error ? "failed" : "done", time(t), t.usage?.total);
    if (d.mark.tasks.length === 0) for (const n of d.mark.next) add(n, "done");
  });
  const open = new Map<string, NodeState["state"]>();
  for (const n of newest.mark.next) open.set(n, "due");
  for (const t of newest.mark.tasks) {
    if (t.error) open.set(t.node, "failed");
    else if (t.asked && !t.ended_at) open.set(t.node, "waiting");
    else if (t.ended_at && t.node && !newest.mark.next.includes(t.node)) open.set(t.node, "done");
  }
  for (const t of tasks ?? []) { // a store without the records of a server tells only what is open
    if (open.get(t.name) !== "due") continue;
    if (t.error) open.set(t.name, "failed");
    else if (t.interrupts.length > 0) open.set(t.name, "waiting");
  }
  for (const [name, state] of open) {
    const task = newest.mark.tasks.find((t) => t.node === name);
    states.set(name, { state, times: (states.get(name)?.times ?? 0) + 1, took: task ? time(task) : states.get(name)?.took, tokens: states.get(name)?.tokens });
  }
  for (const t of live?.tasks.values() ?? []) {
    const old = states.get(t.name);
    states.set(t.name, { state: t.state, times: Math.max(1, old?.times ?? 1), took: t.ended ? t.ended - t.started : old?.took, tokens: old?.tokens });
  }
  return { states, traveled };
}

function time(t: { started_at: string | null; ended_at: string | null }): number | undefined {
  return t.started_at && t.ended_at ? Date.parse(t.ended_at) - Date.parse(t.started_at) : undefined;
}
