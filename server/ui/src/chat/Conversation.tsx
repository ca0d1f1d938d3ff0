import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, CloudOff, RotateCcw } from "lucide-react";
import { flushSync } from "react-dom";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { messageOf } from "../client";
import { config } from "../config";
import { Boundary } from "../parts/Boundary";
import { Button, IconButton } from "../parts/Button";
import { QuestionCard } from "../parts/Question";
import { Skeleton } from "../parts/Skeleton";
import { Status } from "../parts/Status";
import { toast } from "../parts/Toast";
import { navigate } from "../route";
import { useUploads } from "./Attachments";
import { citedLines } from "./citations";
import { Composer } from "./Composer";
import { DocumentPanel, type Focus, useWide } from "./DocumentPanel";
import { Remembered } from "./Memory";
import type { Block } from "./messages";
import type { Session, View } from "./session";
import { AssistantTurn, HumanTurn, type OnDocument, type Source } from "./Turns";
import type { Uploads } from "./uploads";
import { tr } from "../texts";

type Sending = { onSend: (content: string | Block[]) => Promise<void>; failed?: string; uploads: Uploads; onFile: (file: File) => void };

/** Start is the page without a conversation. */
export function Start({ onSend, failed, uploads, onFile }: Sending) {
  const { busy } = useUploads(uploads);
  return (
    <div className="flex h-full flex-col overflow-y-auto px-4">
      <div className="m-auto w-full max-w-[680px] py-8">
        <h1 className="text-center text-[28px] leading-tight font-semibold tracking-tight text-balance">{config.title ?? "Chat"}</h1>
        {config.greeting && <p className="mx-auto mt-2 mb-8 max-w-[52ch] text-center text-balance text-muted">{config.greeting}</p>}
        <div className={config.greeting ? "" : "mt-8"}>
          <Composer thread="new" running={false} uploads={uploads} onFile={onFile} onSend={onSend} onStop={() => undefined} failed={failed} />
        </div>
        {config.suggestions && (
          <ul className="mt-4 grid gap-2 sm:grid-cols-2">
            {config.suggestions.map((s) => (
              <li key={s}>
                <button type="button" dir="auto" disabled={busy} onClick={() => void onSend(s).catch(() => undefined)} className="h-full w-full rounded-card border px-4 py-2.5 text-start text-sm text-muted transition-colors duration-150 enabled:hover:border-accent enabled:hover:text-text">{s}</button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

type Props = Sending & { session: Session; onSource: (sources: Source[], index: number) => void };

/** Conversation shows a thread. */
export function Conversation({ session, failed, uploads, onFile, onSend, onSource }: Props) {
  const view = useSyncExternalStore(session.subscribe, session.view);
  const panel = useDocument(view);
  if (view.phase === "missing" || view.phase === "failed")
    return (
      <div className="m-auto max-w-md px-6 text-center">
        <h2 className="text-lg font-semibold">{view.phase === "missing" ? tr("There is no such conversation") : tr("The conversation cannot be shown")}</h2>
        <p className="mt-1 mb-5 text-muted">{view.phase === "missing" ? tr("It was deleted, or it belongs to somebody else.") : view.reason}</p>
        <Button kind="primary" onClick={() => navigate("#/")}>{tr("New chat")}</Button>
      </div>
    );
  return (
    <div className="flex h-full min-h-0">
      <div className="relative flex h-full min-h-0 min-w-0 flex-1 flex-col">
        <Messages session={session} view={view} onSource={onSource} onDocument={panel.open} />
        <div className="mx-auto w-full max-w-[792px] px-4 pb-3 sm:pb-4">
          <Notices view={view} session={session} />
          <Composer thread={session.thread} running={view.running} uploads={uploads} onFile={onFile} onSend={onSend} onStop={() => void session.stop().catch((e: unknown) => toast(tr("The run was not stopped. {reason}", { reason: messageOf(e) })))} onType={() => session.types()} failed={failed} />
        </div>
      </div>
      {panel.shown && <DocumentPanel key={panel.shown.document.url} {...panel.shown} onClose={panel.close} />}
    </div>
  );
}

/**
 * useDocument returns the document beside the conversation: the one that a person has opened, and on
 * wide screens the last one of the conversation. The lines that the last answer cites are marked.
 */
function useDocument({ turns }: View) {
  const wide = useWide();
  const [focus, setFocus] = useState<Focus>();
  const [closed, setClosed] = useState<string>(); // the address of the document that a person has closed
  const last = turns.findLast((t) => t.kind === "assistant");
  const humans = turns.filter((t) => t.kind === "human").length;
  useEffect(() => setFocus(undefined), [humans]); // the next answer cites other lines
  const text = last?.pieces.flatMap((p) => (p.kind === "text" ? [p.text] : [])).join("\n\n") ?? "";
  const marks = useMemo(() => citedLines(text), [text]);
  const open = useCallback<OnDocument>((document, lines) => {
    setFocus((before) => ({ document, lines, time: (before?.time ?? 0) + 1 }));
    setClosed(undefined);
  }, []);
  const document = focus?.document ?? (wide && last?.document?.url !== closed ? last?.document : undefined);
  return {
    open,
    close: () => {
      setFocus(undefined);
      setClosed(last?.document?.url);
    },
    shown: document && { document, focus, marks: document.url === last?.document?.url ? marks : [] },
  };
}

function Notices({ view, session }: { view: View; session: Session }) {
  return (
    <div className="space-y-2 pb-2 text-sm">
      {view.connection !== "online" && view.phase === "ready" && (
        <p role="status" className="flex items-center gap-2 rounded-control border bg-surface px-3 py-1.5 text-warn">
          <CloudOff size={16} aria-hidden />
          {view.connection === "offline" ? tr("You are offline. The answer goes on, and comes when you are back.") : tr("The connection broke. Reconnecting…")}
        </p>
      )}
      {view.old && <p role="status" className="text-center text-xs text-muted">{tr("An earlier branch. The next message continues it.")}</p>}
      {view.typing && <p role="status" className="text-center text-xs text-muted">{tr("You are typing in another tab.")}</p>}
      <span className="sr-only" role="status">{view.running ? tr("The assistant is answering.") : view.interrupts.length ? tr("The assistant asks a question.") : ""}</span>
      {view.error && !view.running && (
        <div role="alert" className="animate-rise flex flex-wrap items-center gap-x-3 gap-y-2 rounded-card border border-danger/50 bg-raised px-4 py-2.5">
          <Status state="failed" />
          <span className="min-w-0 flex-1 break-words">{view.error}</span>
          <Button onClick={() => void session.retry().catch((e: unknown) => toast(messageOf(e)))} icon={<RotateCcw size={15} />}>{tr("Try again")}</Button>
        </div>
      )}
      {config.memory && view.phase === "ready" && <Remembered running={view.running} />}
      {view.stopped && !view.error && (
        <div className="flex items-center gap-3 px-1">
          <Status state="stopped" word={tr("stopped by you")} />
          <button type="button" className="rounded-sm text-accent underline underline-offset-2" onClick={() => void session.retry().catch((e: unknown) => toast(messageOf(e)))}>{tr("Continue")}</button>
        </div>
      )}
    </div>
  );
}

// usePrinting reports whether the page is printed. Paper has all messages, and not those of the screen.
function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const begin = () => flushSync(() => setPrinting(true)); // the browser prints when the listener returns
    const end = () => setPrinting(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return printing;
}

function Messages({ session, view, onSource, onDocument }: { session: Session; view: View; onSource: Props["onSource"]; onDocument: OnDocument }) {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const top = useRef(0); // where the person is in the conversation
  const [away, setAway] = useState(false);
  const printing = usePrinting();
  const { turns, branches } = view;
  const open = view.interrupts;
  // Rows after the turns: the questions, and what shows that an answer is coming.
  const count = turns.length + (open.length || view.pending ? 1 : 0);
  const virtual = useVirtualizer({
    count, getScrollElement: () => box.current, estimateSize: (i) => (turns[i]?.kind === "human" ? 96 : 220), overscan: 4, paddingStart: 24, paddingEnd: 24,
    getItemKey: (i) => turns[i]?.id ?? "tail",
  });

  const rows = printing ? Array.from({ length: count }, (_, index) => ({ index, key: turns[index]?.id ?? "tail" })) : virtual.getVirtualItems();

  const toEnd = useCallback(() => {
    const e = box.current;
    if (e) e.scrollTop = e.scrollHeight;
  }, []);

  useLayoutEffect(() => {
    if (pinned.current) toEnd();
  });

  useEffect(() => {
    const e = inner.current;
    if (!e) return;
    const grown = new ResizeObserver(() => pinned.current && toEnd());
    grown.observe(e);
    return () => grown.disconnect();
  }, [toEnd, view.phase]);

  const length = turns.filter((t) => t.kind === "human").length;
  useEffect(() => {
    pinned.current = true; // a person has sent something, or opened the thread
    toEnd();
  }, [length, toEnd]);

  useLayoutEffect(() => {
    if (!printing && !pinned.current && box.current) box.current.scrollTop = top.current; // paper does not scroll
  }, [printing]);

  const scrolled = () => {
    const e = box.current;
    if (!e || printing) return;
    top.current = e.scrollTop;
    const far = e.scrollHeight - e.scrollTop - e.clientHeight;
    pinned.current = far < 40;
    setAway(far > 200);
  };

  if (view.phase === "loading")
    return <div className="mx-auto w-full max-w-[792px] flex-1 space-y-8 px-4 py-8"><Skeleton lines={2} label={tr("Loading the conversation")} /><Skeleton lines={4} /></div>;

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        data-conversation
        role="region"
        aria-label={tr("Conversation")}
        tabIndex={0}
        onScroll={scrolled}
        onWheel={(e) => e.deltaY < 0 && (pinned.current = false)}
        className="h-full overflow-y-auto overscroll-contain outline-offset-[-2px] [overflow-anchor:none]"
      >
        <div ref={inner} className="relative mx-auto w-full max-w-[792px]" style={{ height: virtual.getTotalSize() }}>
          <div className="absolute inset-x-0 top-0 px-4" style={{ transform: `translateY(${virtual.getVirtualItems()[0]?.start ?? 0}px)` }}>
            {rows.map((v) => {
              const turn = turns[v.index];
              return (
                <article key={v.key} data-index={v.index} ref={virtual.measureElement} aria-labelledby={`speaker-${v.index}`} aria-posinset={v.index + 1} aria-setsize={count} className={v.index ? "pt-5" : ""}>
                  <h2 id={`speaker-${v.index}`} className="sr-only">{turn?.kind === "human" ? tr("You") : tr("Assistant")}</h2>
                  <Boundary what={tr("This message")}>
                    {!turn ? <Tail view={view} session={session} />
                      : turn.kind === "human" ? <HumanTurn turn={turn} session={session} busy={view.running} choice={branches?.edits.get(turn.id)} onDocument={onDocument} />
                      : <AssistantTurn turn={turn} session={session} busy={view.running} work={view.work} choice={turn.after ? branches?.answers.get(turn.after) : undefined} onSource={onSource} onDocument={onDocument} />}
                  </Boundary>
                </article>
              );
            })}
          </div>
        </div>
      </div>
      {away && (
        <IconButton label={tr("To the end")} kind="plain" className="absolute! start-1/2 bottom-3 -translate-x-1/2 rounded-full! shadow-float rtl:translate-x-1/2" onClick={() => { pinned.current = true; toEnd(); }}>
          <ArrowDown size={17} />
        </IconButton>
      )}
    </div>
  );
}

function Tail({ view, session }: { view: View; session: Session }) {
  return (
    <div className="space-y-3">
      {view.interrupts.length > 1 && <p className="text-sm text-muted">{tr("{count} questions are open. The assistant goes on when all are answered.", { count: view.interrupts.length })}</p>}
      {view.interrupts.map((q) => <QuestionCard key={`${q.id}${problemOf(q.value)}`} question={q} busy={view.old} onAnswer={(v) => session.answer(q.id, v)} />)}
      {view.pending && view.interrupts.length === 0 && <div className="w-full max-w-md"><Skeleton lines={2} label={tr("The answer is coming")} /></div>}
    </div>
  );
}

// A question that is asked again has another problem, and begins anew.
function problemOf(value: unknown): string {
  return String((value as { problem?: string } | null)?.problem ?? "");
}
