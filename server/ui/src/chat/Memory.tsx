import { Brain, Trash2 } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { messageOf } from "../client";
import { Button, IconButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { visible } from "../parts/Arguments";
import { toast } from "../parts/Toast";
import { type Fact, memories } from "./memories";
import { tr } from "../texts";

const useMemories = () => useSyncExternalStore(memories.subscribe, memories.view);

function forget(id?: string) {
  void memories.forget(id).catch((e: unknown) => toast(tr("It was not forgotten. {reason}", { reason: messageOf(e) })));
}

function Row({ fact }: { fact: Fact }) {
  return (
    <li className="flex items-start gap-2 py-1.5">
      <span dir="auto" className="min-w-0 flex-1 pt-1 break-words">{visible(fact.content)}</span>
      <IconButton label={tr("Forget: {fact}", { fact: visible(fact.content) })} className="shrink-0" onClick={() => forget(fact.id)}><Trash2 size={15} /></IconButton>
    </li>
  );
}

/** MemoryDialog lists what is remembered. */
export function MemoryDialog({ onClose }: { onClose: () => void }) {
  const { facts, error } = useMemories();
  const [sure, setSure] = useState(false);
  useEffect(() => void memories.load(), []);
  return (
    <Dialog title={tr("What is remembered about you")} onClose={onClose}>
      {error && <p role="alert" className="mb-2 text-sm text-danger">{error}</p>}
      {facts.length === 0 && !error && <p className="text-sm text-muted">{tr("Nothing yet.")}</p>}
      <ul className="max-h-[50dvh] divide-y overflow-y-auto text-sm">{facts.map((f) => <Row key={f.id} fact={f} />)}</ul>
      {facts.length > 0 && (
        <div className="mt-4 flex flex-wrap items-center justify-end gap-3">
          <span className="flex-1 text-xs text-muted">{tr("Conversations still have the words, until you delete them.")}</span>
          <Button kind="danger" onClick={() => { if (sure) forget(); setSure(!sure); }}>{sure ? tr("Yes, forget everything") : tr("Forget everything")}</Button>
        </div>
      )}
    </Dialog>
  );
}

// A turn is learned after its answer: how long to wait, in milliseconds.
const waits = [300, 1500, 4000, 10000];

/** Remembered shows the facts that are new since the last message. */
export function Remembered({ running }: { running: boolean }) {
  const { fresh } = useMemories();
  useEffect(() => {
    if (running) return memories.mark();
    const timers = waits.map((ms) => window.setTimeout(() => void memories.load(), ms));
    return () => timers.forEach(clearTimeout);
  }, [running]);
  if (running || fresh.length === 0) return null;
  return (
    <section role="status" aria-label={tr("Remembered")} className="animate-rise rounded-card border bg-raised px-4 py-2">
      <h2 className="flex items-center gap-2 text-xs font-medium text-muted"><Brain size={14} aria-hidden className="text-accent" /> {tr("Remembered")}</h2>
      <ul>{fresh.map((f) => <Row key={f.id} fact={f} />)}</ul>
    </section>
  );
}
