import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { client, statusOf } from "../client";
import { config } from "../config";

// The data of the studio: that of the protocol by the SDK, and that of the paths below /weft/.

export type Channel = { name: string; kind: string; type: string; stored?: boolean; /** An update replaces the value. Otherwise it is merged into the value. */ replaces?: boolean; /** No client writes it. */ internal?: boolean };
export type GraphNode = { name: string; deferred?: boolean; pauseBefore?: boolean; pauseAfter?: boolean; subgraph?: Drawing; persist?: string };
export type GraphEdge = { from: string; to: string; kind: "edge" | "branch" | "destination" | "join"; join?: number };
export type Drawing = { name: string; channels: Channel[]; nodes: GraphNode[]; edges: GraphEdge[] };
export type GraphInfo = { name: string; assistant_id: string; drawing: Drawing };
export type Info = { read_only: boolean; stored: boolean; values: boolean; facts: boolean; started_at: string; graphs: GraphInfo[] };

export type Usage = { input: number; output: number; total: number };
export type MarkTask = {
  id: string;
  node: string;
  started_at: string | null;
  ended_at: string | null;
  error?: string;
  asked?: boolean;
  writes: string[];
  usage?: Usage;
  /** The attempts that failed before the last one. */
  attempts?: { attempt: number; error: string; ended_at: string }[];
  /** What the node wrote to a logger: the first 100 lines. */
  logs?: LogLine[];
  /** The price of the tokens, if the program knows it. */
  cost?: number;
};
export type LogLine = { time: string; level: string; message: string; attrs?: Record<string, unknown> };
export type Mark = {
  id: string;
  parent?: string;
  step: number;
  source: "input" | "loop" | "update" | "fork";
  time: string;
  run_id?: string;
  next: string[];
  tasks: MarkTask[];
};

export type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
export type RunInfo = {
  run_id: string;
  thread_id: string;
  assistant_id: string;
  graph_id: string;
  /** The user who started the run, on a server that knows its users. */
  user_id?: string;
  created_at: string;
  updated_at: string;
  began_at: string | null;
  ended_at: string | null;
  status: RunStatus;
  attempt: number;
  checkpoint_id?: string;
  error: { error: string; message: string } | null;
  metadata: Record<string, unknown>;
  kwargs: { input?: unknown; command?: unknown; checkpoint_id?: string; config?: unknown; context?: unknown };
  multitask_strategy: string;
};
export type Span = {
  id: string;
  parent?: string;
  kind: "task" | "attempt" | "model" | "tool";
  name: string;
  step: number;
  path?: string;
  start: string;
  end: string | null;
  status: "running" | "success" | "error" | "waiting" | "interrupted";
  error?: string;
  usage?: { input_tokens: number; output_tokens: number; total_tokens: number };
  cost?: number;
};
export type Trace = RunInfo & { complete: boolean; spans: Span[] };

type Request = { method?: string; json?: unknown; params?: Record<string, unknown>; signal?: AbortSignal };

/** fetchPath calls a path of the server with the client of the SDK: its address, credentials and errors. */
export function fetchPath<T>(path: string, options?: Request): Promise<T> {
  return client.threads["fetch"]<T>(path, { signal: undefined, ...options });
}

/** weft calls a path below /weft/. */
export function weft<T>(path: string, options?: Request): Promise<T> {
  return fetchPath<T>(`/weft${path}`, options);
}

// ---- reading

const cache = new Map<string, unknown>();
const readers = new Set<{ key: string; reload: () => void }>();

/** changed makes all views read again whose key begins with a prefix. */
export function changed(prefix = "") {
  for (const r of [...readers]) if (r.key.startsWith(prefix)) r.reload();
}

export type Data<T> = { data?: T; error?: unknown; loading: boolean; reload: () => void };

/**
 * useData reads data, and reads it again every given number of milliseconds while the page is
 * visible. Data that was read before is there at once. With a null key, nothing is read.
 */
export function useData<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>, every = 0): Data<T> {
  const [state, set] = useState<{ key: string | null; data?: T; error?: unknown; loading: boolean }>(() => ({
    key, data: key ? (cache.get(key) as T) : undefined, loading: key !== null,
  }));
  const [turn, setTurn] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      if (every > 0) timer = setTimeout(read, every);
    };
    const read = () => {
      if (document.hidden) return again();
      loader.current(stop.signal).then(
        (data) => {
          if (stop.signal.aborted) return;
          keep(key, data);
          set({ key, data, loading: false });
          again();
        },
        (error: unknown) => {
          if (stop.signal.aborted) return;
          set((old) => ({ key, data: old.key === key ? old.data : undefined, error, loading: false }));
          again();
        },
      );
    };
    set((old) => (old.key === key ? { ...old, loading: old.data === undefined } : { key, data: cache.get(key) as T, loading: true }));
    const reader = { key, reload };
    readers.add(reader);
    read();
    return () => {
      readers.delete(reader);
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, every, turn, reload]);
  const own = state.key === key ? state : { data: key ? (cache.get(key) as T) : undefined, loading: key !== null, error: undefined };
  return { data: own.data, error: own.error, loading: own.loading, reload };
}

function keep(key: string, data: unknown) {
  cache.delete(key);
  cache.set(key, data);
  if (cache.size > 200) cache.delete(cache.keys().next().value as string);
}

/** readOnce reads data that does not change, such as the state at a checkpoint. */
export async function readOnce<T>(key: string, load: () => Promise<T>): Promise<T> {
  if (cache.has(key)) return cache.get(key) as T;
  const data = await load();
  keep(key, data);
  return data;
}

/** useInfo returns the description of the server. */
export function useInfo(): Info | undefined {
  return useData("info", (signal) => weft<Info>("/info", { signal })).data;
}

/** why says why something cannot be done, or returns undefined if it can. */
export function whyNot(info: Info | undefined, needsCode: boolean): string | undefined {
  if (!info) return "The server has not answered yet.";
  if (info.read_only) return "This server is read-only.";
  if (!config.write) return "This studio was opened for reading only.";
  if (needsCode && info.stored) return "This needs the code of the graph, which this program does not have.";
  return undefined;
}

/** useWide reports whether the window is at least as wide as given. */
export function useWide(width: number): boolean {
  let list = lists.get(width);
  if (!list) lists.set(width, (list = matchMedia(`(min-width: ${width}px)`)));
  const m = list;
  return useSyncExternalStore(
    useCallback((f: () => void) => {
      m.addEventListener("change", f);
      return () => m.removeEventListener("change", f);
    }, [m]),
    () => m.matches,
  );
}

const lists = new Map<number, MediaQueryList>();

/**
 * useSettled returns a value once it has not changed for some time. What is expensive follows it, so
 * that a person can go through many values fast.
 */
export function useSettled<T>(value: T, ms = 80): T {
  const [settled, set] = useState(value);
  useEffect(() => {
    const t = setTimeout(() => set(value), ms);
    return () => clearTimeout(t);
  }, [value, ms]);
  return settled;
}

/** isGone reports whether an error says that an object does not exist. */
export function isGone(error: unknown): boolean {
  return statusOf(error) === 404 || statusOf(error) === 422;
}
