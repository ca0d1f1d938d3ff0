import { Boxes, CornerDownLeft, Hash, MessagesSquare } from "lucide-react";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { client, messageOf } from "../client";
import { href, navigate } from "../route";
import { addQuestions, ThreadState, titleOf } from "./bits";
import { useData, useInfo } from "./data";
import { views } from "./views";
import type { Thread } from "@langchain/langgraph-sdk";
import { setTheme } from "../theme";

type Entry = { id: string; label: string; note?: string; icon: React.ReactNode; extra?: React.ReactNode; go: () => void };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Palette finds views, threads, graphs and ids, and goes to the chosen one. */
export function Palette({ onClose }: { onClose: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [entered, setEntered] = useState(false); // Enter was pressed before the threads were there
  const listId = useId();
  const info = useInfo();
  const { data: threads, loading, error } = useData("palette threads", async (signal) => {
    const found = await client.threads.search({ limit: 500, sortBy: "updated_at", sortOrder: "desc", select: ["thread_id", "status", "metadata", "updated_at"], signal });
    await addQuestions(found, signal);
    return found;
  });
  useEffect(() => {
    const d = ref.current;
    d?.showModal();
    return () => d?.close();
  }, []);
  const entries = useMemo(() => find(text, threads ?? [], info?.graphs.map((g) => g.name) ?? []), [text, threads, info]);
  const chosen = Math.min(at, entries.length - 1);
  const go = (e: Entry | undefined) => {
    if (!e) return;
    onClose();
    e.go();
  };
  useEffect(() => {
    if (entered && !loading) {
      setEntered(false);
      go(entries[0]);
    }
  }, [entered, loading, entries]);
  useEffect(() => {
    document.getElementById(`${listId}-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen, listId]);
  return (
    <dialog
      ref={ref}
      aria-label="Search"
      onCancel={(e) => { e.preventDefault(); onClose(); }}
      onMouseDown={(e) => e.target === ref.current && onClose()}
      className="mx-auto mt-[12dvh] mb-auto w-[calc(100vw-32px)] max-w-xl overflow-hidden rounded-card border bg-raised p-0 text-text shadow-float backdrop:bg-black/40 open:animate-rise"
    >
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={entries.length > 0 ? `${listId}-${chosen}` : undefined}
        aria-label="Search threads, views and graphs"
        value={text}
        placeholder="Search threads, views, ids …"
        onChange={(e) => { setText(e.target.value); setAt(0); setEntered(false); }}
        onKeyDown={(e) => {
          if (e.nativeEvent.isComposing) return;
          if (e.key === "ArrowDown") setAt(Math.min(chosen + 1, entries.length - 1));
          else if (e.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
          else if (e.key === "Enter") entries.length === 0 && loading ? setEntered(true) : go(entries[chosen]);
          else return;
          e.preventDefault();
        }}
        className="h-13 w-full border-b bg-transparent px-4 text-[15px] outline-none"
      />
      <ul id={listId} role="listbox" aria-label="Results" className="max-h-[52dvh] overflow-y-auto p-1.5">
        {entries.map((e, i) => (
          <li
            key={e.id}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === chosen}
            onMouseMove={() => setAt(i)}
            onClick={() => go(e)}
            className={`flex min-h-10 cursor-pointer items-center gap-3 rounded-lg px-2.5 text-sm ${i === chosen ? "bg-hover" : ""}`}
          >
            <span className="text-muted">{e.icon}</span>
            <span className="min-w-0 flex-1 truncate">{e.label}</span>
            {e.extra}
            {e.note && <span className="text-xs text-muted">{e.note}</span>}
            {i === chosen && <CornerDownLeft size={14} aria-hidden className="text-muted" />}
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p className="px-4 pb-4 text-sm text-muted">{loading ? "Loading the threads …" : error ? messageOf(error) : `Nothing is called “${text}”. A whole thread id finds a thread, too.`}</p>}
    </dialog>
  );
}

function find(text: string, threads: Thread[], graphs: string[]): Entry[] {
  const want = text.trim().toLowerCase();
  const has = (s: string) => s.toLowerCase().includes(want);
  const out: Entry[] = [];
  if (uuid.test(want)) {
    out.push({ id: "id", label: want, note: "open thread", icon: <Hash size={16} />, go: () => navigate(href(["threads", want])) });
  }
  for (const v of views) {
    if (has(v.label)) out.push({ id: v.path, label: v.label, note: `g ${v.key}`, icon: <v.icon size={16} />, go: () => navigate(href([v.path])) });
  }
  for (const g of graphs) {
    if (want && has(g)) out.push({ id: `graph ${g}`, label: g, note: "graph", icon: <Boxes size={16} />, go: () => navigate(href(["graphs", g])) });
  }
  for (const theme of ["light", "dark", "system"] as const) {
    if (want && has(`${theme} theme`)) out.push({ id: `theme ${theme}`, label: `Use the ${theme} theme`, icon: <Hash size={16} />, go: () => setTheme(theme) });
  }
  for (const t of threads) {
    if (out.length >= 40) break;
    if (has(titleOf(t)) || t.thread_id.includes(want)) {
      out.push({
        id: t.thread_id, label: titleOf(t), icon: <MessagesSquare size={16} />, extra: <ThreadState thread={t} />, go: () => navigate(href(["threads", t.thread_id])),
      });
    }
  }
  return out;
}
