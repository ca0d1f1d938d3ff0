import { useEffect, useState } from "react";
import { locale, tr } from "../texts";

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
const units: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86400], ["hour", 3600], ["minute", 60]];

function ago(date: Date): string {
  const seconds = (date.getTime() - Date.now()) / 1000;
  for (const [unit, size] of units) if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  return tr("now");
}

/** Time shows how long ago a time was, and the exact time on hover. */
export function Time({ at }: { at: string | number | Date }) {
  const date = new Date(at);
  const [, tick] = useState(0);
  useEffect(() => {
    const t = setInterval(() => tick((n) => n + 1), 30_000);
    return () => clearInterval(t);
  }, []);
  return <time dateTime={date.toISOString()} title={exact.format(date)} className="num">{ago(date)}</time>;
}

/** duration writes a number of milliseconds for people. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** dayOf returns the name of the day of a time: Today, Yesterday, or the date. */
export function dayOf(at: string | Date): string {
  const day = (d: Date) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
  const days = Math.round((day(new Date()) - day(new Date(at))) / 86_400_000);
  if (days <= 0) return tr("Today");
  if (days === 1) return tr("Yesterday");
  if (days < 7) return tr("Last 7 days");
  if (days < 30) return tr("Last 30 days");
  return new Intl.DateTimeFormat(locale, { month: "long", year: "numeric" }).format(new Date(at));
}
