import type { Schema } from "../config";
import { isNumber, numberText, textOf } from "../exact";
import { locale, tr } from "../texts";
import { label } from "./SchemaForm";
import { Tree } from "./Tree";

// The values of calls and questions, as a person reads them.

// Invisible characters could make a question look like another one.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** visible replaces the characters that cannot be seen by their codes. */
export function visible(text: string): string {
  return text.replace(hidden, (c) => (c === "\n" || c === "\t" ? c : `⟨U+${c.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`));
}

/** deepVisible replaces them in all texts of a value. */
export function deepVisible(v: unknown): unknown {
  if (isNumber(v)) return v;
  if (typeof v === "string") return visible(v);
  if (Array.isArray(v)) return v.map(deepVisible);
  if (typeof v === "object" && v !== null) return Object.fromEntries(Object.entries(v).map(([k, x]) => [visible(k), deepVisible(x)]));
  return v;
}

/** Arguments shows the arguments of a call with their names, lists of objects as tables. */
export function Arguments({ value, schema }: { value: unknown; schema?: Schema }) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return <Plain value={value} />;
  const entries = Object.entries(value);
  if (entries.length === 0) return <i className="text-sm text-muted">{tr("no arguments")}</i>;
  return (
    <dl className="grid grid-cols-[minmax(90px,auto)_1fr] gap-x-4 gap-y-1.5 text-sm">
      {entries.map(([k, v]) => (
        <div key={k} className="contents">
          <dt className={`text-muted ${isPlain(v) ? "" : "col-span-2"}`}>{label(k, schema?.properties?.[k])}</dt>
          <dd className={`min-w-0 ${isPlain(v) ? "" : "col-span-2 border-s-2 ps-3"}`}><Value value={v} /></dd>
        </div>
      ))}
    </dl>
  );
}

const isPlain = (v: unknown) => typeof v !== "object" || v === null;

const dates = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });

function Plain({ value }: { value: unknown }) {
  if (isNumber(value)) return <span className="num">{numberText(value)}</span>;
  if (typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value))) return <time dateTime={value} title={value}>{dates.format(new Date(`${value}T12:00`))}</time>;
  if (typeof value === "string") return <span dir="auto" className="break-words whitespace-pre-wrap">{textOf(value) || <i className="text-muted">{tr("empty")}</i>}</span>;
  if (typeof value === "boolean") return <>{value ? tr("yes") : tr("no")}</>;
  return <i className="text-muted">{tr("none")}</i>;
}

/** Value shows a value, a list of objects as a table. */
export function Value({ value }: { value: unknown }) {
  if (typeof value !== "object" || value === null) return <Plain value={value} />;
  const rows = Array.isArray(value) ? value : [];
  const flat = rows.length > 0 && rows.length <= 20 && rows.every((r) => typeof r === "object" && r !== null && !Array.isArray(r) && Object.values(r).every((x) => typeof x !== "object" || x === null));
  if (!flat) return <Tree value={value} copy={false} />;
  const columns = [...new Set(rows.flatMap((r) => Object.keys(r as object)))];
  return (
    <div tabIndex={0} role="group" aria-label={tr("List")} className="max-w-full overflow-x-auto">
      <table className="num text-sm">
        <thead><tr>{columns.map((c) => <th key={c} className={`pe-6 pb-0.5 text-xs font-normal text-muted ${isNumber((rows[0] as Record<string, unknown>)[c]) ? "text-end" : "text-start"}`}>{label(c)}</th>)}</tr></thead>
        <tbody>
          {rows.map((r, i) => (
            <tr key={i}>{columns.map((c) => { const x = (r as Record<string, unknown>)[c]; return <td key={c} className={`pe-6 pb-0.5 align-top ${isNumber(x) ? "text-end" : ""}`}>{<Plain value={x} />}</td>; })}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
