import type { Thread, ThreadStatus } from "@langchain/langgraph-sdk";
import { useVirtualizer } from "@tanstack/react-virtual";
import { MessagesSquare, Plus, Search, X } from "lucide-react";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { client } from "../client";
import { IconButton } from "../parts/Button";
import { Skeleton } from "../parts/Skeleton";
import { Time } from "../parts/Time";
import { href, navigate, useRoute } from "../route";
import { addQuestions, asks, Chip, Empty, Failure, plural, ThreadState, titleOf } from "./bits";
import { useData, useInfo, useWide, whyNot } from "./data";
import { NewRun } from "./NewRun";
import { ThreadView } from "./Thread";

type Filter = ThreadStatus | "stopped";

// The server gives threads that ask, and those that were stopped or paused, the same status.
const statuses: { status: Filter; word: string }[] = [
  { status: "interrupted", word: "Waiting" },
  { status: "busy", word: "Busy" },
  { status: "error", word: "Failed" },
  { status: "stopped", word: "Stopped" },
  { status: "idle", word: "Idle" },
];

const pageSize = 200;

/** Threads shows the list of threads, and the chosen one beside it. */
export function Threads() {
  const route = useRoute();
  const wide = useWide(900);
  const id = route.path[1];
  if (!wide) return id ? <ThreadView key={id} id={id} /> : <List main />;
  return (
    <div className="flex min-h-0 flex-1">
      <aside aria-label="Threads" className="flex w-72 shrink-0 flex-col border-e xl:w-80"><List chosen={id} /></aside>
      {id ? <ThreadView key={id} id={id} /> : (
        <main id="main" tabIndex={-1} className="min-w-0 flex-1 outline-none">
          <h1 className="sr-only">Threads</h1>
          <Empty title="No thread is open" icon={<MessagesSquare size={20} aria-hidden />}>Choose one on the left: its conversation, state and graph, and every checkpoint since it began.</Empty>
        </main>
      )}
    </div>
  );
}

function List({ chosen, main }: { chosen?: string; main?: boolean }) {
  const route = useRoute();
  const status = (route.query.get("status") ?? undefined) as Filter | undefined;
  const text = route.query.get("q") ?? "";
  const [limit, setLimit] = useState(pageSize);
  const [creating, setCreating] = useState(false);
  const why = whyNot(useInfo(), true);
  const list = useData(`threads ${status ?? ""} ${limit}`, (signal) => readThreads(status, limit, signal), 4000);
  const found = useMemo(() => {
    const want = text.trim().toLowerCase();
    const all = (list.data ?? []).filter((t) => (status === "interrupted" && t.status === status ? asks(t) !== false : status === "stopped" ? !asks(t) : true));
    return want ? all.filter((t) => titleOf(t).toLowerCase().includes(want) || t.thread_id.includes(want) || String(t.metadata?.graph_id ?? "").toLowerCase().includes(want)) : all;
  }, [list.data, text, status]);
  const more = useCallback(() => setLimit(limit * 2), [limit]);
  const go = (query: { status?: string; q?: string }) => {
    setLimit(pageSize);
    navigate(href(route.path, { ...Object.fromEntries(route.query), status, q: text, ...query }), true);
  };
  const Tag = main ? "main" : "div";
  return (
    <Tag id={main ? "main" : undefined} tabIndex={main ? -1 : undefined} className="flex min-h-0 flex-1 flex-col outline-none">
      {main && <h1 className="sr-only">Threads</h1>}
      <div className="space-y-2.5 p-3 pb-2">
        <div className="flex items-center gap-1.5">
          <div className="relative min-w-0 flex-1">
            <Search size={15} aria-hidden className="absolute start-2.5 top-2.5 text-muted" />
            <input
              type="search"
              aria-label="Filter threads by title, id or graph"
              value={text}
              onChange={(e) => go({ q: e.target.value })}
              placeholder="Filter threads"
              className="h-9 w-full rounded-control border bg-bg ps-8 pe-2 text-sm [&::-webkit-search-cancel-button]:hidden"
            />
            {text && <IconButton label="Clear the filter" tip={false} className="absolute end-1 top-1 size-7!" onClick={() => go({ q: "" })}><X size={14} /></IconButton>}
          </div>
          <IconButton label={why ? `New thread: ${why}` : "New thread"} disabled={why !== undefined} onClick={() => setCreating(true)}><Plus size={18} /></IconButton>
        </div>
        <div role="group" aria-label="Filter by status" className="flex flex-wrap gap-1.5 py-0.5">
          {statuses.map((s) => (
            <Chip key={s.status} on={status === s.status} onClick={() => go({ status: status === s.status ? "" : s.status })}>{s.word}</Chip>
          ))}
        </div>
      </div>
      <Rows threads={found} chosen={chosen} status={status} text={text} loading={list.loading && !list.data} more={(list.data?.length ?? 0) >= limit ? more : undefined} />
      {list.error !== undefined && <Failure error={list.error} again={list.reload} />}
      <p className="num border-t px-4 py-2 text-xs text-muted" aria-live="polite">{list.data ? plural(found.length, "thread") + (list.data.length >= limit ? " shown" : "") : "…"}</p>
      {creating && <NewRun onClose={() => setCreating(false)} />}
    </Tag>
  );
}

