import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "./Button";
import { tr } from "../texts";

/**
 * Dialog shows its children over the page until onClose. It is the browser's own dialog, which keeps
 * the focus inside and closes on Escape: Radix's adds a style element, which the page's policy
 * forbids.
 */
export function Dialog({ title, onClose, wide, children }: { title: string; onClose: () => void; wide?: boolean; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const d = ref.current;
    d?.showModal();
    d?.querySelector<HTMLElement>("input, textarea, select")?.focus(); // the browser has chosen the first button, which closes it
    return () => d?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onMouseDown={(e) => e.target === ref.current && onClose()}
      className={`m-auto max-h-[85dvh] w-[calc(100vw-32px)] ${wide ? "max-w-3xl" : "max-w-md"} rounded-card border bg-raised p-0 text-text shadow-float backdrop:bg-black/40 open:animate-rise`}
    >
      <div className="p-5">
        <div className="mb-3 flex items-center gap-2">
          <h2 id={id} className="flex-1 text-base font-semibold">{title}</h2>
          <IconButton label={tr("Close")} tip={false} onClick={onClose}><X size={18} /></IconButton>
        </div>
        {children}
      </div>
    </dialog>
  );
}
