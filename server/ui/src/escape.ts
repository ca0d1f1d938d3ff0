// What package display of Go escapes, too: characters that cannot be seen, and those that change how others are seen.
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u17b4\u17b5]/gu;

/** escaped returns the text of somebody else with each invisible character as its escape sequence, such as \\u202e. */
export function escaped(text: string): string {
  return text.replace(hidden, (c) => {
    const n = c.codePointAt(0) ?? 0;
    return c === "\t" || c === "\n" ? c : n > 0xffff ? `\\U${n.toString(16).padStart(8, "0")}` : `\\u${n.toString(16).padStart(4, "0")}`;
  });
}
