import { Time, duration } from "../parts/Time";
import { href } from "../route";
import { RunState, User } from "./bits";
import type { RunInfo } from "./data";

/** tookOf returns how long a run has run, in milliseconds, or undefined if it has not begun. */
export function tookOf(r: RunInfo): number | undefined {
  if (!r.began_at) return undefined;
  return Math.max(0, (r.ended_at ? Date.parse(r.ended_at) : Date.now()) - Date.parse(r.began_at));
}

function waitOf(r: RunInfo): number | undefined {
  return r.began_at ? Math.max(0, Date.parse(r.began_at) - Date.parse(r.created_at)) : undefined;
}

/** inputOf says in a line with what a run began. */
export function inputOf(r: RunInfo): string {
  const k = r.kwargs ?? {};
  if (k.command) return "answer or command";
  const input = k.input as { messages?: unknown } | null | undefined;
  if (input === null || input === undefined) return k.checkpoint_id ? "run from a checkpoint" : "continue";
  const list = Array.isArray(input.messages) ? input.messages : [];
  const last = list.at(-1) as { content?: unknown } | undefined;
  if (typeof last?.content === "string") return `“${last.content}”`;
  const entries = Object.entries(input);
  if (entries.length > 0 && entries.length < 4 && entries.every(([, v]) => typeof v !== "object" || v === null)) return entries.map(([k, v]) => `${k}: ${String(v)}`).join(", ").replaceAll("\uE000", "");
  return JSON.stringify(input).replaceAll("\uE000", "");
}

/** RunTable lists runs. */
export function RunTable({ runs, narrow, picked, onPick }: { runs: RunInfo[]; narrow?: boolean; picked?: string[]; onPick?: (id: string) => void }) {
  const longest = Math.max(1, ...runs.map((r) => tookOf(r) ?? 0));
  return (
    <ul className="divide-y overflow-hidden rounded-card border">
      {runs.map((r) => {
        const took = tookOf(r);
        const wait = waitOf(r);
        return (
          <li key={r.run_id} className={`relative flex items-center gap-3 px-3.5 py-2.5 transition-colors duration-150 focus-within:bg-hover hover:bg-hover ${picked?.includes(r.run_id) ? "bg-tint" : ""}`}>
            {onPick && <input type="checkbox" aria-label={`Compare the run ${r.run_id.slice(-6)}`} checked={picked?.includes(r.run_id) ?? false} onChange={() => onPick(r.run_id)} className="relative z-10 size-4 accent-(--accent)" />}
            <span className="w-20 shrink-0"><RunState status={r.status} /></span>
            <span className="min-w-0 flex-1">
              <a href={href(["runs", r.thread_id, r.run_id])} className="block truncate text-sm after:absolute after:inset-0"><span dir="auto">{inputOf(r)}</span></a>
              <span className="flex gap-2 truncate text-xs text-muted">
                {r.graph_id && <span>{r.graph_id}</span>}
                {r.user_id && <User id={r.user_id} />}
                {r.attempt > 1 && <span className="text-warn">attempt {r.attempt}</span>}
                {r.error && <span className="truncate text-danger">{r.error.error}: {r.error.message}</span>}
                {wait !== undefined && wait > 1000 && <span className="num">waited {duration(wait)}</span>}
              </span>
            </span>
            {!narrow && (
              <span aria-hidden className="hidden h-1.5 w-28 overflow-hidden rounded-full bg-sunk md:block">
                <span className={`block h-full rounded-full ${r.status === "error" ? "bg-danger" : "bg-accent"}`} style={{ width: `${Math.max(2, ((took ?? 0) / longest) * 100)}%` }} />
              </span>
            )}
            <span className="num w-16 shrink-0 text-end text-xs">{took === undefined ? "" : duration(took)}</span>
            <span className="w-20 shrink-0 text-end text-xs text-muted max-sm:hidden"><Time at={r.created_at} /></span>
          </li>
        );
      })}
    </ul>
  );
}
