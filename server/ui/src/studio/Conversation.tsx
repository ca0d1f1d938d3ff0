import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, Bot, ChevronRight, Cog, User, Wrench } from "lucide-react";
import { memo, startTransition, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Arguments } from "../parts/Arguments";
import { Button } from "../parts/Button";
import { Markdown, Picture } from "../parts/Markdown";
import { type Asked, QuestionCard } from "../parts/Question";
import { label } from "../parts/SchemaForm";
import { isRejection, type State, Status } from "../parts/Status";
import { Tree } from "../parts/Tree";
import { editedArguments, resultOf } from "../chat/messages";
import { parse } from "../exact";

type Block = { type: string; [key: string]: unknown };
type Call = { id: string; name: string; args: unknown };
export type Message = {
  id: string; type: string; content: string | Block[]; name?: string; tool_calls?: Call[]; tool_call_id?: string; status?: string;
  response_metadata?: Record<string, unknown>;
  usage_metadata?: { input_tokens: number; output_tokens: number; total_tokens: number } | null;
};
export type Interrupt = Asked;

/** messagesIn returns the channel of a state that has a conversation, and its messages. */
export function messagesIn(values: Record<string, unknown> | undefined): Message[] | undefined {
  for (const v of [values?.messages, ...Object.values(values ?? {})]) {
    if (Array.isArray(v) && v.length > 0 && v.every((m) => typeof m === "object" && m !== null && "type" in m && "content" in m)) return v as Message[];
  }
  return undefined;
}

type Item =
  | { kind: "human"; id: string; message: Message }
  | { kind: "system"; id: string; message: Message }
  | { kind: "ai"; id: string; message: Message; uses: { call: Call; answer?: Message }[]; streaming?: boolean }
  | { kind: "question"; id: string; question: Interrupt };

function itemsOf(messages: Message[], questions: Interrupt[], live: Map<string, string>): Item[] {
  const answers = new Map(messages.filter((m) => m.type === "tool").map((m) => [m.tool_call_id, m]));
  const out: Item[] = [];
  const known = new Set(messages.map((m) => m.id));
  messages.forEach((message, i) => {
    const id = message.id || String(i);
    if (message.type === "ai") out.push({ kind: "ai", id, message, uses: (message.tool_calls ?? []).map((call) => ({ call, answer: answers.get(call.id) })) });
    else if (message.type === "human") out.push({ kind: "human", id, message });
    else if (message.type !== "tool") out.push({ kind: "system", id, message });
  });
  for (const [id, text] of live) if (!known.has(id)) out.push({ kind: "ai", id, message: { id, type: "ai", content: text }, uses: [], streaming: true });
  for (const q of questions) out.push({ kind: "question", id: q.id, question: q });
  return out;
}

type Props = { messages: Message[]; questions: Interrupt[]; live: Map<string, string>; busy: boolean; locked?: string; onAnswer: (q: Interrupt, value: unknown) => Promise<void> };

