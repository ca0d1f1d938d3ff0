import { v7 } from "../core";
import { isRejection, type State } from "../parts/Status";
import type { Document } from "./citations";
import type { Schema } from "../config";
import { readUploaded, type Uploaded } from "./uploads";

export type Block = { type: string; [key: string]: unknown };

export type Call = { id: string; name: string; args: unknown };

/** Message is a message in the flat form of the protocol. */
export type Message = {
  id: string;
  type: string;
  content: string | Block[];
  name?: string;
  tool_calls?: Call[];
  tool_call_id?: string;
  status?: string;
  additional_kwargs?: Record<string, unknown>;
  response_metadata?: Record<string, unknown>;
};

/** Outgoing is what a person sends: a content, and the files that the application keeps. */
export type Outgoing = { content: string | Block[]; files?: Uploaded[] };

/** messageFrom returns the message of what a person sends. */
export function messageFrom(out: Outgoing, id = v7()): Message {
  return { id, type: "human", content: out.content, ...(out.files?.length ? { additional_kwargs: { files: out.files } } : {}) };
}

/** filesOf returns the files of a message that the application keeps. */
export function filesOf(m: Message): Uploaded[] {
  const list = m.additional_kwargs?.files;
  return Array.isArray(list) ? list.map((f) => readUploaded(f)).filter((f) => f.name) : [];
}

export type Interrupt = { id: string; value: unknown; response_schema?: Schema };

/** Progress is what a running tool reports. */
export type Progress = { done?: number; total?: number; message?: string };

/** Work is what the page has seen of a call while it ran. */
export type Work = { started?: number; ended?: number; progress?: Progress };

/** Use is a call of a tool with its answer. */
export type Use = { call: Call; answer?: Message; state: State; question?: Interrupt };

/** stepOf returns the title of a message that is a step of the work, and no answer. */
function stepOf(m: Message): string | undefined {
  const title = m.response_metadata?.step;
  return typeof title === "string" && title ? title : undefined;
}

/** Piece is a part of an assistant's turn, in order. */
export type Piece =
  | { kind: "text"; id: string; text: string; streaming: boolean }
  | { kind: "step"; id: string; title: string; text: string }
  | { kind: "reasoning"; id: string; text: string; streaming: boolean }
  | { kind: "image"; id: string; src: string }
  | { kind: "use"; id: string; use: Use };

/** Turn is a message of a person, or all that the assistant did after it. */
export type Turn =
  | { kind: "human"; id: string; message: Message; queued?: boolean; last: boolean }
  | { kind: "assistant"; id: string; pieces: Piece[]; after?: string; document?: Document; last: boolean };

/** editedArguments returns the arguments that a person had a tool run with instead of those of the call, or undefined. */
export function editedArguments(answer: Pick<Message, "response_metadata"> | undefined): unknown {
  return answer?.response_metadata?.edited_arguments;
}

/** resultOf returns the content of an answer. If a person changed the arguments, its first block is a note for the model. */
export function resultOf<B>(answer: { content: string | B[]; response_metadata?: Record<string, unknown> }): string | B[] {
  const { content } = answer;
  return editedArguments(answer) !== undefined && typeof content === "object" ? content.slice(1) : content;
}

/** textOfContent returns the text of a message. */
export function textOfContent(content: Message["content"] | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).filter((b) => b.type === "text").map((b) => String(b.text ?? "")).join("");
}

/** imageOf returns the address of an image in a content, or undefined. */
export function imageOf(b: Block): string | undefined {
  if (b.type === "image_url") {
    const u = b.image_url as string | { url?: string } | undefined;
    return typeof u === "string" ? u : u?.url;
  }
  if (b.type !== "image") return undefined;
  if (typeof b.url === "string") return b.url;
  const data = b.data ?? b.base64;
  return typeof data === "string" ? `data:${String(b.mime_type ?? b.mimeType ?? "image/png")};base64,${data}` : undefined;
}

/** callIdOf returns the id of the call that a question is about. */
export function callIdOf(q: Interrupt): string | undefined {
  const v = q.value as { call_id?: unknown } | null;
  return typeof v?.call_id === "string" ? v.call_id : undefined;
}

// What the results of package tools say of calls that were only noted.
const planning = "It is noted as action";

/** calledBy returns the call that a call of invoke_tool stands for, and any other call as it is. */
export function calledBy(call: Call): Call {
  const args = call.args as { tool_name?: unknown; params?: unknown } | null | undefined;
  if (call.name !== "invoke_tool" || typeof args?.tool_name !== "string") return call;
  return { id: call.id, name: args.tool_name, args: args.params };
}

function stateOf(answer: Message | undefined, closed: boolean, running: boolean, stopped: boolean): State {
  if (answer) {
    const text = textOfContent(answer.content);
    if (answer.status === "error") return isRejection(text) ? "rejected" : "failed";
    return text.includes(planning) ? "planned" : "done";
  }
  if (closed) return "superseded";
  return running ? "running" : stopped ? "stopped" : "waiting";
}

type Options = {
  /** The id of the message that is being streamed. */
  streaming?: string;
  running: boolean;
  stopped: boolean;
  interrupts: Interrupt[];
  queued: ReadonlySet<string>;
};

/**
 * turnsOf groups messages to turns. A result belongs to the last open call with its id before it:
 * models may use an id again in a later turn.
 */
