import type { Thread, ThreadStatus } from "@langchain/langgraph-sdk";
import { Inbox, Lock, TriangleAlert, UserRound } from "lucide-react";
import type { ReactNode } from "react";
import { messageOf } from "../client";
import { config } from "../config";
import { openQuestions } from "../questions";
import { Button } from "../parts/Button";
import { type State, Status } from "../parts/Status";
import type { RunStatus } from "./data";

export const threadStates: Record<ThreadStatus, { state: State; word: string }> = {
  idle: { state: "done", word: "idle" },
  busy: { state: "running", word: "busy" },
  interrupted: { state: "waiting", word: "waiting" },
  error: { state: "failed", word: "failed" },
};

/** asks reports whether a thread has an open question, if its interrupts are known. Others with its status were stopped or paused. */
export function asks(t: { status: ThreadStatus; interrupts?: Thread["interrupts"] }): boolean | undefined {
  if (t.status !== "interrupted") return false;
  return t.interrupts && Object.values(t.interrupts).flat().length > 0;
}

/** addQuestions adds their open questions to threads that were read without. If they cannot be read, they stay unknown. */
export async function addQuestions(threads: Thread[], signal?: AbortSignal) {
  const questions = await openQuestions(threads, signal).catch(() => undefined);
  if (questions) for (const t of threads) t.interrupts = { "": questions.get(t.thread_id) ?? [] } as Thread["interrupts"];
}

export const runStates: Record<RunStatus, { state: State; word: string }> = {
  pending: { state: "queued", word: "queued" },
  running: { state: "running", word: "running" },
  success: { state: "done", word: "done" },
  error: { state: "failed", word: "failed" },
  timeout: { state: "failed", word: "timed out" },
  interrupted: { state: "stopped", word: "stopped" },
};

export function ThreadState({ thread }: { thread: Pick<Thread, "status" | "interrupts"> }) {
  const { status } = thread;
  const asking = asks(thread);
  const s = status === "interrupted" && !asking ? (asking === false ? runStates.interrupted : { state: runStates.interrupted.state, word: status }) : (threadStates[status] ?? { state: "queued", word: status });
  return <Status state={s.state} word={s.word} />;
}

export function RunState({ status }: { status: RunStatus }) {
  const s = runStates[status] ?? { state: "queued", word: status };
  return <Status state={s.state} word={s.word} />;
}

/** User is the id of the user of a thread or a run. */
export function User({ id }: { id: string }) {
  return <span className="inline-flex min-w-0 items-center gap-1"><UserRound size={12} role="img" aria-label="user" className="shrink-0" /><span className="truncate">{id}</span></span>;
}

/** Empty stands for a list without entries. */
export function Empty({ title, children, icon, heading }: { title: string; children?: ReactNode; icon?: ReactNode; heading?: boolean }) {
  return (
    <div className="mx-auto flex max-w-sm flex-col items-center gap-2 px-6 py-16 text-center">
      <div className="mb-1 grid size-11 place-items-center rounded-full bg-sunk text-muted">{icon ?? <Inbox size={20} aria-hidden />}</div>
      {heading ? <h1 className="font-medium">{title}</h1> : <p className="font-medium">{title}</p>}
      {children && <div className="text-sm text-muted">{children}</div>}
    </div>
  );
}

/** Failure says that data could not be read, and offers to read it again. */
export function Failure({ error, again }: { error: unknown; again?: () => void }) {
  return (
    <div role="alert" className="m-4 flex flex-wrap items-center gap-3 rounded-card border px-4 py-3 text-sm">
      <TriangleAlert size={18} className="text-danger" aria-hidden />
      <span className="min-w-0 flex-1">{messageOf(error)}</span>
      {again && <Button onClick={again}>Try again</Button>}
    </div>
  );
}

/** Chip is a filter that can be on. */
export function Chip({ on, onClick, children }: { on: boolean; onClick: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={on}
      onClick={onClick}
      className={`inline-flex min-h-8 items-center gap-1.5 rounded-full border px-3 text-xs font-medium whitespace-nowrap transition-colors duration-150 ${on ? "border-accent bg-tint text-accent" : "bg-bg text-muted hover:text-text"}`}
    >
      {children}
    </button>
  );
}

/** Badge is a word that describes a thing. */
export function Badge({ children, title }: { children: ReactNode; title?: string }) {
  return <span title={title} className="inline-flex items-center gap-1 rounded-md bg-sunk px-1.5 py-0.5 text-xs whitespace-nowrap text-muted">{children}</span>;
}

/** Locked says why something cannot be done here. */
export function Locked({ why }: { why: string }) {
  return (
    <p className="flex items-center gap-2 text-xs text-muted">
      <Lock size={14} aria-hidden className="shrink-0" /> {why}
    </p>
  );
}

/** Page is a view that scrolls, with a title. */
export function Page({ title, note, actions, children }: { title: string; note?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <main id="main" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto outline-none">
      <div className="mx-auto max-w-6xl px-4 pt-6 pb-16 md:px-8">
        <header className="mb-5 flex flex-wrap items-end gap-x-4 gap-y-3">
          <div className="min-w-[min(100%,15rem)] flex-1">
            <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
            {note && <p className="text-sm text-muted">{note}</p>}
          </div>
          {actions}
        </header>
        {children}
      </div>
    </main>
  );
}

/** titleOf returns what to call a thread. */
export function titleOf(thread: { thread_id: string; metadata?: unknown; values?: unknown }): string {
  const meta = (thread.metadata ?? {}) as Record<string, unknown>;
  for (const key of ["title", "thread_name", "name"]) if (typeof meta[key] === "string" && meta[key]) return meta[key] as string;
  return `Thread ${thread.thread_id.slice(0, 8)}`;
}

export const count = new Intl.NumberFormat();

/** price writes a cost in the currency of the server, with the digits that small amounts need. */
export function price(cost: number): string {
  const digits = cost !== 0 && Math.abs(cost) < 1 ? 4 : 2;
  const format = { minimumFractionDigits: 2, maximumFractionDigits: digits };
  return new Intl.NumberFormat(undefined, config.currency ? { ...format, style: "currency", currency: config.currency } : format).format(cost);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count.format(n)} ${n === 1 ? one : many}`;
}
