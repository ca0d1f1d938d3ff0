import { create, type Delta } from "jsondiffpatch";

/** Change is a part of a state that differs from another state. */
export type Change = { path: string[]; kind: "added" | "removed" | "changed"; before?: unknown; after?: unknown };

const differ = create({
  objectHash: (o: object, i?: number) => {
    const v = o as { id?: unknown; key?: unknown; name?: unknown };
    const key = v.id ?? v.key ?? v.name;
    return typeof key === "string" ? key : `#${i}`;
  },
  arrays: { detectMove: false, includeValueOnMove: false },
  textDiff: undefined as never,
});

/** changes returns how a state differs from the one before. */
export function changes(before: unknown, after: unknown): Change[] {
  const delta = differ.diff(before, after);
  const out: Change[] = [];
  if (delta) walk(delta, [], out, before, after);
  return out;
}

function walk(delta: Delta, path: string[], out: Change[], before: unknown, after: unknown) {
  if (Array.isArray(delta)) {
    const d = delta as unknown[];
    if (d.length === 1) out.push({ path, kind: "added", after: d[0] });
    else if (d.length === 2) out.push({ path, kind: "changed", before: d[0], after: d[1] });
    else if (d[2] === 0) out.push({ path, kind: "removed", before: d[0] });
    else out.push({ path, kind: "changed", before, after });
    return;
  }
  const object = delta as unknown as Record<string, unknown>;
  const list = object._t === "a";
  for (const key of Object.keys(object)) {
    if (key === "_t") continue;
    const gone = list && key.startsWith("_");
    const index = gone ? key.slice(1) : key;
    walk(object[key] as Delta, [...path, index], out, part(before, index), part(after, index));
  }
}

function part(v: unknown, key: string): unknown {
  return typeof v === "object" && v !== null ? (v as Record<string, unknown>)[key] : undefined;
}
