import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./app.css";
import { Boundary } from "./parts/Boundary";
import { Toasts, toast } from "./parts/Toast";
import { tr } from "./texts";

// A script of the application that is not there would be seen in the console only.
addEventListener("error", (e) => {
  if (e.target instanceof HTMLScriptElement) toast(tr("{address} was not loaded. A part of the page may be missing.", { address: e.target.getAttribute("src") ?? "" }));
}, true);

/** start shows a page. */
export function start(page: ReactNode) {
  const root = document.getElementById("root");
  if (!root) throw new Error("the page has no element with the id root");
  createRoot(root).render(
    <StrictMode>
      <Boundary what={tr("The page")}>{page}</Boundary>
      <Toasts />
    </StrictMode>,
  );
}
