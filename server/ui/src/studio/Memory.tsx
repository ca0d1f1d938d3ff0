import { ChevronRight, Database, Download, Folder, Plus, Search, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { client, messageOf } from "../client";
import { parse, stringify } from "../exact";
import { Button, IconButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { saveBlob } from "../parts/download";
import { Skeleton } from "../parts/Skeleton";
import { Time } from "../parts/Time";
import { toast } from "../parts/Toast";
import { Tree } from "../parts/Tree";
import { href, navigate, useRoute } from "../route";
import { Empty, Failure, Page, plural } from "./bits";
import { changed, type Info, useData, useInfo, whyNot } from "./data";
import { Facts } from "./Facts";
import { Locking } from "./Thread";

type Item = { namespace: string[]; key: string; value: Record<string, unknown>; createdAt: string; updatedAt: string; score?: number };

/** Memory shows the values of the server's store, or the facts of its memory. */
export default function Memory() {
  const info = useInfo();
  const route = useRoute();
  if (!info) return <Page title="Memory"><Skeleton lines={6} /></Page>;
  return info.facts && (route.path[0] === "facts" || !info.values) ? <Facts tabs={<Tabs info={info} at="facts" />} /> : <Values />;
}

function Tabs({ info, at }: { info: Info; at: "facts" | "memory" }) {
  if (!info.facts || !info.values) return null;
  return (
    <nav aria-label="Kinds of memory" className="mb-4 flex gap-1 border-b text-sm">
      {([["memory", "Values"], ["facts", "Facts"]] as const).map(([path, label]) => (
        <a key={path} href={href([path])} aria-current={at === path ? "page" : undefined} className={`-mb-px border-b-2 px-3 py-1.5 ${at === path ? "border-accent font-medium" : "border-transparent text-muted hover:text-text"}`}>{label}</a>
      ))}
    </nav>
  );
}

function Values() {
  const info = useInfo();
  const route = useRoute();
  const at = route.path.slice(1);
  const text = route.query.get("q") ?? "";
  const [typed, setTyped] = useState(text);
  const [editing, setEditing] = useState<Item | "new">();
  const on = info?.values === true;
  const why = whyNot(info, false);
  const spaces = useData(on ? "namespaces" : null, (signal) => client.store.listNamespaces({ limit: 1000, signal } as never).then((r) => r.namespaces), 0);
  const items = useData(on ? `items ${at.join("/")} ${text}` : null, (signal) => client.store.searchItems(at, { limit: 200, query: text || undefined, signal } as never).then((r) => r.items as unknown as Item[]), 0);
  const below = useMemo(() => children(spaces.data ?? [], at), [spaces.data, at.join("/")]); // eslint-disable-line
  if (info && !on) {
    return <Page title="Memory"><Empty title="There is no store of values" icon={<Database size={20} aria-hidden />}>{info.stored ? "A store of threads has no values of its own. Open the studio of the service that keeps them." : <>A program sets <code>Options.Values</code> of its server to show and search them here.</>}</Empty></Page>;
  }
  const forget = async (item: Item) => {
    try {
      await client.store.deleteItem(item.namespace, item.key);
      changed("items");
      changed("namespaces");
      toast(`“${item.key}” was forgotten.`, { label: "Undo", run: () => void client.store.putItem(item.namespace, item.key, item.value).then(() => { changed("items"); changed("namespaces"); }) });
    } catch (e) {
      toast(`It was not forgotten. ${messageOf(e)}`);
    }
  };
  return (
    <Page
      title="Memory"
      note={items.data ? plural(items.data.length, "value") : undefined}
      actions={<>
        <Button icon={<Download size={15} />} disabled={!items.data?.length} onClick={() => save(items.data ?? [], at)}>Export</Button>
        <Locking why={why}><Button kind="primary" icon={<Plus size={15} />} disabled={why !== undefined} onClick={() => setEditing("new")}>New value</Button></Locking>
      </>}
    >
      {info && <Tabs info={info} at="memory" />}
      <nav aria-label="Namespace" className="mb-3 flex flex-wrap items-center gap-1 text-sm">
        {[[] as string[], ...at.map((_, i) => at.slice(0, i + 1))].map((p, i) => (
          <span key={p.join("/")} className="flex items-center gap-1">
            {i > 0 && <ChevronRight size={14} aria-hidden className="text-muted" />}
            <a href={href(["memory", ...p])} aria-current={i === at.length ? "page" : undefined} className={`rounded-md px-1.5 py-0.5 ${i === at.length ? "font-medium" : "text-accent hover:underline"}`}>{p.at(-1) ?? "All"}</a>
          </span>
        ))}
      </nav>
      {below.length > 0 && (
        <ul aria-label="Namespaces" className="mb-4 flex flex-wrap gap-2">
          {below.map((b) => <li key={b.name}><a href={href(["memory", ...at, b.name])} className="inline-flex min-h-9 items-center gap-2 rounded-control border bg-raised px-3 text-sm hover:bg-sunk"><Folder size={15} aria-hidden className="text-muted" />{b.name}</a></li>)}
        </ul>
      )}
      <form role="search" className="relative mb-4" onSubmit={(e) => { e.preventDefault(); navigate(href(["memory", ...at], { q: typed })); }}>
        <Search size={15} aria-hidden className="absolute start-3 top-3 text-muted" />
        <input type="search" aria-label="Search the values" placeholder="What would a search recall?" value={typed} onChange={(e) => setTyped(e.target.value)} className="h-10 w-full rounded-control border bg-bg ps-9 pe-3 text-sm" />
      </form>
      {items.error !== undefined && !items.data ? <Failure error={items.error} again={items.reload} /> : !items.data ? <Skeleton lines={6} /> : items.data.length === 0 ? (
        <Empty title={text ? "Nothing is recalled" : "Nothing is stored here"} icon={<Database size={20} aria-hidden />}>{text ? "No value matches this text." : "Agents and programs keep values under a namespace and a key."}</Empty>
      ) : (
        <ul className="divide-y rounded-card border">
          {items.data.map((item) => (
            <li key={[...item.namespace, item.key].join("/")} className="px-4 py-3">
              <div className="mb-1 flex items-center gap-2">
                <span className="font-medium">{item.key}</span>
                <span className="min-w-0 flex-1 truncate text-xs text-muted">{item.namespace.join(" › ")}</span>
                {typeof item.score === "number" && <span className="num rounded-md bg-sunk px-1.5 py-0.5 text-xs" title="How well the value matches the text">{item.score.toFixed(3)}</span>}
                <span className="text-xs text-muted"><Time at={item.updatedAt} /></span>
                {why === undefined && <>
                  <Button kind="quiet" className="min-h-8! px-2!" onClick={() => setEditing(item)}>Edit</Button>
                  <IconButton label={`Forget ${item.key}`} onClick={() => void forget(item)}><Trash2 size={15} /></IconButton>
                </>}
              </div>
              <Tree value={item.value} open={1} copy={false} />
            </li>
          ))}
        </ul>
      )}
      {editing && <EditItem item={editing === "new" ? undefined : editing} at={at} onClose={() => setEditing(undefined)} />}
    </Page>
  );
}

function children(all: string[][], at: string[]): { name: string }[] {
  const names = new Set<string>();
  for (const n of all) if (n.length > at.length && at.every((x, i) => n[i] === x)) names.add(n[at.length] as string);
  return [...names].sort().map((name) => ({ name }));
}

function save(items: Item[], at: string[]) {
  saveBlob(new Blob([stringify(items)], { type: "application/json" }), `${["memory", ...at].join("-")}.json`);
}

function EditItem({ item, at, onClose }: { item?: Item; at: string[]; onClose: () => void }) {
  const [space, setSpace] = useState((item?.namespace ?? at).join("/"));
  const [key, setKey] = useState(item?.key ?? "");
  const [text, setText] = useState(stringify(item?.value ?? {}));
  const [error, setError] = useState<string>();
  const send = async () => {
    try {
      const value = parse(text);
      if (typeof value !== "object" || value === null || Array.isArray(value)) throw new SyntaxError("a value is a JSON object");
      await client.store.putItem(space.split("/").filter(Boolean), key, value as Record<string, unknown>);
      changed("items");
      changed("namespaces");
      onClose();
    } catch (e) {
      setError(e instanceof SyntaxError ? `This cannot be read: ${e.message}` : messageOf(e));
    }
  };
  return (
    <Dialog title={item ? `Edit ${item.key}` : "New value"} onClose={onClose} wide>
      <form className="space-y-4" onSubmit={(e) => { e.preventDefault(); void send(); }}>
        <div className="grid gap-4 sm:grid-cols-2">
          <label className="text-sm"><span className="mb-1 block font-medium">Namespace <span className="font-normal text-muted">· parts with /</span></span><input value={space} disabled={item !== undefined} onChange={(e) => setSpace(e.target.value)} className="h-9 w-full rounded-control border bg-bg px-3" /></label>
          <label className="text-sm"><span className="mb-1 block font-medium">Key</span><input value={key} disabled={item !== undefined} onChange={(e) => setKey(e.target.value)} className="h-9 w-full rounded-control border bg-bg px-3" /></label>
        </div>
        <label className="block text-sm"><span className="mb-1 block font-medium">Value <span className="font-normal text-muted">· a JSON object</span></span><textarea spellCheck={false} value={text} onChange={(e) => setText(e.target.value)} className="h-48 w-full rounded-control border bg-sunk px-3 py-2 font-mono text-[13px]" /></label>
        <p role="alert" className="text-sm text-danger empty:hidden">{error}</p>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" disabled={!key || !space}>Save</Button></div>
      </form>
    </Dialog>
  );
}
