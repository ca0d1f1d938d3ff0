import { Fragment, type ReactNode, StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "./app.css";
import { Boundary } from "./parts/Boundary";
import { Toasts, toast } from "./parts/Toast";
import { tr } from "./texts";

// A script of the application that is not there would be seen in the console only.
addEventListener("error", (e) => {
  if (e.target instanceof HTMLScriptElement) toast(tr("{address} was not loaded. A part of the page may be missing.", { address: e.target.getAttribute("src") ?? "" }));
}, true);

// Page begins again when a person has given a token that a reload would lose.
function Page({ children }: { children: ReactNode }) {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const again = () => setTurn((n) => n + 1);
    addEventListener("weft-signed-in", again);
    return () => removeEventListener("weft-signed-in", again);
  }, []);
  return <Fragment key={turn}>{children}</Fragment>;
}

/** start shows a page. */
export function start(page: ReactNode) {
  const root = document.getElementById("root");
  if (!root) throw new Error("the page has no element with the id root");
  createRoot(root).render(
    <StrictMode>
      <Boundary what={tr("The page")}><Page>{page}</Page></Boundary>
      <Toasts />
    </StrictMode>,
  );
}
