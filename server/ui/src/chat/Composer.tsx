import { ArrowUp, Paperclip, Square, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { config } from "../config";
import { IconButton } from "../parts/Button";
import { FileChip, UploadChip, useUploads } from "./Attachments";
import type { Block } from "./messages";
import { takes, type Uploads } from "./uploads";
import { perBrowser } from "../storage";
import { tr } from "../texts";

type Attachment = { name: string; block: Block; preview?: string };

const maxFile = 5_000_000;
const drafts = (thread: string) => `weft.draft.${thread}`;

/** readDraft returns what a person has typed and not sent. */
export function readDraft(thread: string): string {
  return perBrowser.get(drafts(thread)) ?? "";
}

/** keepDraft keeps what a person has typed, over a reload. */
export function keepDraft(thread: string, text: string) {
  perBrowser.set(drafts(thread), text || null);
}

async function attach(file: File): Promise<Attachment> {
  if (file.size > maxFile) throw new Error(tr("{name} is larger than 5 MB.", { name: file.name }));
  if (file.type.startsWith("image/")) {
    const url = await new Promise<string>((done, fail) => {
      const reader = new FileReader();
      reader.onload = () => done(String(reader.result));
      reader.onerror = () => fail(reader.error ?? new Error(tr("{name} cannot be read.", { name: file.name })));
      reader.readAsDataURL(file);
    });
    return { name: file.name, preview: url, block: { type: "image_url", image_url: { url } } };
  }
  const text = await file.text();
  if (text.includes("\u0000")) throw new Error(tr("{name} is neither an image nor a text.", { name: file.name }));
  return { name: file.name, block: { type: "text", text: `\n\n${file.name}:\n\`\`\`\n${text}\n\`\`\`` } };
}

type Props = {
  thread: string;
  running: boolean;
  uploads: Uploads;
  /** onFile sends a file to the application. */
  onFile: (file: File) => void;
  onSend: (content: string | Block[]) => Promise<void>;
  onStop: () => void;
  onType?: () => void;
  failed?: string;
};

/** Composer is the field for a message. It gives what was typed back if it was not sent. */
export function Composer({ thread, running, uploads, onFile, onSend, onStop, onType, failed }: Props) {
  const [text, setText] = useState(() => readDraft(thread));
  const [files, setFiles] = useState<Attachment[]>([]);
  const [problem, setProblem] = useState<string>();
  const [sending, setSending] = useState(false);
  const { list: uploaded, busy } = useUploads(uploads);
  const [over, setOver] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) area.current?.focus();
  }, []);

  const change = (value: string) => {
    setText(value);
    keepDraft(thread, value);
    onType?.();
  };

  const send = async () => {
    const words = text.trim();
    if ((!words && files.length === 0) || sending || busy) return;
    const content = files.length ? [{ type: "text", text: words + files.map((f) => (f.block.type === "text" ? String(f.block.text) : "")).join("") }, ...files.flatMap((f) => (f.block.type === "text" ? [] : [f.block]))] : words;
    setSending(true);
    setProblem(undefined);
    setText("");
    setFiles([]);
    try {
      await onSend(content);
      if (area.current?.value === "" || area.current === null) keepDraft(thread, "");
    } catch {
      // What was typed meanwhile comes after it.
      const now = area.current?.value ?? "";
      const all = now ? `${text}\n${now}` : text;
      setText(all);
      keepDraft(thread, all);
      setFiles(files);
    }
    setSending(false);
  };

  const add = async (list: Iterable<File>) => {
    setProblem(undefined);
    for (const f of [...list]) { // the list of a field is emptied meanwhile
      try {
        if (config.upload && !(config.attach && f.type.startsWith("image/"))) {
          if (!takes(f)) throw new Error(tr("{name} cannot be attached. These files can: {types}.", { name: f.name, types: config.accept ?? "" }));
          onFile(f);
          continue;
        }
        const a = await attach(f);
        setFiles((old) => [...old, a]);
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
    }
  };

  const can = (text.trim() !== "" || files.length > 0) && !sending && !busy;
  const attaches = config.attach || config.upload;
  const accept = config.upload && config.accept ? `${config.accept}${config.attach ? ",image/*" : ""}` : undefined;
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
      onDragOver={(e) => {
        if (!attaches || !e.dataTransfer.types.includes("Files")) return;
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        if (!attaches) return;
        e.preventDefault();
        setOver(false);
        void add(e.dataTransfer.files);
      }}
      className={`rounded-xl border bg-raised shadow-[0_2px_12px_rgb(0_0_0/0.05)] transition-colors duration-150 focus-within:border-[color-mix(in_srgb,var(--accent)_55%,var(--line))] ${over ? "border-accent bg-tint" : ""}`}
    >
      {(failed || problem) && <p role="alert" className="px-4 pt-3 text-sm text-danger">{problem ?? failed}</p>}
      {files.length + uploaded.length > 0 && (
        <ul aria-label={tr("Attached files")} className="flex flex-wrap gap-2 px-3 pt-3">
          {uploaded.map((u) => <li key={u.key}><UploadChip uploads={uploads} upload={u} /></li>)}
          {files.map((f, i) => (
            <li key={i}>
              <FileChip name={f.name} preview={f.preview}>
                <IconButton label={tr("Remove {name}", { name: f.name })} className="size-7!" onClick={() => setFiles(files.filter((_, j) => j !== i))}><X size={15} /></IconButton>
              </FileChip>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area}
        aria-label={tr("Message")}
        rows={1}
        dir="auto"
        value={text}
        placeholder={config.placeholder ?? tr("Write a message")}
        onChange={(e) => change(e.target.value)}
        onPaste={(e) => {
          if (attaches && e.clipboardData.files.length) {
            e.preventDefault();
            void add(e.clipboardData.files);
          }
        }}
        onKeyDown={(e) => {
          // While an input method composes, Enter chooses a candidate. Safari tells it by the code 229.
          if (e.key !== "Enter" || e.shiftKey || e.nativeEvent.isComposing || e.keyCode === 229) return;
          e.preventDefault();
          void send();
        }}
        className="field-sizing-content max-h-[calc(8lh+12px)] w-full resize-none bg-transparent px-4 pt-3 pb-1 outline-none"
      />
      <div className="flex items-center gap-1 px-2 pb-2">
        {attaches && (
          <>
            <input ref={picker} type="file" multiple accept={accept} hidden tabIndex={-1} aria-label={tr("Files")} onChange={(e) => { void add(e.target.files ?? []); e.target.value = ""; }} />
            <IconButton label={tr("Attach files")} onClick={() => picker.current?.click()}><Paperclip size={18} /></IconButton>
          </>
        )}
        <span className="flex-1" />
        {running && <IconButton label={tr("Stop")} kind="plain" className="rounded-full! size-9!" onClick={onStop}><Square size={13} fill="currentColor" /></IconButton>}
        {(!running || can) && (
          <button type="submit" aria-label={running ? tr("Send when the answer is there") : tr("Send")} disabled={!can} className="grid size-9 place-items-center rounded-full bg-accent text-on-accent transition-opacity duration-150 hover:brightness-110 disabled:bg-line disabled:text-muted">
            <ArrowUp size={19} aria-hidden />
          </button>
        )}
      </div>
    </form>
  );
}
