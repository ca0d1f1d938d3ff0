import { useEffect, useReducer, useRef } from "react";
import { client } from "../client";

// What a run does while it runs, before its checkpoints are stored.

export type LiveTask = { id: string; name: string; state: "running" | "done" | "failed" | "waiting"; started: number; ended?: number };
export type Live = { run?: string; tasks: Map<string, LiveTask>; text: Map<string, string> };

type TaskData = { id: string; name: string; error?: unknown; result?: unknown; interrupts?: unknown[]; input?: unknown };

/** useLive follows the running run of a thread. The function changed is called at each step. */
export function useLive(thread: string, busy: boolean, changed: () => void): Live {
  const live = useRef<Live>({ tasks: new Map(), text: new Map() });
  const [, render] = useReducer((n: number) => n + 1, 0);
  const notify = useRef(changed);
  notify.current = changed;
  useEffect(() => {
    if (!busy) return;
    const stop = new AbortController();
    let frame = 0;
    const draw = () => {
      if (frame === 0) frame = requestAnimationFrame(() => {
        frame = 0;
        render();
      });
    };
    const follow = async () => {
      let run: string | undefined;
      while (!run && !stop.signal.aborted) { // the run may still be in the queue
        run = (await client.runs.list(thread, { limit: 1, status: "running" }))[0]?.run_id;
        if (!run) await new Promise((done) => setTimeout(done, 400));
      }
      if (!run || stop.signal.aborted) return;
      live.current = { run, tasks: new Map(), text: new Map() };
      for await (const e of client.runs.joinStream(thread, run, { signal: stop.signal, lastEventId: "-1", streamMode: ["tasks", "messages-tuple"] as never })) {
        if (stop.signal.aborted) return;
        const event = e.event as string;
        if (event.startsWith("tasks")) task(live.current, e.data as unknown as TaskData, () => notify.current());
        else if (event.startsWith("messages")) message(live.current, e.data as unknown as [{ id?: string; type?: string; content?: unknown }]);
        draw();
      }
    };
    follow()
      .catch(() => undefined) // the list of checkpoints is read at intervals, too
      .finally(() => {
        if (stop.signal.aborted) return;
        live.current = { tasks: new Map(), text: new Map() };
        notify.current();
        draw();
      });
    return () => {
      stop.abort();
      cancelAnimationFrame(frame);
      live.current = { tasks: new Map(), text: new Map() };
    };
  }, [thread, busy]);
  return live.current;
}

function task(live: Live, d: TaskData, changed: () => void) {
  const known = live.tasks.get(d.id);
  if ("input" in d && !("result" in d)) {
    live.tasks.set(d.id, { id: d.id, name: d.name, state: "running", started: Date.now() });
    changed();
    return;
  }
  const state = d.error ? "failed" : (d.interrupts?.length ?? 0) > 0 ? "waiting" : "done";
  live.tasks.set(d.id, { id: d.id, name: d.name, state, started: known?.started ?? Date.now(), ended: Date.now() });
  changed();
}

function message(live: Live, [m]: [{ id?: string; type?: string; content?: unknown }]) {
  if (!m?.id || !/^ai/i.test(m.type ?? "")) return;
  const piece = typeof m.content === "string" ? m.content : Array.isArray(m.content) ? m.content.map((b: { text?: string }) => b.text ?? "").join("") : "";
  if (m.type === "ai") live.text.set(m.id, piece);
  else live.text.set(m.id, (live.text.get(m.id) ?? "") + piece);
}
