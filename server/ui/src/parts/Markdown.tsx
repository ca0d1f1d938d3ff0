import { ImageOff } from "lucide-react";
import { Children, isValidElement, memo, type ReactElement, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { Code } from "./Code";

function plain(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  return Children.toArray(node).map((n) => (isValidElement(n) ? plain((n as ReactElement<{ children?: ReactNode }>).props.children) : plain(n))).join("");
}

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
  if (isLocal(src)) return <img src={src} alt={alt} loading="lazy" className="max-h-96 max-w-full" />;
  return (
    <a href={src} target="_blank" rel="noopener noreferrer" className="inline-flex items-center gap-2 rounded-lg border px-3 py-1.5 text-sm">
      <ImageOff size={16} aria-hidden />
      {alt || "Image"} on {hostOf(src)}
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

const components: Components = {
  pre({ children }) {
    const code = Children.toArray(children)[0] as ReactElement<{ className?: string; children?: ReactNode }> | undefined;
    const language = /language-([\w+#-]+)/.exec(code?.props.className ?? "")?.[1];
    return <Code code={plain(code?.props.children).replace(/\n$/, "")} language={language} />;
  },
  a({ href, children }) {
    if (!href) return <>{children}</>;
    const own = href.startsWith("#");
    return <a href={href} {...(own ? {} : { target: "_blank", rel: "noopener noreferrer" })}>{children}</a>;
  },
  img({ src, alt }) {
    return <Picture src={typeof src === "string" ? src : ""} alt={alt ?? ""} />;
  },
  table({ children }) {
    return (
      <div tabIndex={0} role="region" aria-label="Table" className="max-w-full overflow-x-auto rounded-card border">
        <table className="w-full border-collapse text-sm [&_td]:border-t [&_td]:px-3 [&_td]:py-2 [&_td]:align-top [&_th]:bg-surface [&_th]:px-3 [&_th]:py-2 [&_th]:text-start [&_th]:font-semibold">{children}</table>
      </div>
    );
  },
};

/** Markdown shows a text of a model. HTML in it is text. */
export const Markdown = memo(function Markdown({ text, streaming }: { text: string; streaming?: boolean }) {
  return (
    <div dir="auto" className={`prose ${streaming ? "streaming" : ""}`}>
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
});
