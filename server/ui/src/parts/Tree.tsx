import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { isNumber, numberText, stringify, textOf } from "../exact";
import { CopyButton } from "./copy";
import { tr } from "../texts";

/** Scalar shows a value that has no parts. */
export function Scalar({ value }: { value: unknown }) {
  if (isNumber(value)) return <span className="num text-(--code-number)">{numberText(value)}</span>;
  if (typeof value === "string") return <span dir="auto" className="break-words whitespace-pre-wrap">{textOf(value) || <i className="text-muted">{tr("empty")}</i>}</span>;
  if (value === null || value === undefined) return <i className="text-muted">{tr("none")}</i>;
  if (typeof value === "boolean") return <span className="text-(--code-keyword)">{value ? tr("yes") : tr("no")}</span>;
  return <>{stringify(value, 0)}</>;
}

const shown = 100;

/** Tree shows any JSON as names and values that can be opened. */
export function Tree({ value, open = 1, copy = true }: { value: unknown; open?: number; copy?: boolean }) {
  return (
    <div className="relative text-sm">
      {copy && <div className="absolute end-0 top-0"><CopyButton text={() => stringify(value)} label={tr("Copy as JSON")} /></div>}
      {typeof value === "object" && value !== null ? <Entries value={value} open={open} /> : <Scalar value={value} />}
    </div>
  );
}

function Entries({ value, open }: { value: object; open: number }) {
  const [limit, setLimit] = useState(shown);
  const entries = Array.isArray(value) ? value.map((v, i) => [String(i + 1), v] as const) : Object.entries(value);
  if (entries.length === 0) return <i className="text-muted">{Array.isArray(value) ? tr("empty list") : tr("empty")}</i>;
  return (
    <ul className="space-y-0.5">
      {entries.slice(0, limit).map(([key, v]) => (
        <li key={key}>
          <Entry name={key} value={v} open={open} />
        </li>
      ))}
      {entries.length > limit && (
        <li>
          <button type="button" className="text-accent underline" onClick={() => setLimit(limit + 10 * shown)}>
            {tr("Show {count} more of {all}", { count: Math.min(entries.length - limit, 10 * shown), all: entries.length })}
          </button>
        </li>
      )}
    </ul>
  );
}

function Entry({ name, value, open }: { name: string; value: unknown; open: number }) {
  const [isOpen, setOpen] = useState(open > 0);
  if (typeof value !== "object" || value === null) {
    return (
      <div className="flex gap-2 ps-5">
        <span className="shrink-0 text-muted">{name}</span>
        <span className="min-w-0"><Scalar value={value} /></span>
      </div>
    );
  }
  const size = Array.isArray(value) ? (value.length === 1 ? tr("1 item") : tr("{count} items", { count: value.length })) : Object.keys(value).length === 1 ? tr("1 field") : tr("{count} fields", { count: Object.keys(value).length });
  return (
    <>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} className="flex items-center gap-1 rounded-sm text-start">
        <ChevronRight size={16} aria-hidden className={`text-muted transition-transform duration-150 rtl:-scale-x-100 ${isOpen ? "rotate-90" : ""}`} />
        <span className="text-muted">{name}</span>
        <span className="text-xs text-muted">· {size}</span>
      </button>
      {isOpen && <div className="ms-2 border-s ps-2"><Entries value={value} open={open - 1} /></div>}
    </>
  );
}
