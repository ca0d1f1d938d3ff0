import { Tree } from "../Tree";
import { isObject, listOf, text } from "./value";
import { locale, tr } from "../../texts";

// A day is {date: "2026-12-01", events: [{start: "09:00", end: "10:30", title, place}]}. An event
// without a start lasts all day. Several days are a list of them.

const hourHeight = 44;

function minutes(v: unknown): number | undefined {
  const m = /(?:^|T)(\d{1,2}):(\d{2})/.exec(text(v) ?? "");
  return m ? Number(m[1]) * 60 + Number(m[2]) : undefined;
}

const clock = (m: number) => `${String(Math.floor(m / 60)).padStart(2, "0")}:${String(m % 60).padStart(2, "0")}`;

type Event = { title: string; place?: string; start: number; end: number; column: number; columns: number };

// place puts events that overlap beside each other.
function arrange(list: Omit<Event, "column" | "columns">[]): Event[] {
  const out: Event[] = [];
  let group: Event[] = [];
  let until = -1;
  for (const e of [...list].sort((a, b) => a.start - b.start)) {
    if (e.start >= until) group = [];
    let column = 0;
    while (group.some((g) => g.column === column && g.end > e.start)) column++;
    const placed = { ...e, column, columns: 1 };
    group.push(placed);
    out.push(placed);
    until = Math.max(until, e.end);
    const columns = Math.max(...group.map((g) => g.column)) + 1;
    for (const g of group) g.columns = columns;
  }
  return out;
}

export function Day({ value }: { value: unknown }) {
  if (Array.isArray(value) && value.length === 1) return <Day value={value[0]} />;
  if (Array.isArray(value) && value.length > 0 && value.every((d) => isObject(d) && Array.isArray(d.events))) return <Days days={listOf(value, "days")} />;
  if (!isObject(value) || !Array.isArray(value.events)) return <Tree value={value} />;
  const all = listOf(value.events, "events");
  const whole = all.filter((e) => minutes(e.start) === undefined);
  const timed = arrange(all.flatMap((e) => {
    const start = minutes(e.start);
    return start === undefined ? [] : [{ title: text(e.title) ?? "", place: text(e.place), start, end: Math.max(minutes(e.end) ?? start + 30, start + 15) }];
  }));
  const from = Math.floor(Math.min(8 * 60, ...timed.map((e) => e.start)) / 60);
  const to = Math.ceil(Math.max(18 * 60, ...timed.map((e) => e.end)) / 60);
  return (
    <div className="overflow-hidden rounded-card border bg-raised text-sm">
      <div className="border-b bg-surface px-4 py-2 font-semibold">{dateOf(value.date)}</div>
      {whole.length > 0 && (
        <div className="flex flex-wrap gap-2 border-b px-4 py-2">
          {whole.map((e, i) => <span key={i} className="rounded-md bg-tint px-2 py-0.5">{text(e.title)} <span className="text-muted">{tr("all day")}</span></span>)}
        </div>
      )}
      <div className="relative my-3 ms-14 me-3" style={{ height: (to - from) * hourHeight }}>
        {Array.from({ length: to - from + 1 }, (_, i) => (
          <div key={i} aria-hidden className="absolute inset-x-0 border-t" style={{ top: i * hourHeight }}>
            <span className="num absolute -start-12 -top-2.5 text-xs text-muted">{clock((from + i) * 60)}</span>
          </div>
        ))}
        <ul>
          {timed.map((e, i) => (
            <li
              key={i}
              className="absolute overflow-hidden rounded-lg border-s-3 border-accent bg-tint px-2.5 py-1 leading-tight"
              style={{
                top: ((e.start - from * 60) / 60) * hourHeight + 1, height: Math.max(((e.end - e.start) / 60) * hourHeight - 2, 20),
                insetInlineStart: `${(e.column / e.columns) * 100}%`, width: `calc(${100 / e.columns}% - 2px)`,
              }}
            >
              <span className="font-medium">{e.title}</span>
              <span className="num ms-2 text-xs text-muted">{clock(e.start)}–{clock(e.end)}{e.place ? ` · ${e.place}` : ""}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function dateOf(v: unknown): string | undefined {
  const date = text(v);
  return date && !Number.isNaN(Date.parse(`${date}T12:00`)) ? new Intl.DateTimeFormat(locale, { dateStyle: "full" }).format(new Date(`${date}T12:00`)) : date;
}

// Days lists the events of several days.
function Days({ days }: { days: Record<string, unknown>[] }) {
  return (
    <div className="overflow-hidden rounded-card border bg-raised text-sm">
      {days.map((d, i) => (
        <section key={i} className="border-b last:border-b-0">
          <h2 className="bg-surface px-4 py-1.5 font-semibold">{dateOf(d.date)}</h2>
          <ul className="px-4 py-1.5">
            {listOf(d.events, "events").map((e, j) => {
              const start = minutes(e.start), end = minutes(e.end);
              const place = text(e.place);
              return (
                <li key={j} className="flex gap-3 py-0.5">
                  <span className="num w-24 shrink-0 text-muted">{start === undefined ? tr("all day") : end === undefined ? clock(start) : `${clock(start)}–${clock(end)}`}</span>
                  <span dir="auto" className="min-w-0">{text(e.title)}{place && <span className="text-muted"> · {place}</span>}</span>
                </li>
              );
            })}
          </ul>
        </section>
      ))}
    </div>
  );
}
