import { Check, CornerDownLeft, Pencil, ShieldAlert, X } from "lucide-react";
import { useState } from "react";
import { config, type Schema } from "../config";
import { isNumber, stringify } from "../exact";
import { tr, within } from "../texts";
import { useAnswer } from "./answer";
import { Arguments, deepVisible, Value, visible } from "./Arguments";
import { Button } from "./Button";
import { Card } from "./cards";
import { InboxCard, requestOf } from "./InboxCard";
import { blank, check, type Errors, inferred, label, resolved, SchemaForm, typeOf } from "./SchemaForm";

// A question of a tool asks to approve a call; its answer is a verdict. A list with one request in the form of Agent Inbox
// is answered in that form. Any other question has a prompt of its own, such as a text, or an object with title,
// description and the schema of the answer.

export type Asked = { id: string; value: unknown; response_schema?: Schema };

type Approval = {
  tool: string; description?: string; arguments: unknown; preview?: unknown; hash: string; problem?: string;
  annotations?: { title?: string; destructive?: boolean; preview?: string };
  bound?: { name: string; text: string; secret?: boolean }[];
};

type Props = { question: Asked; busy: boolean; onAnswer: (value: unknown) => Promise<void> };

function isApproval(v: unknown): v is Approval {
  const a = v as Partial<Approval> | null;
  return typeof a?.tool === "string" && typeof a.hash === "string" && "arguments" in a;
}

/** QuestionCard shows a question as a form. */
export function QuestionCard(p: Props) {
  const { value, response_schema: schema } = p.question;
  if (isApproval(value)) return <ApprovalCard {...p} approval={value} />;
  const request = !schema || typeOf(resolved(schema, schema)) === "array" ? requestOf(value) : undefined;
  return request ? <InboxCard busy={p.busy} onAnswer={p.onAnswer} request={request} /> : <FormCard {...p} />;
}

