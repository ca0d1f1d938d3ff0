import { Download, FileText } from "lucide-react";
import type { MouseEvent } from "react";
import { messageOf } from "../../client";
import { isNumber, numberText } from "../../exact";
import { download } from "../download";
import { hostOf, Picture } from "../Markdown";
import { toast } from "../Toast";
import { Tree } from "../Tree";
import { listOf, safeLink, text } from "./value";
import { tr } from "../../texts";

// Links are [{title, url, snippet}] or {links: […]}.

export function Links({ value }: { value: unknown }) {
  const list = listOf(value, "links").filter((l) => safeLink(l.url));
  if (list.length === 0) return <Tree value={value} />;
  return (
    <ol className="divide-y rounded-card border bg-raised">
      {list.map((l, i) => (
        <li key={i} className="flex gap-3 px-4 py-3 text-sm">
          <span className="num mt-0.5 grid size-5 shrink-0 place-items-center rounded-sm bg-sunk text-xs text-muted">{i + 1}</span>
          <div className="min-w-0">
            <a href={safeLink(l.url)} target="_blank" rel="noopener noreferrer" className="font-medium text-accent hover:underline">{text(l.title) ?? text(l.url)}</a>
            <span className="ms-2 text-xs text-muted">{hostOf(String(l.url))}</span>
            {text(l.snippet) && <p dir="auto" className="mt-0.5 line-clamp-2 text-muted">{text(l.snippet)}</p>}
          </div>
        </li>
      ))}
    </ol>
  );
}

const units = ["B", "kB", "MB", "GB", "TB"];

function sizeOf(bytes: number): string {
  const i = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** i).toFixed(i && bytes / 1000 ** i < 10 ? 1 : 0)} ${units[i]}`;
}

// A click on a file of another origin, or one that opens a new tab, is left to the browser.
function onDownload(e: MouseEvent, link: string, name: string) {
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || new URL(link, location.href).origin !== location.origin) return;
  e.preventDefault();
  void download(link, name).catch((error: unknown) => toast(tr("{name} was not downloaded. {reason}", { name, reason: messageOf(error) })));
}

// A file is {name, type, size, url}; several are a list, or {files: […]}.

export function Files({ value }: { value: unknown }) {
  const list = listOf(value, "files");
  if (list.length === 0 || !list.every((f) => text(f.name))) return <Tree value={value} />;
  return (
    <ul className="space-y-2">
      {list.map((f, i) => {
        const link = safeLink(f.url), name = text(f.name) ?? "";
        const facts = [text(f.type), isNumber(f.size) ? sizeOf(Number(numberText(f.size))) : undefined].filter(Boolean).join(" · ");
        return (
          <li key={i} className="flex max-w-md items-center gap-3 rounded-card border bg-raised px-3.5 py-2.5 text-sm">
            <span className="grid size-10 shrink-0 place-items-center rounded-control bg-tint text-accent"><FileText size={20} aria-hidden /></span>
            <div className="min-w-0 flex-1">
              <div className="truncate font-medium">{name}</div>
              <div className="num text-xs text-muted">{facts}</div>
            </div>
            {link && <a href={link} download={name} aria-label={tr("Download {name}", { name })} onClick={(e) => onDownload(e, link, name)} className="grid size-9 place-items-center rounded-control text-muted hover:bg-hover hover:text-text"><Download size={18} aria-hidden /></a>}
          </li>
        );
      })}
    </ul>
  );
}

// An image is {url, alt, caption}, where the url may be a data URL; several are {images: […]}.

export function Images({ value }: { value: unknown }) {
  const list = typeof value === "string" ? [{ url: value }] : listOf(value, "images");
  const images = list.map((i) => i as { url?: unknown; alt?: unknown; caption?: unknown }).filter((i) => text(i.url));
  if (images.length === 0) return <Tree value={value} />;
  return (
    <div className="flex flex-wrap gap-3">
      {images.map((i, n) => (
        <figure key={n} className="max-w-sm overflow-hidden rounded-card border bg-raised">
          <Picture src={text(i.url) ?? ""} alt={text(i.alt) ?? text(i.caption) ?? ""} />
          {text(i.caption) && <figcaption className="px-3.5 py-2 text-sm text-muted">{text(i.caption)}</figcaption>}
        </figure>
      ))}
    </div>
  );
}
