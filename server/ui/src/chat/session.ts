import type { Run } from "@langchain/langgraph-sdk";
import { client, isScriptError, light, messageOf, statusOf } from "../client";
import { channel, config } from "../config";
import { type Branches, branchesOf, type Checkpoint, checkpointsOf } from "./branches";
import { type Chunk, type Interrupt, type Message, messageFrom, type Outgoing, type Progress, Replies, type Turn, turnsOf, type Work } from "./messages";
import { tr } from "../texts";

export type Phase = "loading" | "ready" | "missing" | "failed";

export type View = {
  phase: Phase;
  /** Why the thread cannot be shown. */
  reason?: string;
  turns: Turn[];
  interrupts: Interrupt[];
  running: boolean;
  /** No text of the answer has arrived yet. */
  pending: boolean;
  connection: "online" | "reconnecting" | "offline";
  error?: string;
  stopped: boolean;
  work: ReadonlyMap<string, Work>;
  branches?: Branches;
  /** Whether a branch is shown that is not the newest. */
  old: boolean;
  typing: boolean;
};

const modes = ["values", "messages-tuple", "tools"] as const;
const historyLimit = 300;
const burst = 250; // milliseconds in which the old events of a run arrive

type Sent = { message: Message; run?: string };

type Payload = { input?: Record<string, unknown> | null; command?: { resume: unknown } };

async function createRun(thread: string, payload: Payload, checkpoint?: string): Promise<string> {
  const run = await client.runs.create(thread, await assistantId(), {
    ...payload,
    ...(checkpoint ? { checkpointId: checkpoint } : {}),
    streamMode: [...modes],
    streamResumable: true,
    multitaskStrategy: "enqueue",
  } as Parameters<typeof client.runs.create>[2]);
  return run.run_id;
}

// The first messages of threads whose sessions do not exist yet.
const firsts = new Map<string, Sent>();

/** begin begins a thread with its first message. The thread exists. */
export async function begin(thread: string, out: Outgoing, id: string) {
  const message = messageFrom(out, id);
  const run = await createRun(thread, { input: { [channel]: [message] } });
  firsts.set(thread, { message, run });
}

type Values = Record<string, unknown>;

/** ToolEvent is an event of the mode tools: a call begins, reports progress, or ends. */
type ToolEvent = { event: "on_tool_start" | "on_tool_event" | "on_tool_end" | "on_tool_error"; toolCallId: string; data?: Progress };

/**
 * Session is a thread in the page. It follows the thread's stream, which has the events of all its
 * runs: those that this page began, and those of other tabs. A run that was running before is
 * joined from its first event.
 */
