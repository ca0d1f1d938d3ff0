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

/**
 * within returns a text for the middle of a sentence: in English it begins with a small letter. The words of
 * other languages stay as they are.
 */
export function within(text: string): string {
  const english = !config.texts && /^en\b/i.test(config.language ?? "en");
  return english ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
