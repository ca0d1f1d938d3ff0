import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { isNumber, numberText } from "../../exact";
import { useTheme } from "../../theme";
import { Table } from "./Table";
import { grouped, isObject, text } from "./value";
import { locale, tr } from "../../texts";

// A chart is {type: "bar" or "line", title, unit, x: [names or numbers], series: [{name, values}]}. A
// table of at least two rows is drawn, too, if all its columns but the first have numbers.

type Series = { name: string; values: (number | null)[] };
type Data = { bars: boolean; title?: string; unit: string; x: string[]; series: Series[] };

const number = (v: unknown) => (isNumber(v) ? Number(numberText(v)) : null);

function ofTable(columns: unknown[], rows: unknown[]): Omit<Data, "bars" | "title" | "unit"> | undefined {
  if (columns.length < 2 || rows.length < 2) return undefined;
  if (!rows.every((r): r is unknown[] => Array.isArray(r) && r.slice(1).every((v) => v === null || isNumber(v)))) return undefined;
  const names = columns.slice(1).map((c) => text(isObject(c) ? c.name : c) ?? "");
  return { x: rows.map((r) => text((r as unknown[])[0]) ?? "–"), series: names.map((name, i) => ({ name, values: rows.map((r) => number((r as unknown[])[i + 1])) })) };
}

function read(value: unknown): Data | undefined {
  if (!isObject(value)) return undefined;
  const rest = { bars: value.type !== "line", title: text(value.title), unit: text(value.unit) ?? "" };
  if (Array.isArray(value.columns) && Array.isArray(value.rows)) {
    const drawn = ofTable(value.columns, value.rows);
    return drawn && { ...rest, ...drawn };
  }
  if (!Array.isArray(value.x) || !Array.isArray(value.series)) return undefined;
  const series = value.series.filter(isObject).map((s) => ({ name: text(s.name) ?? "", values: Array.isArray(s.values) ? s.values.map(number) : [] }));
  return { ...rest, x: value.x.map((v) => text(v) ?? ""), series };
}

// shownOf returns the points whose names are shown below a chart of a width, so that they do not overlap.
function shownOf(names: string[], width: number): number[] {
  const widest = Math.max(0, ...names.map((n) => n.length)) * 7 + 12;
  const every = Math.max(1, Math.ceil((widest * names.length) / width));
  return names.flatMap((_, i) => (i % every === 0 ? [i] : []));
}

const colours = ["--accent", "--info", "--warn", "--danger", "--ok", "--muted"];

// A canvas reads no variables, so the colours are those of an element.
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function optionsOf(d: Data, box: HTMLElement): uPlot.Options {
  const muted = colourOf(box, "--muted");
  const line = colourOf(box, "--line");
  const font = `12px ${getComputedStyle(box).fontFamily}`;
  const n = d.series.length;
  const corner = parseFloat(getComputedStyle(box).borderTopLeftRadius) * devicePixelRatio;
  const bars = (i: number): uPlot.Series.PathBuilder => (u, series, from, to) => {
    const fill = new Path2D();
    const size = Math.min(((u.valToPos(1, "x", true) - u.valToPos(0, "x", true)) * 0.74) / n, 44 * devicePixelRatio);
    const zero = u.valToPos(0, "y", true);
    for (let j = from; j <= to; j++) {
      const v = u.data[series]?.[j];
      if (v === null || v === undefined) continue;
      const x = u.valToPos(j, "x", true) + (i - n / 2) * size;
      const y = u.valToPos(v, "y", true);
      const radius = Math.min(corner, size / 3, Math.abs(zero - y));
      fill.roundRect(x + size * 0.04, Math.min(y, zero), size * 0.92, Math.abs(zero - y), v >= 0 ? [radius, radius, 0, 0] : [0, 0, radius, radius]);
    }
    return { stroke: null, fill };
  };
  const short = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
  return {
    width: box.clientWidth, height: 240, legend: { show: false }, cursor: { y: false, points: { show: !d.bars } }, padding: [12, 8, 0, 0],
    scales: { x: { time: false, range: d.bars ? [-0.6, d.x.length - 0.4] : [0, Math.max(1, d.x.length - 1)] }, y: { range: (_u, min, max) => uPlot.rangeNum(Math.min(0, min ?? 0), max ?? 1, 0.1, true) } },
    axes: [
      { stroke: muted, font, grid: { show: false }, ticks: { show: false }, gap: 6, splits: (u) => shownOf(d.x, u.bbox.width / devicePixelRatio), values: (_u, s) => s.map((i) => d.x[i] ?? ""), space: 44, size: 30 },
      { stroke: muted, font, grid: { stroke: line, width: 1 }, ticks: { show: false }, gap: 6, size: 56, values: (_u, s) => s.map((v) => short.format(v)) },
    ],
    series: [
      {},
      ...d.series.map((s, i): uPlot.Series => {
        const c = colourOf(box, colours[i % colours.length] ?? "--accent");
        return { label: s.name, stroke: c, width: d.bars ? 0 : 2, fill: d.bars ? c : undefined, paths: d.bars ? bars(i) : undefined, points: { show: false } };
      }),
    ],
  };
}

export default function Chart({ value }: { value: unknown }) {
  const data = useMemo(() => read(value), [value]);
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const [asTable, setTable] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element || !data || asTable) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      const o = optionsOf(data, element);
      o.hooks = { setCursor: [(u) => setAt(u.cursor.idx ?? null)] };
      plot = new uPlot(o, [data.x.map((_, i) => i), ...data.series.map((s) => s.values)], element);
    };
    draw();
    const resized = new ResizeObserver(() => plot && plot.width !== element.clientWidth && plot.setSize({ width: element.clientWidth, height: 240 }));
    resized.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [data, theme, asTable]);
  if (!data) return <Table value={value} />;
  const table = isObject(value) && Array.isArray(value.rows) ? value : {
    columns: [tr("Name"), ...data.series.map((s) => s.name)], rows: data.x.map((x, i) => [x, ...data.series.map((s) => s.values[i] ?? null)]),
  };
  return (
    <figure className="rounded-card border bg-raised p-4">
      <figcaption className="mb-2 flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
        <span className="me-auto font-semibold">{data.title}</span>
        {data.series.map((s, i) => (
          <span key={s.name} className="inline-flex items-center gap-1.5 text-xs text-muted">
            <span aria-hidden className="size-2.5 rounded-sm" style={{ background: `var(${colours[i % colours.length]})` }} />
            {s.name}
            <span className="num text-text">{at === null || s.values[at] == null ? "" : `${grouped(s.values[at])} ${data.unit}`}</span>
          </span>
        ))}
        <button type="button" onClick={() => setTable(!asTable)} className="rounded-sm px-1.5 text-xs text-accent underline underline-offset-2">
          {asTable ? tr("Chart") : tr("Table")}
        </button>
      </figcaption>
      {asTable ? <Table value={table} /> : (
        <div dir="ltr">
          {data.unit && <div aria-hidden className="truncate text-xs text-muted">{data.unit}</div>}
          <div ref={box} role="img" aria-label={tr("{title}: {series}. The button Table shows the numbers.", { title: `${data.title ?? tr("Chart")}${data.unit && ` (${data.unit})`}`, series: data.series.map((s) => s.name).join(", ") })} className="min-h-60 w-full overflow-hidden rounded-sm" />
        </div>
      )}
    </figure>
  );
}