export class Session {
  readonly thread: string;
  #listeners = new Set<() => void>();
  #view: View = {
    phase: "loading", turns: [], interrupts: [], running: false, pending: false, connection: "online", stopped: false, work: new Map(), old: false, typing: false,
  };
  #messages: Message[] = [];
  #replies = new Replies();
  #outgoing: Sent[] = [];
  #interrupts: Interrupt[] = [];
  #work = new Map<string, Work>();
  #history: Checkpoint[] = [];
  #shown: string | undefined; // the checkpoint of the shown branch, unless it is the newest
  #run: string | undefined;
  #live = false; // the stream of the thread is read
  #heard: string | undefined; // the last run whose beginning the stream has told
  #settled: string | undefined; // the newest run of which the state is known
  #joining = false;
  #joined = 0; // when the run that was running before was joined
  #error: string | undefined;
  #stopped = false;
  #frame = 0;
  #end = new AbortController();
  #channel: BroadcastChannel;
  #typing = 0;

  constructor(thread: string) {
    this.thread = thread;
    const first = firsts.get(thread);
    if (first) this.#outgoing.push(first);
    this.#channel = new BroadcastChannel(`weft.${thread}`);
    this.#channel.onmessage = (e) => this.#otherTypes(e.data === "typing");
    addEventListener("offline", this.#online);
    addEventListener("online", this.#online);
    void this.#follow();
    void this.#watch();
  }

  close() {
    this.#end.abort();
    this.#channel.close();
    clearTimeout(this.#typing);
    cancelAnimationFrame(this.#frame);
    removeEventListener("offline", this.#online);
    removeEventListener("online", this.#online);
  }

  subscribe = (f: () => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  view = (): View => this.#view;

  // ------------------------------------------------------------------ what a person does

  /** send begins a run with a message. It throws if the server does not take the message. */
  async send(out: Outgoing) {
    await this.#begin(messageFrom(out), this.#shown);
  }

  /** edit sends another message in the place of an earlier one: a fork. */
  async edit(message: string, out: Outgoing) {
    const at = await this.#place((b) => b.before.get(message));
    this.#cut(message, false);
    await this.#begin(messageFrom(out), at);
  }

  /** again makes another answer to a message: a fork. */
  async again(message: string) {
    const at = await this.#place((b) => b.with.get(message));
    this.#cut(message, true);
    await this.#start({ input: null }, at);
  }

  /** retry continues after a failure, or after the run was stopped. */
  async retry() {
    await this.#start({ input: null }, this.#shown);
  }

  /** answer answers a question. */
  async answer(question: string, value: unknown) {
    try {
      await this.#start({ command: { resume: { [question]: value } } }, undefined);
    } catch (error) {
      await this.#load();
      throw error;
    }
  }

  async stop() {
    const run = this.#run;
    if (!run) return;
    this.#stopped = true;
    await client.runs.cancel(this.thread, run);
  }

  /** choose shows another branch. */
  async choose(checkpoint: string) {
    const leaf = branchesOf(this.#history).leaf(checkpoint);
    this.#shown = leaf === this.#history[0]?.id ? undefined : leaf;
    await this.#load();
  }

  /** types tells other tabs that a person is typing here. */
  types() {
    this.#channel.postMessage("typing");
  }

  // ------------------------------------------------------------------ runs

  async #place(find: (b: Branches) => string | undefined): Promise<string> {
    let at = find(branchesOf(this.#history, this.#shown));
    if (!at) {
      await this.#loadHistory(1000);
      at = find(branchesOf(this.#history, this.#shown));
    }
    if (!at) throw new Error(tr("The checkpoint before this message is not kept any more."));
    return at;
  }

  // cut removes the messages after one from the view, until the fork has some.
  #cut(message: string, keep: boolean) {
    const at = this.#messages.findIndex((m) => m.id === message);
    if (at < 0) return;
    this.#messages = this.#messages.slice(0, keep ? at + 1 : at);
    this.#interrupts = [];
    this.#changed();
  }

  async #begin(message: Message, checkpoint: string | undefined) {
    const out: Sent = { message };
    this.#outgoing.push(out);
    this.#channel.postMessage("sent");
    this.#changed();
    try {
      out.run = await this.#start({ input: { [channel]: [message] } }, checkpoint);
    } catch (error) {
      this.#outgoing = this.#outgoing.filter((o) => o !== out);
      void this.#load().catch(() => undefined);
      throw error;
    }
  }

  async #start(payload: Payload, checkpoint: string | undefined): Promise<string> {
    const run = await createRun(this.thread, payload, checkpoint);
    this.#shown = undefined;
    this.#error = undefined;
    if (!this.#run) {
      this.#stopped = false;
      this.#replies.clear();
    }
    this.#changed();
    return run;
  }

  // ------------------------------------------------------------------ the stream

  #online = () => this.#set({ connection: !navigator.onLine ? "offline" : this.#live ? "online" : "reconnecting" });

  async #follow() {
    const signal = this.#end.signal;
    let last: string | undefined;
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        const runs = await this.#runs();
        await this.#load();
        this.#settled = running(runs) ? undefined : runs[0]?.run_id;
        await this.#join(runs);
        const stream = client.threads.joinStream(this.thread, { signal, lastEventId: last, streamMode: ["lifecycle", "run_modes"] });
        const events = stream[Symbol.asyncIterator]();
        let next = events.next(); // the request is sent now
        if (tries > 0) await this.#load(); // what was missed
        this.#live = true;
        this.#online();
        for (let e = await next; !e.done; e = await next) {
          tries = 0;
          last = e.value.id ?? last;
          this.#event(e.value.event, e.value.data);
          next = events.next();
        }
      } catch (error) {
        if (signal.aborted) return;
        const status = statusOf(error);
        // A script that has no headers for the first requests is told. Later the stream may break because
        // the network did, and the script needs the network, too.
        const unsigned = isScriptError(error) && this.#view.phase === "loading";
        if (unsigned || status === 401 || status === 403 || status === 404 || status === 422) {
          this.#set({ phase: status === 404 || status === 422 ? "missing" : "failed", reason: messageOf(error) });
          return;
        }
      }
      this.#live = false;
      this.#online();
      await new Promise((f) => setTimeout(f, Math.min(500 * 2 ** tries, 8000)));
    }
  }

  #runs(): Promise<Run[]> {
    return client.runs.list(this.thread, { limit: 10 });
  }

  // join reads the events of a run whose beginning the stream of the thread has not told.
  async #join(runs: Run[]) {
    if (this.#end.signal.aborted) return;
    const run = running(runs);
    if (run) {
      if (run.run_id === this.#run) return;
      this.#begun(run.run_id);
      if (this.#heard === run.run_id) return;
      this.#joining = true;
      this.#joined = Date.now();
      void this.#replay(run.run_id);
      return;
    }
    if (this.#run) {
      this.#joining = false; // its stream may have broken without an end
      return this.#ended();
    }
    // A run may have begun and ended while nobody heard the stream.
    if (this.#outgoing.length > 0 || runs[0]?.run_id !== this.#settled) {
      this.#outgoing = this.#outgoing.filter((o) => !o.run);
      this.#settled = runs[0]?.run_id;
      await this.#load();
    }
    if (runs[0]?.status === "interrupted") {
      this.#stopped = true;
      this.#error = undefined;
    }
    this.#changed();
  }

  // watch compares with the server what the page takes to be running: a run may begin and end before
  // the stream of the thread is there.
  async #watch() {
    const signal = this.#end.signal;
    for (let wait = 500; !signal.aborted; wait = 3000) {
      await new Promise((f) => setTimeout(f, wait));
      if (signal.aborted || !this.#live || (wait > 500 && !this.#run && this.#outgoing.length === 0)) continue;
      try {
        await this.#join(await this.#runs());
      } catch (error) {
        if (statusOf(error) === 401) return; // the page has said so; the stream goes on to its end
      }
    }
  }

  async #replay(run: string) {
    try {
      for await (const e of client.runs.joinStream(this.thread, run, { signal: this.#end.signal, lastEventId: "-1", streamMode: [...modes] }))
        if (this.#run === run) this.#event(e.event, e.data, true);
    } catch {
      // The stream of the thread says when the run has ended.
    }
    if (this.#run !== run) return; // another one has begun meanwhile
    this.#joining = false;
    if (!this.#end.signal.aborted) await this.#ended();
  }

  #event(name: string, data: unknown, replayed = false) {
    if (name === "metadata") {
      const m = data as { run_id?: string; status?: string };
      if (m.status === "run_done") {
        if (m.run_id === this.#run && !this.#joining) void this.#ended();
      } else if (m.run_id && !replayed) {
        this.#heard = m.run_id;
        if (m.run_id !== this.#run) this.#begun(m.run_id);
      }
      return;
    }
    if (this.#joining && !replayed) return;
    switch (name.split("|")[0]) {
      case "values":
        if (!name.includes("|")) this.#setValues(data as Values);
        break;
      case "messages":
        this.#replies.add((data as [Chunk])[0]);
        break;
      case "tools":
        this.#tool(data as ToolEvent, replayed);
        break;
      case "error":
        this.#error = (data as { message?: string }).message ?? tr("The run failed.");
        break;
    }
    this.#changed();
  }

  #begun(run: string) {
    this.#run = run;
    this.#shown = undefined; // a run makes the newest branch, and may end before the answer to its request
    this.#joining = false;
    this.#stopped = false;
    this.#error = undefined;
    this.#interrupts = [];
    this.#replies.clear();
    this.#changed();
    dispatchEvent(new Event("weft-threads"));
  }

  async #ended() {
    const run = this.#run;
    this.#run = undefined;
    this.#settled = run;
    this.#outgoing = this.#outgoing.filter((o) => o.run !== run);
    this.#changed();
    dispatchEvent(new Event("weft-threads"));
    try {
      await this.#load();
    } catch {
      // The stream is read again, and then the state.
    }
  }

  #tool({ event, toolCallId: id, data }: ToolEvent, replayed: boolean) {
    const work = { ...this.#work.get(id) };
    // When old events happened is not known; they arrive at once.
    const at = replayed && Date.now() - this.#joined < burst ? undefined : Date.now();
    if (event === "on_tool_start") work.started = at;
    else if (event === "on_tool_event") work.progress = data;
    else work.ended = work.started === undefined ? undefined : at;
    this.#work.set(id, work);
  }

  // ------------------------------------------------------------------ the state

  async #load() {
    const shown = this.#shown;
    const state = await client.threads.getState<Values>(this.thread, shown);
    if (this.#end.signal.aborted || shown !== this.#shown) return; // another branch is read, or a run writes one
    if (!this.#run) {
      this.#setValues(state.values);
      const tasks = state.tasks ?? [];
      this.#interrupts = tasks.flatMap((t) => (t.interrupts ?? []) as Interrupt[]);
      const failed = tasks.find((t) => t.error)?.error;
      if (failed && !this.#stopped && !this.#shown) this.#error ??= String(failed).replace(/^\w+(\.\w+)*: /, "");
    } else if (this.#messages.length === 0) this.#setValues(state.values);
    this.#set({ phase: "ready" });
    this.#changed();
    void this.#loadHistory(historyLimit).catch(() => undefined);
  }

  async #loadHistory(limit: number) {
    this.#history = checkpointsOf(await light.threads.getHistory(this.thread, { limit }));
    this.#changed();
  }

  #setValues(values: Values | null | undefined) {
    const list = values?.[channel];
    this.#messages = Array.isArray(list) ? (list as Message[]) : [];
    const ids = new Set(this.#messages.map((m) => m.id));
    this.#replies.forget(ids);
    firsts.delete(this.thread);
    this.#outgoing = this.#outgoing.filter((o) => !ids.has(o.message.id));
  }

  #otherTypes(typing: boolean) {
    clearTimeout(this.#typing);
    if (typing) this.#typing = window.setTimeout(() => this.#set({ typing: false }), 3000);
    this.#set({ typing });
  }

  // changed shows the state with the next frame: many events may come before it.
  #changed() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#set({});
    });
    if (document.hidden) {
      cancelAnimationFrame(this.#frame); // there are no frames
      this.#frame = 0;
      this.#set({});
    }
  }

  #set(change: Partial<View>) {
    const running = this.#run !== undefined;
    const streamed = this.#replies.messages();
    const queued = new Set(this.#outgoing.filter((o) => running && o.run !== undefined && o.run !== this.#run).map((o) => o.message.id));
    const now = this.#outgoing.filter((o) => !queued.has(o.message.id)).map((o) => o.message);
    const later = this.#outgoing.filter((o) => queued.has(o.message.id)).map((o) => o.message);
    const streaming = running ? this.#replies.streaming : undefined;
    const messages = [...this.#messages, ...now, ...streamed, ...later];
    const interrupts = this.#outgoing.length > 0 ? [] : this.#interrupts; // a message supersedes the questions
    const turns = turnsOf(messages, { streaming, running, stopped: this.#stopped, interrupts, queued });
    const tail = turns.findLast((t) => !(t.kind === "human" && t.queued));
    this.#view = {
      ...this.#view, turns, interrupts, running, stopped: this.#stopped && !running, error: running ? undefined : this.#error,
      pending: (running || now.length > 0) && (tail?.kind !== "assistant" || waits(tail)),
      work: new Map(this.#work), branches: this.#history.length ? branchesOf(this.#history, this.#shown) : undefined, old: this.#shown !== undefined,
      ...change,
    };
    for (const f of this.#listeners) f();
  }
}

// running returns the run that is executed, or the next one that will be.
function running(runs: Run[]): Run | undefined {
  return runs.find((r) => r.status === "running") ?? runs.findLast((r) => r.status === "pending");
}

// waits reports whether nothing in a turn shows that the assistant is at work.
function waits(t: Extract<Turn, { kind: "assistant" }>): boolean {
  const last = t.pieces.at(-1);
  if (!last) return true;
  if (last.kind === "use") return last.use.state !== "running";
  return last.kind === "step" || (last.kind !== "image" && !last.streaming);
}

let assistant: Promise<string> | undefined;

/** assistantId returns the assistant that the page talks to. */
export function assistantId(): Promise<string> {
  if (config.assistant) return Promise.resolve(config.assistant);
  assistant ??= client.assistants.search({ limit: 1 }).then((list) => {
    if (!list[0]) throw new Error(tr("The server has no assistant."));
    return list[0].assistant_id;
  });
  assistant.catch(() => (assistant = undefined));
  return assistant;
}
