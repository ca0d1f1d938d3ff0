import { Menu as MenuIcon, SquarePen, X } from "lucide-react";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { messageOf } from "../client";
import { config } from "../config";
import { IconButton } from "../parts/Button";
import { hostOf } from "../parts/Markdown";
import { SignIn } from "../parts/SignIn";
import { navigate, useRoute } from "../route";
import { v7 } from "../core";
import { Conversation, Start } from "./Conversation";
import { type Block, textOfContent } from "./messages";
import { memories } from "./memories";
import { begin as startThread, Session } from "./session";
import { Sidebar } from "./Sidebar";
import { threads } from "./threads";
import type { Source } from "./Turns";
import { filesOf, leaveNew, uploadsOf } from "./uploads";
import { tr } from "../texts";

/** useSession returns the session of a thread, and closes it when another one is shown. */
function useSession(thread: string | undefined): Session | undefined {
  const [session, setSession] = useState<Session>();
  useEffect(() => {
    if (!thread) return setSession(undefined);
    const s = new Session(thread);
    setSession(s);
    return () => s.close();
  }, [thread]);
  return session?.thread === thread ? session : undefined;
}

/** sender sends messages for a script of the application, as if the person had typed them in the conversation that is shown. */
export const sender = { send: (_text: string) => Promise.resolve(false) };

export function App() {
  const { path } = useRoute();
  const thread = path[0];
  const session = useSession(thread);
  const title = useTitle(thread);
  const uploads = uploadsOf(thread ?? "new");
  const addFile = (file: File) => uploads.add(file, thread ? undefined : () => threads.create(file.name, uploads.thread));
  const [drawer, setDrawer] = useState(false);
  const [sources, setSources] = useState<{ list: Source[]; index: number }>();
  const [failed, setFailed] = useState<string>();
  const first = useRef<{ thread: string; text: string; id: string }>(undefined);

  useEffect(() => void memories.load(), []);

  useEffect(() => {
    setSources(undefined);
    setFailed(undefined);
    if (first.current?.thread === thread) first.current = undefined; // it is no new conversation any more
  }, [thread]);

  // The first message is sent when the thread is there. It is given back if it cannot be sent.
  const begin = async (content: string | Block[]) => {
    setFailed(undefined);
    // The same ids again, so that a message that reached the server is not there twice.
    const text = textOfContent(content);
    const next = first.current?.text === text ? first.current : { thread: v7(), text, id: v7() };
    if (uploads.created) next.thread = uploads.thread;
    else uploads.thread = next.thread; // for a file that is attached meanwhile
    first.current = next;
    try {
      await threads.create(text, next.thread);
      if (uploads.created) await threads.entitle(text, next.thread);
      const sent = uploads.view();
      await startThread(next.thread, { content, files: filesOf(sent) }, next.id);
      first.current = undefined;
      uploads.drop(sent);
      leaveNew(next.thread);
      navigate(`#/${next.thread}`);
    } catch (error) {
      setFailed(tr("The message was not sent. {reason}", { reason: messageOf(error) }));
      throw error;
    }
  };

  const send = async (content: string | Block[]) => {
    if (!session) throw new Error(tr("The conversation is not there yet."));
    setFailed(undefined);
    try {
      const sent = uploads.view();
      await session.send({ content, files: filesOf(sent) });
      uploads.drop(sent);
    } catch (error) {
      setFailed(tr("The message was not sent. {reason}", { reason: messageOf(error) }));
      throw error;
    }
  };

  useEffect(() => {
    sender.send = async (text) => {
      const words = text.trim();
      if (!words || uploads.view().some((u) => !u.file && !u.problem)) return false;
      return (thread ? send : begin)(words).then(() => true, () => false); // the page shows the error
    };
  });

  return (
    <div className="flex h-full">
      <div className="hidden w-[260px] shrink-0 border-e lg:block"><Sidebar shown={thread} onClose={() => undefined} /></div>
      {drawer && (
        <div className="fixed inset-0 z-40 lg:hidden" onKeyDown={(e) => e.key === "Escape" && setDrawer(false)}>
          <div className="absolute inset-0 bg-black/40" onClick={() => setDrawer(false)} />
          <div className="animate-rise absolute inset-y-0 start-0 w-[300px] max-w-[85vw] border-e shadow-float"><Sidebar shown={thread} onClose={() => setDrawer(false)} /></div>
        </div>
      )}
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex h-13 shrink-0 items-center gap-1 border-b px-2 lg:hidden">
          <IconButton label={tr("Open the sidebar")} className="size-10!" onClick={() => setDrawer(true)}><MenuIcon size={20} /></IconButton>
          <span dir="auto" aria-hidden className="min-w-0 flex-1 truncate text-center text-sm font-medium">{thread ? title : ""}</span>
          <IconButton label={tr("New chat")} className="size-10!" onClick={() => navigate("#/")}><SquarePen size={18} /></IconButton>
        </header>
        <main className="flex min-h-0 flex-1 flex-col">
          {thread && <h1 className="sr-only">{title}</h1>}
          {!thread ? <Start onSend={begin} failed={failed} uploads={uploads} onFile={addFile} /> : session && <Conversation key={thread} session={session} failed={failed} uploads={uploads} onFile={addFile} onSend={send} onSource={(list, index) => setSources({ list, index })} />}
        </main>
      </div>
      {sources && <Sources list={sources.list} index={sources.index} onClose={() => setSources(undefined)} />}
      <SignIn />
    </div>
  );
}

function useTitle(thread: string | undefined): string {
  const list = useSyncExternalStore(threads.subscribe, threads.view);
  const name = config.title ?? "Chat";
  const title = thread ? list.threads.find((t) => t.id === thread)?.title : undefined;
  useEffect(() => {
    document.title = title ? `${title} · ${name}` : name;
  }, [title, name]);
  return title ?? name;
}

// The panel with the places that the assistant has cited.
function Sources({ list, index, onClose }: { list: Source[]; index: number; onClose: () => void }) {
  const at = useRef<HTMLLIElement>(null);
  useEffect(() => {
    at.current?.scrollIntoView({ block: "nearest" });
    at.current?.querySelector("a")?.focus();
  }, [index, list]);
  return (
    <aside aria-label={tr("Sources")} onKeyDown={(e) => e.key === "Escape" && onClose()} className="animate-rise fixed inset-x-0 bottom-0 z-30 flex max-h-[60dvh] flex-col rounded-t-card border bg-raised shadow-float lg:static lg:max-h-none lg:w-[320px] lg:shrink-0 lg:rounded-none lg:border-y-0 lg:border-e-0 lg:bg-surface lg:shadow-none">
      <div className="flex items-center px-4 py-2.5">
        <h2 className="flex-1 text-sm font-semibold">{tr("Sources")}</h2>
        <IconButton label={tr("Close the sources")} onClick={onClose}><X size={17} /></IconButton>
      </div>
      <ol className="min-h-0 flex-1 space-y-2 overflow-y-auto px-3 pb-4">
        {list.map((s, i) => (
          <li key={i} ref={i === index ? at : undefined} className={`rounded-card border bg-bg p-3 text-sm ${i === index ? "border-accent" : ""}`}>
            <div className="num mb-0.5 text-xs text-muted">{i + 1} · {hostOf(s.url)}</div>
            <a href={s.url} target="_blank" rel="noopener noreferrer" className="font-medium text-accent hover:underline">{s.title}</a>
            {s.snippet && <p dir="auto" className="mt-1 text-muted">{s.snippet}</p>}
          </li>
        ))}
      </ol>
    </aside>
  );
}
