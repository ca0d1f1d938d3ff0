// The chat page in another language: the application may replace the texts of the page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { begin, Chat } from "./harness.mjs";
import { states } from "./states.mjs";

let at;
before(async () => (at = await begin()));
after(() => at.end());

const english = Object.keys(JSON.parse(readFileSync(new URL("../texts.json", import.meta.url), "utf8")));
// Each text keeps its words, by which the states find their buttons, and has a mark that no other text has.
const mark = "\u200b";
const texts = Object.fromEntries(english.map((text) => [text, text + mark]));

// What the example itself says on controls: its first messages, the columns of its table, and why it refuses a file.
const own = [
  "Which oak chairs fit a budget of 250 €?", "How did sales develop this year?", "Send the quote to Meyer & Sons", "What is on my calendar on Tuesday?",
  "Article", "Name", "Pieces", "Price", "In stock",
  'This is not a CSV file: parse error on line 2, column 6: extraneous or missing " in quoted-field.',
];

const named = ["empty", "files", "links", "chart", "day", "diff", "confirm", "approval", "edit", "questions", "form", "rejected", "toolFailed", "stopped", "failed", "branches", "editing", "thoughts", "sidebar", "rename", "tasks", "table", "missing"];

async function open(language = "de") {
  const context = await at.browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-GB" });
  const page = await context.newPage();
  await page.route("**/chat/", async (route) => {
    const answer = await route.fetch();
    const html = (await answer.text()).replace(/(id="config">)(.*?)(<\/script>)/, (_, a, config, b) => a + JSON.stringify({ ...JSON.parse(config), language, texts }).replaceAll("<", "\\u003c") + b).replace('<html lang="en">', `<html lang="${language}" dir="${language === "ar" ? "rtl" : "ltr"}">`);
    await route.fulfill({ response: answer, body: html });
  });
  const chat = new Chat(page, at.origin);
  await page.goto(`${at.origin}/chat/`);
  await page.locator("form textarea").waitFor();
  return chat;
}

// unmarked returns the names and texts of the controls that have no mark.
const unmarked = (page) => page.evaluate((mark) => {
  const found = new Set();
  const take = (text) => text?.trim() && !text.includes(mark) && found.add(text.trim());
  for (const e of document.querySelectorAll("[aria-label]")) take(e.getAttribute("aria-label"));
  for (const e of document.querySelectorAll("[placeholder]")) take(e.getAttribute("placeholder"));
  for (const e of document.querySelectorAll("button, [role=menuitem], [role=status], [role=alert], dialog h2, dialog label, nav h2, nav p, article > h2")) if (!e.querySelector("article, button")) take(e.textContent);
  return [...found];
}, mark);

test("the page is written from right to left in such a language, and axe finds nothing", { timeout: 60_000 }, async () => {
  const chat = await open("ar");
  await states.approval(chat);
  assert.deepEqual(await chat.page.evaluate(() => [document.documentElement.lang, getComputedStyle(document.documentElement).direction]), ["ar", "rtl"]);
  const [sidebar, field] = [await chat.page.getByRole("navigation").first().boundingBox(), await chat.field.boundingBox()];
  assert.ok(sidebar.x > field.x, "the sidebar is not at the right");
  assert.deepEqual(await chat.axe(), []);
  await chat.close();
});

test("a file that is dragged over the field is taken, whatever the words are", { timeout: 60_000 }, async () => {
  const chat = await open();
  const taken = await chat.page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["x"], "x.txt"));
    return !document.querySelector("form:has(textarea)").dispatchEvent(new DragEvent("dragover", { dataTransfer, bubbles: true, cancelable: true }));
  });
  assert.ok(taken, "the browser would open the file in the place of the page");
  await chat.close();
});

test("the texts of the states named above have words of the application", { timeout: 240_000 }, async () => {
  for (const name of named) {
    const chat = await open();
    await states[name](chat);
    const plain = (await unmarked(chat.page)).filter((text) => !own.includes(text));
    assert.deepEqual(plain, [], `texts of the state ${name} that an application cannot replace`);
    assert.equal(await chat.page.evaluate(() => document.documentElement.scrollWidth), 1440);
    await chat.close();
  }
});
