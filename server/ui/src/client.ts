import { Client } from "@langchain/langgraph-sdk/client";
import { config } from "./config";
import { exactFetch } from "./exact";

type Headers = Record<string, string>;

let credentials: () => Promise<Headers> | Headers = () => {
  const token = sessionStorage.getItem("weft.token");
  return token ? { Authorization: `Bearer ${token}` } : ({} as Headers);
};

/** setCredentials sets the function that returns the headers of each request. */
export function setCredentials(f: typeof credentials) {
  credentials = f;
}

/** credentialsNow returns the headers of a request that is not made by a client. */
export async function credentialsNow(): Promise<Headers> {
  return credentials();
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

const apiUrl = new URL(config.api ?? "..", location.href).href.replace(/\/$/, "");

async function withCredentials(_url: URL, init: RequestInit): Promise<RequestInit> {
  return { ...init, headers: { ...(init.headers as Headers), ...(await credentials()) } };
}

// The parts of the page that ask for credentials hear of each refusal by this event.
const deniedFetch: typeof fetch = async (input, init) => {
  const response = await exactFetch(input, init);
  if (response.status === 401) dispatchEvent(new Event("weft-denied"));
  return response;
};

/** newClient returns a client. The page repeats failed requests itself, so that it can say so. */
export function newClient(headers?: Headers) {
  return new Client({
    apiUrl,
    apiKey: null,
    callerOptions: { fetch: deniedFetch, maxRetries: 0, maxConcurrency: 16 },
    defaultHeaders: headers,
    onRequest: withCredentials,
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
  if (e?.status) return `The server answered with status ${e.status}.`;
  return "The server cannot be reached.";
}
