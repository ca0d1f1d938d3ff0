import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { duration } from "../parts/Time";
import type { Dot, History } from "./history";

const step = 22;
const laneHeight = 24;
const top = 18;
const margin = 24;

const x = (d: Dot) => margin + d.column * step;
const y = (d: Dot) => top + d.lane * laneHeight;

/** colorOf returns the colour of a checkpoint: of a failure, a question, an input, an edit, or a step. */
export function colorOf(d: Dot): string {
  if (d.mark.tasks.some((t) => t.error)) return "var(--danger)";
  if (d.mark.tasks.some((t) => t.asked && !t.ended_at)) return "var(--warn)";
  if (d.mark.source === "input") return "var(--accent)";
  if (d.mark.source === "update" || d.mark.source === "fork") return "var(--info)";
  return "var(--muted)";
}

export const sources: Record<string, string> = { input: "Input", loop: "Step", update: "Edit", fork: "Fork" };

/** describe says in a line what a checkpoint is. */
export function describe(d: Dot): string {
  const ran = d.parent?.mark.tasks.map((t) => t.node).filter(Boolean) ?? [];
  const nodes = ran.length > 0 && d.mark.source === "loop" ? ` after ${[...new Set(ran)].join(", ")}` : "";
  const next = d.mark.next.length > 0 ? ` · next ${[...new Set(d.mark.next)].join(", ")}` : " · end";
  return `${sources[d.mark.source] ?? d.mark.source} ${d.mark.step}${nodes}${next}`;
}

type Props = { history: History; complete: boolean; chosen?: string; compared?: string; onChoose: (id: string | undefined) => void; onCompare: (id: string) => void };

/** Timeline draws a mark for each checkpoint, and each branch on a row of its own. */
export function Timeline({ history, complete, chosen, compared, onChoose, onCompare }: Props) {
  const { dots, byId, lanes } = history;
  const scroller = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 100]);
  const [hover, setHover] = useState<Dot>();
  const newest = dots.at(-1);
  const at = (chosen ? byId.get(chosen) : undefined) ?? newest;
  const width = margin * 2 + Math.max(0, dots.length - 1) * step;
  const height = top * 2 + (Math.min(lanes, 12) - 1) * laneHeight;

  const measure = useCallback(() => {
    const el = scroller.current;
    if (!el) return;
    const first = Math.floor((el.scrollLeft - margin) / step) - 20;
    const last = Math.ceil((el.scrollLeft + el.clientWidth - margin) / step) + 20;
    setRange((old) => (Math.abs(old[0] - first) < 10 && Math.abs(old[1] - last) < 10 ? old : [first, last]));
  }, []);
  useEffect(() => {
    const el = scroller.current;
    if (!el) return;
    const o = new ResizeObserver(measure);
    o.observe(el);
    return () => o.disconnect();
  }, [measure]);
  // The chosen mark stays in view; without a choice that is the newest one.
  useLayoutEffect(() => {
    const el = scroller.current;
    if (!el || !at) return;
    const px = x(at);
    if (px < el.scrollLeft + 40 || px > el.scrollLeft + el.clientWidth - 40) el.scrollLeft = px - (chosen ? el.clientWidth / 2 : el.clientWidth - 60);
    measure();
  }, [at, chosen, measure, dots.length]);

  const move = (e: React.KeyboardEvent) => {
    if (!at) return;
    let to: Dot | undefined;
    if (e.key === "ArrowLeft") to = dots[at.column - 1];
    else if (e.key === "ArrowRight") to = dots[at.column + 1];
    else if (e.key === "ArrowUp" || e.key === "ArrowDown") to = nearest(dots, at, e.key === "ArrowUp" ? -1 : 1);
    else if (e.key === "Home") to = dots[0];
    else if (e.key === "End") to = newest;
    else if (e.key === "PageUp") to = dots[Math.max(0, at.column - 25)];
    else if (e.key === "PageDown") to = dots[Math.min(dots.length - 1, at.column + 25)];
    else if (e.key === "Escape" && chosen) onChoose(undefined);
    else return;
    e.preventDefault();
    if (to) onChoose(to === newest ? undefined : to.mark.id);
  };
  const find = (e: React.PointerEvent | React.MouseEvent) => {
    const box = e.currentTarget.getBoundingClientRect();
    const column = Math.round((e.clientX - box.left - margin) / step);
    return dots[Math.max(0, Math.min(dots.length - 1, column))];
  };
  const drag = (e: React.PointerEvent) => {
    const d = find(e);
    setHover(d);
    if (e.buttons === 1 && d && d !== at && e.pointerType === "mouse") onChoose(d === newest ? undefined : d.mark.id);
  };

  const shown = dots.slice(Math.max(0, range[0]), Math.max(0, range[1]));
  const first = shown[0]?.column ?? 0;
  const last = shown.at(-1)?.column ?? 0;
  return (
    <div className="relative min-w-0 flex-1">
      <div
        ref={scroller}
        role="slider"
        tabIndex={0}
        aria-label="Checkpoints"
        aria-valuemin={1}
        aria-valuemax={Math.max(1, dots.length)}
        aria-valuenow={at ? at.column + 1 : 1}
        aria-valuetext={at ? `${describe(at)}, ${at.column + 1} of ${dots.length}` : "none"}
        onKeyDown={move}
        onScroll={measure}
        className="max-h-36 overflow-auto overscroll-contain rounded-lg outline-offset-[-2px]"
      >
        <svg
          width={width}
          height={height}
          role="presentation"
          className="block cursor-pointer touch-pan-x select-none"
          onPointerMove={drag}
          onPointerDown={drag}
          onPointerLeave={() => setHover(undefined)}
          onClick={(e) => {
            const d = find(e);
            if (!d) return;
            if (e.shiftKey) onCompare(d.mark.id);
            else onChoose(d === newest ? undefined : d.mark.id);
          }}
        >
          {dots.length > 0 && edges(dots, first, last).map((d) => <Link key={d.mark.id} to={d} />)}
          {shown.map((d) => (
            <Mark key={d.mark.id} dot={d} on={d === at} compared={d.mark.id === compared} hover={d === hover} />
          ))}
        </svg>
      </div>
      {hover && hover !== at && <Tip dot={hover} left={x(hover) - (scroller.current?.scrollLeft ?? 0)} />}
      {!complete && dots.length > 0 && <span className="absolute start-2 top-0 text-[11px] text-muted" role="status">reading {dots.length} …</span>}
    </div>
  );
}

