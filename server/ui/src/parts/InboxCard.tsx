import { Check, CornerDownLeft, MessageSquare, Pencil, X } from "lucide-react";
import { useState } from "react";
import { tr } from "../texts";
import { useAnswer } from "./answer";
import { Arguments, deepVisible, visible } from "./Arguments";
import { Button } from "./Button";
import { Markdown } from "./Markdown";
import { check, type Errors, inferred, label, SchemaForm } from "./SchemaForm";

// A question in the form of Agent Inbox is a list with one request. Its answer is a list with one response.

export type InboxRequest = {
  action_request: { action: string; args: Record<string, unknown> };
  config: { allow_accept?: boolean; allow_edit?: boolean; allow_respond?: boolean; allow_ignore?: boolean };
  description?: string;
};

const isRecord = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

/** requestOf returns the request of a question in the form of Agent Inbox. */
export function requestOf(value: unknown): InboxRequest | undefined {
  const r: unknown = Array.isArray(value) && value.length === 1 ? value[0] : undefined;
  if (!isRecord(r) || !isRecord(r.action_request) || !isRecord(r.config)) return undefined;
  const { action, args } = r.action_request;
  const answers = [r.config.allow_accept, r.config.allow_edit, r.config.allow_respond, r.config.allow_ignore];
  if (typeof action !== "string" || !isRecord(args) || !answers.includes(true)) return undefined;
  return { action_request: { action, args }, config: r.config, description: typeof r.description === "string" ? r.description : undefined };
}

export function InboxCard({ request, busy, onAnswer }: { request: InboxRequest; busy: boolean; onAnswer: (value: unknown) => Promise<void> }) {
  const { action, args } = request.action_request;
  const { allow_accept: accept, allow_edit: edit, allow_respond: respond, allow_ignore: ignore } = request.config;
  const [mode, setMode] = useState<"ask" | "edit" | "respond">(accept || edit || ignore ? "ask" : "respond");
  const [edited, setEdited] = useState<unknown>(args);
  const [text, setText] = useState("");
  const [errors, setErrors] = useState<Errors>({});
  const { sent, failed, send } = useAnswer(onAnswer);
  const off = sent || busy;
  const title = visible(label(action));
  const schema = inferred(args);
  const answer = (type: string, given: unknown) => void send([{ type, args: given }]);
  const save = () => {
    const found = check(edited, schema, schema);
    setErrors(found);
    if (Object.keys(found).length === 0) answer("edit", { action, args: edited });
  };
  const back = (accept || edit || ignore) && <Button disabled={off} onClick={() => { setMode("ask"); setEdited(args); setErrors({}); }}>{tr("Back")}</Button>;
  return (
    <section aria-label={tr("Question: {title}", { title })} className="animate-rise rounded-card border bg-raised">
      <header className="flex items-center gap-2.5 border-b px-4 py-2.5">
        <CornerDownLeft size={18} aria-hidden className="shrink-0 text-accent" />
        <h2 dir="auto" className="font-semibold">{title}</h2>
      </header>
      <div className="space-y-3 px-4 py-3.5">
        {request.description && <div dir="auto" className="text-sm [&_:first-child]:mt-0!"><Markdown text={visible(request.description)} /></div>}
        {mode === "edit" ? <SchemaForm schema={schema} value={edited} errors={errors} onChange={setEdited} /> : <Arguments value={deepVisible(args)} />}
        {mode === "respond" && (
          <label className="block text-sm">
            <span className="mb-1 block font-medium">{tr("Your response")}</span>
            <textarea autoFocus dir="auto" rows={3} className="w-full rounded-control border bg-bg px-3 py-1.5" value={text} onChange={(e) => setText(e.target.value)} />
          </label>
        )}
        {failed && <p role="alert" className="text-sm text-danger">{tr("The answer was not sent. {reason}", { reason: failed })}</p>}
      </div>
      <footer className="flex flex-wrap items-center gap-2 border-t px-4 py-3">
        {mode === "edit" ? (
          <><Button kind="primary" disabled={off} onClick={save} icon={<Check size={16} />}>{sent ? tr("Sent") : tr("{action} with these changes", { action: title })}</Button>{back}</>
        ) : mode === "respond" ? (
          <><Button kind="primary" disabled={off || text.trim() === ""} onClick={() => answer("response", text)} icon={<MessageSquare size={15} />}>{sent ? tr("Sent") : tr("Respond")}</Button>{back}</>
        ) : (
          <>
            {accept && <Button kind="primary" disabled={off} onClick={() => answer("accept", null)} icon={<Check size={16} />}>{sent ? tr("Sent") : tr("Accept")}</Button>}
            {edit && <Button disabled={off} onClick={() => setMode("edit")} icon={<Pencil size={15} />}>{tr("Edit")}</Button>}
            {respond && <Button disabled={off} onClick={() => setMode("respond")} icon={<MessageSquare size={15} />}>{tr("Respond")}</Button>}
            {ignore && <Button disabled={off} onClick={() => answer("ignore", null)} icon={<X size={16} />}>{tr("Ignore")}</Button>}
          </>
        )}
      </footer>
    </section>
  );
}
