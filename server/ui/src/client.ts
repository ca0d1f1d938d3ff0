import { Client } from "@langchain/langgraph-sdk/client";
import { config } from "./config";
import { exactFetch } from "./exact";
import { tr } from "./texts";

type Credentials = Record<string, string>;

/** Asked says why credentials are asked for: refused is true if the server has just answered 401 to the last ones. */
export type Asked = { refused: boolean };

let credentials = (_: Asked): Promise<Credentials> | Credentials => {
  const token = sessionStorage.getItem("weft.token");
  return token ? { Authorization: `Bearer ${token}` } : ({} as Credentials);
};

let scripted = false;

/** setCredentials sets the function that returns the headers of each request. */
export function setCredentials(f: typeof credentials) {
  credentials = f;
  scripted = true;
}

/** isScripted reports whether a script of the application sets the headers. */
export function isScripted(): boolean {
  return scripted;
}

// ask returns the headers. The reason of a script that has none is what the page shows.
async function ask(refused: boolean): Promise<Credentials> {
  try {
    return await credentials({ refused });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw Object.assign(new Error(text), { text });
  }
}

/**
 * signed sends a request with the credentials. If the server refuses those of a script, they may have
 * expired: the script is asked again, once. Whoever shows how to sign in hears of the last refusal.
 */
export async function signed<R extends { status: number }>(send: (headers: Credentials) => Promise<R>): Promise<R> {
  let response = await send(await ask(false));
  if (response.status === 401 && scripted) response = await send(await ask(true));
  if (response.status === 401) dispatchEvent(new Event("weft-denied"));
  return response;
}

/** hasToken reports whether a token is kept. */
export function hasToken(): boolean {
  return sessionStorage.getItem("weft.token") !== null;
}

/** dropToken forgets the token. */
export function dropToken() {
  sessionStorage.removeItem("weft.token");
}

/** setToken keeps a token until the tab is closed. */
export function setToken(token: string) {
  sessionStorage.setItem("weft.token", token);
}

/** fetchSigned gets a file of this origin, or returns undefined if there are no headers: the browser then loads the file itself. */
export async function fetchSigned(address: string, signal?: AbortSignal): Promise<Response | undefined> {
  const bare = new Error("no headers");
  try {
    return await signed((headers) => (Object.keys(headers).length === 0 ? Promise.reject(bare) : fetch(address, { headers, signal })));
  } catch (error) {
    if (error === bare) return undefined;
    throw error;
  }
}

const apiUrl = new URL(config.api ?? "..", location.href).href.replace(/\/$/, "");

const signedFetch: typeof fetch = (input, init) =>
  signed((credentials) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(credentials)) headers.set(name, value);
    return exactFetch(input, { ...init, headers });
  });

/** newClient returns a client. The page repeats failed requests itself, so that it can say so. */
export function newClient(headers?: Credentials) {
  return new Client({
    apiUrl,
    apiKey: null,
    callerOptions: { fetch: signedFetch, maxRetries: 0, maxConcurrency: 16 },
    defaultHeaders: headers,
  });
}

export const client = newClient();

/** light asks for lists without the values of states. */
export const light = newClient({ Prefer: "return=minimal" });

/** statusOf returns the HTTP status of an error, or 0 if the server was not reached. */
export function statusOf(error: unknown): number {
  const status = (error as { status?: unknown } | null)?.status;
  return typeof status === "number" ? status : 0;
}

/** messageOf returns what to tell a person about an error. */
export function messageOf(error: unknown): string {
  const e = error as { status?: number; text?: string; message?: string } | null;
  if (e?.text) {
    try {
      const { detail, error } = JSON.parse(e.text) as { detail?: unknown; error?: unknown };
      if (typeof detail === "string") return detail;
      if (typeof error === "string") return error; // a route of the application may have answered
    } catch {
      // The answer is not JSON: a proxy may have written it.
    }
    if (e.text.length < 300 && !e.text.includes("<")) return e.text;
  }
  if (e?.status) return tr("The server answered with status {status}.", { status: e.status });
  return tr("The server cannot be reached.");
}
