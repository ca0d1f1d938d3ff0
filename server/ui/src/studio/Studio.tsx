import { Eye, Search } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { client } from "../client";
import { config } from "../config";
import { Boundary } from "../parts/Boundary";
import { SignIn } from "../parts/SignIn";
import { Skeleton } from "../parts/Skeleton";
import { Tooltip } from "../parts/Tooltip";
import { href, navigate, useRoute } from "../route";
import { useData, useInfo } from "./data";
import { openQuestions } from "../questions";
import { Palette } from "./Palette";
import { Threads } from "./Threads";
import { views } from "./views";

const Graphs = lazy(() => import("./Graphs"));
const Runs = lazy(() => import("./Runs"));
const Questions = lazy(() => import("./Questions"));
const Memory = lazy(() => import("./Memory"));
const Settings = lazy(() => import("./Settings"));

/** useOpenQuestions returns the number of open questions. */
function useOpenQuestions(): number {
  return useData("questions count", async (signal) => {
    const threads = await client.threads.search({ status: "interrupted", limit: 1000, sortBy: "updated_at", sortOrder: "desc", select: ["thread_id", "status", "updated_at"], signal });
    return [...(await openQuestions(threads, signal)).values()].flat().length;
  }, 5000).data ?? 0;
}

export function Studio() {
  const route = useRoute();
  const first = route.path[0] ?? "threads";
  const at = first === "facts" ? "memory" : first;
  const [searching, setSearching] = useState(false);
  const info = useInfo();
  const open = useOpenQuestions();
  useKeys(() => setSearching(true));
  useEffect(() => {
    if (route.path.length === 0) navigate(href(["threads"]), true);
  }, [route]);
  useEffect(() => {
    const view = views.find((v) => v.path === at);
    document.title = `${view?.label ?? "Studio"} · ${config.title || "Weft Studio"}`;
  }, [at]);
  const reading = info && (info.read_only || !config.write);
  return (
    <div className="flex h-full flex-col">
      <a href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }} className="sr-only focus:not-sr-only focus:fixed focus:start-3 focus:top-2 focus:z-50 focus:rounded-lg focus:bg-raised focus:px-3 focus:py-1.5 focus:shadow-float">
        Skip to the content
      </a>
      <header className="flex h-13 shrink-0 items-center gap-3 border-b px-3 md:px-4">
        <a href={href(["threads"])} aria-label="Weft Studio" className="flex items-center gap-2 rounded-lg font-semibold tracking-tight">
          <Logo />
          <span className="hidden lg:inline">Weft</span>
        </a>
        <nav aria-label="Views" className="hidden h-full items-stretch md:flex">
          {views.map((v) => (
            <a
              key={v.path}
              href={href([v.path])}
              aria-current={at === v.path ? "page" : undefined}
              className={`relative flex items-center gap-1.5 px-3 text-sm transition-colors duration-150 ${at === v.path ? "font-medium text-text after:absolute after:inset-x-3 after:bottom-0 after:h-0.5 after:rounded-full after:bg-accent" : "text-muted hover:text-text"}`}
            >
              {v.label}
              {v.path === "questions" && <Open n={open} />}
            </a>
          ))}
        </nav>
        <span className="flex-1" />
        {reading && (
          <Tooltip text={info.read_only ? "The server refuses changes." : "This studio was opened for reading only."}>
            <span tabIndex={0} className="inline-flex items-center gap-1.5 rounded-full border px-2.5 py-0.5 text-xs text-muted"><Eye size={14} aria-hidden /> Read-only</span>
          </Tooltip>
        )}
        <button
          type="button"
          onClick={() => setSearching(true)}
          className="flex h-9 items-center gap-2 rounded-control border bg-surface px-3 text-sm text-muted transition-colors duration-150 hover:text-text md:w-56"
        >
          <Search size={15} aria-hidden />
          <span className="hidden flex-1 text-start md:block">Search</span>
          <span className="sr-only md:hidden">Search</span>
          <kbd className="hidden font-sans text-xs md:block">{mac ? "⌘K" : "Ctrl K"}</kbd>
        </button>
      </header>
      <div className="flex min-h-0 flex-1 flex-col">
        <Boundary key={at} what="The view">
          <Suspense fallback={<div className="p-8"><Skeleton lines={6} /></div>}>
            <View at={at} />
          </Suspense>
        </Boundary>
      </div>
      <nav aria-label="Views" className="grid shrink-0 grid-cols-6 border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden">
        {views.map((v) => (
          <a key={v.path} href={href([v.path])} aria-current={at === v.path ? "page" : undefined} className={`relative flex flex-col items-center gap-0.5 py-2 text-[11px] ${at === v.path ? "font-medium text-accent" : "text-muted"}`}>
            <v.icon size={19} aria-hidden />
            {v.label}
            {v.path === "questions" && open > 0 && <span className="absolute start-1/2 top-1 ms-2"><Open n={open} /></span>}
          </a>
        ))}
      </nav>
      {searching && <Palette onClose={() => setSearching(false)} />}
      <SignIn />
    </div>
  );
}

const mac = /Mac|iPhone|iPad/.test(navigator.userAgent);

function View({ at }: { at: string }) {
  switch (at) {
    case "graphs": return <Graphs />;
    case "runs": return <Runs />;
    case "questions": return <Questions />;
    case "memory": return <Memory />;
    case "settings": return <Settings />;
    case "threads": return <Threads />;
  }
  return <main id="main" className="p-8 text-sm">There is no view “{at}”. <a className="text-accent underline" href={href(["threads"])}>Show the threads</a></main>;
}

function Open({ n }: { n: number }) {
  if (n === 0) return null;
  return <span className="num grid h-4.5 min-w-4.5 place-items-center rounded-full bg-warn px-1 text-[11px] leading-none font-semibold text-bg" aria-label={`${n} open`}>{n > 99 ? "99+" : n}</span>;
}

function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 24 24" aria-hidden fill="none" stroke="currentColor" strokeWidth="2.4" strokeLinecap="round" className="text-accent">
      <path d="M3 8h7m4 0h7M3 16h4m4 0h10" />
      <path d="M8 3v10m0 5v3M16 3v2m0 6v10" opacity=".55" />
    </svg>
  );
}

// Letters go to views: g and then t shows the threads. ⌘K or / searches.
function useKeys(search: () => void) {
  useEffect(() => {
    let before = 0;
    const down = (e: KeyboardEvent) => {
      if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === "k") {
        e.preventDefault();
        search();
        return;
      }
      const target = e.target as HTMLElement;
      if (e.metaKey || e.ctrlKey || e.altKey || target.closest("input, textarea, select, dialog, [contenteditable]")) return;
      if (e.key === "/") {
        e.preventDefault();
        search();
      } else if (e.key === "g" && Date.now() - before > 1000) before = Date.now();
      else if (Date.now() - before < 1000) {
        before = 0;
        const view = views.find((v) => v.key === e.key);
        if (view) navigate(href([view.path]));
      }
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  }, [search]);
}
