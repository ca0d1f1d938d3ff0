import { channel } from "../config";

// The branches of a conversation. A message that was edited, or an answer that was made again, is a
// fork: another child of the same checkpoint. The history of the thread has all checkpoints.

export type Checkpoint = {
  id: string;
  parent?: string;
  created: string;
  /** The ids of the messages of the input, if this is the checkpoint before an input. */
  input?: string[];
};

/** Choice is one of several branches. */
export type Choice = { index: number; checkpoints: string[] };

export type Branches = {
  /** The checkpoint before each message of a person: where an edit forks. */
  before: Map<string, string>;
  /** The checkpoint with each message of a person: where another answer forks. */
  with: Map<string, string>;
  /** The versions of a message, by its id. */
  edits: Map<string, Choice>;
  /** The versions of the answer to a message, by the id of the message. */
  answers: Map<string, Choice>;
  /** The newest checkpoint that follows each checkpoint. */
  leaf: (checkpoint: string) => string;
};

type History = {
  checkpoint?: { checkpoint_id?: string | null } | null;
  parent_checkpoint?: { checkpoint_id?: string | null } | null;
  created_at?: string | null;
  next?: string[];
  tasks?: { name?: string; result?: unknown }[];
};

/** checkpointsOf reads the history of a thread. */
export function checkpointsOf(history: History[]): Checkpoint[] {
  return history.flatMap((h) => {
    const id = h.checkpoint?.checkpoint_id;
    if (!id) return [];
    const start = h.tasks?.find((t) => t.name === "__start__");
    const result = start?.result as Record<string, unknown> | null | undefined;
    const list = result?.[channel];
    const messages = (Array.isArray(list) ? list : list ? [list] : []) as { id?: string }[];
    return [{
      id, parent: h.parent_checkpoint?.checkpoint_id ?? undefined, created: h.created_at ?? "",
      input: start ? messages.flatMap((m) => (m?.id ? [m.id] : [])) : undefined,
    }];
  });
}

/** branchesOf finds the branches beside the path to a checkpoint. The newest checkpoint is first. */
export function branchesOf(list: Checkpoint[], shown?: string): Branches {
  const byId = new Map(list.map((c) => [c.id, c]));
  const children = new Map<string, Checkpoint[]>();
  for (const c of [...list].reverse()) {
    const key = c.parent ?? "";
    children.set(key, [...(children.get(key) ?? []), c]);
  }
  const out: Branches = { before: new Map(), with: new Map(), edits: new Map(), answers: new Map(), leaf: (id) => leafOf(children, id) };
  const path = new Set<string>();
  for (let c = byId.get(shown ?? list[0]?.id ?? ""); c; c = c.parent ? byId.get(c.parent) : undefined) path.add(c.id);
  for (const c of list) {
    if (!path.has(c.id) || !c.input) continue;
    const inner = children.get(c.id)?.find((i) => path.has(i.id)) ?? children.get(c.id)?.[0];
    const versions = (children.get(c.parent ?? "") ?? []).filter((s) => s.input);
    for (const message of c.input) {
      out.before.set(message, c.id);
      if (versions.length > 1) out.edits.set(message, { index: versions.indexOf(c), checkpoints: versions.map((s) => s.id) });
      if (!inner) continue;
      out.with.set(message, inner.id);
      const answers = (children.get(inner.id) ?? []).filter((s) => !s.input);
      if (answers.length > 1) out.answers.set(message, { index: answers.findIndex((s) => path.has(s.id)), checkpoints: answers.map((s) => s.id) });
    }
  }
  return out;
}

function leafOf(children: Map<string, Checkpoint[]>, id: string): string {
  let newest = { id, created: "" };
  const visit = [id];
  for (let at = visit.pop(); at !== undefined; at = visit.pop()) {
    for (const c of children.get(at) ?? []) {
      if (c.created >= newest.created) newest = c;
      visit.push(c.id);
    }
  }
  return newest.id;
}
