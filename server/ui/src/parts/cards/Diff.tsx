import { useMemo } from "react";
import { stringify } from "../../exact";
import { Tree } from "../Tree";
import { isObject, text } from "./value";
import { tr } from "../../texts";

// A difference is {before, after, name}, of texts or of any JSON, or a text in the unified form.

type Line = { kind: "same" | "added" | "removed"; text: string };

const most = 2000; // lines

// lines finds the longest common subsequence of two texts by lines.
export function diffLines(before: string[], after: string[]): Line[] {
  const n = before.length, m = after.length;
  if (n > most || m > most) return [...before.map((t): Line => ({ kind: "removed", text: t })), ...after.map((t): Line => ({ kind: "added", text: t }))];
  const common = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      common[i]![j] = before[i] === after[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
  const out: Line[] = [];
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && before[i] === after[j]) out.push({ kind: "same", text: before[(j++, i++)]! });
    else if (i < n && (j >= m || common[i + 1]![j]! >= common[i]![j + 1]!)) out.push({ kind: "removed", text: before[i++]! });
    else out.push({ kind: "added", text: after[j++]! });
  }
  return out;
}

function split(v: unknown): string[] {
  return (typeof v === "string" ? v : stringify(v)).replace(/\n$/, "").split("\n");
}

function read(value: unknown): Line[] | undefined {
  if (isObject(value) && "before" in value && "after" in value) return diffLines(split(value.before), split(value.after));
  if (typeof value !== "string") return undefined;
  return split(value).map((line): Line => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
    return { kind, text: kind === "same" ? line.replace(/^ /, "") : line.slice(1) };
  });
}

const marks = { same: " ", added: "+", removed: "−" };
const looks = { same: "", added: "bg-[color-mix(in_srgb,var(--ok)_14%,transparent)]", removed: "bg-[color-mix(in_srgb,var(--danger)_12%,transparent)]" };

export function Diff({ value }: { value: unknown }) {
  const list = useMemo(() => read(value), [value]);
  if (!list) return <Tree value={value} />;
  const name = isObject(value) ? text(value.name) : undefined;
  const added = list.filter((l) => l.kind === "added").length;
  const removed = list.filter((l) => l.kind === "removed").length;
  return (
    <div className="overflow-hidden rounded-card border text-sm">
      <div className="flex gap-3 border-b bg-surface px-4 py-2 text-xs">
        <span className="flex-1 font-semibold">{name ?? tr("Changes")}</span>
        <span className="num text-ok">+{added}</span>
        <span className="num text-danger">−{removed}</span>
      </div>
      <div tabIndex={0} role="group" aria-label={tr("Changes")} className="max-h-96 overflow-auto py-1 font-mono text-[13px]">
        {list.map((l, i) => (
          <div key={i} className={`flex w-max min-w-full px-3 ${looks[l.kind]}`}>
            <span aria-hidden className="w-5 shrink-0 text-muted select-none">{marks[l.kind]}</span>
            <span className="sr-only">{l.kind === "added" ? tr("added:") : l.kind === "removed" ? tr("removed:") : ""}</span>
            <span className="whitespace-pre">{l.text}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
