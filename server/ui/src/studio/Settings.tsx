import { CircleCheck, CircleX, Monitor, Moon, Sun } from "lucide-react";
import type { ReactNode } from "react";
import { messageOf } from "../client";
import { config } from "../config";
import { Time } from "../parts/Time";
import { setTheme, type Theme, useTheme } from "../theme";
import { Page } from "./bits";
import { fetchPath, useData, useInfo } from "./data";

const themes: { theme: Theme; label: string; icon: ReactNode }[] = [
  { theme: "system", label: "System", icon: <Monitor size={16} aria-hidden /> }, { theme: "light", label: "Light", icon: <Sun size={16} aria-hidden /> }, { theme: "dark", label: "Dark", icon: <Moon size={16} aria-hidden /> },
];

const keys: [string, string][] = [
  ["⌘K or Ctrl K, /", "search"], ["G then T, R, Q, G, M, S", "threads, runs, questions, graphs, memory, settings"], ["↑ ↓", "through the threads"],
  ["← →, Page, Home, End", "through the checkpoints"], ["↑ ↓ on the checkpoints", "to another branch"], ["Esc on the checkpoints", "to the newest"], ["Shift click on a checkpoint", "compare with it"], ["J K", "through the questions"],
];

export default function Settings() {
  const theme = useTheme();
  const info = useInfo();
  const alive = useData("health", (signal) => fetchPath<{ ok: boolean }>("/healthz", { signal }), 5000);
  const ready = useData("ready", (signal) => fetchPath<{ ok: boolean }>("/readyz", { signal }), 5000);
  const server = useData("server info", (signal) => fetchPath<{ version: string }>("/info", { signal }));
  const state = (d: { data?: unknown; error?: unknown }) => d.error !== undefined
    ? <span className="inline-flex items-center gap-1.5 text-danger"><CircleX size={15} aria-hidden /> {messageOf(d.error)}</span>
    : d.data ? <span className="inline-flex items-center gap-1.5 text-ok"><CircleCheck size={15} aria-hidden /> yes</span> : "…";
  return (
    <Page title="Settings">
      <div className="max-w-2xl space-y-8">
        <section>
          <h2 className="mb-2 text-sm font-semibold">Theme</h2>
          <div role="group" aria-label="Theme" className="inline-flex rounded-control border p-0.5">
            {themes.map((t) => <button key={t.theme} type="button" aria-pressed={theme === t.theme} onClick={() => setTheme(t.theme)} className={`inline-flex items-center gap-2 rounded-lg px-3.5 py-1.5 text-sm ${theme === t.theme ? "bg-tint font-medium text-accent" : "text-muted hover:text-text"}`}>{t.icon}{t.label}</button>)}
          </div>
        </section>
        <section>
          <h2 className="mb-2 text-sm font-semibold">Server</h2>
          <dl className="divide-y rounded-card border text-sm [&>div]:flex [&>div]:gap-4 [&>div]:px-4 [&>div]:py-2.5 [&_dd]:min-w-0 [&_dd]:flex-1 [&_dt]:w-32 [&_dt]:shrink-0 [&_dt]:text-muted">
            <div><dt>Answers</dt><dd>{state(alive)}</dd></div>
            <div><dt>Its store answers</dt><dd>{state(ready)}</dd></div>
            <div><dt>Since</dt><dd>{info ? <Time at={info.started_at} /> : "…"}</dd></div>
            <div><dt>Changes</dt><dd>{!info ? "…" : info.read_only ? "refused: the server is read-only" : config.write ? "allowed" : "hidden: the studio was opened for reading only"}</dd></div>
            <div><dt>Graphs</dt><dd>{!info ? "…" : info.stored ? "read from the checkpoints of a store" : info.graphs.map((g) => g.name).join(", ")}</dd></div>
            <div><dt>Protocol</dt><dd className="num">{server.data ? `LangGraph Server ${server.data.version}` : "…"}</dd></div>
          </dl>
        </section>
        <section>
          <h2 className="mb-2 text-sm font-semibold">Keys</h2>
          <dl className="divide-y rounded-card border text-sm">
            {keys.map(([k, v]) => <div key={k} className="flex gap-4 px-4 py-2"><dt className="w-56 shrink-0">{k}</dt><dd className="text-muted">{v}</dd></div>)}
          </dl>
        </section>
      </div>
    </Page>
  );
}
