import type { Thread } from "@langchain/langgraph-sdk";
import { CircleCheckBig } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { client } from "../client";
import { requestOf } from "../parts/InboxCard";
import { QuestionCard } from "../parts/Question";
import { label } from "../parts/SchemaForm";
import { Skeleton } from "../parts/Skeleton";
import { Time } from "../parts/Time";
import { href, navigate, useRoute } from "../route";
import { Empty, Failure, Locked, Page, plural, titleOf } from "./bits";
import type { Interrupt } from "./Conversation";
import { changed, useData, useInfo, whyNot } from "./data";
import { answer } from "./Thread";

type Open = { thread: Thread; question: Interrupt };

/** readOpen returns the open questions of all threads, oldest first. */
async function readOpen(signal: AbortSignal): Promise<Open[]> {
  const out: Open[] = [];
  for (let offset = 0; ; offset += 100) {
    const page = await client.threads.search({ status: "interrupted", limit: 100, offset, sortBy: "updated_at", sortOrder: "asc", select: ["thread_id", "status", "metadata", "updated_at", "interrupts"], signal });
    for (const thread of page) for (const list of Object.values(thread.interrupts ?? {})) for (const q of list) out.push({ thread, question: q as Interrupt });
    if (page.length < 100) return out;
  }
}

export default function Questions() {
  const route = useRoute();
  const list = useData("questions", readOpen, 4000);
  const info = useInfo();
  const why = whyNot(info, true);
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  const open = useMemo(() => (list.data ?? []).filter((o) => !answered.has(o.question.id)), [list.data, answered]);
  const chosen = open.find((o) => o.question.id === route.path[1]) ?? open[0];
  const box = useRef<HTMLDivElement>(null);
  const go = (o: Open | undefined) => navigate(href(["questions", ...(o ? [o.question.id] : [])]), true);
  useEffect(() => {
    const down = (e: KeyboardEvent) => {
      if (e.metaKey || e.ctrlKey || e.altKey || (e.target as HTMLElement).closest("input, textarea, select, dialog")) return;
      const by = e.key === "j" ? 1 : e.key === "k" ? -1 : 0;
      if (by && chosen) go(open[Math.max(0, Math.min(open.length - 1, open.indexOf(chosen) + by))]);
      else if (e.key === "Enter" && e.target === document.body) box.current?.querySelector<HTMLElement>("input, textarea, button:not([aria-label])")?.focus();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  });
  return (
    <Page title="Questions" note={list.data ? (open.length > 0 ? <>{plural(open.length, "question waits", "questions wait")}, oldest first. <span className="max-md:hidden"><kbd>J</kbd> and <kbd>K</kbd> go through them, <kbd>Enter</kbd> goes into one.</span></> : undefined) : undefined}>
      {list.error !== undefined && !list.data && <Failure error={list.error} again={list.reload} />}
      {!list.data ? list.loading && <Skeleton lines={6} /> : open.length === 0 ? (
        <Empty title="Nobody waits for you" icon={<CircleCheckBig size={20} aria-hidden />}>When a graph asks a person, its question appears here and can be answered in place.</Empty>
      ) : (
        <div className="grid gap-5 md:grid-cols-[260px_1fr] lg:grid-cols-[320px_1fr]">
          <ul aria-label="Open questions" className="max-md:flex max-md:gap-2 max-md:overflow-x-auto md:space-y-1">
            {open.map((o) => (
              <li key={o.question.id} className="max-md:w-56 max-md:shrink-0">
                <button type="button" aria-current={o === chosen ? "true" : undefined} onClick={() => go(o)} className={`flex w-full flex-col rounded-control px-3 py-2 text-start transition-colors duration-150 ${o === chosen ? "bg-tint" : "hover:bg-hover max-md:border"}`}>
                  <span dir="auto" className="w-full truncate text-sm font-medium">{subject(o.question)}</span>
                  <span className="flex w-full gap-2 text-xs text-muted"><span dir="auto" className="min-w-0 flex-1 truncate">{titleOf(o.thread)}</span><Time at={o.thread.updated_at} /></span>
                </button>
              </li>
            ))}
          </ul>
          {chosen && (
            <div ref={box} className="min-w-0 space-y-3">
              <h2 className="sr-only">The question</h2>
              <p className="flex flex-wrap items-center gap-x-3 text-sm text-muted">
                <a dir="auto" className="truncate text-accent underline underline-offset-2" href={href(["threads", chosen.thread.thread_id])}>{titleOf(chosen.thread)}</a>
                {typeof chosen.thread.metadata?.graph_id === "string" && <span>{chosen.thread.metadata.graph_id}</span>}
                <span>waits since <Time at={chosen.thread.updated_at} /></span>
              </p>
              {why && <Locked why={why} />}
              <fieldset disabled={why !== undefined} className="contents">
                <QuestionCard
                  key={chosen.question.id}
                  question={chosen.question}
                  busy={why !== undefined}
                  onAnswer={async (value) => {
                    await answer(chosen.thread.thread_id, String(chosen.thread.metadata?.graph_id ?? ""), chosen.question, value);
                    setAnswered((old) => new Set(old).add(chosen.question.id));
                    changed("questions");
                  }}
                />
              </fieldset>
            </div>
          )}
        </div>
      )}
    </Page>
  );
}

function subject(q: Interrupt): string {
  if (typeof q.value === "string") return q.value;
  const request = requestOf(q.value);
  if (request) return label(request.action_request.action);
  const v = q.value as Record<string, unknown> | null;
  const annotations = v?.annotations as { title?: unknown } | undefined;
  return [annotations?.title, v?.title, v?.question, v?.message, v?.tool].find((t): t is string => typeof t === "string" && t !== "") ?? "A question";
}
