import { useState } from "react";
import { client, messageOf } from "../client";
import { parse, stringify } from "../exact";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { toast } from "../parts/Toast";
import type { Drawing } from "./data";

/** EditState writes to the channels of a state, as if a node had. It begins a branch at a checkpoint. */
export function EditState({ thread, checkpoint, values, drawing, onClose, onDone }: {
  thread: string; checkpoint: string; values: Record<string, unknown>; drawing?: Drawing; onClose: () => void; onDone: (id?: string) => void;
}) {
  const internal = new Set(drawing?.channels.filter((c) => c.internal).map((c) => c.name));
  const channels = Object.keys(values).concat(drawing?.channels.filter((c) => c.stored && !(c.name in values)).map((c) => c.name) ?? []).filter((c) => !internal.has(c));
  const [channel, setChannel] = useState(channels[0] ?? "");
  const merging = (name: string) => drawing?.channels.find((c) => c.name === name && !c.replaces);
  const merges = merging(channel);
  const start = (name: string) => (merging(name) ? "" : stringify(values[name] ?? null));
  const [text, setText] = useState(() => start(channels[0] ?? ""));
  const [node, setNode] = useState("");
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const send = async () => {
    let value: unknown;
    try {
      value = parse(text);
    } catch (e) {
      setError(`This is not JSON: ${e instanceof Error ? e.message : String(e)}`);
      return;
    }
    setBusy(true);
    setError(undefined);
    try {
      const made = await client.threads.updateState(thread, { values: { [channel]: value }, checkpointId: checkpoint, ...(node ? { asNode: node } : {}) });
      toast("The state was edited. The old branch is still there.");
      onDone((made as { configurable?: { checkpoint_id?: string } }).configurable?.checkpoint_id);
    } catch (e) {
      setError(messageOf(e));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Edit the state" onClose={onClose} wide>
      <form className="space-y-4" onSubmit={(e) => { e.preventDefault(); void send(); }}>
        <p className="text-sm text-muted">The edit becomes a new checkpoint after this one. Nothing is lost: the checkpoints that follow this one stay as a branch.</p>
        <div className="grid gap-4 sm:grid-cols-2">
          <label className="text-sm"><span className="mb-1 block font-medium">Channel</span>
            <select className="h-9 w-full rounded-control border bg-bg px-2.5" value={channel} onChange={(e) => { setChannel(e.target.value); setText(start(e.target.value)); }}>
              {channels.map((c) => <option key={c}>{c}</option>)}
            </select>
          </label>
          <label className="text-sm"><span className="mb-1 block font-medium">As the node</span>
            <select className="h-9 w-full rounded-control border bg-bg px-2.5" value={node} onChange={(e) => setNode(e.target.value)}>
              <option value="">the one that ran last</option>
              {drawing?.nodes.map((n) => <option key={n.name}>{n.name}</option>)}
            </select>
          </label>
        </div>
        <label className="block text-sm"><span className="mb-1 block font-medium">{merges ? "Update" : "Value"} <span className="font-normal text-muted">· JSON{merges ? `; it is merged into the channel (${merges.kind})` : ""}</span></span>
          <textarea spellCheck={false} value={text} onChange={(e) => setText(e.target.value)} aria-invalid={error !== undefined} aria-describedby="edit-error" className="h-48 w-full resize-y rounded-control border bg-sunk px-3 py-2 font-mono text-[13px] leading-5" />
        </label>
        <p id="edit-error" role="alert" className="text-sm text-danger empty:hidden">{error}</p>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" disabled={busy || !channel || text.trim() === ""}>{busy ? "Saving …" : "Edit the state"}</Button></div>
      </form>
    </Dialog>
  );
}
