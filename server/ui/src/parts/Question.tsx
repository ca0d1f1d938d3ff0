import { Check, CornerDownLeft, Pencil, ShieldAlert, X } from "lucide-react";
import { useState } from "react";
import { messageOf } from "../client";
import { config, type Schema } from "../config";
import { isNumber, numberText, stringify, textOf } from "../exact";
import { Button } from "./Button";
import { Card } from "./cards";
import { blank, check, type Errors, inferred, label, resolved, SchemaForm } from "./SchemaForm";
import { Tree } from "./Tree";
import { locale, tr, within } from "../texts";

// A question of a tool asks to approve a call; its answer is a verdict. Any other question has a
// prompt of its own: a text, or an object with title, description and the schema of the answer.

export type Asked = { id: string; value: unknown };

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

// Invisible characters could make a question look like another one.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** visible replaces the characters that cannot be seen by their codes. */
export function visible(text: string): string {
  return text.replace(hidden, (c) => (c === "\n" || c === "\t" ? c : `⟨U+${c.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`));
}

function deepVisible(v: unknown): unknown {
  if (isNumber(v)) return v;
  if (typeof v === "string") return visible(v);
  if (Array.isArray(v)) return v.map(deepVisible);
  if (typeof v === "object" && v !== null) return Object.fromEntries(Object.entries(v).map(([k, x]) => [visible(k), deepVisible(x)]));
  return v;
}

/** QuestionCard shows a question as a form. */
export function QuestionCard(p: Props) {
  return isApproval(p.question.value) ? <ApprovalCard {...p} approval={p.question.value} /> : <FormCard {...p} />;
}

/** Arguments shows the arguments of a call with their names, lists of objects as tables. */
export function Arguments({ value, schema }: { value: unknown; schema?: Schema }) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return <Plain value={value} />;
  const entries = Object.entries(value);
  if (entries.length === 0) return <i className="text-sm text-muted">{tr("no arguments")}</i>;
  return (
    <dl className="grid grid-cols-[minmax(90px,auto)_1fr] gap-x-4 gap-y-1.5 text-sm">
      {entries.map(([k, v]) => (
        <div key={k} className="contents">
          <dt className={`text-muted ${isPlain(v) ? "" : "col-span-2"}`}>{label(k, schema?.properties?.[k])}</dt>
          <dd className={`min-w-0 ${isPlain(v) ? "" : "col-span-2 border-s-2 ps-3"}`}><Value value={v} /></dd>
        </div>
      ))}
    </dl>
  );
}

const isPlain = (v: unknown) => typeof v !== "object" || v === null;

const dates = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });

function Plain({ value }: { value: unknown }) {
  if (isNumber(value)) return <span className="num">{numberText(value)}</span>;
  if (typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value))) return <time dateTime={value} title={value}>{dates.format(new Date(`${value}T12:00`))}</time>;
  if (typeof value === "string") return <span dir="auto" className="break-words whitespace-pre-wrap">{textOf(value) || <i className="text-muted">{tr("empty")}</i>}</span>;
  if (typeof value === "boolean") return <>{value ? tr("yes") : tr("no")}</>;
  return <i className="text-muted">{tr("none")}</i>;
}

function Value({ value }: { value: unknown }) {
  if (typeof value !== "object" || value === null) return <Plain value={value} />;
  const rows = Array.isArray(value) ? value : [];
  const flat = rows.length > 0 && rows.length <= 20 && rows.every((r) => typeof r === "object" && r !== null && !Array.isArray(r) && Object.values(r).every((x) => typeof x !== "object" || x === null));
  if (!flat) return <Tree value={value} copy={false} />;
  const columns = [...new Set(rows.flatMap((r) => Object.keys(r as object)))];
  return (
    <div tabIndex={0} role="group" aria-label={tr("List")} className="max-w-full overflow-x-auto">
      <table className="num text-sm">
        <thead><tr>{columns.map((c) => <th key={c} className={`pe-6 pb-0.5 text-xs font-normal text-muted ${isNumber((rows[0] as Record<string, unknown>)[c]) ? "text-end" : "text-start"}`}>{label(c)}</th>)}</tr></thead>
        <tbody>
          {rows.map((r, i) => (
            <tr key={i}>{columns.map((c) => { const x = (r as Record<string, unknown>)[c]; return <td key={c} className={`pe-6 pb-0.5 align-top ${isNumber(x) ? "text-end" : ""}`}>{<Plain value={x} />}</td>; })}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function useAnswer(onAnswer: Props["onAnswer"]) {
  const [sent, setSent] = useState(false);
  const [failed, setFailed] = useState<string>();
  const send = async (value: unknown) => {
    setSent(true);
    setFailed(undefined);
    try {
      await onAnswer(value);
    } catch (error) {
      setFailed(messageOf(error));
      setSent(false);
    }
  };
  return { sent, failed, send, again: () => setSent(false) };
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
                <div className="pt-2"><Arguments value={deepVisible(approval.arguments)} schema={schema} /></div>
              </details>
            </>
          )}
        {approval.bound?.map((b) => (
          <p key={b.name} className="text-sm"><span className="text-muted">{visible(b.name)}</span> {b.secret ? <i>{tr("secret")}</i> : visible(b.text)}</p>
        ))}
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

type Prompt = { title?: string; description?: string; question?: string; message?: string; schema?: Schema; default?: unknown };

function FormCard({ question, busy, onAnswer }: Props) {
  const raw = question.value;
  const p = (typeof raw === "object" && raw !== null && !Array.isArray(raw) ? raw : {}) as Prompt;
  const schema = p.schema ?? { type: "string" };
  const title = typeof raw === "string" ? raw : (p.title ?? p.question ?? p.message ?? tr("The assistant asks"));
  const rest = Object.entries(p).filter(([k]) => !["title", "question", "message", "description", "schema", "default"].includes(k));
  const [value, setValue] = useState<unknown>(() => p.default ?? blank(schema, schema));
  const [errors, setErrors] = useState<Errors>({});
  const { sent, failed, send } = useAnswer(onAnswer);
  const root = resolved(schema, schema);
  const choices = root.enum && root.enum.length <= 4 ? root.enum : undefined; // one press answers
  const submit = () => {
    const found = check(value, root, schema);
    setErrors(found);
    if (Object.keys(found).length === 0) void send(value);
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
        {p.description && <p dir="auto" className="text-sm text-muted">{visible(p.description)}</p>}
        {rest.length > 0 && <Arguments value={deepVisible(Object.fromEntries(rest))} />}
        {!choices && <SchemaForm schema={root.title || root.properties ? schema : { ...schema, title: tr("Your answer") }} value={value} errors={errors} onChange={setValue} />}
        {failed && <p role="alert" className="text-sm text-danger">{tr("The answer was not sent. {reason}", { reason: failed })}</p>}
      </div>
      <footer className="flex flex-wrap gap-2 border-t px-4 py-3">
        {choices ? choices.map((c) => {
          const word = typeof c === "string" ? c : stringify(c);
          return <Button key={word} disabled={sent || busy} onClick={() => void send(c)}>{word.charAt(0).toUpperCase() + word.slice(1)}</Button>;
        }) : <Button type="submit" kind="primary" disabled={sent || busy} icon={<Check size={16} />}>{sent ? tr("Sent") : tr("Answer")}</Button>}
      </footer>
    </form>
  );
}