function ApprovalCard({ busy, onAnswer, approval }: Props & { approval: Approval }) {
  const tool = config.tools?.[approval.tool];
  const schema = tool?.schema ?? inferred(approval.arguments);
  const danger = approval.annotations?.destructive ?? tool?.destructive ?? false;
  const title = visible(approval.annotations?.title || tool?.title || label(approval.tool));
  const [mode, setMode] = useState<"ask" | "edit" | "reject" | "sure">("ask");
  const [edited, setEdited] = useState<unknown>(approval.arguments);
  const [reason, setReason] = useState("");
  const [errors, setErrors] = useState<Errors>({});
  const [pressed, setPressed] = useState(false); // the button of an edit that needs a second press
  const { sent, failed, send } = useAnswer(onAnswer);
  const off = sent || busy;
  const { hash } = approval;
  const bound = approval.bound?.map((b) => (
    <p key={b.name} className="text-sm"><span className="text-muted">{visible(b.name)}</span> {b.secret ? <i>{tr("secret")}</i> : visible(b.text)}</p>
  ));

  const save = () => {
    const found = check(edited, schema, schema);
    setErrors(found);
    if (Object.keys(found).length > 0) return;
    if (danger && !pressed) setPressed(true);
    else void send({ verdict: "edit", hash, arguments: edited });
  };

  return (
    <section aria-label={tr("Question: {title}", { title })} className={`animate-rise rounded-card border bg-raised ${danger ? "border-danger/60" : ""}`}>
      <header className={`flex items-center gap-2.5 border-b px-4 py-2.5 ${danger ? "border-danger/30 text-danger" : ""}`}>
        {danger ? <ShieldAlert size={18} aria-hidden /> : <CornerDownLeft size={18} aria-hidden className="text-accent" />}
        <h2 dir="auto" className="font-semibold">{title}?</h2>
        {danger && <span className="ms-auto text-xs">{tr("cannot be taken back")}</span>}
      </header>
      <div className="space-y-3 px-4 py-3.5">
        {approval.description && <p dir="auto" className="text-sm text-muted">{visible(approval.description)}</p>}
        {approval.problem && <p role="alert" className="rounded-control border border-warn px-3 py-2 text-sm text-warn">{tr("Asked again: {problem}", { problem: visible(approval.problem) })}</p>}
        {mode === "edit" ? <SchemaForm schema={schema} value={edited} errors={errors} onChange={(v) => { setEdited(v); setPressed(false); }} />
          : approval.preview === undefined ? <Arguments value={deepVisible(approval.arguments)} schema={schema} />
          : (
            <>
              <Card type={approval.annotations?.preview} value={deepVisible(approval.preview)} />
              <details className="text-sm">
                <summary className="w-fit cursor-pointer rounded-sm text-muted hover:text-text">{tr("Arguments")}</summary>
                <div className="pt-2"><Arguments value={deepVisible(approval.arguments)} schema={schema} />{bound}</div>
              </details>
            </>
          )}
        {(mode === "edit" || approval.preview === undefined) && bound}
        {mode === "reject" && (
          <label className="block text-sm">
            <span className="mb-1 block font-medium">{tr("Why?")} <span className="font-normal text-muted">{tr("(optional; the assistant reads it)")}</span></span>
            <input autoFocus dir="auto" className="w-full rounded-control border bg-bg px-3 py-1.5" value={reason} onChange={(e) => setReason(e.target.value)} onKeyDown={(e) => e.key === "Enter" && !e.nativeEvent.isComposing && void send({ verdict: "reject", hash, reason })} />
          </label>
        )}
        {failed && <p role="alert" className="text-sm text-danger">{tr("The answer was not sent. {reason}", { reason: failed })}</p>}
      </div>
      <footer className="flex flex-wrap items-center gap-2 border-t px-4 py-3">
        {mode === "edit" ? (
          <>
            <Button kind={danger ? "danger" : "primary"} className={pressed ? "bg-danger! text-bg!" : ""} disabled={off} onClick={save} icon={<Check size={16} />}>{sent ? tr("Sent") : pressed ? tr("Yes, {action}", { action: within(title) }) : tr("{action} with these changes", { action: title })}</Button>
            <Button disabled={off} onClick={() => { setMode("ask"); setEdited(approval.arguments); setErrors({}); setPressed(false); }}>{tr("Back")}</Button>
            {pressed && !sent && <span role="status" className="text-xs text-danger">{tr("Press once more to confirm.")}</span>}
          </>
        ) : mode === "reject" ? (
          <>
            <Button kind="primary" disabled={off} onClick={() => void send({ verdict: "reject", hash, reason })} icon={<X size={16} />}>{sent ? tr("Sent") : tr("Reject")}</Button>
            <Button disabled={off} onClick={() => setMode("ask")}>{tr("Back")}</Button>
          </>
        ) : (
          <>
            {mode === "sure" ? (
              <Button autoFocus kind="danger" className="bg-danger! text-bg!" disabled={off} onClick={() => void send({ verdict: "approve", hash })} icon={<Check size={16} />}>{sent ? tr("Sent") : tr("Yes, {action}", { action: within(title) })}</Button>
            ) : (
              <Button kind={danger ? "danger" : "primary"} disabled={off} onClick={() => (danger ? setMode("sure") : void send({ verdict: "approve", hash }))} icon={<Check size={16} />}>{sent ? tr("Sent") : tr("Approve")}</Button>
            )}
            <Button disabled={off} onClick={() => setMode("edit")} icon={<Pencil size={15} />}>{tr("Edit")}</Button>
            <Button disabled={off} onClick={() => setMode("reject")} icon={<X size={16} />}>{tr("Reject")}</Button>
            {mode === "sure" && !sent && <span role="status" className="text-xs text-danger">{tr("Press once more to confirm.")}</span>}
          </>
        )}
      </footer>
    </section>
  );
}

const anyText: Schema = { type: "string" };

