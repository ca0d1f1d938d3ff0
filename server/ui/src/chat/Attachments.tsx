import { FileText, X } from "lucide-react";
import { type ReactNode, useSyncExternalStore } from "react";
import { messageOf } from "../client";
import { IconButton } from "../parts/Button";
import { Status } from "../parts/Status";
import { toast } from "../parts/Toast";
import type { Upload, Uploads } from "./uploads";
import { tr } from "../texts";

/** FileChip shows the name of a file, and what is said about it. A problem is shown as a whole. */
export function FileChip({ name, note, problem, preview, onOpen, children }: { name: string; note?: ReactNode; problem?: string; preview?: string; onOpen?: () => void; children?: ReactNode }) {
  return (
    <span className="flex max-w-80 items-center gap-2 rounded-control border bg-surface px-2 py-1 text-sm whitespace-normal">
      {preview ? <img src={preview} alt="" className="size-8 rounded-sm object-cover" /> : <FileText size={16} aria-hidden className="shrink-0" />}
      <span className="min-w-0">
        {onOpen ? <button type="button" dir="auto" aria-label={tr("Open {name}", { name })} onClick={onOpen} className="block max-w-full truncate rounded-sm text-accent hover:underline">{name}</button>
          : <span dir="auto" className="block truncate">{name}</span>}
        {problem && <span role="alert" dir="auto" className="block text-xs break-words text-danger">{problem}</span>}
        {note && <span dir="auto" className="num line-clamp-2 text-xs break-words text-muted">{note}</span>}
      </span>
      {children}
    </span>
  );
}

/** useUploads returns the files for the next message, and whether one of them is still sent. */
export function useUploads(uploads: Uploads): { list: Upload[]; busy: boolean } {
  const list = useSyncExternalStore(uploads.subscribe, uploads.view);
  return { list, busy: list.some((u) => !u.file && !u.problem) };
}

/** UploadChip shows a file that the application gets. */
export function UploadChip({ uploads, upload: u }: { uploads: Uploads; upload: Upload }) {
  const sending = !u.file && !u.problem;
  const percent = Math.floor(u.sent * 100);
  const progress = (
    <>
      {percent < 100 ? `${percent} %` : tr("being read…")}
      <span role="progressbar" aria-label={tr("Upload of {name}", { name: u.name })} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100} className="mt-1 block h-1 w-32 overflow-hidden rounded-full bg-sunk">
        <span className={`block h-full bg-accent ${percent === 100 ? "animate-pulse" : ""}`} style={{ width: `${percent}%` }} />
      </span>
    </>
  );
  return (
    <FileChip name={u.file?.name ?? u.name} problem={u.problem} note={sending ? progress : u.file && (u.file.note ?? <Status state="done" word={tr("uploaded")} />)}>
      {(sending || u.problem || u.file?.id) && (
        <IconButton label={tr("Remove {name}", { name: u.name })} className="size-7!" onClick={() => void uploads.remove(u).catch((e: unknown) => toast(tr("{name} was not removed. {reason}", { name: u.name, reason: messageOf(e) })))}><X size={15} /></IconButton>
      )}
    </FileChip>
  );
}
