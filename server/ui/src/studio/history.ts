import { useEffect, useMemo, useRef, useState } from "react";
import { type Mark, weft } from "./data";

/** A Dot is a checkpoint in a drawing of a history: its column, and the row of its branch. */
export type Dot = { mark: Mark; column: number; lane: number; parent?: Dot };

export type History = { dots: Dot[]; byId: Map<string, Dot>; lanes: number };

const none: History = { dots: [], byId: new Map(), lanes: 1 };

/**
 * layout places the checkpoints of a thread, which are newest first. The columns are in the order in
 * which the checkpoints were stored. The branch of the newest one is on row 0, and each other branch
 * is on a row that is free from the checkpoint at which it leaves.
 */
export function layout(marks: Mark[]): History {
  if (marks.length === 0) return none;
  const byId = new Map<string, Dot>();
  const dots: Dot[] = marks.map((mark, i) => ({ mark, column: marks.length - 1 - i, lane: -1 }));
  for (const d of dots) byId.set(d.mark.id, d);
  for (const d of dots) d.parent = d.mark.parent ? byId.get(d.mark.parent) : undefined;
  const ends: number[] = []; // for each row the first column that is taken, seen from the newest
  for (const tip of dots) {
    if (tip.lane >= 0) continue;
    const branch: Dot[] = [];
    let d: Dot | undefined = tip;
    while (d && d.lane < 0) {
      branch.push(d);
      d = d.parent;
    }
    const from = d?.column ?? -1;
    let lane = ends.findIndex((end) => end > tip.column);
    if (lane < 0) lane = ends.length;
    ends[lane] = from;
    for (const b of branch) b.lane = lane;
  }
  dots.reverse();
  return { dots, byId, lanes: ends.length };
}

/** lineage returns the checkpoint with an id and those before it, newest first. */
export function lineage(h: History, id: string | undefined): Dot[] {
  const out: Dot[] = [];
  let d = id ? h.byId.get(id) : undefined;
  while (d) {
    out.push(d);
    d = d.parent;
  }
  return out;
}

type Page = { checkpoints: Mark[]; more: boolean; user_id?: string };

/** useHistory reads the checkpoints of a thread in pages, and new ones every few seconds, with the user of the thread. */
export function useHistory(thread: string, every: number): { history: History; user?: string; complete: boolean; error?: unknown; reload: () => void } {
  const [marks, setMarks] = useState<Mark[]>([]);
  const [user, setUser] = useState<string>();
  const [complete, setComplete] = useState(false);
  const [error, setError] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  const known = useRef<Mark[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (list: Mark[]) => {
      known.current = list;
      setMarks(list);
    };
    const read = async () => {
      const newest = await page(thread, undefined, known.current.length > 0 ? 20 : 200, stop.signal);
      setUser(newest.user_id);
      const rest = known.current;
      const joint = newest.checkpoints.findIndex((m) => m.id === rest[0]?.id);
      if (rest.length > 0 && joint >= 0) {
        // The tasks of the newest known checkpoint may have ended since.
        const fresh = new Map(newest.checkpoints.map((m) => [m.id, m]));
        const list = [...newest.checkpoints.slice(0, joint), ...rest.map((m) => fresh.get(m.id) ?? m)];
        if (joint > 0 || JSON.stringify(newest.checkpoints) !== JSON.stringify(rest.slice(0, newest.checkpoints.length))) show(list);
        return;
      }
      let list = newest.checkpoints;
      show(list);
      for (let more = newest.more; more && list.length > 0; ) {
        const next = await page(thread, list.at(-1)?.id, 1000, stop.signal);
        list = [...list, ...next.checkpoints];
        more = next.more;
        show(list);
      }
      setComplete(true);
    };
    const again = () => {
      if (!document.hidden) {
        read().then(() => setError(undefined), (e: unknown) => !stop.signal.aborted && setError(e)).finally(() => {
          if (!stop.signal.aborted && every > 0) timer = setTimeout(again, every);
        });
      } else timer = setTimeout(again, 1000);
    };
    again();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [thread, every, turn]);
  const history = useMemo(() => layout(marks), [marks]);
  return { history, user, complete, error, reload: () => setTurn((n) => n + 1) };
}

function page(thread: string, before: string | undefined, limit: number, signal: AbortSignal): Promise<Page> {
  return weft<Page>(`/threads/${thread}/timeline`, { params: { limit, ...(before ? { before } : {}) }, signal });
}