// readPrompt returns the parts of a prompt: a title, a description, and what else there is to see.
function readPrompt(raw: unknown) {
  const p = (typeof raw === "object" && raw !== null && !Array.isArray(raw) && !isNumber(raw) ? raw : {}) as Record<string, unknown>;
  const text = (k: string) => (typeof p[k] === "string" && p[k] !== "" ? p[k] : undefined);
  const named = ["title", "question", "message"].find(text);
  const schema = typeof p.schema === "object" && p.schema !== null && !Array.isArray(p.schema) ? (p.schema as Schema) : undefined;
  const shown = new Set([named, schema && "schema", "default", text("description") && "description"]);
  const rest = Object.fromEntries(Object.entries(p).filter(([k]) => !shown.has(k)));
  const title = typeof raw === "string" ? raw : ((named && text(named)) ?? tr("The assistant asks"));
  return { title, description: text("description"), schema, initial: p.default, rest, other: typeof raw !== "string" && raw !== null && raw !== undefined && raw !== p };
}

function FormCard({ question, busy, onAnswer }: Props) {
  const raw = question.value;
  const { title, description, initial, rest, other, ...prompt } = readPrompt(raw);
  const given = prompt.schema ?? question.response_schema;
  const [json, setJSON] = useState(initial !== undefined && typeof initial !== "string"); // without a schema, a person chooses between a text and JSON
  const schema = given ?? (json ? {} : anyText);
  const [value, setValue] = useState<unknown>(() => initial ?? blank(schema, schema));
  const [errors, setErrors] = useState<Errors>({});
  const { sent, failed, send } = useAnswer(onAnswer);
  const root = resolved(schema, schema);
  const choices = typeOf(root) === "boolean" && !root.title && !root.description ? [true, false] : root.enum && root.enum.length <= 4 ? root.enum : undefined; // one press answers
  const submit = () => {
    const found = check(value, root, schema);
    setErrors(found);
    if (Object.keys(found).length === 0) void send(value);
  };
  const choose = (asJSON: boolean) => {
    setJSON(asJSON);
    setValue(asJSON ? undefined : "");
    setErrors({});
  };
  return (
    <form
      aria-label={tr("Question: {title}", { title })}
      className="animate-rise rounded-card border bg-raised"
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        submit();
      }}
    >
      <header className="flex items-center gap-2.5 border-b px-4 py-2.5">
        <CornerDownLeft size={18} aria-hidden className="shrink-0 text-accent" />
        <h2 dir="auto" className="font-semibold">{visible(title)}</h2>
      </header>
      <div className="space-y-3 px-4 py-3.5 empty:hidden">
        {description && <p dir="auto" className="text-sm text-muted">{visible(description)}</p>}
        {Object.keys(rest).length > 0 && <Arguments value={deepVisible(rest)} />}
        {other && <div className="text-sm"><Value value={deepVisible(raw)} /></div>}
        {!choices && <SchemaForm key={String(json)} schema={root.title || root.properties ? schema : { ...schema, title: tr("Your answer") }} value={value} errors={errors} onChange={setValue} />}
        {!given && (
          <fieldset className="flex flex-wrap items-center gap-x-4 text-sm">
            <legend className="sr-only">{tr("Form of the answer")}</legend>
            {[false, true].map((b) => (
              <label key={String(b)} className="flex min-h-8 items-center gap-1.5">
                <input type="radio" name={`${question.id}-form`} className="accent-(--accent)" checked={json === b} onChange={() => choose(b)} />
                {b ? tr("JSON") : tr("Text")}
              </label>
            ))}
          </fieldset>
        )}
        {failed && <p role="alert" className="text-sm text-danger">{tr("The answer was not sent. {reason}", { reason: failed })}</p>}
      </div>
      <footer className="flex flex-wrap gap-2 border-t px-4 py-3">
        {choices ? choices.map((c) => {
          const word = typeof c === "string" ? c : typeof c === "boolean" ? (c ? tr("yes") : tr("no")) : stringify(c);
          return <Button key={word} disabled={sent || busy} onClick={() => void send(c)}>{word.charAt(0).toUpperCase() + word.slice(1)}</Button>;
        }) : <Button type="submit" kind="primary" disabled={sent || busy} icon={<Check size={16} />}>{sent ? tr("Sent") : tr("Answer")}</Button>}
      </footer>
    </form>
  );
}
