import { ChevronLeft, ChevronRight, Lightbulb, ListChecks, Pencil, RefreshCw } from "lucide-react";
import { memo, useMemo, useState } from "react";
import { messageOf } from "../client";
import { config } from "../config";
import { Button, IconButton } from "../parts/Button";
import { valueOf } from "../parts/cards";
import { listOf, safeLink, text } from "../parts/cards/value";
import { CopyButton } from "../parts/copy";
import { Image } from "../parts/Image";
import { Markdown, Picture } from "../parts/Markdown";
import { Status } from "../parts/Status";
import { toast } from "../parts/Toast";
import type { Choice } from "./branches";
import { FileChip } from "./Attachments";
import { type Document, type Lines, linesOf, withLinks } from "./citations";
import { filesOf, imageOf, type Piece, resultOf, textOfContent, type Turn, type Work } from "./messages";
import type { Session } from "./session";
import { ToolLine } from "./ToolLine";
import { tr } from "../texts";

export type Source = { title: string; url: string; snippet?: string };

function Versions({ choice, onChoose, what }: { choice?: Choice; onChoose: (checkpoint: string) => void; what: "message" | "answer" }) {
  if (!choice || choice.checkpoints.length < 2) return null;
  const { index, checkpoints } = choice;
  const answer = what === "answer";
  const go = (i: number) => checkpoints[i] && onChoose(checkpoints[i]);
  return (
    <span role="group" aria-label={answer ? tr("Versions of the answer") : tr("Versions of the message")} className="num inline-flex items-center text-xs text-muted">
      <IconButton label={answer ? tr("Previous answer") : tr("Previous message")} className="size-7!" disabled={index <= 0} onClick={() => go(index - 1)}><ChevronLeft size={15} className="rtl:-scale-x-100" /></IconButton>
      {index + 1}/{checkpoints.length}
      <IconButton label={answer ? tr("Next answer") : tr("Next message")} className="size-7!" disabled={index >= checkpoints.length - 1} onClick={() => go(index + 1)}><ChevronRight size={15} className="rtl:-scale-x-100" /></IconButton>
    </span>
  );
}

const report = (error: unknown) => toast(error instanceof Error && !("status" in error) ? error.message : messageOf(error));

/** OnDocument opens a document, at some lines or at its beginning. */
export type OnDocument = (document: Document, lines?: Lines) => void;

type HumanProps = { turn: Extract<Turn, { kind: "human" }>; session: Session; busy: boolean; choice?: Choice; onDocument: OnDocument };

