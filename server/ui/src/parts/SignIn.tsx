import { type FormEvent, useEffect, useState } from "react";
import { hasToken, isScripted, setToken } from "../client";
import { config } from "../config";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { perBrowser, perTab } from "../storage";
import { tr } from "../texts";

/**
 * SignIn shows how to sign in when the server has refused the credentials: the client says so by the
 * event weft-denied. A person may want to sign in before: the event is weft-sign-in. If a script of the
 * application sets the headers, a person has no token to give.
 */
export function SignIn() {
  const [open, setOpen] = useState(false);
  const [refused, setRefused] = useState(false); // the server has refused a token of this dialog
  const [token, setText] = useState("");
  useEffect(() => {
    const denied = (e: Event) => {
      if (config.login) {
        const to = new URL(config.login, location.href);
        to.searchParams.set("return", location.href);
        location.assign(to);
      } else {
        setRefused(e.type === "weft-denied" && hasToken());
        setOpen(true);
      }
    };
    const events = ["weft-denied", "weft-sign-in"];
    for (const e of events) addEventListener(e, denied);
    return () => {
      for (const e of events) removeEventListener(e, denied);
    };
  }, []);
  if (!open) return null;
  if (isScripted())
    return (
      <Dialog title={tr("You are signed out")} onClose={() => setOpen(false)}>
        <p className="text-sm">{perBrowser.keeps() ? tr("The server no longer accepts your sign-in. Reload the page to sign in again. The text of your message is kept.") : tr("The server no longer accepts your sign-in. Reload the page to sign in again.")}</p>
        <div className="mt-4 flex justify-end"><Button kind="primary" onClick={() => location.reload()}>{tr("Reload")}</Button></div>
      </Dialog>
    );
  const save = (e: FormEvent) => {
    e.preventDefault();
    if (!token.trim()) return;
    if (setToken(token.trim())) location.reload();
    else dispatchEvent(new Event("weft-signed-in"));
  };
  return (
    <Dialog title={tr("Sign in")} onClose={() => setOpen(false)}>
      <form onSubmit={save}>
        {refused && <p role="alert" className="mb-3 text-sm text-danger">{tr("The server did not accept your token. It may be wrong, or no longer valid.")}</p>}
        <label className="block text-sm">
          <span className="mb-1 block text-muted">{perTab.keeps() ? tr("The server wants to know who you are. Your token is kept until you close this tab.") : tr("The server wants to know who you are. Your token is kept until you leave this page.")}</span>
          <input type="password" autoComplete="off" aria-label={tr("Token")} value={token} onChange={(e) => setText(e.target.value)} className="w-full rounded-control border bg-bg px-3 py-2" />
        </label>
        <div className="mt-4 flex justify-end"><Button kind="primary" type="submit" disabled={!token.trim()}>{tr("Sign in")}</Button></div>
      </form>
    </Dialog>
  );
}
