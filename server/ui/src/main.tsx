import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./app.css";
import { Boundary } from "./parts/Boundary";
import { Toasts } from "./parts/Toast";
import { tr } from "./texts";

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
