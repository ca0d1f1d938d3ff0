// JSON with exact numbers. JavaScript has only floating-point numbers, so JSON.parse changes
// 9007199254740993 to 9007199254740992. Here such a number becomes a text with a mark in front, and
// becomes a number again when it is sent. The SDK decodes JSON itself, so this is done to the text
// of responses and requests, in the function that fetches.

const mark = "\uE000";
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const numeric = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** exactText returns JSON in which the numbers that JavaScript would change are marked texts. */
export function exactText(json: string): string {
  if (!/\d{16}|\d[eE]|\d{8}\.\d{8}|\.\d{15}|\d+\.\d{8,}|\uE000/.test(json)) return json;
  return json.replace(tokens, (token) => {
    if (token.startsWith('"')) return token.startsWith(`"${mark}`) ? `"${mark}${token.slice(1)}` : token;
    return isExact(token) ? token : `"${mark}${token}"`;
  });
}

/** isExact reports whether a number of JSON is the same number in JavaScript. */
function isExact(token: string): boolean {
  const n = Number(token);
  return Number.isFinite(n) && canonical(token) === canonical(String(n));
}

// canonical writes a number as its digits and an exponent.
function canonical(token: string): string {
  const [mantissa = "", exponent = "0"] = token.toLowerCase().split("e");
  const negative = mantissa.startsWith("-");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const trimmed = digits.replace(/0+$/, "");
  if (trimmed === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - trimmed.length);
  return `${negative ? "-" : ""}${trimmed}e${power}`;
}

/** plainText returns JSON in which marked texts are numbers again. */
export function plainText(json: string): string {
  if (!json.includes(mark)) return json;
  return json.replace(tokens, (token) => {
    if (!token.startsWith(`"${mark}`)) return token;
    const inner = token.slice(2, -1);
    return numeric.test(inner) ? inner : `"${inner}`.concat('"');
  });
}

/** isNumber reports whether a value is a number, exact ones included. */
export function isNumber(v: unknown): v is number | string {
  return typeof v === "number" || (typeof v === "string" && v.startsWith(mark) && numeric.test(v.slice(1)));
}

/** numberText returns the digits of a number. */
export function numberText(v: number | string): string {
  return typeof v === "number" ? String(v) : v.slice(1);
}

/** parseNumber returns the value for digits that a person wrote, or undefined. */
export function parseNumber(text: string): number | string | undefined {
  const t = text.trim();
  if (!numeric.test(t)) return undefined;
  return isExact(t) ? Number(t) : mark + t;
}

/** text returns a text without the mark that a text of the server may have had. */
export function textOf(v: string): string {
  return v.startsWith(mark) ? v.slice(1) : v;
}

/** unmarked returns a value in which each exact number is a text of its digits, for code that knows no marks. */
export function unmarked(v: unknown): unknown {
  if (typeof v === "string") return textOf(v);
  if (Array.isArray(v)) return v.map(unmarked);
  if (v === null || typeof v !== "object") return v;
  return Object.fromEntries(Object.entries(v).map(([k, inner]) => [k, unmarked(inner)]));
}

/** stringify returns JSON for people: indented, with exact numbers. */
export function stringify(v: unknown, indent = 2): string {
  return plainText(JSON.stringify(v, null, indent) ?? "null");
}

/** parse reads JSON that a person wrote. It throws a SyntaxError. */
export function parse(json: string): unknown {
  return JSON.parse(exactText(json));
}

/** exactFetch fetches JSON and streams of JSON, with exact numbers in both directions. */
export const exactFetch: typeof fetch = async (input, init) => {
  const body = typeof init?.body === "string" ? plainText(init.body) : init?.body;
  // A thread may be deleted while the page is left.
  const response = await fetch(input, { ...init, body, keepalive: init?.method === "DELETE" });
  const type = response.headers.get("Content-Type") ?? "";
  if (!response.body || response.status === 204) return response;
  let through: ReadableStream;
  if (type.startsWith("text/event-stream")) through = lineByLine(response.body);
  else if (type.startsWith("application/json")) through = new Blob([exactText(await response.text())]).stream();
  else return response;
  return new Response(through, { status: response.status, statusText: response.statusText, headers: response.headers });
};

// lineByLine converts the lines of an event stream that have data.
function lineByLine(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let rest = "";
  const convert = (line: string) => (line.startsWith("data:") ? exactText(line) : line);
  return body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(
      new TransformStream<string, string>({
        transform(chunk, out) {
          const lines = (rest + chunk).split("\n");
          rest = lines.pop() ?? "";
          if (lines.length > 0) out.enqueue(lines.map(convert).join("\n") + "\n");
        },
        flush(out) {
          if (rest) out.enqueue(convert(rest));
        },
      }),
    )
    .pipeThrough(new TextEncoderStream());
}
