import { Children, isValidElement, type ReactElement, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { Code } from "./Code";
import { citationLink, Picture } from "./Markdown";
import { tr } from "../texts";

function plain(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  return Children.toArray(node).map((n) => (isValidElement(n) ? plain((n as ReactElement<{ children?: ReactNode }>).props.children) : plain(n))).join("");
}

type Node = { type: string; value?: string; tagName?: string; children?: Node[] | undefined };

// asText makes texts of the tags in a text: the sanitizer, which comes after it, would remove them.
function asText() {
  return (root: Node) => visit(root);
}

// uncited removes the links of citations from what is shown as it is.
const uncited = (text: string) => text.replace(citationLink, "$1");

function visit(node: Node) {
  const block = node.type === "root" || node.tagName === "blockquote";
  node.children = node.children?.flatMap((child): Node | Node[] => {
    if (node.tagName === "code" && child.type === "text") return { ...child, value: uncited(child.value ?? "") };
    if (child.type !== "raw") {
      visit(child);
      return child;
    }
    const lines: Node[] = [];
    for (const line of uncited(child.value ?? "").replace(/\\(\[[\d–-]+)\\\]/g, "$1]").split("\n")) {
      if (lines.length) lines.push({ type: "element", tagName: "br", children: [] });
      lines.push({ type: "text", value: line });
    }
    return block ? [{ type: "element", tagName: "p", children: lines }] : lines;
  });
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
    const lines = href.startsWith("#lines-") ? { "aria-label": tr("Lines {lines} of the document", { lines: plain(children) }) } : {};
    return <a href={href} {...lines} {...(own ? {} : { target: "_blank", rel: "noopener noreferrer" })}>{children}</a>;
  },
  img({ src, alt }) {
    return <Picture src={typeof src === "string" ? src : ""} alt={alt ?? ""} />;
  },
  input({ checked }) {
    return <input type="checkbox" checked={checked ?? false} disabled aria-label={checked ? tr("done") : tr("not done")} />; // of a list of tasks
  },
  table({ children }) {
    return (
      <div tabIndex={0} role="group" aria-label={tr("Table")} className="max-w-full overflow-x-auto rounded-card border">
        <table className="w-full border-collapse text-sm [&_td]:border-t [&_td]:px-3 [&_td]:py-2 [&_td]:align-top [&_th]:bg-surface [&_th]:px-3 [&_th]:py-2 [&_th]:text-start [&_th]:font-semibold">{children}</table>
      </div>
    );
  },
};

/** Body is a text of a model as elements. HTML in it is text. */
export default function Body({ text }: { text: string }) {
  return <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[asText, rehypeSanitize]} components={components}>{text}</ReactMarkdown>;
}
