import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { isNumber, numberText, textOf } from "../../exact";
import { Tree } from "../Tree";
import { grouped, isObject, money, type Obj } from "./value";
import { locale, tr } from "../../texts";

// A table is {columns, rows} or a list of objects. A column is a name, or {name, type, currency}
// with the type number, money or boolean.

type Column = { name: string; key: string | number; type?: string; currency?: string };

function read(value: unknown): { columns: Column[]; rows: (Obj | unknown[])[] } | undefined {
  if (isObject(value) && Array.isArray(value.columns) && Array.isArray(value.rows)) {
    const lists = value.rows.every(Array.isArray);
    const columns = value.columns.map((c, i): Column => {
      const o = isObject(c) ? c : { name: String(c) };
      return { name: String(o.name), key: lists ? i : String(o.key ?? o.name), type: o.type as string, currency: o.currency as string };
    });
    return { columns, rows: value.rows as unknown[][] };
  }
  const list = isObject(value) && Array.isArray(value.rows) ? value.rows : value;
  if (!Array.isArray(list) || list.length === 0 || !list.every(isObject)) return undefined;
  const names = new Set<string>();
  for (const r of list.slice(0, 100)) for (const k of Object.keys(r)) names.add(k);
  return { columns: [...names].map((name) => ({ name, key: name })), rows: list };
}

const cell = (row: Obj | unknown[], c: Column): unknown => (row as Record<string | number, unknown>)[c.key];

function show(v: unknown, c: Column): string {
  if (v === null || v === undefined) return "–";
  if (isNumber(v)) return c.type === "money" ? money(v, c.currency ?? "EUR") : grouped(v);
  if (typeof v === "boolean") return v ? tr("yes") : tr("no");
  return typeof v === "string" ? textOf(v) : JSON.stringify(v);
}

const collator = new Intl.Collator(locale, { numeric: true });

function compare(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  if (isNumber(a) && isNumber(b)) return Number(numberText(a)) - Number(numberText(b));
  return collator.compare(String(a), String(b));
}

const height = 36;
const widest = 32; // characters

export function Table({ value }: { value: unknown }) {
  const table = useMemo(() => read(value), [value]);
  const [sort, setSort] = useState<{ column: number; down: boolean }>();
  const box = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => {
    const c = sort && table?.columns[sort.column];
    if (!table || !c) return table?.rows ?? [];
    const sorted = [...table.rows].sort((a, b) => compare(cell(a, c), cell(b, c)));
    return sort.down ? sorted.reverse() : sorted;
  }, [table, sort]);
  const long = rows.length > 30;
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => height, overscan: 8, enabled: long });
  const widths = useMemo(() => table?.columns.map((c) => {
    const longest = table.rows.slice(0, 200).reduce((n: number, r) => Math.max(n, show(cell(r, c), c).length), c.name.length + 3);
    return `minmax(${Math.min(longest, widest) + 3}ch, ${Math.min(longest, widest)}fr)`;
  }), [table]);
  if (!table) return <Tree value={value} />;
  const numeric = table.columns.map((c) => c.type === "number" || c.type === "money" || rows.slice(0, 20).every((r) => isNumber(cell(r, c))));
  const shown = long ? virtual.getVirtualItems().map((v) => ({ index: v.index, start: v.start })) : rows.map((_, index) => ({ index, start: 0 }));
  const grid = { gridTemplateColumns: widths?.join(" ") };
  return (
    <div className="overflow-hidden rounded-card border text-sm">
      <div ref={box} tabIndex={0} role="table" aria-label={tr("Result")} aria-rowcount={rows.length + 1} aria-colcount={table.columns.length} className="max-h-96 overflow-auto">
        <div role="rowgroup" className="sticky top-0 z-10 w-max min-w-full">
          <div role="row" aria-rowindex={1} className="grid border-b bg-surface" style={grid}>
            {table.columns.map((c, i) => {
              const sorted = sort?.column === i;
              const Icon = !sorted ? ChevronsUpDown : sort.down ? ArrowDown : ArrowUp;
              return (
                <div key={c.key} role="columnheader" aria-sort={!sorted ? "none" : sort.down ? "descending" : "ascending"}>
                  <button
                    type="button"
                    onClick={() => setSort({ column: i, down: sorted && !sort.down })}
                    className={`flex h-9 w-full items-center gap-1 px-3 font-semibold hover:bg-hover ${numeric[i] ? "justify-end" : ""}`}
                  >
                    <span className="truncate">{c.name}</span>
                    <Icon size={13} aria-hidden className={`shrink-0 ${sorted ? "text-accent" : "text-muted"}`} />
                  </button>
                </div>
              );
            })}
          </div>
        </div>
        <div role="rowgroup" className="relative w-max min-w-full" style={long ? { height: virtual.getTotalSize() } : undefined}>
          {shown.map(({ index, start }) => (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              className={`grid items-center ${index ? "border-t" : ""} ${long ? "absolute inset-x-0" : ""}`}
              style={{ ...grid, height, ...(long ? { transform: `translateY(${start}px)` } : {}) }}
            >
              {table.columns.map((c, i) => (
                <div key={c.key} role="cell" dir="auto" className={`truncate px-3 ${numeric[i] ? "num text-end" : ""}`} title={show(cell(rows[index] ?? [], c), c)}>
                  {show(cell(rows[index] ?? [], c), c)}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
      <div className="num border-t bg-surface px-3 py-1.5 text-xs text-muted">{rows.length === 1 ? tr("1 row") : tr("{count} rows", { count: grouped(rows.length) })}</div>
    </div>
  );
}
