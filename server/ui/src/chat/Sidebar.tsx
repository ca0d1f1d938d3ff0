import { Brain, CircleSlash, Ellipsis, Hand, LoaderCircle, LogIn, LogOut, Monitor, Moon, PanelLeftClose, Pencil, Search, SquarePen, Sun, Trash2, TriangleAlert, X } from "lucide-react";
import { type FormEvent, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { hasToken, isScripted, isWaiting, setToken } from "../client";
import { config } from "../config";
import { Button, IconButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Menu } from "../parts/Menu";
import { Skeleton } from "../parts/Skeleton";
import { dayOf } from "../parts/Time";
import { href } from "../route";
import { setTheme, useTheme } from "../theme";
import { MemoryDialog } from "./Memory";
import { type Thread, threads } from "./threads";
import { tr, within } from "../texts";

const themes = { light: { icon: Sun, label: tr("Light") }, dark: { icon: Moon, label: tr("Dark") }, system: { icon: Monitor, label: tr("As the system") } };

function onScripted(f: () => void) {
  addEventListener("weft-scripted", f);
  return () => removeEventListener("weft-scripted", f);
}

function SignInButton() {
  const scripted = useSyncExternalStore(onScripted, () => isScripted() || isWaiting());
  const signed = hasToken();
  const press = () => {
    if (!signed) return void dispatchEvent(new Event("weft-sign-in"));
    setToken(null);
    location.assign(location.pathname); // the shown conversation is the user's
  };
  if (scripted && !config.login) return null; // the script signs in
  const Icon = signed ? LogOut : LogIn;
  return <button type="button" onClick={press} className="flex min-h-9 w-full items-center gap-2.5 rounded-control px-2.5 text-sm text-muted hover:bg-hover hover:text-text"><Icon size={16} aria-hidden /> {signed ? tr("Sign out") : tr("Sign in")}</button>;
}

function ThemeMenu() {
  const theme = useTheme();
  const Icon = themes[theme].icon;
  return (
    <Menu
      align="start"
      trigger={<button type="button" className="flex min-h-9 w-full items-center gap-2.5 rounded-control px-2.5 text-sm text-muted hover:bg-hover hover:text-text"><Icon size={16} aria-hidden /> {tr("Theme: {theme}", { theme: within(themes[theme].label) })}</button>}
      items={(["light", "dark", "system"] as const).map((t) => {
        const I = themes[t].icon;
        return { label: themes[t].label, icon: <I size={16} />, checked: t === theme, onSelect: () => setTheme(t) };
      })}
    />
  );
}

/** Sidebar has the conversations. */
export function Sidebar({ shown, onClose }: { shown?: string; onClose: () => void }) {
  const list = useSyncExternalStore(threads.subscribe, threads.view);
  const [query, setQuery] = useState("");
  const [renaming, setRenaming] = useState<Thread>();
  const [memory, setMemory] = useState(false);
  useEffect(() => void threads.load(), []);
  const groups = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = list.threads.filter((t) => words.every((w) => t.title.toLowerCase().includes(w)));
    return Map.groupBy(found, (t) => dayOf(t.updated));
  }, [list, query]);
  return (
    <nav aria-label={tr("Conversations")} className="flex h-full w-full flex-col bg-surface">
      <div className="flex items-center gap-1 p-3 pb-1">
        <a href="#/" onClick={onClose} className="flex min-h-9 flex-1 items-center gap-2.5 rounded-control px-2.5 text-sm font-medium hover:bg-hover"><SquarePen size={16} aria-hidden className="text-accent" /> {tr("New chat")}</a>
        <IconButton label={tr("Close the sidebar")} className="lg:hidden!" onClick={onClose}><PanelLeftClose size={17} className="rtl:-scale-x-100" /></IconButton>
      </div>
      <div className="relative mx-3 mt-1 mb-2">
        <Search size={15} aria-hidden className="absolute start-2.5 top-2.5 text-muted" />
        <input type="text" role="searchbox" aria-label={tr("Search conversations")} placeholder={tr("Search")} value={query} onChange={(e) => setQuery(e.target.value)} className="h-9 w-full rounded-control border bg-bg ps-8 pe-8 text-sm" />
        {query && <IconButton label={tr("Clear the search")} className="absolute! end-0.5 top-0.5" onClick={() => setQuery("")}><X size={15} /></IconButton>}
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-3 pb-2">
        {list.loading && <div className="px-2.5 pt-2"><Skeleton lines={4} label={tr("Loading the conversations")} /></div>}
        {list.denied && <p className="px-2.5 py-2 text-sm text-muted">{tr("You are not signed in.")} <button type="button" className="underline" onClick={() => void threads.load()}>{tr("Sign in")}</button></p>}
        {list.error && !list.denied && <p role="alert" className="px-2.5 py-2 text-sm text-danger">{list.error} <button type="button" className="underline" onClick={() => void threads.load()}>{tr("Try again")}</button></p>}
        {!list.loading && !list.error && groups.size === 0 && <p className="px-2.5 py-2 text-sm text-muted">{query ? tr("Nothing found.") : tr("Your conversations appear here.")}</p>}
        {[...groups].map(([day, found]) => (
          <section key={day} aria-label={day}>
            <h2 className="px-2.5 pt-3 pb-1 text-xs font-medium text-muted">{day}</h2>
            <ul>
              {found.map((t) => (
                <li key={t.id} className={`group relative flex items-center rounded-control ${t.id === shown ? "bg-hover" : "hover:bg-hover"}`}>
                  <a href={href([t.id])} onClick={onClose} aria-current={t.id === shown ? "page" : undefined} className="min-w-0 flex-1 rounded-control py-1.5 ps-2.5 pe-9 text-sm"><span dir="auto" className="block truncate">{t.title}</span></a>
                  {t.status === "busy" && <LoaderCircle size={14} role="img" aria-label={tr("running")} className="absolute end-3 animate-spin text-info group-focus-within:hidden group-hover:hidden" />}
                  {t.status === "interrupted" && t.asks && <Hand size={14} role="img" aria-label={tr("waiting for you")} className="absolute end-3 text-warn group-focus-within:hidden group-hover:hidden" />}
                  {t.status === "interrupted" && t.asks === false && <CircleSlash size={14} role="img" aria-label={tr("stopped")} className="absolute end-3 text-muted group-focus-within:hidden group-hover:hidden" />}
                  {t.status === "error" && <TriangleAlert size={14} role="img" aria-label={tr("failed")} className="absolute end-3 text-danger group-focus-within:hidden group-hover:hidden" />}
                  <span className="absolute end-1 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 has-[[data-state=open]]:opacity-100 max-lg:opacity-100">
                    <Menu
                      trigger={<button type="button" aria-label={tr("Actions for {title}", { title: t.title })} className="grid size-7 place-items-center rounded-lg text-muted hover:text-text"><Ellipsis size={16} aria-hidden /></button>}
                      items={[
                        { label: tr("Rename"), icon: <Pencil size={15} />, onSelect: () => setRenaming(t) },
                        { label: tr("Delete"), icon: <Trash2 size={15} />, danger: true, onSelect: () => threads.remove(t, t.id === shown) },
                      ]}
                    />
                  </span>
                </li>
              ))}
            </ul>
          </section>
        ))}
        {list.more && <Button kind="quiet" className="mt-2 w-full" onClick={() => threads.more()}>{tr("Older conversations")}</Button>}
      </div>
      <div className="border-t p-3 py-2">
        {config.memory && <button type="button" onClick={() => setMemory(true)} className="flex min-h-9 w-full items-center gap-2.5 rounded-control px-2.5 text-sm text-muted hover:bg-hover hover:text-text"><Brain size={16} aria-hidden /> {tr("Memory")}</button>}
        {config.signIn && <SignInButton />}
        <ThemeMenu />
      </div>
      {memory && <MemoryDialog onClose={() => setMemory(false)} />}
      {renaming && <Rename thread={renaming} onClose={() => setRenaming(undefined)} />}
    </nav>
  );
}

function Rename({ thread, onClose }: { thread: Thread; onClose: () => void }) {
  const [title, setTitle] = useState(thread.title);
  const save = (e: FormEvent) => {
    e.preventDefault();
    if (title.trim()) void threads.rename(thread, title.trim());
    onClose();
  };
  return (
    <Dialog title={tr("Rename the conversation")} onClose={onClose}>
      <form onSubmit={save}>
        <input aria-label={tr("Title")} dir="auto" maxLength={120} value={title} onChange={(e) => setTitle(e.target.value)} className="w-full rounded-control border bg-bg px-3 py-2" />
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>{tr("Cancel")}</Button>
          <Button kind="primary" type="submit" disabled={!title.trim()}>{tr("Rename")}</Button>
        </div>
      </form>
    </Dialog>
  );
}
