import { ChevronRight, Pencil, Wrench } from "lucide-react";
import { memo, useState } from "react";
import { config } from "../config";
import { isNumber, numberText, textOf } from "../exact";
import { Card, hasCard, valueOf } from "../parts/cards";
import { Arguments, visible } from "../parts/Arguments";
import { label } from "../parts/SchemaForm";
import { Status } from "../parts/Status";
import { duration } from "../parts/Time";
import { editedArguments, imageOf, resultOf, textOfContent, type Use, type Work } from "./messages";
import { Picture } from "../parts/Markdown";
import { tr } from "../texts";

/** titleOf returns the words for a tool. */
export function titleOf(name: string): string {
  return config.tools?.[name]?.title || label(name);
}

// objectOf returns what a call is about: its first short arguments.
function objectOf(args: unknown): string {
  if (typeof args !== "object" || args === null) return "";
  const texts = Object.values(args).flatMap((v) => (isNumber(v) ? [numberText(v)] : typeof v === "string" && v.length > 0 && v.length <= 60 ? [textOf(v)] : []));
  return visible(texts.slice(0, 2).join(", "));
}

type Props = { use: Use; work?: Work };

/** ToolLine shows a call in one line, which opens to its arguments and its result. */
export const ToolLine = memo(function ToolLine({ use, work }: Props) {
  const [open, setOpen] = useState(false);
  const { call, answer, state } = use;
  const tool = config.tools?.[call.name];
  const content = answer && resultOf(answer);
  const result = content === undefined ? undefined : textOfContent(content);
  const edited = editedArguments(answer) !== undefined;
  const value = result === undefined ? undefined : valueOf(result);
  const card = state === "done" && hasCard(tool?.result);
  const images = typeof content === "object" ? content.flatMap((b) => imageOf(b) ?? []) : [];
  const time = work?.started !== undefined && work.ended !== undefined ? duration(work.ended - work.started) : undefined;
  const progress = state === "running" ? work?.progress : undefined;
  return (
    <div className="space-y-2.5">
      <div className={`rounded-control ${open ? "border" : ""}`}>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className={`flex min-h-8 w-full min-w-0 items-center gap-2 rounded-control px-2 text-start text-sm hover:bg-hover ${open ? "" : "-mx-2 w-[calc(100%+16px)]"}`}>
          <Wrench size={14} aria-hidden className="shrink-0 text-muted" />
          <span className="shrink-0 font-medium">{titleOf(call.name)}</span>
          <span dir="auto" className="min-w-0 truncate text-muted">{objectOf(call.args)}</span>
          {edited && <span className="inline-flex shrink-0 items-center gap-1 text-xs text-muted"><Pencil size={12} aria-hidden /> {tr("changed")}</span>}
          {time && <span className="num shrink-0 text-xs text-muted">{time}</span>}
          <span className="ms-auto flex shrink-0 items-center"><Status state={state} word={progress?.message} /></span>
          <ChevronRight size={15} aria-hidden className={`shrink-0 text-muted transition-transform duration-150 rtl:-scale-x-100 ${open ? "rotate-90" : ""}`} />
        </button>
        {progress?.total ? <progress aria-label={tr("Progress of {tool}", { tool: titleOf(call.name) })} className="mx-2 h-1 w-[calc(100%-16px)] accent-(--accent)" value={progress.done ?? 0} max={progress.total} /> : null}
        {open && (
          <div className="space-y-3 border-t px-3.5 py-3">
            {edited && <p className="text-sm text-muted">{tr("The arguments were changed before the tool ran. These are the new ones.")}</p>}
            <Arguments value={call.args ?? {}} schema={tool?.schema} />
            {result !== undefined && !card && (
              <div className="border-t pt-3">
                <div className="mb-1 text-xs text-muted">{state === "failed" ? tr("Error") : state === "rejected" ? tr("Rejected") : tr("Result")}</div>
                <Card value={value} />
              </div>
            )}
            {state === "superseded" && <p className="text-sm text-muted">{tr("The conversation went on before this call was answered. It was not made.")}</p>}
          </div>
        )}
      </div>
      {card && <Card type={tool?.result} value={value} />}
      {images.map((src, i) => <Picture key={i} src={src} alt={tr("Result of {tool}", { tool: titleOf(call.name) })} />)}
    </div>
  );
}, (a, b) => a.work === b.work && a.use.state === b.use.state && a.use.answer === b.use.answer && JSON.stringify(a.use.call) === JSON.stringify(b.use.call));
