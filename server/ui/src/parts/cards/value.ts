import { isNumber, numberText } from "../../exact";
import { locale } from "../../texts";

export type Obj = Record<string, unknown>;

export function isObject(v: unknown): v is Obj {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

/** text returns a field as a text, or undefined. */
export function text(v: unknown): string | undefined {
  if (isNumber(v)) return numberText(v);
  return typeof v === "string" && v !== "" ? v : undefined;
}

/** listOf returns the objects of a list, of a list in the field, or the value itself. */
export function listOf(v: unknown, field: string): Obj[] {
  const list = Array.isArray(v) ? v : isObject(v) && Array.isArray(v[field]) ? (v[field] as unknown[]) : [v];
  return list.filter(isObject);
}

/** money writes an amount in the currency, by the locale. With short, whole amounts have no cents. */
export function money(v: number | string, currency: string, short = false): string {
  // Intl takes a text of digits exactly.
  const amount = (typeof v === "number" ? v : numberText(v)) as number;
  try {
    const whole = short && typeof v === "number" && Number.isInteger(v);
    return new Intl.NumberFormat(locale, { style: "currency", currency, minimumFractionDigits: whole ? 0 : undefined }).format(amount);
  } catch {
    return `${amount} ${currency}`;
  }
}

/** grouped writes a number with separators, by the locale. */
export function grouped(v: number | string): string {
  return new Intl.NumberFormat(locale, { maximumFractionDigits: 20 }).format((typeof v === "number" ? v : numberText(v)) as number);
}

/** safeLink returns an address that a person may open, or undefined. */
export function safeLink(v: unknown): string | undefined {
  const address = text(v);
  if (!address) return undefined;
  try {
    return /^(https?|mailto|blob):$/.test(new URL(address, location.href).protocol) ? address : undefined;
  } catch {
    return undefined;
  }
}
