import { Client } from "@langchain/langgraph-sdk/client";
import { config } from "./config";
import { exactFetch } from "./exact";
import { perTab } from "./storage";
import { tr } from "./texts";

type Credentials = Record<string, string>;

/** Asked tells a script why it is called. */
export type Asked = {
  /** Whether the server has answered 401 to the last headers. */
  refused: boolean;
};

/** Source returns the headers of a request. Without a value, the request has none of them. */
export type Source = (asked: Asked) => Promise<Credentials | void> | Credentials | void;

const tokenKey = "weft.token";

let credentials: Source = () => {
  const token = perTab.get(tokenKey);
  return token ? { Authorization: `Bearer ${token}` } : undefined;
};

let scripted = false;

/** setCredentials sets the function that returns the headers of each request. */
export function setCredentials(f: Source) {
  credentials = f;
  scripted = true;
  begin();
}

// No request begins before the module of the application has set the headers, has run, or has failed.
const { promise: ready, resolve: open } = Promise.withResolvers<void>();
let waits = config.script !== undefined;
if (!waits) open();

/** begin lets requests begin. */
export function begin() {
  waits = false;
  open();
  dispatchEvent(new Event("weft-scripted"));
}

/** isWaiting reports whether the module of the application may still set the headers. */
export function isWaiting(): boolean {
  return waits;
}

/** isScripted reports whether a script of the application sets the headers. */
export function isScripted(): boolean {
  return scripted;
}

// A ScriptError is the error of a script that has no headers. The page shows its text.
class ScriptError extends Error {
  readonly text: string;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.text = this.message;
  }
}

/** isScriptError reports whether the application's script had no headers for a request. */
export function isScriptError(error: unknown): boolean {
  return error instanceof ScriptError;
}

async function ask(refused: boolean): Promise<Credentials> {
  await ready;
  try {
    return (await credentials({ refused })) ?? {};
  } catch (error) {
    throw new ScriptError(error);
  }
}

let renewing: Promise<Credentials> | undefined;

// renew asks for other headers. Requests that the server refuses at the same time share one call: a
// provider may accept a refresh token only once.
function renew(): Promise<Credentials> {
  return (renewing ??= ask(true).finally(() => (renewing = undefined)));
}

/**
 * signed sends a request with the credentials. If the server answers 401 and a script sets the headers,
 * the script is asked once for other ones. A last answer 401 fires the event weft-denied. send may
 * return undefined: then nothing was sent.
 */
export async function signed<R extends { status: number } | undefined>(send: (headers: Credentials) => Promise<R>): Promise<R> {
  let response = await send(await ask(false));
  if (response?.status === 401 && scripted) response = await send(await renew());
  if (response?.status === 401) dispatchEvent(new Event("weft-denied"));
  return response;
}

/** hasToken reports whether a person has given a token. */
export function hasToken(): boolean {
  return perTab.get(tokenKey) !== null;
}

/** setToken keeps a token until the tab is closed, or with null forgets it. It returns false if the token goes with the page. */
export function setToken(token: string | null): boolean {
  return perTab.set(tokenKey, token);
}

/** fetchSigned gets a file of this origin, or returns undefined if there are no headers: the browser then loads the file itself. */
export async function fetchSigned(address: string, signal?: AbortSignal): Promise<Response | undefined> {
  return signed<Response | undefined>(async (headers) => (Object.keys(headers).length === 0 ? undefined : fetch(address, { headers, signal })));
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
