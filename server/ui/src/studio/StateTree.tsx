import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight, ChevronsDownUp, ChevronsUpDown, Search } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { isNumber, numberText, stringify, textOf } from "../exact";
import { IconButton } from "../parts/Button";
import { CopyButton } from "../parts/copy";
import { Scalar } from "../parts/Tree";
import { plural } from "./bits";

type Row = { path: string; key: string; depth: number; value: unknown; kind: "value" | "list" | "object"; size: number; hit: boolean };

const isObject = (v: unknown): v is object => typeof v === "object" && v !== null;

function plainOf(v: unknown): string {
  if (isNumber(v)) return numberText(v);
  return typeof v === "string" ? textOf(v) : String(v);
}

/** rowsOf returns the visible rows of a value: those in open parts, or those that a search finds. */
export function rowsOf(root: unknown, open: (path: string, depth: number) => boolean, want: string): Row[] {
  const out: Row[] = [];
  const found = want ? matches(root, want.toLowerCase()) : undefined;
  const add = (value: unknown, depth: number, path: string) => {
    const entries = Array.isArray(value) ? value.map((v, i) => [String(i), v] as const) : Object.entries(value as object);
    for (const [key, v] of entries) {
      const at = path ? `${path}/${key}` : key;
      if (found && !found.has(at)) continue;
      const kind = Array.isArray(v) ? "list" : isObject(v) ? "object" : "value";
      out.push({ path: at, key, depth, value: v, kind, size: kind === "value" ? 0 : Array.isArray(v) ? v.length : Object.keys(v as object).length, hit: found?.get(at) ?? false });
      if (kind !== "value" && (found ? true : open(at, depth))) add(v, depth + 1, at);
    }
  };
  if (isObject(root)) add(root, 0, "");
  return out;
}

// matches returns the paths that a search finds, with the paths around them, which map to false.
function matches(root: unknown, want: string): Map<string, boolean> {
  const found = new Map<string, boolean>();
  const visit = (value: unknown, path: string): boolean => {
    let any = false;
    const entries = Array.isArray(value) ? value.map((v, i) => [String(i), v] as const) : Object.entries(value as object);
    for (const [key, v] of entries) {
      const at = path ? `${path}/${key}` : key;
      const own = key.toLowerCase().includes(want) || (!isObject(v) && plainOf(v).toLowerCase().includes(want));
      const inner = isObject(v) && visit(v, at);
      if (own || inner) found.set(at, own);
      if (own && isObject(v)) keepAll(v, at);
      any ||= own || inner;
    }
    return any;
  };
  const keepAll = (value: object, path: string) => {
    for (const [key, v] of Array.isArray(value) ? value.map((x, i) => [String(i), x] as const) : Object.entries(value)) {
      const at = `${path}/${key}`;
      if (!found.has(at)) found.set(at, false);
      if (isObject(v)) keepAll(v, at);
    }
  };
  if (isObject(root)) visit(root, "");
  return found;
}

/** StateTree shows any JSON as a tree in which one can search. Only visible rows are drawn. */
export function StateTree({ value, label }: { value: unknown; label: string }) {
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [level, setLevel] = useState(1);
  const [want, setWant] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(value, (path, depth) => toggled.get(path) ?? depth < level, want.trim()), [value, toggled, level, want]);
  const list = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => 28, overscan: 20, getItemKey: (i) => rows[i]?.path ?? i });
  const hits = rows.filter((r) => r.hit).length;
  const toggle = (r: Row) => setToggled((old) => new Map(old).set(r.path, !(old.get(r.path) ?? r.depth < level)));
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex items-center gap-1.5 border-b px-3 py-2">
        <div className="relative min-w-0 flex-1">
          <Search size={15} aria-hidden className="absolute start-2.5 top-2 text-muted" />
          <input type="search" aria-label={`Search in ${label}`} placeholder="Search names and values" value={want} onChange={(e) => setWant(e.target.value)} className="h-8 w-full rounded-inner border bg-bg ps-8 pe-2 text-sm" />
        </div>
        <span className="num text-xs whitespace-nowrap text-muted" aria-live="polite">{want.trim() ? plural(hits, "match", "matches") : ""}</span>
        <IconButton label="Open all" onClick={() => { setToggled(new Map()); setLevel(99); }}><ChevronsUpDown size={15} /></IconButton>
        <IconButton label="Close all" onClick={() => { setToggled(new Map()); setLevel(0); }}><ChevronsDownUp size={15} /></IconButton>
        <CopyButton text={() => stringify(value)} label="Copy as JSON" />
      </div>
      <div ref={scroller} tabIndex={0} role="region" aria-label={label} className="min-h-0 flex-1 overflow-auto px-2 py-2 text-[13px] leading-5">
        {rows.length === 0 && <p className="px-3 py-6 text-sm text-muted">{want ? "Nothing matches." : "The state is empty."}</p>}
        <div className="relative" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map((item) => {
            const r = rows[item.index];
            if (!r) return null;
            const isOpen = want.trim() !== "" || (toggled.get(r.path) ?? r.depth < level);
            return (
              <div key={item.key} ref={list.measureElement} data-index={item.index} className="absolute inset-x-0 top-0 min-h-7 py-1" style={{ transform: `translateY(${item.start}px)`, paddingInlineStart: r.depth * 18 }}>
                {r.kind === "value" ? (
                  <div className={`flex gap-2.5 rounded-sm ps-5 ${r.hit ? "bg-tint" : ""}`}>
                    <span className="shrink-0 font-mono text-xs leading-5 text-muted">{r.key}</span>
                    <span className="min-w-0"><Scalar value={r.value} /></span>
                  </div>
                ) : (
                  <button type="button" aria-expanded={isOpen} onClick={() => toggle(r)} className={`flex items-center gap-1 rounded-sm text-start ${r.hit ? "bg-tint" : ""}`}>
                    <ChevronRight size={16} aria-hidden className={`text-muted transition-transform duration-150 ${isOpen ? "rotate-90" : ""}`} />
                    <span className={`font-mono text-xs ${r.depth === 0 ? "font-semibold text-text" : "text-muted"}`}>{r.key}</span>
                    <span className="text-xs text-muted">{r.kind === "list" ? plural(r.size, "item") : plural(r.size, "field")}</span>
                  </button>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
