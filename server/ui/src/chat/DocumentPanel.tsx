import { useVirtualizer } from "@tanstack/react-virtual";
import { X } from "lucide-react";
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { messageOf, signed } from "../client";
import { escaped } from "../escape";
import { IconButton } from "../parts/Button";
import { Skeleton } from "../parts/Skeleton";
import type { Document, Lines } from "./citations";
import { tr } from "../texts";

/** Focus is what a person has opened: a document, and lines of it. The time differs for each click. */
export type Focus = { document: Document; lines?: Lines; time: number };

const wide = matchMedia("(min-width: 1024px)");

function onWide(f: () => void) {
  wide.addEventListener("change", f);
  return () => wide.removeEventListener("change", f);
}

/** useWide reports whether a document has room beside the conversation. */
export function useWide(): boolean {
  return useSyncExternalStore(onWide, () => wide.matches);
}

// A text comes from this origin only: the request carries the credentials of the page.
async function load(address: string, signal: AbortSignal): Promise<string[]> {
  const url = new URL(address, location.href);
  if (url.origin !== location.origin || !url.protocol.startsWith("http")) throw { text: tr("The document is not of this server.") };
  const response = await signed((headers) => fetch(url, { headers, redirect: "error", signal }));
  const text = await response.text();
  if (!response.ok) throw { status: response.status, text };
  return text.split("\n");
}

type Props = { document: Document; focus?: Focus; marks: Lines[]; onClose: () => void };

/** DocumentPanel shows the text of a document with the cited lines marked: beside the conversation, or over it on a small screen. */
export function DocumentPanel({ document, focus, marks, onClose }: Props) {
  const [lines, setLines] = useState<string[]>();
  const [problem, setProblem] = useState<string>();
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const end = new AbortController();
    load(document.url, end.signal).then(setLines, (error: unknown) => end.signal.aborted || setProblem(messageOf(error)));
    return () => end.abort();
  }, [document.url]);
  useEffect(() => {
    if (focus) panel.current?.focus({ preventScroll: true }); // a person has opened it
  }, [focus]);
  const name = escaped(document.name);
  return (
    <aside
      ref={panel} tabIndex={-1} aria-label={tr("Document {name}", { name })} onKeyDown={(e) => e.key === "Escape" && onClose()}
      className="fixed inset-x-0 bottom-0 z-30 flex h-[62dvh] flex-col rounded-t-card border bg-raised shadow-float outline-none max-lg:animate-rise lg:static lg:h-auto lg:w-[46%] lg:max-w-[760px] lg:shrink-0 lg:rounded-none lg:border-y-0 lg:border-e-0 lg:bg-surface lg:shadow-none"
    >
      <div className="flex h-13 shrink-0 items-center gap-2 border-b ps-4 pe-2">
        <h2 dir="auto" className="min-w-0 flex-1 truncate text-sm font-semibold">{name}</h2>
        {lines && <span className="num shrink-0 text-xs text-muted">{lines.length === 1 ? tr("1 line") : tr("{count} lines", { count: lines.length })}</span>}
        <IconButton label={tr("Close the document")} onClick={onClose}><X size={17} /></IconButton>
      </div>
      {problem ? <p role="alert" className="px-4 py-3 text-sm text-danger">{problem}</p>
        : lines ? <Text lines={lines} focus={focus} marks={marks} />
        : <div className="p-4"><Skeleton lines={8} label={tr("Loading the document")} /></div>}
    </aside>
  );
}

function Text({ lines, focus, marks }: { lines: string[]; focus?: Focus; marks: Lines[] }) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => box.current, estimateSize: () => 24, overscan: 20, paddingStart: 12, paddingEnd: 12, indexAttribute: "data-row" });
  const target = focus ? focus.lines : marks[0];
  const at = target && Math.min(target.from, lines.length) - 1;
  useEffect(() => {
    if (at !== undefined) virtual.scrollToIndex(at, { align: "center" });
  }, [at, focus?.time]);
  const marked = useMemo(() => {
    const set = new Set<number>();
    for (const m of marks) for (let i = m.from; i <= Math.min(m.to, lines.length); i++) set.add(i);
    return set;
  }, [marks, lines]);
  const items = virtual.getVirtualItems();
  return (
    <div ref={box} role="region" aria-label={tr("Text of the document")} tabIndex={0} className="min-h-0 flex-1 overflow-y-auto overscroll-contain outline-offset-[-2px]">
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        <div className="absolute inset-x-0 top-0" style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
          {items.map((v) => {
            const n = v.index + 1;
            const chosen = focus?.lines && n >= focus.lines.from && n <= focus.lines.to;
            return (
              <div key={v.key} data-row={v.index} ref={virtual.measureElement} data-line={n} data-marked={chosen ? "chosen" : marked.has(n) ? "cited" : undefined} className="document-line flex gap-3 pe-4 text-[13.5px] leading-6">
                <span aria-hidden className={`num w-11 shrink-0 text-end text-xs leading-6 select-none ${chosen || marked.has(n) ? "" : "text-muted"}`}>{n}</span>
                <span dir="auto" className="min-w-0 flex-1 break-words whitespace-pre-wrap">{escaped(lines[v.index] ?? "") || " "}</span>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
