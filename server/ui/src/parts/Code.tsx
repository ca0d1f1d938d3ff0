import { memo, useEffect, useState } from "react";
import { CopyButton } from "./copy";
import { tr } from "../texts";

/**
 * Colored shows code with its syntax in colour, as soon as the highlighter is loaded. Long code, and
 * code of unknown languages, has none.
 */
export const Colored = memo(function Colored({ code, language }: { code: string; language?: string }) {
  const [html, setHtml] = useState<string | null>(null);
  useEffect(() => {
    if (!language || code.length > 20_000) return setHtml(null);
    let live = true;
    void import("./highlight").then((h) => live && setHtml(h.highlight(code, language)));
    return () => {
      live = false;
    };
  }, [code, language]);
  return html === null ? <code>{code}</code> : <code dangerouslySetInnerHTML={{ __html: html }} />;
});

/** Code is a block of code with its language and a button that copies it. */
export function Code({ code, language }: { code: string; language?: string }) {
  return (
    <div className="overflow-hidden rounded-card border bg-sunk" dir="ltr">
      <div className="flex h-9 items-center border-b ps-3.5 pe-1 text-xs text-muted">
        <span className="flex-1">{language ?? tr("text")}</span>
        <CopyButton text={code} label={tr("Copy the code")} className="size-7!" />
      </div>
      <pre tabIndex={0} aria-label={language ? tr("Code in {language}", { language }) : tr("Code")} className="overflow-x-auto px-3.5 py-3 font-mono text-[13px] leading-[1.55]">
        <Colored code={code} language={language} />
      </pre>
    </div>
  );
}
