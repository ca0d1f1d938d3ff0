import type english from "../texts.json";
import { config } from "./config";

/** Text is a text of the page: its own words, and not those of a person or of the assistant. */
export type Text = keyof typeof english;

/** locale is the language of the page, by which numbers and days are written. Undefined means that of the browser. */
export const locale = config.language;

/** tr returns a text in the words of the application, or else in English. The values replace the names in braces. */
export function tr(text: Text, values: Record<string, string | number> = {}): string {
  return (config.texts?.[text] ?? text).replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
