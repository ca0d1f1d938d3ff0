import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "./Button";
import { tr } from "../texts";

/** CopyButton copies a text, and says that it did. */
export function CopyButton({ text, label = tr("Copy"), className }: { text: string | (() => string); label?: string; className?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const t = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(t);
  }, [done]);
  return (
    <IconButton
      label={done ? tr("Copied") : label}
      className={className}
      onClick={() => void copyText(typeof text === "string" ? text : text()).then(() => setDone(true))}
    >
      {done ? <Check size={15} /> : <Copy size={15} />}
    </IconButton>
  );
}

async function copyText(text: string) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without TLS, a page has no clipboard of its own.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** Id shows the end of an id, with a button that copies it. */
export function Id({ id }: { id: string }) {
  return (
    <span className="inline-flex items-center gap-0.5">
      <code className="font-mono text-xs text-muted" title={id}>{id.length > 10 ? `…${id.slice(-6)}` : id}</code>
      <CopyButton text={id} label={tr("Copy the id")} className="size-6!" />
    </span>
  );
}
