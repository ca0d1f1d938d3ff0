import { client, messageOf, statusOf } from "../client";
import { toast } from "../parts/Toast";
import { navigate } from "../route";
import { assistantId } from "./session";
import { openQuestions } from "../questions";
import { leaveNew } from "./uploads";
import { tr } from "../texts";

export type Thread = { id: string; title: string; updated: string; status: string; /** It has an open question, if that is known. */ asks?: boolean };

export type List = { threads: Thread[]; loading: boolean; more: boolean; error?: string; /** The server has refused the credentials. */ denied?: boolean };

const size = 50;

function titleOf(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 59).trimEnd()}…` : line || tr("Conversation");
}

/** Threads is the list of the conversations of a person, newest first. */
class Threads {
  #list: List = { threads: [], loading: true, more: false };
  #listeners = new Set<() => void>();
  #hidden = new Set<string>(); // deleted unless the person undoes it
  #limit = size;
  #timer = 0;

  constructor() {
    const soon = () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => void this.load(), 150);
    };
    addEventListener("weft-threads", soon);
    addEventListener("focus", soon);
  }

  subscribe = (f: () => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  view = () => this.#list;

  async load() {
    try {
      const found = await client.threads.search({
        metadata: { page: "chat" }, limit: this.#limit + 1, sortBy: "updated_at", sortOrder: "desc",
        select: ["thread_id", "metadata", "updated_at", "status"],
      });
      const asking = await openQuestions(found).catch(() => undefined); // the list is shown without the marks
      const threads = found.slice(0, this.#limit).map((t) => ({
        id: t.thread_id, title: String((t.metadata as { title?: unknown } | null)?.title ?? tr("Conversation")), updated: t.updated_at, status: t.status, asks: asking?.has(t.thread_id),
      }));
      this.#set({ threads: threads.filter((t) => !this.#hidden.has(t.id)), loading: false, more: found.length > this.#limit });
    } catch (error) {
      this.#set({ ...this.#list, loading: false, denied: statusOf(error) === 401, error: messageOf(error) });
    }
  }

  more() {
    this.#limit += size;
    void this.load();
  }

  /** create makes a thread, unless it is there. Its title is the beginning of its first message. */
  async create(text: string, id: string): Promise<void> {
    const title = titleOf(text);
    await client.threads.create({ threadId: id, ifExists: "do_nothing", metadata: { page: "chat", title, assistant: await assistantId() } });
    void this.load();
  }

  /** entitle gives a thread that has files the title of its first message. */
  async entitle(text: string, id: string) {
    await client.threads.update(id, { metadata: { title: titleOf(text) } });
    void this.load();
  }

  async rename(t: Thread, title: string) {
    this.#set({ ...this.#list, threads: this.#list.threads.map((o) => (o.id === t.id ? { ...o, title } : o)) });
    try {
      await client.threads.update(t.id, { metadata: { title } });
    } catch (error) {
      toast(tr("The conversation was not renamed. {reason}", { reason: messageOf(error) }));
      void this.load();
    }
  }

  /** remove deletes a thread unless the person undoes it within some seconds. */
  remove(t: Thread, shown: boolean) {
    this.#hidden.add(t.id);
    leaveNew(t.id);
    this.#set({ ...this.#list, threads: this.#list.threads.filter((o) => o.id !== t.id) });
    if (shown) navigate("#/");
    const undo = () => {
      this.#hidden.delete(t.id);
      void this.load();
      if (shown) navigate(`#/${t.id}`);
    };
    toast(tr("Deleted “{title}”", { title: t.title }), { label: tr("Undo"), run: undo }, () => {
      client.threads.delete(t.id).catch((error: unknown) => {
        if (statusOf(error) === 404) return;
        toast(tr("“{title}” was not deleted. {reason}", { title: t.title, reason: messageOf(error) }));
        this.#hidden.delete(t.id);
        void this.load();
      });
    });
  }

  #set(list: List) {
    this.#list = list;
    for (const f of this.#listeners) f();
  }
}

export const threads = new Threads();
