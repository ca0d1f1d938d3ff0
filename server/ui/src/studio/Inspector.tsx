import type { ThreadState } from "@langchain/langgraph-sdk";
import { X } from "lucide-react";
import { useState } from "react";
import { client } from "../client";
import { IconButton } from "../parts/Button";
import { Skeleton } from "../parts/Skeleton";
import { Status } from "../parts/Status";
import { duration, Time } from "../parts/Time";
import { Tree } from "../parts/Tree";
import { Failure, price } from "./bits";
import { type LogLine, type MarkTask, readOnce, useData } from "./data";
import type { Dot } from "./history";

type State = ThreadState<Record<string, unknown>> & { tasks: { id: string; name: string; result?: unknown; error?: string | null; interrupts: unknown[]; checkpoint?: { checkpoint_ns?: string } | null }[] };

/** stateAt reads the state at a checkpoint. It does not change, unless the checkpoint is the newest. */
export function stateAt(thread: string, checkpoint: string): Promise<State> {
  return readOnce(`state ${thread} ${checkpoint}`, () => client.threads.getState(thread, checkpoint) as Promise<State>);
}

/** Inspector shows what a node did each time that it ran in the history that is shown. */
export function Inspector({ thread, node, dots, onClose, onGo }: { thread: string; node: string; dots: Dot[]; onClose: () => void; onGo: (checkpoint: string) => void }) {
  const name = node.split("/")[0] ?? node;
  const calls = dots.flatMap((d): { dot: Dot; task?: MarkTask }[] => {
    const list = d.mark.tasks.filter((t) => t.node === name);
    return list.length > 0 ? list.map((task) => ({ dot: d, task })) : d.mark.next.includes(name) ? [{ dot: d }] : [];
  });
  const [at, setAt] = useState(0);
  const call = calls[Math.min(at, calls.length - 1)];
  return (
    <section aria-label={`Node ${node}`} className="flex h-full min-h-0 flex-col bg-bg">
      <header className="flex h-11 shrink-0 items-center gap-2 border-b ps-4 pe-2">
        <h2 className="min-w-0 flex-1 truncate text-sm font-semibold">{node.replaceAll("/", " › ")}</h2>
        {calls.length > 1 && (
          <span className="num flex items-center gap-1 text-xs text-muted">
            <button type="button" aria-label="Earlier call" className="rounded-sm px-1.5 py-1 hover:bg-hover disabled:opacity-40" disabled={at >= calls.length - 1} onClick={() => setAt(at + 1)}>‹</button>
            {calls.length - at} of {calls.length}
            <button type="button" aria-label="Later call" className="rounded-sm px-1.5 py-1 hover:bg-hover disabled:opacity-40" disabled={at === 0} onClick={() => setAt(at - 1)}>›</button>
          </span>
        )}
        <IconButton label="Close the node" tip={false} onClick={onClose}><X size={16} /></IconButton>
      </header>
      <div tabIndex={0} role="region" aria-label="What the node did" className="min-h-0 flex-1 overflow-y-auto px-4 py-3">
        {!call && <p className="text-sm text-muted">This node has not run in the branch that is shown.</p>}
        {node.includes("/") && <p className="mb-3 text-xs text-muted">The node is in a subgraph; this is the call of the node that runs it.</p>}
        {call && <Call key={`${call.dot.mark.id} ${call.task?.id}`} thread={thread} name={name} dot={call.dot} task={call.task} onGo={onGo} />}
      </div>
    </section>
  );
}

function Call({ thread, name, dot, task, onGo }: { thread: string; name: string; dot: Dot; task?: MarkTask; onGo: (checkpoint: string) => void }) {
  const state = useData(`state ${thread} ${dot.mark.id} ${task?.ended_at ?? ""}`, () => client.threads.getState(thread, dot.mark.id) as Promise<State>);
  const found = state.data?.tasks.find((t) => (task ? t.id === task.id : t.name === name));
  const took = task?.started_at && task.ended_at ? Date.parse(task.ended_at) - Date.parse(task.started_at) : undefined;
  const error = task?.error ?? found?.error ?? undefined;
  const asked = task?.asked && !task.ended_at;
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted">
        <Status state={error ? "failed" : asked ? "waiting" : task?.ended_at ? "done" : "queued"} word={error ? "failed" : asked ? "waiting" : task?.ended_at ? "done" : "due"} />
        {took !== undefined && <span className="num">{duration(took)}</span>}
        {task?.usage && <span className="num">{task.usage.input} tokens in, {task.usage.output} out</span>}
        {task?.cost !== undefined && <span className="num">{price(task.cost)}</span>}
        <Time at={task?.started_at ?? dot.mark.time} />
        <button type="button" className="text-accent underline underline-offset-2" onClick={() => onGo(dot.mark.id)}>step {dot.mark.step}</button>
      </div>
      {error && <Part title="Error"><p className="rounded-control bg-[color-mix(in_srgb,var(--danger)_8%,transparent)] px-3 py-2 font-mono text-xs break-words whitespace-pre-wrap text-danger">{error}</p></Part>}
      {task?.attempts && (
        <Part title="Attempts" note={`${task.attempts.length} failed before the last one`}>
          <ol className="space-y-1 text-xs">
            {task.attempts.map((a) => (
              <li key={a.attempt} className="flex flex-wrap items-baseline gap-x-2">
                <Status state="failed" word={`attempt ${a.attempt}`} />
                {task.started_at && <span className="num text-muted">after {duration(Date.parse(a.ended_at) - Date.parse(task.started_at))}</span>}
                <span className="font-mono break-words whitespace-pre-wrap">{a.error}</span>
              </li>
            ))}
          </ol>
        </Part>
      )}
      {state.error !== undefined && <Failure error={state.error} again={state.reload} />}
      {!state.data ? <Skeleton lines={4} /> : (
        <>
          {task?.logs && <Part title="Logs" note={task.logs.length < 100 ? undefined : "the first 100 lines"}><Logs lines={task.logs} /></Part>}
          {found?.interrupts && found.interrupts.length > 0 && <Part title="Questions"><Tree value={found.interrupts} open={2} /></Part>}
          <Part title="Update" note="what the node wrote"><Value value={found?.result} none={task?.ended_at ? "The node wrote nothing." : "There is no update yet."} /></Part>
          <Part title="Input" note="the state before it ran"><Tree value={state.data.values} open={1} /></Part>
        </>
      )}
    </div>
  );
}

const loud: Record<string, string> = { WARN: "text-warn", ERROR: "text-danger" };

function Logs({ lines }: { lines: LogLine[] }) {
  return (
    <ol className="space-y-1 text-xs">
      {lines.map((l, i) => (
        <li key={i} className="font-mono break-words whitespace-pre-wrap">
          <span className="text-muted"><Time at={l.time} /></span> <span className={loud[l.level] ?? "text-muted"}>{l.level}</span> {l.message}
          {l.attrs && <Tree value={l.attrs} />}
        </li>
      ))}
    </ol>
  );
}

function Value({ value, none }: { value: unknown; none: string }) {
  if (value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0)) return <p className="text-sm text-muted">{none}</p>;
  return <Tree value={value} open={2} />;
}

function Part({ title, note, children }: { title: string; note?: string; children: React.ReactNode }) {
  return (
    <section>
      <h3 className="mb-1 text-xs font-semibold">{title} {note && <span className="font-normal text-muted">· {note}</span>}</h3>
      {children}
    </section>
  );
}