export const HumanTurn = memo(function HumanTurn({ turn, session, busy, choice, onDocument }: HumanProps) {
  const [draft, setDraft] = useState<string>();
  const { message } = turn;
  const words = textOfContent(message.content);
  const files = filesOf(message);
  const images = typeof message.content === "string" ? [] : message.content.flatMap((b) => imageOf(b) ?? []);
  const resend = () => {
    const value = draft?.trim();
    if (!value) return;
    const others = typeof message.content === "string" ? [] : message.content.filter((b) => b.type !== "text");
    session.edit(message.id, { content: others.length ? [{ type: "text", text: value }, ...others] : value, files: filesOf(message) }).then(() => setDraft(undefined), report);
  };
  if (draft !== undefined)
    return (
      <div className="rounded-card border bg-raised p-3">
        <textarea
          aria-label={tr("Edit the message")} autoFocus dir="auto" value={draft} onChange={(e) => setDraft(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === "Escape") setDraft(undefined);
            if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing && e.keyCode !== 229) {
              e.preventDefault();
              resend();
            }
          }}
          className="field-sizing-content max-h-60 w-full resize-none bg-transparent outline-none"
        />
        <div className="mt-2 flex items-center justify-end gap-2">
          <span className="me-auto text-xs text-muted">{tr("The old version is kept.")}</span>
          <Button onClick={() => setDraft(undefined)}>{tr("Cancel")}</Button>
          <Button kind="primary" disabled={!draft.trim() || busy} onClick={resend}>{tr("Send")}</Button>
        </div>
      </div>
    );
  return (
    <div className="group flex flex-col items-end gap-1">
      <div dir="auto" className="max-w-[85%] rounded-xl rounded-ee-md bg-tint px-4 py-2.5 break-words whitespace-pre-wrap sm:max-w-[75%]">
        {images.length > 0 && <div className="mb-2 flex flex-wrap gap-2">{images.map((src, i) => <Image key={i} src={src} alt={tr("Attachment {number}", { number: i + 1 })} className="max-h-52 rounded-lg" />)}</div>}
        {files.length > 0 && <ul aria-label={tr("Files of the message")} className="mb-2 flex flex-wrap gap-2">{files.map((f, i) => <li key={i}><FileChip name={f.name} note={f.note} onOpen={f.url ? () => onDocument({ name: f.name, url: f.url ?? "" }) : undefined} /></li>)}</ul>}
        {words}
      </div>
      <div className="-mb-3 flex h-8 items-center">
        {turn.queued && <Status state="queued" word={tr("queued until the answer is there")} />}
        <Versions choice={choice} what="message" onChoose={(c) => void session.choose(c).catch(report)} />
        {!turn.queued && (
          <span className="reveal inline-flex">
            <CopyButton text={words} label={tr("Copy the message")} />
            <IconButton label={tr("Edit and send again")} disabled={busy} onClick={() => setDraft(words)}><Pencil size={15} /></IconButton>
          </span>
        )}
      </div>
    </div>
  );
}, (a, b) => a.busy === b.busy && a.turn.queued === b.turn.queued && a.choice?.index === b.choice?.index && a.choice?.checkpoints.length === b.choice?.checkpoints.length && a.turn.id === b.turn.id && JSON.stringify(a.turn.message.content) === JSON.stringify(b.turn.message.content));

// sourcesOf returns the links that the tools of a turn found, which the text cites as [1].
function sourcesOf(pieces: Piece[]): Source[] {
  return pieces.flatMap((p) => {
    if (p.kind !== "use" || p.use.state !== "done" || config.tools?.[p.use.call.name]?.result !== "links") return [];
    return listOf(valueOf(textOfContent(p.use.answer && resultOf(p.use.answer))), "links").flatMap((l) => {
      const url = safeLink(l.url);
      return url ? [{ title: text(l.title) ?? url, url, snippet: text(l.snippet) }] : [];
    });
  });
}

