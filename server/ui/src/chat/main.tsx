import { begin, isWaiting, setCredentials } from "../client";
import { config } from "../config";
import { start } from "../main";
import { addCard } from "../parts/cards";
import { notice } from "../parts/Toast";
import { tr } from "../texts";
import { App, sender } from "./App";

declare global {
  interface Window {
    /** What a script of the application may call. */
    weft: {
      card: typeof addCard;
      headers: typeof setCredentials;
      send: (text: string) => Promise<boolean>;
    };
  }
}

window.weft = { card: addCard, headers: setCredentials, send: (text) => sender.send(text) };

// The browser runs the module once. Unlike the event "load" of its element, the import ends after an await of the module.
if (config.script !== undefined) import(/* @vite-ignore */ new URL(config.script, location.href).href).catch(() => undefined).then(begin); // the browser tells the errors

// A module that does not end holds all requests.
setTimeout(() => {
  if (isWaiting()) addEventListener("weft-scripted", notice(tr("The page waits for {address}.", { address: config.script ?? "" })), { once: true });
}, 5000);

start(<App />);
