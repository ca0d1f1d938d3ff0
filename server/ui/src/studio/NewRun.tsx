import { useEffect, useState } from "react";
import { client, messageOf } from "../client";
import type { Schema } from "../config";
import { parse, stringify } from "../exact";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { blank, check, type Errors, SchemaForm } from "../parts/SchemaForm";
import { Skeleton } from "../parts/Skeleton";
import { href, navigate } from "../route";
import { changed, useData, useInfo } from "./data";

/** NewRun starts a run from a form that is made of the input schema of a graph. */
export function NewRun({ thread, graph, input, onClose }: { thread?: string; graph?: string; input?: unknown; onClose: () => void }) {
  const info = useInfo();
  const [chosen, setChosen] = useState(graph ?? "");
  const name = chosen || info?.graphs[0]?.name || "";
  const assistant = info?.graphs.find((g) => g.name === name)?.assistant_id;
  const schema = useData(assistant ? `schema ${assistant}` : null, () => client.assistants.getSchemas(assistant as string)).data?.input_schema as Schema | undefined;
  const drawing = info?.graphs.find((g) => g.name === name)?.drawing;
  const chats = drawing?.channels.some((c) => c.name === "messages" && c.type.endsWith("llm.Message")) ?? false;
  const [mode, setMode] = useState<"message" | "form" | "json">();
  const shown = mode ?? (input !== undefined ? "json" : chats ? "message" : "form");
  const [message, setMessage] = useState("");
  const [value, setValue] = useState<unknown>();
  const [json, setJson] = useState(input === undefined ? "{}" : stringify(input));
  const [errors, setErrors] = useState<Errors>({});
  const [failed, setFailed] = useState<string>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (schema) setValue(blank(schema, schema));
  }, [schema]);
  const read = (): unknown => {
    if (shown === "message") return { messages: [{ type: "human", content: message }] };
    if (shown === "json") return parse(json);
    if (!schema) return undefined;
    const loose = { ...schema, required: [] };
    const filled = Object.fromEntries(Object.entries((value ?? {}) as Record<string, unknown>).filter(([, v]) => v !== undefined && v !== "" && !(Array.isArray(v) && v.length === 0)));
    const found = check(filled, loose, schema);
    setErrors(found);
    return Object.keys(found).length === 0 ? filled : undefined;
  };
  const send = async () => {
    let body: unknown;
    setFailed(undefined);
    try {
      body = read();
    } catch (e) {
      setFailed(`This is not JSON: ${e instanceof Error ? e.message : String(e)}`);
      return;
    }
    if (body === undefined) return;
    setBusy(true);
    try {
      const id = thread ?? (await client.threads.create({ metadata: { graph_id: name, ...(shown === "message" && message ? { title: message.slice(0, 80) } : {}) } })).thread_id;
      await client.runs.create(id, name, { input: body as Record<string, unknown>, multitaskStrategy: "enqueue" });
      changed();
      navigate(href(["threads", id]));
      onClose();
    } catch (e) {
      setFailed(messageOf(e));
      setBusy(false);
    }
  };
  return (
    <Dialog title={thread ? "Run with new input" : "New thread"} onClose={onClose} wide>
      {!info ? <Skeleton lines={5} /> : (
        <form className="space-y-4" noValidate onSubmit={(e) => { e.preventDefault(); void send(); }}>
          <div className="flex flex-wrap items-end gap-3">
            <label className="min-w-48 flex-1 text-sm"><span className="mb-1 block font-medium">Graph</span>
              <select className="h-9 w-full rounded-control border bg-bg px-2.5" value={name} onChange={(e) => { setChosen(e.target.value); setMode(undefined); }}>
                {info.graphs.map((g) => <option key={g.name}>{g.name}</option>)}
              </select>
            </label>
            <div role="group" aria-label="Input as" className="flex rounded-control border p-0.5 text-sm">
              {([...(chats ? ["message"] : []), "form", "json"] as ("message" | "form" | "json")[]).map((m) => (
                <button key={m} type="button" aria-pressed={shown === m} onClick={() => setMode(m)} className={`rounded-lg px-3 py-1 ${shown === m ? "bg-tint font-medium text-accent" : "text-muted hover:text-text"}`}>{m === "json" ? "JSON" : m === "form" ? "Form" : "Message"}</button>
              ))}
            </div>
          </div>
          {shown === "message" && <label className="block text-sm"><span className="mb-1 block font-medium">Message</span><textarea autoFocus dir="auto" value={message} onChange={(e) => setMessage(e.target.value)} className="h-28 w-full resize-y rounded-control border bg-bg px-3 py-2 text-[15px]" /></label>}
          {shown === "json" && <label className="block text-sm"><span className="mb-1 block font-medium">Input <span className="font-normal text-muted">· JSON, by channel</span></span><textarea spellCheck={false} value={json} onChange={(e) => setJson(e.target.value)} className="h-56 w-full resize-y rounded-control border bg-sunk px-3 py-2 font-mono text-[13px] leading-5" /></label>}
          {shown === "form" && (schema ? <SchemaForm schema={{ ...schema, required: [] }} value={value} errors={errors} onChange={setValue} /> : <Skeleton lines={4} />)}
          <p role="alert" className="text-sm text-danger empty:hidden">{failed}</p>
          <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" disabled={busy || (shown === "message" && message.trim() === "")}>{busy ? "Starting …" : "Start the run"}</Button></div>
        </form>
      )}
    </Dialog>
  );
}
