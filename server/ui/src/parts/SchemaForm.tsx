import { Plus, Trash2 } from "lucide-react";
import { useId, useState, type ReactNode } from "react";
import type { Schema } from "../config";
import { isNumber, numberText, parse, parseNumber, stringify, textOf } from "../exact";
import { IconButton } from "./Button";
import { tr } from "../texts";

// A form made of a JSON schema. What has no field of its own, such as a choice between several
// schemas, is edited as JSON.

export type Errors = Record<string, string>;

/** resolved follows the references of a schema, and leaves out the alternative null. */
export function resolved(schema: Schema | undefined, root: Schema): Schema {
  let s = schema ?? {};
  for (let i = 0; s.$ref && i < 20; i++) s = root.$defs?.[s.$ref.replace("#/$defs/", "")] ?? {};
  const options = (s.anyOf ?? s.oneOf)?.filter((o) => o.type !== "null");
  if (options?.length === 1) return { ...resolved(options[0], root), title: s.title ?? options[0]?.title, description: s.description ?? options[0]?.description };
  return s;
}

export function typeOf(s: Schema): string | undefined {
  if (Array.isArray(s.type)) {
    const types = s.type.filter((t) => t !== "null");
    return types.length === 1 ? types[0] : undefined;
  }
  return s.type ?? (s.properties ? "object" : undefined);
}

/** inferred returns a schema for a value, where there is none. */
export function inferred(value: unknown): Schema {
  if (isNumber(value)) return { type: "number" };
  if (Array.isArray(value)) {
    const [first = {}, ...rest] = value.map(inferred);
    return { type: "array", items: rest.every((s) => stringify(s) === stringify(first)) ? first : {} };
  }
  if (typeof value === "object" && value !== null) return { type: "object", properties: Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inferred(v)])) };
  return typeof value === "boolean" ? { type: "boolean" } : typeof value === "string" ? { type: "string" } : {};
}

/** label makes a name readable: max_price becomes Max price. */
export function label(name: string, s?: Schema): string {
  if (s?.title) return s.title;
  const words = name.replace(/[_-]+/g, " ").replace(/([a-z\d])([A-Z])/g, "$1 $2").trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** blank returns the value of an empty form. */
export function blank(schema: Schema, root: Schema): unknown {
  const s = resolved(schema, root);
  if (s.default !== undefined) return s.default;
  if (s.const !== undefined) return s.const;
  switch (typeOf(s)) {
    case "object":
      return Object.fromEntries(Object.entries(s.properties ?? {}).filter(([k, p]) => s.required?.includes(k) || typeOf(resolved(p, root)) === "boolean").map(([k, p]) => [k, blank(p, root)]));
    case "array":
      return [];
    case "boolean":
      return false;
    case "string":
      return s.enum ? undefined : "";
    default:
      return undefined;
  }
}

// A number that a person is writing, or JSON that cannot be read yet.
export class Draft {
  constructor(readonly text: string, readonly problem: string) {}
}

/** check returns what is wrong with a value, by the path of the field. */
export function check(value: unknown, schema: Schema, root: Schema, path = "", required = true, errors: Errors = {}): Errors {
  const s = resolved(schema, root);
  const fail = (text: string) => (errors[path] = text);
  if (value instanceof Draft) return fail(value.problem), errors;
  if (value === undefined || value === null || (value === "" && required && (s.enum || s.format || s.minLength))) {
    if (required && !allowsNull(schema) && !(value === null && allowsAny(s))) fail(tr("This is needed."));
    return errors;
  }
  if (s.enum && !s.enum.some((e) => stringify(e) === stringify(value))) fail(tr("Choose one of the values."));
  switch (typeOf(s)) {
    case "integer":
    case "number":
      checkNumber(value, s, fail);
      break;
    case "string":
      checkText(value, s, fail);
      break;
    case "array":
      if (Array.isArray(value)) value.forEach((v, i) => check(v, s.items ?? {}, root, `${path}/${i}`, true, errors));
      break;
    case "object":
      if (typeof value === "object")
        for (const [k, p] of Object.entries(s.properties ?? {})) check((value as Record<string, unknown>)[k], p, root, `${path}/${k}`, s.required?.includes(k) ?? false, errors);
      break;
  }
  return errors;
}

function allowsNull(s: Schema): boolean {
  return (Array.isArray(s.type) && s.type.includes("null")) || (s.anyOf ?? s.oneOf ?? []).some((o) => o.type === "null");
}

function allowsAny(s: Schema): boolean {
  return [s.type, s.enum, s.const, s.anyOf, s.oneOf].every((v) => v === undefined);
}

function checkNumber(value: unknown, s: Schema, fail: (t: string) => void) {
  if (!isNumber(value)) return fail(tr("Write a number."));
  const n = Number(numberText(value));
  if (typeOf(s) === "integer" && /[.eE]/.test(numberText(value)) && !Number.isInteger(n)) return fail(tr("Write a whole number."));
  if (s.minimum !== undefined && n < s.minimum) return fail(tr("At least {number}.", { number: s.minimum }));
  if (s.maximum !== undefined && n > s.maximum) return fail(tr("At most {number}.", { number: s.maximum }));
}

function checkText(value: unknown, s: Schema, fail: (t: string) => void) {
  const t = String(value);
  if (s.minLength !== undefined && [...t].length < s.minLength) return fail(tr("At least {number} characters.", { number: s.minLength }));
  if (s.maxLength !== undefined && [...t].length > s.maxLength) return fail(tr("At most {number} characters.", { number: s.maxLength }));
  if (s.format === "email" && !/^\S+@\S+$/.test(t)) return fail(tr("Write an address such as name@example.com."));
  if (s.format === "date" && !/^\d{4}-\d{2}-\d{2}$/.test(t)) return fail(tr("Choose a day."));
  if (s.pattern && !matches(s.pattern, t)) return fail(tr("This has not the right form."));
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // the server checks it
  }
}

