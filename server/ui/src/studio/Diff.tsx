import { Minus, Pencil, Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { Tree } from "../parts/Tree";
import { plural } from "./bits";
import { type Change, changes } from "./diff";

const looks = {
  added: { icon: Plus, color: "text-ok", ground: "bg-[color-mix(in_srgb,var(--ok)_8%,transparent)]" },
  removed: { icon: Minus, color: "text-danger", ground: "bg-[color-mix(in_srgb,var(--danger)_8%,transparent)]" },
  changed: { icon: Pencil, color: "text-info", ground: "bg-[color-mix(in_srgb,var(--info)_7%,transparent)]" },
};

/** Diff shows how a state differs from another one. */
export function Diff({ before, after }: { before: unknown; after: unknown }) {
  const list = useMemo(() => changes(before, after), [before, after]);
  const [limit, setLimit] = useState(100);
  if (list.length === 0) return <p className="text-sm text-muted">The values are the same.</p>;
  const n = (kind: Change["kind"]) => list.filter((c) => c.kind === kind).length;
  return (
    <div className="space-y-2">
      <p className="num text-xs text-muted">{[n("added") && `${n("added")} added`, n("changed") && `${n("changed")} changed`, n("removed") && `${n("removed")} removed`].filter(Boolean).join(" · ")}</p>
      <ul className="space-y-1.5">
        {list.slice(0, limit).map((c) => <Entry key={`${c.kind} ${c.path.join("/")}`} change={c} />)}
      </ul>
      {list.length > limit && <button type="button" className="text-sm text-accent underline" onClick={() => setLimit(limit + 500)}>Show {plural(list.length - limit, "more change")}</button>}
    </div>
  );
}

function Entry({ change: c }: { change: Change }) {
  const look = looks[c.kind];
  return (
    <li className={`rounded-control px-3 py-2 ${look.ground}`}>
      <p className="flex items-center gap-1.5 text-xs">
        <look.icon size={13} aria-hidden className={look.color} />
        <span className="font-mono break-all">{c.path.join(" › ")}</span>
        <span className="sr-only">{c.kind}</span>
      </p>
      <div className="mt-1 grid gap-2 ps-5 text-sm md:[&:has(>:nth-child(2))]:grid-cols-2">
        {c.kind !== "added" && <div className="min-w-0 text-muted line-through decoration-danger/50"><Tree value={c.before} open={1} copy={false} /></div>}
        {c.kind !== "removed" && <div className="min-w-0"><Tree value={c.after} open={1} copy={false} /></div>}
      </div>
    </li>
  );
}
