import { messageOf, signed } from "../client";
import { config } from "../config";

// The application keeps facts about the person, and has an address that lists and forgets them.

export type Fact = { id: string; content: string };

export type Known = { facts: Fact[]; fresh: Fact[]; error?: string };

/** Memories has the facts that the application remembers, and those that are new since the last message. */
class Memories {
  #view: Known = { facts: [], fresh: [] };
  #before: ReadonlySet<string> | undefined; // the ids before the last message
  #loads = 0; // the number of the newest request for the list
  #listeners = new Set<() => void>();

  subscribe = (f: () => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  view = () => this.#view;

  /** mark begins a turn: facts that come from now on are new. */
  mark() {
    if (this.#before) this.#before = new Set(this.#view.facts.map((f) => f.id));
    this.#set({ ...this.#view, fresh: [] });
  }

  async load() {
    if (!config.memory) return;
    const load = ++this.#loads;
    try {
      const list: unknown = await (await request("GET", "")).json();
      if (load !== this.#loads) return; // a newer request is on its way: this list may have a fact that was forgotten since
      const facts = (Array.isArray(list) ? list : []).filter((f): f is Fact => typeof f?.id === "string" && typeof f?.content === "string");
      this.#before ??= new Set(facts.map((f) => f.id));
      this.#set({ facts, fresh: facts.filter((f) => !this.#before?.has(f.id)) });
    } catch (error) {
      if (load !== this.#loads) return;
      this.#set({ ...this.#view, error: messageOf(error) });
    }
  }

  /** forget deletes a fact, or all without an id. */
  async forget(id?: string) {
    await request("DELETE", id === undefined ? "" : `/${encodeURIComponent(id)}`);
    await this.load();
  }

  #set(view: Known) {
    this.#view = view;
    for (const f of this.#listeners) f();
  }
}

async function request(method: string, path: string): Promise<Response> {
  const response = await signed((headers) => fetch(`${config.memory}${path}`, { method, headers }));
  if (!response.ok) throw { status: response.status, text: await response.text() };
  return response;
}

export const memories = new Memories();