const field = "w-full rounded-control border bg-bg px-3 py-1.5 text-sm aria-invalid:border-danger";

type FieldProps = { name: string; path: string; schema: Schema; root: Schema; value: unknown; errors: Errors; required: boolean; onChange: (v: unknown) => void; top?: boolean };

/** SchemaForm edits a value by its schema. */
export function SchemaForm({ schema, value, errors, onChange }: { schema: Schema; value: unknown; errors: Errors; onChange: (v: unknown) => void }) {
  return <Field name="" path="" schema={schema} root={schema} value={value} errors={errors} required onChange={onChange} top />;
}

function Field(p: FieldProps) {
  const s = resolved(p.schema, p.root);
  const type = typeOf(s);
  if (s.const !== undefined) return null;
  if (type === "object" && s.properties) return <ObjectField {...p} schema={s} />;
  if (type === "array" && s.items && typeOf(resolved(s.items, p.root))) return <ListField {...p} schema={s} />;
  return <Labelled {...p} schema={s} />;
}

function ObjectField({ name, path, schema, root, value, errors, onChange, top }: FieldProps) {
  const v = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const fields = Object.entries(schema.properties ?? {}).map(([k, s]) => (
    <Field
      key={k} name={label(k, resolved(s, root))} path={`${path}/${k}`} schema={s} root={root} value={v[k]} errors={errors} required={schema.required?.includes(k) ?? false}
      onChange={(n) => {
        const next = { ...v, [k]: n };
        if (n === undefined) delete next[k];
        onChange(next);
      }}
    />
  ));
  if (top) return <div className="space-y-3">{fields}</div>;
  return (
    <fieldset className="rounded-control border p-3">
      {name && <legend className="px-1 text-sm font-medium">{name}</legend>}
      <div className="grid gap-3 sm:grid-cols-[repeat(auto-fit,minmax(110px,1fr))]">{fields}</div>
    </fieldset>
  );
}

function ListField({ name, path, schema, root, value, errors, onChange }: FieldProps) {
  const list = Array.isArray(value) ? value : [];
  const items = resolved(schema.items, root);
  return (
    <fieldset className="space-y-2">
      <legend className="text-sm font-medium">{name}</legend>
      {list.map((v, i) => (
        <div key={i} className="flex items-start gap-1">
          <div className="min-w-0 flex-1">
            <Field name={typeOf(items) === "object" ? `${i + 1}` : ""} path={`${path}/${i}`} schema={items} root={root} value={v} errors={errors} required onChange={(n) => onChange(list.with(i, n))} />
          </div>
          <IconButton label={tr("Remove {name}", { name: `${name} ${i + 1}` })} className="mt-2" onClick={() => onChange(list.filter((_, j) => j !== i))}><Trash2 size={16} /></IconButton>
        </div>
      ))}
      <button type="button" onClick={() => onChange([...list, blank(items, root)])} className="inline-flex items-center gap-1 rounded-sm px-1 text-sm text-accent hover:underline">
        <Plus size={15} aria-hidden /> {tr("Add")}
      </button>
    </fieldset>
  );
}