// edges returns the marks whose link to their parent crosses the visible columns.
function edges(dots: Dot[], first: number, last: number): Dot[] {
  const out = dots.slice(first, last + 1).filter((d) => d.parent);
  for (let i = last + 1; i < dots.length; i++) {
    const d = dots[i]!;
    if (d.parent && d.parent.column <= last && d.parent.column !== d.column - 1) out.push(d);
  }
  return out;
}

const Link = memo(function Link({ to }: { to: Dot }) {
  const from = to.parent!;
  const [x1, y1, x2, y2] = [x(from), y(from), x(to), y(to)];
  const path = y1 === y2 ? `M${x1} ${y1}H${x2}` : `M${x1} ${y1}C${x1 + step * 0.8} ${y1} ${x1 + step * 0.2} ${y2} ${x1 + step} ${y2}H${x2}`;
  return <path d={path} fill="none" stroke="var(--line)" strokeWidth={2} />;
});

const Mark = memo(function Mark({ dot, on, compared, hover }: { dot: Dot; on: boolean; compared: boolean; hover: boolean }) {
  const color = colorOf(dot);
  const [cx, cy] = [x(dot), y(dot)];
  const r = hover || on ? 6 : 5;
  return (
    <g>
      {(on || compared) && <circle cx={cx} cy={cy} r={10} fill="none" stroke={compared ? "var(--info)" : "var(--accent)"} strokeWidth={2} strokeDasharray={compared ? "3 3" : undefined} />}
      {dot.mark.source === "input" ? (
        <rect x={cx - r} y={cy - r} width={2 * r} height={2 * r} rx={2.5} fill={color} />
      ) : dot.mark.source === "loop" ? (
        <circle cx={cx} cy={cy} r={r - 0.5} fill={dot.mark.next.length === 0 ? color : "var(--bg)"} stroke={color} strokeWidth={2} />
      ) : (
        <path d={`M${cx} ${cy - r - 1}L${cx + r + 1} ${cy}L${cx} ${cy + r + 1}L${cx - r - 1} ${cy}Z`} fill={color} />
      )}
    </g>
  );
});

function nearest(dots: Dot[], at: Dot, by: number): Dot | undefined {
  let best: Dot | undefined;
  for (const d of dots) {
    if (d.lane !== at.lane + by) continue;
    if (!best || Math.abs(d.column - at.column) < Math.abs(best.column - at.column)) best = d;
  }
  return best;
}

function Tip({ dot, left }: { dot: Dot; left: number }) {
  const ran = dot.parent?.mark.tasks ?? [];
  const wrote = dot.mark.source === "loop" ? [...new Set(ran.flatMap((t) => t.writes))] : [];
  return (
    <div className="pointer-events-none absolute bottom-full z-20 mb-1 w-64 -translate-x-1/2 rounded-control border bg-raised px-3 py-2 text-xs shadow-float" style={{ left: Math.max(132, left) }}>
      <p className="font-medium">{describe(dot)}</p>
      {dot.mark.source === "loop" && ran.length > 0 && (
        <ul className="mt-1 space-y-0.5 text-muted">
          {ran.slice(0, 4).map((t) => (
            <li key={t.id} className="flex gap-2">
              <span className="min-w-0 flex-1 truncate">{t.node}</span>
              <span className="num">{t.started_at && t.ended_at ? duration(Date.parse(t.ended_at) - Date.parse(t.started_at)) : ""}</span>
            </li>
          ))}
          {ran.length > 4 && <li>and {ran.length - 4} more</li>}
        </ul>
      )}
      {wrote.length > 0 && <p className="mt-1 text-muted">changed {wrote.join(", ")}</p>}
      <p className="num mt-1 text-muted">{new Date(dot.mark.time).toLocaleString()}</p>
    </div>
  );
}