const maxPage = 1000;

async function readThreads(filter: Filter | undefined, limit: number, signal: AbortSignal): Promise<Thread[]> {
  const status = filter === "stopped" ? "interrupted" : filter;
  const out: Thread[] = [];
  while (out.length < limit) {
    const size = Math.min(maxPage, limit - out.length);
    const page = await client.threads.search({
      status, limit: size, offset: out.length, sortBy: "updated_at", sortOrder: "desc", select: ["thread_id", "status", "metadata", "created_at", "updated_at"], signal,
    });
    out.push(...page);
    if (page.length < size) break;
  }
  await addQuestions(out, signal);
  return out;
}

type RowsProps = { threads: Thread[]; chosen?: string; status?: string; text: string; loading: boolean; more?: () => void };

const Rows = memo(function Rows({ threads, chosen, status, text, loading, more }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({ count: threads.length, getScrollElement: () => scroller.current, estimateSize: () => 60, overscan: 12, getItemKey: (i) => threads[i]?.thread_id ?? i });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= threads.length - 20) more();
  }, [last, threads.length, more]);
  if (loading || (more && threads.length === 0)) return <div className="flex-1 px-4"><Skeleton lines={8} /></div>;
  if (threads.length === 0) return <div className="flex-1"><Empty title="No threads">A thread is there as soon as a run has begun, or as soon as another filter finds it.</Empty></div>;
  const move = (e: React.KeyboardEvent) => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    e.preventDefault();
    const at = threads.findIndex((t) => t.thread_id === (document.activeElement as HTMLElement | null)?.dataset.thread);
    const next = Math.max(0, Math.min(threads.length - 1, at + step));
    rows.scrollToIndex(next);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-thread="${threads[next]?.thread_id}"]`)?.focus());
  };
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto px-2 pb-2" onKeyDown={move}>
      <ul aria-label="Threads" className="relative" style={{ height: rows.getTotalSize() }}>
        {items.map((item) => {
          const t = threads[item.index];
          if (!t) return null;
          const on = t.thread_id === chosen;
          const graph = t.metadata?.graph_id;
          return (
            <li key={item.key} className="absolute inset-x-0 top-0" style={{ height: item.size, transform: `translateY(${item.start}px)` }}>
              <a
                data-thread={t.thread_id}
                href={href(["threads", t.thread_id], { status, q: text })}
                aria-current={on ? "true" : undefined}
                className={`flex h-14 flex-col justify-center rounded-control px-2.5 outline-offset-[-2px] transition-colors duration-150 ${on ? "bg-tint" : "hover:bg-hover"}`}
              >
                <span className="flex items-baseline gap-2">
                  <span dir="auto" className={`min-w-0 flex-1 truncate text-sm ${on ? "font-medium" : ""}`}>{titleOf(t)}</span>
                  <span className="text-xs text-muted"><Time at={t.updated_at} /></span>
                </span>
                <span className="flex items-center gap-2 text-xs text-muted">
                  <ThreadState thread={t} />
                  {typeof graph === "string" && <span className="truncate">{graph}</span>}
                </span>
              </a>
            </li>
          );
        })}
      </ul>
    </div>
  );
});
