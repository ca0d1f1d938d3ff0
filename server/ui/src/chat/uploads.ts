import { messageOf, signed } from "../client";
import { config } from "../config";
import { v7 } from "../core";
import { perTab } from "../storage";
import { tr } from "../texts";

/** Uploaded is what the application has answered about a file that it keeps. */
export type Uploaded = {
  id?: string;
  name: string;
  note?: string;
  /** The address of its text, of which answers cite lines. */
  url?: string;
};

export type Upload = {
  key: string;
  name: string;
  /** The part that was sent, from 0 to 1. */
  sent: number;
  file?: Uploaded;
  problem?: string;
};

/** filesOf returns what a message says about its files. */
export function filesOf(list: Upload[]): Uploaded[] {
  return list.flatMap((u) => u.file ?? []);
}

type Kept = { thread: string; files: Uploaded[] };

/** readKept returns the files that the page has kept, or undefined if the text has none. */
function readKept(text: string): Kept | undefined {
  const kept = jsonOf(text) as Partial<Kept> | null | undefined;
  if (typeof kept?.thread !== "string" || !Array.isArray(kept.files)) return undefined;
  return { thread: kept.thread, files: kept.files.map((file) => readUploaded(file)) };
}

/** readUploaded returns what an answer, or a message, says about a file. */
export function readUploaded(value: unknown, name = ""): Uploaded {
  const v = (typeof value === "object" ? value : undefined) as Record<string, unknown> | null | undefined;
  const text = (field: unknown) => (typeof field === "string" && field ? field : typeof field === "number" ? String(field) : undefined);
  return { id: text(v?.id), name: text(v?.name) ?? name, note: text(v?.note), url: text(v?.url) };
}

/** takes reports whether the application takes a file of this name and type. */
export function takes(file: { name: string; type: string }): boolean {
  const list = (config.accept ?? "").toLowerCase().split(",").map((a) => a.trim()).filter(Boolean);
  const name = file.name.toLowerCase(), type = file.type.toLowerCase();
  return list.length === 0 || list.some((a) => (a.startsWith(".") ? name.endsWith(a) : a.endsWith("/*") ? type.startsWith(a.slice(0, -1)) : type === a));
}

/**
 * Uploads are the files that a person has attached to the next message of a thread. They are sent to
 * the application one after the other, and are kept over a reload.
 */
export class Uploads {
  #place: string;
  /** The thread; that of a new conversation is created with the first file. */
  thread: string;
  /** Whether the thread was created for a file. */
  created = false;
  #list: Upload[] = [];
  #listeners = new Set<() => void>();
  #requests = new Map<string, XMLHttpRequest>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(place: string) {
    this.#place = `weft.files.${place}`;
    const kept = readKept(perTab.get(this.#place) ?? "");
    this.created = kept !== undefined && place === "new";
    this.thread = kept?.thread ?? (place === "new" ? v7() : place);
    this.#list = (kept?.files ?? []).map((file) => ({ key: v7(), name: file.name, sent: 1, file }));
  }

  subscribe = (f: () => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  view = () => this.#list;


  /** add sends a file, after the files before it. The function creates the thread of a new conversation. */
  add(file: File, create?: () => Promise<unknown>) {
    const u: Upload = { key: v7(), name: file.name, sent: 0 };
    this.#set([...this.#list, u]);
    const removed = () => !this.#list.some((o) => o.key === u.key);
    this.#last = this.#last.then(async () => {
      if (removed()) return;
      try {
        if (create && !this.created) {
          await create();
          this.created = true;
        }
        const { status, text } = await signed(async (headers) => (removed() ? { status: 0, text: "" } : this.#send(u.key, file, headers)));
        if (removed()) return;
        if (status >= 300) throw { status, text };
        this.#change(u.key, { sent: 1, file: readUploaded(jsonOf(text), file.name) });
      } catch (error) {
        this.#change(u.key, { problem: messageOf(error) });
      }
    });
  }

  /** remove removes a file: it is not sent further, or the application is told to remove it. */
  async remove(u: Upload) {
    const request = this.#requests.get(u.key);
    if (!request && u.file?.id) {
      const response = await signed((headers) => fetch(address(this.thread, u.file?.id), { method: "DELETE", headers }));
      if (!response.ok && response.status !== 404) throw { status: response.status, text: await response.text() };
    }
    this.#set(this.#list.filter((o) => o.key !== u.key));
    request?.abort();
  }

  /** drop forgets the files that a message has. A file that was attached later stays. */
  drop(sent: Upload[]) {
    this.#set(this.#list.filter((u) => !sent.some((s) => s.key === u.key)));
  }

  /** move makes them the files of another place: a new conversation has become a thread. */
  move(place: string) {
    perTab.set(this.#place, null);
    this.#place = `weft.files.${place}`;
    this.#keep();
  }

  async #send(key: string, file: File, headers: Record<string, string>): Promise<{ status: number; text: string }> {
    const request = new XMLHttpRequest(); // fetch does not tell how much was sent
    this.#requests.set(key, request);
    const form = new FormData();
    form.append("file", file, file.name);
    try {
      return await new Promise((done, fail) => {
        request.open("POST", address(this.thread));
        for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
        request.upload.onprogress = (e) => e.lengthComputable && this.#change(key, { sent: e.loaded / e.total });
        request.onload = () => done({ status: request.status, text: request.responseText });
        request.onerror = () => fail({ text: tr("The connection broke before the file was there.") });
        request.onabort = () => fail({});
        request.send(form);
      });
    } finally {
      this.#requests.delete(key);
    }
  }

  #change(key: string, change: Partial<Upload>) {
    this.#set(this.#list.map((u) => (u.key === key ? { ...u, ...change } : u)));
  }

  #set(list: Upload[]) {
    this.#list = list;
    this.#keep();
    for (const f of this.#listeners) f();
  }

  #keep() {
    const files = filesOf(this.#list);
    perTab.set(this.#place, files.length ? JSON.stringify({ thread: this.thread, files } satisfies Kept) : null);
  }
}

function address(thread: string, file?: string): string {
  const url = new URL(config.upload ?? "", location.href);
  url.searchParams.set("thread", thread);
  if (file !== undefined) url.searchParams.set("id", file);
  return url.href;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const all = new Map<string, Uploads>();

/** uploadsOf returns the files for the next message of a thread, or of a new one. */
export function uploadsOf(place: string): Uploads {
  if (place !== "new") leaveNew(place);
  let u = all.get(place);
  if (!u) all.set(place, (u = new Uploads(place)));
  return u;
}

/**
 * leaveNew is called when the thread of the new conversation is opened, used or deleted. Its files
 * belong to the thread from then on, and the next new conversation has another one.
 */
export function leaveNew(thread: string) {
  const u = uploadsOf("new");
  if (u.thread !== thread) return;
  all.delete("new");
  all.set(thread, u);
  u.move(thread);
}
