import { X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { Button, IconButton } from "./Button";
import { tr } from "../texts";

type Note = { id: number; text: string; action?: { label: string; run: () => void }; end?: () => void };

let notes: Note[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(list: Note[]) {
  notes = list;
  for (const f of listeners) f();
}

function close(id: number) {
  const note = notes.find((n) => n.id === id);
  set(notes.filter((n) => n.id !== id));
  note?.end?.();
}

/** notice shows a text until a person dismisses it, or the returned function is called. */
export function notice(text: string, more?: Pick<Note, "action" | "end">): () => void {
  const id = next++;
  set([...notes, { id, text, ...more }]);
  return () => close(id);
}

/**
 * toast shows a text for six seconds. The action, such as Undo, can be taken until then. When the
 * text goes without it, end is called, also when the page is left.
 */
export function toast(text: string, action?: { label: string; run: () => void }, end?: () => void) {
  setTimeout(notice(text, { action, end }), 6000);
}

addEventListener("pagehide", () => {
  for (const n of notes) close(n.id);
});

/** Toasts shows the texts of toast. */
export function Toasts() {
  const list = useSyncExternalStore((f) => {
    listeners.add(f);
    return () => listeners.delete(f);
  }, () => notes);
  return (
    <div role="status" aria-live="polite" className="pointer-events-none fixed inset-x-0 bottom-4 z-50 flex flex-col items-center gap-2 px-4">
      {list.map((n) => (
        <div key={n.id} className="animate-rise pointer-events-auto flex min-h-11 items-center gap-3 rounded-card border bg-raised py-1.5 ps-4 pe-2 text-sm shadow-float">
          <span>{n.text}</span>
          {n.action && (
            <Button
              kind="quiet"
              className="text-accent!"
              onClick={() => {
                set(notes.filter((m) => m.id !== n.id));
                n.action?.run();
              }}
            >
              {n.action.label}
            </Button>
          )}
          <IconButton label={tr("Dismiss")} tip={false} onClick={() => close(n.id)}><X size={16} /></IconButton>
        </div>
      ))}
    </div>
  );
}
