import { client } from "./client";

/** Question is an open question of a thread. */
export type Question = { id: string; value: unknown };

type Thread = { thread_id: string; status: string; updated_at: string };

// The questions of a thread are read again when it has changed.
const known = new Map<string, { updated: string; questions: Question[] }>();

const size = 100;
const bound = 10_000; // threads in known

/** openQuestions returns the open questions by thread. A thread with the status interrupted has none if it was stopped or paused. */
export async function openQuestions(threads: Thread[], signal?: AbortSignal): Promise<Map<string, Question[]>> {
  for (const t of threads) if (t.status !== "interrupted") known.delete(t.thread_id);
  const interrupted = threads.filter((t) => t.status === "interrupted");
  const unknown = interrupted.filter((t) => known.get(t.thread_id)?.updated !== t.updated_at);
  for (let i = 0; i < unknown.length; i += size) {
    const ids = unknown.slice(i, i + size).map((t) => t.thread_id);
    for (const t of await client.threads.search({ ids, limit: size, select: ["thread_id", "updated_at", "interrupts"], signal })) {
      known.delete(t.thread_id); // the newest entry is the last one
      known.set(t.thread_id, { updated: t.updated_at, questions: Object.values(t.interrupts ?? {}).flat() as Question[] });
    }
  }
  const open = new Map(interrupted.flatMap((t) => {
    const questions = known.get(t.thread_id)?.questions ?? [];
    return questions.length > 0 ? [[t.thread_id, questions]] : [];
  }));
  for (const id of [...known.keys()].slice(0, Math.max(0, known.size - bound))) known.delete(id);
  return open;
}
