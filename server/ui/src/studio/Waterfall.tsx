import { Bot, Box, ChevronRight, RotateCw, Wrench } from "lucide-react";
import { useMemo, useState } from "react";
import { duration } from "../parts/Time";
import { price } from "./bits";
import type { Span, Trace } from "./data";

const icons = { task: Box, attempt: RotateCw, model: Bot, tool: Wrench };
const colors: Record<string, string> = { task: "bg-accent", attempt: "bg-danger", model: "bg-info", tool: "bg-(--code-number)" };
const words = { running: "running", success: "done", error: "failed", waiting: "waiting", interrupted: "stopped" };

type Row = { span: Span; depth: number; children: number; step?: number };

// rowsOf sorts spans so that each stands below its parent.
function rowsOf(spans: Span[], closed: ReadonlySet<string>): Row[] {
  const byParent = new Map<string, Span[]>();
  const known = new Set(spans.map((s) => s.id));
  for (const s of spans) {
    const parent = s.parent && known.has(s.parent) ? s.parent : "";
    byParent.set(parent, [...(byParent.get(parent) ?? []), s]);
  }
  const out: Row[] = [];
  let step: number | undefined;
  const add = (parent: string, depth: number) => {
    const list = (byParent.get(parent) ?? []).sort((a, b) => a.start.localeCompare(b.start) || a.step - b.step);
    for (const span of list) {
      const children = byParent.get(span.id)?.length ?? 0;
      out.push({ span, depth, children, step: depth === 0 && span.step !== step ? span.step : undefined });
      if (depth === 0) step = span.step;
      if (!closed.has(span.id)) add(span.id, depth + 1);
    }
  };
  add("", 0);
  return out;
}

/** Waterfall shows when the tasks, models and tools of a run began and ended. */
export function Waterfall({ trace, scale, label = "Waterfall" }: { trace: Trace; scale?: number; label?: string }) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<string>();
  const rows = useMemo(() => rowsOf(trace.spans, closed), [trace, closed]);
  const begin = Math.min(Date.parse(trace.began_at ?? trace.created_at), ...trace.spans.map((s) => Date.parse(s.start)));
  const end = Math.max(trace.ended_at ? Date.parse(trace.ended_at) : Date.now(), begin + 1, ...trace.spans.map((s) => (s.end ? Date.parse(s.end) : 0)));
  const total = Math.max(1, scale ?? end - begin);
  const place = (at: number) => `${((at - begin) / total) * 100}%`;
  const longest = Math.max(1, ...trace.spans.filter((s) => s.kind !== "task").map((s) => (s.end ? Date.parse(s.end) : end) - Date.parse(s.start)));
  const toggle = (id: string) => setClosed((old) => {
    const next = new Set(old);
    if (!next.delete(id)) next.add(id);
    return next;
  });
  return (
    <div tabIndex={0} role="region" aria-label={label} className="overflow-x-auto rounded-card border">
      <div className="min-w-[600px]">
        <div className="flex h-8 items-center border-b bg-surface text-[11px] text-muted">
          <span className="w-56 shrink-0 ps-3">Superstep, task, model, tool</span>
          <span className="num relative h-full flex-1">
            {[0, 0.25, 0.5, 0.75].map((f) => <span key={f} className="absolute top-2 border-s ps-1" style={{ insetInlineStart: `${f * 100}%` }}>{duration(total * f)}</span>)}
          </span>
          <span className="num w-32 shrink-0 pe-3 text-end">{duration(total)}</span>
        </div>
        <ul>
          {rows.map(({ span, depth, children, step }) => {
            const start = Date.parse(span.start);
            const stop = span.end ? Date.parse(span.end) : end;
            const Icon = icons[span.kind];
            const slow = span.kind !== "task" && trace.spans.length > 3 && stop - start === longest;
            const bad = span.status === "error";
            const color = bad ? "bg-danger" : span.status === "waiting" ? "bg-warn" : colors[span.kind];
            return (
              <li key={span.id} className={step !== undefined ? "border-t first:border-t-0" : ""}>
                <div className={`flex h-8 items-center text-[13px] ${chosen === span.id ? "bg-tint" : "hover:bg-hover"}`}>
                  <span className="flex w-56 shrink-0 items-center gap-1 pe-2" style={{ paddingInlineStart: 8 + depth * 14 }}>
                    <span className="num w-6 shrink-0 text-[11px] text-muted" title={step === undefined ? undefined : `superstep ${step}`}>{step ?? ""}</span>
                    {children > 0 ? (
                      <button type="button" aria-expanded={!closed.has(span.id)} aria-label={`Parts of ${span.name}`} onClick={() => toggle(span.id)} className="grid size-5 shrink-0 place-items-center rounded-sm text-muted"><ChevronRight size={14} className={`transition-transform duration-150 ${closed.has(span.id) ? "" : "rotate-90"}`} /></button>
                    ) : <span className="w-5 shrink-0" />}
                    <button type="button" aria-pressed={chosen === span.id} onClick={() => setChosen(chosen === span.id ? undefined : span.id)} className="flex min-w-0 items-center gap-1.5 rounded-sm text-start">
                      <Icon size={14} aria-hidden className="shrink-0 text-muted" />
                      <span className="truncate">{span.name}</span>
                      <span className="sr-only">, {span.kind}, {words[span.status]}, {duration(stop - start)}</span>
                    </button>
                  </span>
                  <span className="relative h-full min-w-0 flex-1" aria-hidden>
                    {[0.25, 0.5, 0.75].map((f) => <span key={f} className="absolute inset-y-0 border-s border-line/60" style={{ insetInlineStart: `${f * 100}%` }} />)}
                    <span className={`absolute top-2.5 h-3 rounded-sm ${color} ${span.status === "running" ? "animate-soft" : ""} ${span.kind === "task" ? "opacity-90" : "opacity-80"} ${slow ? "ring-2 ring-warn" : ""}`} style={{ insetInlineStart: place(start), width: `max(3px, ${((stop - start) / total) * 100}%)` }} />
                  </span>
                  <span className="num w-32 shrink-0 pe-3 text-end text-xs whitespace-nowrap text-muted">{span.usage ? `${span.usage.total_tokens} tok · ` : ""}{duration(stop - start)}</span>
                </div>
                {chosen === span.id && <Detail span={span} begin={begin} />}
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

function Detail({ span, begin }: { span: Span; begin: number }) {
  const rows: [string, string][] = [
    ["State", words[span.status]], ["Began", `${duration(Date.parse(span.start) - begin)} after the run`],
    ...(span.usage ? [["Tokens", `${span.usage.input_tokens} in, ${span.usage.output_tokens} out`] as [string, string]] : []),
    ...(span.cost !== undefined ? [["Cost", price(span.cost)] as [string, string]] : []),
    ...(span.path ? [["Subgraph", span.path.split("|").map((p) => p.split(":")[0]).join(" › ")] as [string, string]] : []),
    ...(span.kind === "attempt" ? [["Time", "with the wait before it"] as [string, string]] : []),
    ...(span.kind === "model" ? [["Time", "from the first piece to the last; if it did not stream, since its task began"] as [string, string]] : []),
  ];
  return (
    <div className="border-t bg-surface px-4 py-3 text-sm">
      <dl className="grid grid-cols-[90px_1fr] gap-x-3 gap-y-0.5">{rows.map(([k, v]) => <div key={k} className="contents"><dt className="text-muted">{k}</dt><dd className="num">{v}</dd></div>)}</dl>
      {span.error && <p className="mt-2 font-mono text-xs break-words whitespace-pre-wrap text-danger">{span.error}</p>}
    </div>
  );
}