// cited makes links of the numbers of sources: [1] becomes a link to #source-1.
function cited(words: string, n: number): string {
  return n === 0 ? words : words.replace(/\[(\d{1,2})\](?![(:[])/g, (whole, d: string) => (Number(d) >= 1 && Number(d) <= n ? `[${d}](#source-${d})` : whole));
}

type Props = {
  turn: Extract<Turn, { kind: "assistant" }>; session: Session; busy: boolean; work: ReadonlyMap<string, Work>; choice?: Choice;
  onSource: (sources: Source[], index: number) => void; onDocument: OnDocument;
};

export const AssistantTurn = memo(function AssistantTurn({ turn, session, busy, work, choice, onSource, onDocument }: Props) {
  const sources = useMemo(() => sourcesOf(turn.pieces), [turn]);
  const words = turn.pieces.flatMap((p) => (p.kind === "text" ? [p.text] : [])).join("\n\n");
  const done = !(turn.last && busy) && !turn.pieces.some((p) => p.kind === "use" && p.use.state === "waiting");
  const open = (e: React.MouseEvent) => {
    const address = (e.target as HTMLElement).closest?.("a[href^='#source-'], a[href^='#lines-']")?.getAttribute("href");
    if (!address) return;
    e.preventDefault();
    if (address.startsWith("#source-")) onSource(sources, Number(address.slice(8)) - 1);
    else if (turn.document) onDocument(turn.document, linesOf(address.slice(7)));
  };
  const linked = (words: string) => (sources.length || !turn.document ? cited(words, sources.length) : withLinks(words));
  return (
    <div className="group space-y-3" onClick={open}>
      {turn.pieces.map((p) => {
        switch (p.kind) {
          case "text":
            return <div key={p.id} className={p.streaming ? "caret-after" : ""}><Markdown text={linked(p.text)} streaming={p.streaming} /></div>;
          case "step":
            return <Step key={p.id} title={p.title} text={linked(p.text)} first={plainLine(p.text)} />;
          case "reasoning":
            return <Reasoning key={p.id} text={p.text} streaming={p.streaming} />;
          case "image":
            return <Picture key={p.id} src={p.src} alt={tr("Image of the assistant")} />;
          case "use":
            return <ToolLine key={p.id} use={p.use} work={turn.last ? work.get(p.use.call.id) : undefined} />;
        }
      })}
      {done && words && (
        <div className="-ms-2 -mt-1 flex h-8 items-center">
          <Versions choice={choice} what="answer" onChoose={(c) => void session.choose(c).catch(report)} />
          <span className={turn.last ? "inline-flex" : "reveal inline-flex"}>
            <CopyButton text={words} label={tr("Copy the answer")} />
            {turn.after && <IconButton label={tr("Answer again")} disabled={busy} onClick={() => void session.again(turn.after ?? "").catch(report)}><RefreshCw size={15} /></IconButton>}
          </span>
        </div>
      )}
    </div>
  );
}, (a, b) => a.busy === b.busy && a.choice?.index === b.choice?.index && a.choice?.checkpoints.length === b.choice?.checkpoints.length && same(a.turn, b.turn) && (!b.turn.last || a.work === b.work));

// same reports whether two turns look the same. Comparing is cheaper than rendering Markdown.
function same(a: Props["turn"], b: Props["turn"]): boolean {
  if (a.last !== b.last || a.document?.url !== b.document?.url || a.after !== b.after || a.pieces.length !== b.pieces.length) return false;
  return a.pieces.every((p, i) => {
    const q = b.pieces[i];
    if (!q || p.kind !== q.kind || p.id !== q.id) return false;
    if (p.kind === "use" && q.kind === "use") return p.use.state === q.use.state && p.use.answer?.id === q.use.answer?.id && JSON.stringify(p.use.call.args) === JSON.stringify(q.use.call.args);
    return JSON.stringify(p) === JSON.stringify(q);
  });
}

// plainLine returns the first line of a text without its mark of a list and its citations.
function plainLine(text: string): string {
  return (text.split("\n", 1)[0] ?? "").replace(/^[-*] /, "").replace(/ ?\[[\d–, -]+\]/g, "");
}

// A step of the work is one line with its title, which opens to its text.
function Step({ title, text, first }: { title: string; text: string; first: string }) {
  const [open, setOpen] = useState(false);
  return (
    <div className={`step rounded-control text-sm ${open ? "border" : ""}`}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className={`flex min-h-8 w-full min-w-0 items-center gap-2 rounded-control px-2 text-start hover:bg-hover ${open ? "" : "-mx-2 w-[calc(100%+16px)]"}`}>
        <ListChecks size={14} aria-hidden className="shrink-0 text-muted" />
        <span dir="auto" className="shrink-0 font-medium">{title}</span>
        <span dir="auto" className="min-w-0 truncate text-muted">{open ? "" : first}</span>
        <ChevronRight size={15} aria-hidden className={`ms-auto shrink-0 text-muted transition-transform duration-150 rtl:-scale-x-100 ${open ? "rotate-90" : ""}`} />
      </button>
      {open && <div className="border-t px-3.5 py-3"><Markdown text={text} /></div>}
    </div>
  );
}

function Reasoning({ text, streaming }: { text: string; streaming: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="text-sm">
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className="-mx-2 flex min-h-8 items-center gap-2 rounded-control px-2 text-muted hover:bg-hover">
        <Lightbulb size={14} aria-hidden />
        <span>{streaming ? tr("Thinking…") : tr("Thoughts")}</span>
        <ChevronRight size={15} aria-hidden className={`transition-transform duration-150 rtl:-scale-x-100 ${open ? "rotate-90" : ""}`} />
      </button>
      {open && <div dir="auto" className="ms-1.5 border-s-2 ps-4 whitespace-pre-wrap text-muted">{text}</div>}
    </div>
  );
}

