import { setCredentials } from "../client";
import { start } from "../main";
import { addCard } from "../parts/cards";
import { App } from "./App";

declare global {
  interface Window {
    /** What a script of the application may call. */
    weft: {
      card: typeof addCard;
      headers: typeof setCredentials;
    };
  }
}

window.weft = { card: addCard, headers: setCredentials };

start(<App />);
