import { ImageOff } from "lucide-react";
import { lazy, memo, Suspense } from "react";
import { Image } from "./Image";
import { tr } from "../texts";

/** isLocal reports whether an address is of the server's own origin. */
export function isLocal(address: string): boolean {
  if (/^(data:image\/|blob:)/.test(address)) return true;
  try {
    return new URL(address, location.href).origin === location.origin;
  } catch {
    return false;
  }
}

/** Picture shows an image of the server's own origin. Others are links: no request leaves the origin. */
export function Picture({ src, alt }: { src: string; alt: string }) {
  if (isLocal(src)) return <Image src={src} alt={alt} className="max-h-96 max-w-full" />;
  return (
    <a href={src} target="_blank" rel="noopener noreferrer" className="inline-flex items-center gap-2 rounded-lg border px-3 py-1.5 text-sm">
      <ImageOff size={16} aria-hidden />
      {tr("{name} on {host}", { name: alt || tr("Image"), host: hostOf(src) })}
    </a>
  );
}

export function hostOf(address: string): string {
  try {
    return new URL(address, location.href).host;
  } catch {
    return address;
  }
}

/** citationLink is a link that the page has made of a citation. */
export const citationLink = /(\[[\d–-]+\])\(#(?:lines|source)-[\d-]+\)/g;

const Plain = ({ text }: { text: string }) => <p className="whitespace-pre-wrap">{text.replace(citationLink, "$1")}</p>;

// The parser is loaded after the page is shown, and before a conversation is there in most cases. Without
// it, texts are plain.
const loaded = new Promise<void>((done) => (document.readyState === "complete" ? done() : addEventListener("load", () => setTimeout(done), { once: true })));
const body = loaded.then(() => import("./MarkdownBody")).catch(() => ({ default: Plain }));
const Body = lazy(() => body);

/** Markdown shows a text of a model. HTML in it is text. */
export const Markdown = memo(function Markdown({ text, streaming }: { text: string; streaming?: boolean }) {
  return (
    <div dir="auto" className={`prose ${streaming ? "streaming" : ""}`}>
      <Suspense fallback={<Plain text={text} />}><Body text={text} /></Suspense>
    </div>
  );
});
