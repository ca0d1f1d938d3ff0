/** Document is a text of the application, of which answers cite lines. */
export type Document = { name: string; url: string };

/** Lines are lines of a document, from 1; both ends are included. */
export type Lines = { from: number; to: number };

const code = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)/;
const citation = /(?<![\w\]])\[(\d{1,7}(?:[-–]\d{1,7})?(?:[,;] ?\d{1,7}(?:[-–]\d{1,7})?)*)\](?![([:])/g;

/** citedLines returns the lines that a text cites, as [12] or [12-14], in its order. */
export function citedLines(text: string): Lines[] {
  const list: Lines[] = [];
  outside(text, (all) => {
    for (const part of all.split(/[,;] ?/)) {
      const lines = linesOf(part);
      if (lines) list.push(lines);
    }
    return "";
  });
  return list;
}

/** withLinks makes links to #lines-12-14 of the lines that a text cites. */
export function withLinks(text: string): string {
  return outside(text, (all) => all.split(/[,;] ?/).map((part) => {
    const lines = linesOf(part);
    return lines ? `[${part}](#lines-${lines.from}-${lines.to})` : `\\[${part}\\]`;
  }).join(" "));
}

// outside replaces what is within the brackets of citations. Code has none.
function outside(text: string, replace: (all: string) => string): string {
  return text.split(code).map((part, i) => (i % 2 ? part : part.replace(citation, (_, all: string) => replace(all)))).join("");
}

/** linesOf reads "12" or "12-14". */
export function linesOf(text: string): Lines | undefined {
  const [from = 0, to = from] = text.split(/[-–]/).map(Number);
  return from >= 1 && to >= from ? { from, to } : undefined;
}
