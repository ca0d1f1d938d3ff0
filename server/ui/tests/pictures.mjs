// Takes the pictures of the documents: docs/images/chat-*.png.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { begin, Chat } from "./harness.mjs";
import { states } from "./states.mjs";

const folder = resolve(fileURLToPath(import.meta.url), "../../../../docs/images");
const wide = { width: 1280, height: 800 };
const phone = { width: 390, height: 844, hasTouch: true };

const pictures = {
  "chat-empty": { ...wide, state: "empty" },
  "chat-products": { ...wide, state: "products" },
  "chat-products-dark": { ...wide, dark: true, state: "products" },
  "chat-chart": { ...wide, dark: true, state: "chart" },
  "chat-approval": { ...wide, state: "approval" },
  "chat-streaming": { ...wide, dark: true, state: "streaming" },
  "chat-code": { ...wide, dark: true, state: "code" },
  "chat-day": { ...wide, state: "day" },
  "chat-sources": { ...wide, state: "links" },
  "chat-table": { ...wide, state: "table" },
  "chat-phone": { ...phone, state: "products" },
  "chat-phone-approval": { ...phone, dark: true, state: "approval" },
};

// Conversations of other days make the sidebar look as it does in use.
async function fill(at) {
  for (const title of ["Delivery dates for order 2026-0398", "Terms for offices", "Oil or lacquer for a bar?"])
    await fetch(`${at.origin}/threads`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ metadata: { graph_id: "shop", page: "chat", title } }) });
}

const only = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
for (const [name, { state, ...options }] of Object.entries(pictures)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const at = await begin();
  try {
    await fill(at);
    const chat = await Chat.open(at, { ...options, deviceScaleFactor: 2 });
    await states[state](chat);
    if (state === "streaming") await chat.page.getByText("lacquered").waitFor();
    await chat.page.mouse.move(0, 0);
    await chat.page.waitForTimeout(400);
    const path = `${folder}/${name}.png`;
    await chat.page.screenshot({ path });
    execFileSync("pngquant", ["--force", "--strip", "--quality=60-95", "--output", path, path]);
    await chat.close();
    console.log(path);
  } finally {
    await at.end();
  }
}