export function turnsOf(messages: Message[], o: Options): Turn[] {
  const turns: Turn[] = [];
  let open = new Map<string, Use>();
  let current: Extract<Turn, { kind: "assistant" }> | undefined;
  let human: string | undefined;
  let document: Document | undefined;
  const uses: { use: Use; turn: Turn }[] = [];
  for (const m of messages) {
    if (m.type === "human") {
      turns.push({ kind: "human", id: m.id, message: m, queued: o.queued.has(m.id), last: false });
      human = m.id;
      const file = filesOf(m).findLast((f) => f.url);
      if (file?.url) document = { name: file.name, url: file.url };
      current = undefined;
      open = new Map();
      continue;
    }
    if (m.type === "tool") {
      const use = open.get(m.tool_call_id ?? "");
      if (use) {
        use.answer = m;
        const edited = editedArguments(m);
        if (edited !== undefined) use.call = { ...use.call, args: edited };
        open.delete(m.tool_call_id ?? "");
      }
      continue;
    }
    if (m.type !== "ai") continue;
    if (!current) {
      current = { kind: "assistant", id: m.id, pieces: [], after: human, document, last: false };
      turns.push(current);
    }
    current.pieces.push(...piecesOf(m, m.id === o.streaming));
    for (const [i, call] of (m.tool_calls ?? []).entries()) {
      const use: Use = { call: calledBy(call), state: "running" };
      open.set(call.id, use);
      uses.push({ use, turn: current });
      current.pieces.push({ kind: "use", id: `${m.id}-${i}`, use });
    }
  }
  const last = turns.at(-1);
  if (last) last.last = true;
  const asked = new Map(o.interrupts.map((q) => [callIdOf(q), q]));
  for (const { use, turn } of uses) {
    use.question = turn === last && !use.answer ? asked.get(use.call.id) : undefined;
    use.state = use.question ? "waiting" : stateOf(use.answer, turn !== last, o.running, o.stopped);
  }
  return turns;
}

function piecesOf(m: Message, streaming: boolean): Piece[] {
  const title = stepOf(m);
  if (title) return [{ kind: "step", id: m.id, title, text: textOfContent(m.content) }];
  const blocks: Block[] = typeof m.content === "string" ? [{ type: "text", text: m.content }] : m.content;
  const pieces: Piece[] = [];
  blocks.forEach((b, i) => {
    const id = `${m.id}:${i}`;
    const end = streaming && i === blocks.length - 1 && !m.tool_calls?.length;
    const src = imageOf(b);
    if (src) pieces.push({ kind: "image", id, src });
    else if (b.type === "text" && b.text) pieces.push({ kind: "text", id, text: String(b.text), streaming: end });
    else if ((b.type === "reasoning" || b.type === "thinking") && (b.reasoning || b.thinking || b.text))
      pieces.push({ kind: "reasoning", id, text: String(b.reasoning ?? b.thinking ?? b.text), streaming: end });
  });
  return pieces;
}

// A reply while it is streamed.
type Partial = { text: string; reasoning: string; calls: { id: string; name: string; args: string }[] };

/** Chunk is a piece of a reply, or a whole message. */
export type Chunk = Message & {
  tool_call_chunks?: { index: number; id?: string | null; name?: string | null; args?: string }[];
};

/** Replies has what was streamed, in order: replies of which pieces have arrived, and whole messages. */
export class Replies {
  #list = new Map<string, Partial | Message>();

  add(chunk: Chunk) {
    if (chunk.type !== "AIMessageChunk") {
      this.#list.set(chunk.id, chunk);
      return;
    }
    let p = this.#list.get(chunk.id);
    if (!p || !isPartial(p)) this.#list.set(chunk.id, (p = { text: "", reasoning: "", calls: [] }));
    if (typeof chunk.content === "string") p.text += chunk.content;
    else
      for (const b of chunk.content) {
        if (b.type === "reasoning") p.reasoning += String(b.reasoning ?? "");
        else if (b.type === "text") p.text += String(b.text ?? "");
      }
    for (const d of chunk.tool_call_chunks ?? []) {
      const call = (p.calls[d.index] ??= { id: "", name: "", args: "" });
      if (d.id) call.id = d.id;
      if (d.name) call.name = d.name;
      call.args += d.args ?? "";
    }
  }

  /** forget removes the messages that the state has. */
  forget(ids: ReadonlySet<string>) {
    for (const id of this.#list.keys()) if (ids.has(id)) this.#list.delete(id);
  }

  clear() {
    this.#list.clear();
  }

  /** The id of the reply that is being streamed: the last message, unless it is whole. */
  get streaming(): string | undefined {
    const last = [...this.#list].at(-1);
    return last && isPartial(last[1]) ? last[0] : undefined;
  }

  /** messages returns what was streamed and is not in the state yet. */
  messages(): Message[] {
    return [...this.#list].map(([id, p]) => {
      if (!isPartial(p)) return p;
      const content: Block[] = [];
      if (p.reasoning) content.push({ type: "reasoning", reasoning: p.reasoning });
      if (p.text) content.push({ type: "text", text: p.text });
      return { id, type: "ai", content, tool_calls: p.calls.filter(Boolean).map((c) => ({ id: c.id, name: c.name, args: argsOf(c.args) })) };
    });
  }
}

function isPartial(m: Partial | Message): m is Partial {
  return "calls" in m;
}

function argsOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not complete yet
  }
}
