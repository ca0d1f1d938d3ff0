import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { memo, useMemo } from "react";
import { CopyButton } from "./copy";

const languages = { bash, css, diff, go, javascript, json, python, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
hljs.registerAliases(["html"], { languageName: "xml" });

/** Colored shows code with its syntax in colour. Long code, and code of unknown languages, has none. */
export const Colored = memo(function Colored({ code, language }: { code: string; language?: string }) {
  const html = useMemo(
    () => (language && code.length < 20_000 && hljs.getLanguage(language) ? hljs.highlight(code, { language, ignoreIllegals: true }).value : null),
    [code, language],
  );
  // highlight.js escapes the code, and adds only spans with classes.
  return html === null ? <code>{code}</code> : <code dangerouslySetInnerHTML={{ __html: html }} />;
});

/** Code is a block of code with its language and a button that copies it. */
export function Code({ code, language }: { code: string; language?: string }) {
  return (
    <div className="overflow-hidden rounded-card border bg-sunk" dir="ltr">
      <div className="flex h-9 items-center border-b ps-3.5 pe-1 text-xs text-muted">
        <span className="flex-1">{language ?? "text"}</span>
        <CopyButton text={code} label="Copy the code" className="size-7!" />
      </div>
      <pre tabIndex={0} aria-label={`Code${language ? ` in ${language}` : ""}`} className="overflow-x-auto px-3.5 py-3 font-mono text-[13px] leading-[1.55]">
        <Colored code={code} language={language} />
      </pre>
    </div>
  );
}
