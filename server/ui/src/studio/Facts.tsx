import { BadgeCheck, Brain, CircleAlert, Lightbulb, Quote, Search } from "lucide-react";
import { type ReactNode, useState } from "react";
import { stringify } from "../exact";
import { Skeleton } from "../parts/Skeleton";
import { Time } from "../parts/Time";
import { href, navigate, useRoute } from "../route";
import { Badge, Chip, Empty, Failure, Page, plural } from "./bits";
import { useData, weft } from "./data";

type Scope = { tenant?: string; workspace?: string; user?: string; agent?: string };
type Score = { rank: number; similarity?: number; bm25?: number; total: number; keyword?: number; vector?: number; neighbour?: number; recency?: number; importance?: number; reranked?: number };
type Evidence = { quote: string; conversation?: string; turn?: number };
type Fact = {
  id: string; kind: string; content: string; trust?: "inferred" | "stated"; importance: number; conversation?: string; turn?: number;
  valid_from: string; valid_to?: string; superseded_by?: string; expires_at?: string; created_at: string;
  metadata?: Record<string, unknown>; score?: Score;
};

const parts = ["tenant", "workspace", "user", "agent"] as const;
const keyOf = (s: Scope) => JSON.stringify(parts.map((p) => s[p] ?? ""));
const nameOf = (s: Scope) => parts.filter((p) => s[p]).map((p) => `${p} ${s[p]}`).join(" · ") || "everybody";

/** Facts shows the facts of a scope, and what a question recalls of them and why. */
export function Facts({ tabs }: { tabs: ReactNode }) {
  const { query } = useRoute();
  const text = query.get("q") ?? "";
  const untrusted = query.get("untrusted") !== "no";
  const closed = query.get("past") === "yes" && !text;
  const [typed, setTyped] = useState(text);
  const scopes = useData("fact scopes", (signal) => weft<{ scopes: Scope[]; more: boolean }>("/memory/scopes", { signal }));
  const list = scopes.data?.scopes ?? [];
  const scope = list.find((s) => keyOf(s) === query.get("scope")) ?? list[0];
  const found = useData(scope ? `facts ${keyOf(scope)} ${text} ${untrusted} ${closed}` : null, (signal) =>
    weft<{ facts: Fact[]; more: boolean }>("/memory/facts", { method: "POST", json: { scope, text, untrusted, closed }, signal }));
  const to = (change: Record<string, string>) => {
    const now = { scope: scope ? keyOf(scope) : "", q: text, untrusted: untrusted ? "" : "no", past: closed ? "yes" : "", ...change };
    navigate(href(["facts"], Object.fromEntries(Object.entries(now).filter(([, v]) => v !== ""))));
  };
  const facts = found.data?.facts;
  return (
    <Page title="Memory" note={facts ? `${plural(facts.length, "fact")}${found.data?.more ? ", and more" : ""}` : undefined}>
      {tabs}
      {scopes.error !== undefined && !scopes.data ? <Failure error={scopes.error} again={scopes.reload} /> : !scopes.data ? <Skeleton lines={6} /> : !scope ? (
        <Empty title="There are no facts" icon={<Brain size={20} aria-hidden />}>Nothing has been learned yet, or you may not see it.</Empty>
      ) : (
        <>
          <div className="mb-3 flex flex-wrap items-center gap-2 text-sm">
            <label className="flex min-w-0 items-center gap-2"><span className="text-muted">Scope</span>
              <select aria-label="Scope" value={keyOf(scope)} onChange={(e) => to({ scope: e.target.value })} className="h-9 min-w-0 max-w-80 rounded-control border bg-bg px-2">
                {list.map((s) => <option key={keyOf(s)} value={keyOf(s)}>{nameOf(s)}</option>)}
              </select>
            </label>
            <Chip on={untrusted} onClick={() => to({ untrusted: untrusted ? "no" : "" })}>Untrusted, too</Chip>
            {!text && <Chip on={closed} onClick={() => to({ past: closed ? "" : "yes" })}>Past, too</Chip>}
          </div>
          <form role="search" className="relative mb-4" onSubmit={(e) => { e.preventDefault(); to({ q: typed.trim() }); }}>
            <Search size={15} aria-hidden className="absolute start-3 top-3 text-muted" />
            <input type="search" aria-label="Ask the memory" placeholder="What would a question recall?" value={typed} onChange={(e) => setTyped(e.target.value)} className="h-10 w-full rounded-control border bg-bg ps-9 pe-3 text-sm" />
          </form>
          {found.error !== undefined && !facts ? <Failure error={found.error} again={found.reload} /> : !facts ? <Skeleton lines={6} /> : facts.length === 0 ? (
            <Empty title={text ? "Nothing is recalled" : "This scope has no such facts"} icon={<Brain size={20} aria-hidden />}>{text ? "No fact of this scope fits the question." : "Its facts may be past or untrusted."}</Empty>
          ) : (
            <ul aria-label="Facts" className="divide-y rounded-card border">{facts.map((f) => <Row key={f.id} fact={f} />)}</ul>
          )}
        </>
      )}
    </Page>
  );
}