/** Conversation shows the messages of a state. Only those in view are drawn. */
export function Conversation({ messages, questions, live, busy, locked, onAnswer }: Props) {
  const liveText = [...live.values()].join("\n");
  const items = useMemo(() => itemsOf(messages, questions, live), [messages, questions, liveText]); // eslint-disable-line
  const scroller = useRef<HTMLDivElement>(null);
  const [away, setAway] = useState(false);
  const stick = useRef(true);
  const list = useVirtualizer({ count: items.length, getScrollElement: () => scroller.current, estimateSize: (i) => (items[i]?.kind === "human" ? 84 : 150), overscan: 3, getItemKey: (i) => items[i]?.id ?? i });
  const total = list.getTotalSize();
  useLayoutEffect(() => {
    const el = scroller.current;
    if (el && stick.current) el.scrollTop = el.scrollHeight;
  }, [total, liveText]);
  useEffect(() => {
    const el = scroller.current;
    if (!el) return;
    const scrolled = () => {
      stick.current = el.scrollHeight - el.scrollTop - el.clientHeight < 60;
      setAway(!stick.current);
    };
    el.addEventListener("scroll", scrolled, { passive: true });
    return () => el.removeEventListener("scroll", scrolled);
  }, []);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div ref={scroller} tabIndex={0} role="log" aria-label="Conversation" className="min-h-0 flex-1 overflow-y-auto px-4">
        <div className="relative mx-auto max-w-[760px]" style={{ height: total }}>
          {list.getVirtualItems().map((v) => {
            const item = items[v.index];
            if (!item) return null;
            return (
              <div key={v.key} ref={list.measureElement} data-index={v.index} className="absolute inset-x-0 top-0 py-2.5" style={{ transform: `translateY(${v.start}px)` }}>
                {item.kind === "question" ? (
                  <div className="space-y-2">
                    <h2 className="sr-only">Open question</h2>
                    {locked && <p className="text-xs text-muted">{locked}</p>}
                    <fieldset disabled={locked !== undefined} className="contents">
                      <QuestionCard question={item.question} busy={busy || locked !== undefined} onAnswer={(value) => onAnswer(item.question, value)} />
                    </fieldset>
                  </div>
                ) : (
                  <Row item={item} busy={busy} asked={questions} />
                )}
              </div>
            );
          })}
        </div>
      </div>
      {away && (
        <Button className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full! shadow-float" icon={<ArrowDown size={15} />} onClick={() => { stick.current = true; list.scrollToIndex(items.length - 1, { align: "end" }); }}>
          Newest
        </Button>
      )}
    </div>
  );
}

const Row = memo(function Row({ item, busy, asked }: { item: Exclude<Item, { kind: "question" }>; busy: boolean; asked: Interrupt[] }) {
  if (item.kind === "human") {
    return (
      <article aria-label="Person" className="flex flex-col items-end">
        <div dir="auto" className="max-w-[85%] rounded-card rounded-ee-md bg-tint px-3.5 py-2 break-words whitespace-pre-wrap"><Blocks content={item.message.content} plain /></div>
        <span className="sr-only"><User size={12} /> person</span>
      </article>
    );
  }
  if (item.kind === "system") {
    return (
      <article aria-label={item.message.type} className="rounded-control border px-3.5 py-2 text-sm text-muted">
        <p className="mb-0.5 flex items-center gap-1.5 text-xs"><Cog size={13} aria-hidden /> {item.message.type}</p>
        <Blocks content={item.message.content} />
      </article>
    );
  }
  const usage = item.message.usage_metadata;
  return (
    <article aria-label="Assistant" className="group">
      <p className="mb-1 flex items-center gap-1.5 text-xs text-muted">
        <Bot size={14} aria-hidden /> {item.message.name || "assistant"}
        {usage && <span className="num opacity-0 transition-opacity duration-150 group-focus-within:opacity-100 group-hover:opacity-100">{usage.input_tokens} in · {usage.output_tokens} out</span>}
      </p>
      <div className={item.streaming ? "caret" : ""}><Blocks content={item.message.content} /></div>
      {item.uses.length > 0 && <div className="mt-1.5 space-y-1">{item.uses.map((u) => <Use key={u.call.id} use={u} busy={busy} asking={asked.length > 0} waits={asked.some((q) => (q.value as { call_id?: string } | null)?.call_id === u.call.id)} />)}</div>}
    </article>
  );
});

function Blocks({ content, plain }: { content: string | Block[]; plain?: boolean }) {
  const blocks: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return (
    <>
      {blocks.map((b, i) => {
        const text = String(b.text ?? b.reasoning ?? b.thinking ?? "");
        if (b.type === "text") return plain ? <span key={i}>{text}</span> : text ? <Soon key={i} text={text} /> : null;
        if (b.type === "reasoning" || b.type === "thinking") return <Reasoning key={i} text={text || JSON.stringify(b.summary ?? "")} />;
        const src = imageOf(b);
        if (src) return <Picture key={i} src={src} alt="Image" />;
        if (b.type === "tool_use" || b.type === "tool_call") return null;
        return <Tree key={i} value={b} open={0} copy={false} />;
      })}
    </>
  );
}