function Labelled(p: FieldProps) {
  const id = useId();
  const error = p.errors[p.path];
  const type = typeOf(p.schema);
  const props = { id, "aria-invalid": error ? true : undefined, "aria-required": p.required || undefined, "aria-describedby": error ? `${id}e` : p.schema.description ? `${id}d` : undefined };
  const name = p.name || p.schema.title || label(p.path.split("/").at(-1) ?? "") || tr("Value");
  const isCheck = type === "boolean";
  return (
    <div className="min-w-0">
      {!isCheck && <label htmlFor={id} className="mb-1 block text-sm font-medium">{name}{!p.required && <span className="font-normal text-muted"> {tr("(optional)")}</span>}</label>}
      {isCheck ? (
        <label className="flex min-h-8 items-center gap-2 text-sm font-medium">
          <input {...props} type="checkbox" className="size-4 accent-(--accent)" checked={p.value === true} onChange={(e) => p.onChange(e.target.checked)} />
          {name}
        </label>
      ) : <Input {...p} props={props} />}
      {p.schema.description && <p id={`${id}d`} className="mt-0.5 text-xs text-muted">{p.schema.description}</p>}
      {error && <p id={`${id}e`} role="alert" className="mt-0.5 text-xs text-danger">{error}</p>}
    </div>
  );
}

function Input({ schema: s, value, required, onChange, props }: FieldProps & { props: Record<string, unknown> }): ReactNode {
  const empty = (t: string) => (t === "" && !required ? undefined : t);
  if (s.enum)
    return (
      <select {...props} className={field} value={value === undefined ? "" : stringify(value)} onChange={(e) => onChange(e.target.value === "" ? undefined : parse(e.target.value))}>
        <option value="">{tr("Choose…")}</option>
        {s.enum.map((v) => <option key={stringify(v)} value={stringify(v)}>{typeof v === "string" ? v : stringify(v)}</option>)}
      </select>
    );
  switch (typeOf(s)) {
    case "number":
    case "integer":
      return (
        <input
          {...props} className={`${field} num`} inputMode={typeOf(s) === "integer" ? "numeric" : "decimal"}
          value={value instanceof Draft ? value.text : isNumber(value) ? numberText(value) : ""}
          onChange={(e) => onChange(e.target.value === "" ? undefined : (parseNumber(e.target.value) ?? new Draft(e.target.value, tr("Write a number."))))}
        />
      );
    case "string": {
      const t = typeof value === "string" ? textOf(value) : "";
      if (s.format === "date" || s.format === "time" || s.format === "email") return <input {...props} type={s.format} className={`${field} num`} value={t} onChange={(e) => onChange(empty(e.target.value))} />;
      if (t.length > 60 || t.includes("\n") || (s.maxLength ?? 0) > 100) return <textarea {...props} dir="auto" rows={3} className={`${field} field-sizing-content max-h-60`} value={t} onChange={(e) => onChange(empty(e.target.value))} />;
      return <input {...props} dir="auto" className={field} value={t} onChange={(e) => onChange(empty(e.target.value))} />;
    }
  }
  return <JSONInput value={value} onChange={onChange} props={props} />;
}

// JSONInput keeps the text as it is written: the same value may be written in other ways.
function JSONInput({ value, onChange, props }: { value: unknown; onChange: (v: unknown) => void; props: Record<string, unknown> }) {
  const [text, setText] = useState(() => (value instanceof Draft ? value.text : value === undefined ? "" : stringify(value)));
  return (
    <textarea
      {...props} rows={4} spellCheck={false} className={`${field} font-mono text-xs`} value={text}
      onChange={(e) => {
        setText(e.target.value);
        onChange(e.target.value.trim() === "" ? undefined : readJSON(e.target.value));
      }}
    />
  );
}

function readJSON(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return new Draft(text, tr("This is not JSON yet."));
  }
}