const trusts = {
  stated: { icon: BadgeCheck, color: "text-ok", word: "stated", title: "A person or the program has said so" },
  inferred: { icon: Lightbulb, color: "text-info", word: "inferred", title: "A model concluded it from a person's words, and it was verified" },
  untrusted: { icon: CircleAlert, color: "text-warn", word: "untrusted", title: "No person has confirmed it: agents do not recall it" },
};

function Row({ fact }: { fact: Fact }) {
  const trust = trusts[fact.trust ?? "untrusted"];
  const evidence = fact.metadata?.["weft.evidence"] as Evidence | undefined;
  const rest = Object.entries(fact.metadata ?? {}).filter(([k]) => k !== "weft.evidence");
  const now = Date.now();
  const past = (fact.valid_to && Date.parse(fact.valid_to) <= now) || (fact.expires_at && Date.parse(fact.expires_at) <= now);
  return (
    <li className="px-4 py-3">
      <p dir="auto" className={`mb-1.5 [overflow-wrap:anywhere] ${past ? "text-muted line-through" : ""}`}>{fact.content}</p>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted">
        <span title={trust.title} className={`inline-flex items-center gap-1 ${trust.color}`}><trust.icon size={14} aria-hidden />{trust.word}</span>
        <Badge>{fact.kind}</Badge>
        <span className="num">importance {fact.importance}</span>
        <span>valid from <Time at={fact.valid_from} />{fact.valid_to && <> to <Time at={fact.valid_to} /></>}</span>
        {fact.superseded_by && <span>superseded</span>}
        {rest.length > 0 && <span className="min-w-0 truncate font-mono">{stringify(Object.fromEntries(rest), 0)}</span>}
      </div>
      {evidence?.quote && (
        <blockquote dir="auto" className="mt-2 flex gap-2 text-sm text-muted [overflow-wrap:anywhere]">
          <Quote size={14} aria-hidden className="mt-1 shrink-0" />
          <span><span className="sr-only">Evidence: </span>“{evidence.quote}”{evidence.turn ? <span className="num"> · turn {evidence.turn}</span> : null}</span>
        </blockquote>
      )}
      {fact.score && <Why score={fact.score} />}
    </li>
  );
}

// Why shows of what the score of a fact is made.
function Why({ score }: { score: Score }) {
  const shares = ([["words", score.keyword], ["vectors", score.vector], ["neighbours", score.neighbour], ["recency", score.recency], ["importance", score.importance]] as const).filter(([, v]) => v);
  const measured = [score.bm25 ? `BM25 ${score.bm25.toFixed(2)}` : "", score.similarity ? `cosine ${score.similarity.toFixed(3)}` : "", score.reranked !== undefined ? `reranked ${score.reranked.toFixed(3)}` : ""].filter(Boolean);
  return (
    <dl className="num mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs">
      <div className="flex gap-1"><dt className="text-muted">score</dt><dd className="font-medium">{score.total.toFixed(3)}</dd></div>
      {shares.map(([name, v]) => <div key={name} className="flex gap-1"><dt className="text-muted">{name}</dt><dd>{v?.toFixed(3)}</dd></div>)}
      {measured.length > 0 && <div className="flex gap-1"><dt className="text-muted">measured</dt><dd>{measured.join(", ")}</dd></div>}
    </dl>
  );
}