// Soon shows a text as it is, and formats it when the browser has time: while one scrolls through
// many messages, no frame waits for it. A short text is formatted at once.
function Soon({ text }: { text: string }) {
  const [ready, setReady] = useState(text.length < 60 && !text.includes("`"));
  useEffect(() => {
    if (ready) return;
    const t = setTimeout(() => startTransition(() => setReady(true)), 60);
    return () => clearTimeout(t);
  }, [ready]);
  return ready ? <Markdown text={text} /> : <p dir="auto" className="prose whitespace-pre-wrap">{text}</p>;
}

function imageOf(b: Block): string | undefined {
  if (b.type === "image_url") return typeof b.image_url === "string" ? b.image_url : (b.image_url as { url?: string } | undefined)?.url;
  if (b.type !== "image") return undefined;
  if (typeof b.url === "string") return b.url;
  const data = b.data ?? b.base64;
  return typeof data === "string" ? `data:${String(b.mime_type ?? "image/png")};base64,${data}` : undefined;
}

function Reasoning({ text }: { text: string }) {
  return (
    <details className="mb-2 text-sm text-muted">
      <summary className="flex w-fit items-center gap-1 rounded-sm"><ChevronRight size={15} aria-hidden className="transition-transform [details[open]>summary>&]:rotate-90" /> Reasoning</summary>
      <p dir="auto" className="mt-1 border-s-2 ps-3 whitespace-pre-wrap">{text}</p>
    </details>
  );
}

function Use({ use, busy, waits, asking }: { use: { call: Call; answer?: Message }; busy: boolean; waits: boolean; asking: boolean }) {
  const [open, setOpen] = useState(false);
  const { call, answer } = use;
  const edited = editedArguments(answer);
  const args = edited ?? call.args;
  const rejected = answer?.status === "error" && isRejection(textOf(answer.content));
  const state: State = waits ? "waiting" : answer ? (rejected ? "rejected" : answer.status === "error" ? "failed" : "done") : busy ? "running" : asking ? "waiting" : "stopped";
  return (
    <div className="rounded-control border">
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className="flex min-h-9 w-full items-center gap-2 rounded-control px-2.5 text-start text-sm hover:bg-hover">
        <Wrench size={14} aria-hidden className="shrink-0 text-muted" />
        <span className="font-medium whitespace-nowrap">{label(call.name)}</span>
        <span className="min-w-0 flex-1 truncate text-xs text-muted">{summary(args)}</span>
        <Status state={state} />
        <ChevronRight size={15} aria-hidden className={`shrink-0 text-muted transition-transform duration-150 ${open ? "rotate-90" : ""}`} />
      </button>
      {open && (
        <div className="space-y-3 border-t px-3 py-2.5">
          <section><h4 className="mb-1 text-xs text-muted">{edited === undefined ? "Arguments" : "Arguments, changed by a person"}</h4><Arguments value={args} /></section>
          {edited !== undefined && <section><h4 className="mb-1 text-xs text-muted">Arguments of the model</h4><Arguments value={call.args} /></section>}
          {answer && <section><h4 className="mb-1 text-xs text-muted">Result</h4><Result content={resultOf(answer)} /></section>}
        </div>
      )}
    </div>
  );
}

function summary(args: unknown): string {
  if (typeof args !== "object" || args === null) return "";
  return Object.values(args).filter((v) => typeof v !== "object").map((v) => String(v).replace("\uE000", "")).join(" · ");
}

function textOf(content: string | Block[]): string {
  return typeof content === "string" ? content : content.filter((b) => b.type === "text").map((b) => String(b.text)).join("");
}

function Result({ content }: { content: string | Block[] }) {
  const text = textOf(content);
  const t = text.trim();
  if (t.startsWith("{") || t.startsWith("[")) {
    try {
      return <Arguments value={Array.isArray(parse(t)) ? { result: parse(t) } : parse(t)} />;
    } catch {
      // It only looks like JSON.
    }
  }
  return <Blocks content={content} />;
}
