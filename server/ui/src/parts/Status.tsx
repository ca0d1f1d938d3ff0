import { Ban, Check, CircleDashed, CircleSlash, Hand, History, ListTodo, LoaderCircle, TriangleAlert } from "lucide-react";
import { type Text, tr } from "../texts";

export type State = "running" | "done" | "failed" | "rejected" | "waiting" | "superseded" | "stopped" | "queued" | "planned";

const looks = {
  running: { icon: LoaderCircle, word: "running", color: "text-info", spin: true },
  done: { icon: Check, word: "done", color: "text-ok" },
  failed: { icon: TriangleAlert, word: "failed", color: "text-danger" },
  rejected: { icon: Ban, word: "rejected", color: "text-muted" },
  waiting: { icon: Hand, word: "waiting for you", color: "text-warn" },
  superseded: { icon: History, word: "superseded", color: "text-muted" },
  stopped: { icon: CircleSlash, word: "stopped", color: "text-muted" },
  planned: { icon: ListTodo, word: "planned", color: "text-muted" },
  queued: { icon: CircleDashed, word: "queued", color: "text-muted" },
} as const satisfies Record<State, { icon: unknown; word: Text; color: string; spin?: boolean }>;

/** Status shows a state by an icon and a word. */
export function Status({ state, word }: { state: State; word?: string }) {
  const look = looks[state];
  const Icon = look.icon;
  return (
    <span className={`inline-flex items-center gap-1 text-xs whitespace-nowrap ${look.color}`}>
      <Icon size={14} aria-hidden className={"spin" in look ? "animate-spin" : ""} />
      {word ?? tr(look.word)}
    </span>
  );
}

/** isRejection reports whether a failed result of package tools says that somebody rejected the call: "the deadline rejected this call: too late". */
export function isRejection(text: string): boolean {
  return /^[^\n]+ rejected this call(:|$)/.test(text);
}
