import { useSyncExternalStore } from "react";

// Each view has an address in the fragment: #/threads/ID?checkpoint=ID. The server need not know
// about it, and a page works under any path.

export type Route = { path: string[]; query: URLSearchParams };

let last: string | undefined;
let route: Route = { path: [], query: new URLSearchParams() };

function current(): Route {
  const hash = location.hash.replace(/^#\/?/, "");
  if (hash !== last) {
    last = hash;
    const [path = "", query = ""] = hash.split("?");
    route = { path: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
  }
  return route;
}

function subscribe(changed: () => void) {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}

/** useRoute returns the address of the view, and renders again when it changes. */
export function useRoute(): Route {
  return useSyncExternalStore(subscribe, current);
}

/** href returns the address of a view. */
export function href(path: string[], query: Record<string, string | undefined> = {}): string {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== "") q.set(key, value);
  const text = q.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** navigate goes to a view. With replace, the browser's history keeps no entry of the old one. */
export function navigate(to: string, replace = false) {
  if (to === location.hash) return;
  if (replace) {
    history.replaceState(null, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = to;
}
