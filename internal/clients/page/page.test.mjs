// The hooks for React, in a page that Vite builds and Chromium shows.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client } from "langgraph-sdk-1";
import { chromium } from "playwright-core";
import { build } from "vite";

const api = process.env.BASE_URL;
const client = new Client({ apiUrl: api });
const types = { ".html": "text/html", ".js": "text/javascript" };
let browser, web, origin;

before(async () => {
  await build({ logLevel: "error", build: { outDir: "dist", chunkSizeWarningLimit: 4000, rollupOptions: { input: ["index.html", "chat.html", "threads.html"] } } });
  web = createServer(async (request, response) => {
    const path = new URL(request.url, "http://page").pathname;
    const file = join("dist", path === "/" ? "index.html" : path);
    try {
      const data = await readFile(file);
      response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" }).end(data);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => web.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${web.address().port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});

after(async () => {
  await browser?.close();
  web?.closeAllConnections();
  web?.close();
});

/** Opens a page in a browser of its own. Errors of the page fail the test. */
async function openPage(t, path, params) {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error" && !message.text().includes("404")) errors.push(message.text()); });
  t.after(async () => {
    await context.close();
    assert.deepEqual(errors, []);
  });
  await page.goto(`${origin}/${path}?${new URLSearchParams({ api, ...params })}`);
  return page;
}

const open = (t, hook, graph) => openPage(t, "", { hook, graph });

async function send(page, text) {
  await page.fill("#input", text);
  await page.press("#input", "Enter");
}

const messages = (page) => page.$$eval("li .text", (list) => list.map((e) => e.textContent));
const thread = (page) => new URL(page.url()).searchParams.get("thread");

/** Waits until the page shows these messages and no run. */
async function shows(page, want) {
  await page.waitForFunction((texts) => document.querySelector("#status").textContent === "ready"
    && JSON.stringify([...document.querySelectorAll("li .text")].map((e) => e.textContent)) === texts, JSON.stringify(want))
    .catch(async () => assert.deepEqual(await messages(page), want, await page.textContent("body")));
}

/** Records each text that the last message has. */
const record = (page) => page.evaluate(() => {
  window.texts = [];
  new MutationObserver(() => {
    const text = [...document.querySelectorAll("li.ai .text")].at(-1)?.textContent;
    if (text && text !== window.texts.at(-1)) window.texts.push(text);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
});

const reply = (text) => `You said ${text}. 1 2 3 4 5 6 7 8 9 10`;

for (const [hook, name] of [
  ["react", "useStream of @langchain/react 1.1.0"],
  ["sdk1", "useStream of @langchain/langgraph-sdk 1.15.0"],
  ["sdk2", "useStream of @langchain/langgraph-sdk 2.0.0"],
]) {
  describe(name, () => {
    test("streams the tokens of a conversation", async (t) => {
      const page = await open(t, hook, "talk");
      await record(page);
      await send(page, "one");
      await shows(page, ["one", reply("one")]);
      const texts = await page.evaluate(() => window.texts);
      assert.ok(texts.length > 4, `the reply came in ${texts.length} pieces`);
      for (const text of texts) assert.ok(reply("one").startsWith(text), text);
      await send(page, "two");
      await shows(page, ["one", reply("one"), "two", reply("two")]);
    });

    test("shows the call of a tool and its result", async (t) => {
      const page = await open(t, hook, "tools");
      await send(page, "add 2 3");
      await shows(page, ["add 2 3", "", "5", "The sum is 5."]);
    });

    test("shows a question and sends the answer", async (t) => {
      const page = await open(t, hook, "approve");
      await send(page, "r");
      await page.waitForSelector("#question");
      assert.equal(await page.textContent("#question p"), "approve r?");
      await page.click("#question button:text('yes')");
      await page.waitForFunction(() => document.querySelector("#result").textContent === "r: yes");
      await page.waitForSelector("#question", { state: "detached" });
    });

    test("shows a question again after a reload", async (t) => {
      const page = await open(t, hook, "approve");
      await send(page, "r");
      await page.waitForSelector("#question");
      await page.reload();
      await page.waitForSelector("#question");
      await page.click("#question button:text('no')");
      await page.waitForFunction(() => document.querySelector("#result").textContent === "r: no");
    });

    test("edits a message in a branch", async (t) => {
      const page = await open(t, hook, "talk");
      await send(page, "one");
      await shows(page, ["one", reply("one")]);
      await send(page, "two");
      await shows(page, ["one", reply("one"), "two", reply("two")]);
      const edit = page.locator("li.human .edit").nth(1);
      await edit.fill("three");
      await edit.press("Enter");
      await shows(page, ["one", reply("one"), "three", reply("three")]);
      if (hook !== "react") {
        await page.click(".branches button:text('branch 1')");
        await shows(page, ["one", reply("one"), "two", reply("two")]);
      }
      const state = await client.threads.getState(thread(page));
      assert.equal(state.values.messages.at(-1).content, reply("three"));
    });

    test("edits the first message in a branch", async (t) => {
      const page = await open(t, hook, "talk");
      await send(page, "one");
      await shows(page, ["one", reply("one")]);
      await send(page, "two");
      await shows(page, ["one", reply("one"), "two", reply("two")]);
      const edit = page.locator("li.human .edit").first();
      await edit.fill("three");
      await edit.press("Enter");
      if (hook === "react") {
        // @langchain/react keeps the messages after the edited one until it reads the thread anew: the guide says so.
        await page.waitForFunction((text) => document.body.textContent.includes(text) && document.querySelector("#status").textContent === "ready", reply("three"));
      } else await shows(page, ["three", reply("three")]);
      await page.reload();
      await shows(page, ["three", reply("three")]);
    });

    test("joins its run again after a reload in the middle", async (t) => {
      const page = await open(t, hook, "talk");
      await send(page, "slowly");
      await page.waitForFunction(() => [...document.querySelectorAll("li.ai .text")].at(-1)?.textContent.includes(" 2"));
      await page.reload();
      await page.waitForSelector("#status");
      assert.equal((await client.threads.get(thread(page))).status, "busy", "the run goes on");
      await record(page);
      await shows(page, ["slowly", reply("slowly")]);
      const texts = await page.evaluate(() => window.texts);
      assert.ok(texts.length > 1, `the rest came in ${texts.length} pieces`);
      assert.deepEqual((await client.runs.list(thread(page))).map((r) => r.status), ["success"]);
    });
  });
}

describe("the page of the guide", () => {
  const said = (page) => page.$$eval("li", (list) => list.map((e) => e.textContent));

  test("streams the tokens of a conversation, and shows it again after a reload", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "talk" });
    await page.getByLabel("Message").fill("one");
    await page.getByText("Send").click();
    await page.waitForFunction((text) => [...document.querySelectorAll("li")].at(-1)?.textContent === text, reply("one"));
    await page.getByText("Stop").waitFor({ state: "detached" });
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll("li").length === 2);
    assert.deepEqual(await said(page), ["one", reply("one")]);
  });

  test("lists its threads by their titles, and opens them", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "talk" });
    const list = page.getByRole("navigation");
    const title = `a title ${crypto.randomUUID()}`;
    await page.getByLabel("Message").fill(title);
    await page.getByText("Send").click();
    await list.getByRole("link", { name: title }).waitFor();
    await page.waitForFunction((text) => [...document.querySelectorAll("li")].at(-1)?.textContent === text, reply(title));
    await page.getByText("Stop").waitFor({ state: "detached" });
    const id = thread(page);
    await list.getByRole("link", { name: "New" }).click();
    await page.waitForURL((url) => !url.searchParams.has("thread"));
    const next = `the next ${crypto.randomUUID()}`;
    await page.getByLabel("Message").fill(next);
    await page.getByText("Send").click();
    await list.getByRole("link", { name: next }).waitFor();
    assert.notEqual(thread(page), id);
    await list.getByRole("link", { name: title }).click();
    await page.waitForFunction(() => document.querySelectorAll("li").length === 2);
    assert.equal(thread(page), id);
    assert.deepEqual(await said(page), [title, reply(title)]);
    await list.getByRole("link", { name: title }).and(page.locator("[aria-current=true]")).waitFor();
    assert.deepEqual((await client.threads.get(id)).metadata.title, title, "it keeps its title");
  });

  test("stops a run", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "talk" });
    await page.getByLabel("Message").fill("slowly");
    await page.getByText("Send").click();
    await page.waitForFunction(() => [...document.querySelectorAll("li")].at(-1)?.textContent.includes(" 2"));
    await page.getByText("Stop").click();
    await page.getByText("Stop").waitFor({ state: "detached" });
    for (let status = "running"; status !== "interrupted"; [{ status }] = await client.runs.list(thread(page))) assert.notEqual(status, "success");
  });

  test("stops a run that it joined after a reload", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "talk" });
    await page.getByLabel("Message").fill("slowly");
    await page.getByText("Send").click();
    await page.waitForFunction(() => [...document.querySelectorAll("li")].at(-1)?.textContent.includes(" 2"));
    await page.reload();
    await page.getByText("Stop").click();
    await page.getByText("Stop").waitFor({ state: "detached" });
    const [{ run_id: run }] = await client.runs.list(thread(page));
    await client.runs.join(thread(page), run);
    assert.deepEqual((await client.runs.list(thread(page))).map((r) => r.status), ["interrupted"]);
  });

  test("says that it could not stop a run", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "talk" });
    await page.route("**/runs/cancel*", (route) => route.fulfill({ status: 404, headers: { "access-control-allow-origin": "*" }, body: "{}" }));
    await page.getByLabel("Message").fill("one");
    await page.getByText("Send").click();
    await page.getByText("Stop").click();
    await page.getByRole("alert").waitFor();
  });

  test("asks and sends the answer", async (t) => {
    const { thread_id: id } = await client.threads.create();
    await client.runs.wait(id, "approve", { input: { request: "r" } });
    const page = await openPage(t, "chat.html", { graph: "approve", thread: id });
    await page.getByText("approve r?").waitFor();
    await page.getByLabel("Message").fill("and this?");
    assert.ok(await page.getByText("Send").isDisabled(), "a message is no answer");
    await page.getByText("yes").click();
    await page.getByText("yes").waitFor({ state: "detached" });
    for (let values; values?.result !== "r: yes";) ({ values } = await client.threads.getState(id));
  });

  for (const [name, fill, result] of [
    ["approves a call of a tool", async (page) => page.getByText("Approve").click(), "deleted 2026-0412"],
    ["edits a call of a tool", async (page) => {
      const edited = page.getByLabel("Arguments");
      const text = await edited.inputValue();
      await edited.fill("{");
      assert.ok(await page.getByText("Run with these arguments").isDisabled(), "it is no JSON");
      await edited.fill(text.replace("2026-0412", "7"));
      await page.getByText("Run with these arguments").click();
    }, "deleted 7"],
    ["gets the reason why an edit does not fit", async (page) => {
      const edited = page.getByLabel("Arguments");
      const text = await edited.inputValue();
      await edited.fill('{"order": 7}');
      await page.getByText("Run with these arguments").click();
      await page.getByText("The last answer did not fit").waitFor();
      await edited.fill(text);
      await page.getByText("Run with these arguments").click();
    }, "deleted 2026-0412"],
  ]) {
    test(name, async (t) => {
      const page = await openPage(t, "chat.html", { graph: "shop", api: process.env.PAGES_URL });
      await page.getByLabel("Message").fill("delete");
      await page.getByText("Send").click();
      await page.getByText("May delete_order run").waitFor();
      await fill(page);
      await page.locator("li.tool").filter({ hasText: result }).waitFor();
      await page.getByText("May delete_order run").waitFor({ state: "detached" });
    });
  }

  test("answers each of two questions by its id", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "orders" });
    await page.getByLabel("Message").fill("both");
    await page.getByText("Send").click();
    await page.getByText("keep A").waitFor();
    await page.getByText("delete B").click();
    await page.getByText("delete B").waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("keep A").click();
    await page.getByText("keep A, delete B").waitFor();
    assert.deepEqual(await said(page), ["both", "keep A, delete B"]);
  });

  for (const [name, text, end] of [
    ["stops the next run", "slowly", async (page) => {
      await page.waitForFunction(() => [...document.querySelectorAll("li")].at(-1)?.textContent.includes(" 2"));
      assert.equal(await page.getByText("May I reply?").count(), 0);
      await page.getByText("Stop").click();
    }],
    ["shows the error of the next run", "break", (page) => page.getByRole("alert").waitFor()],
  ]) {
    test(`${name} after an answer and a reload, without the answered question`, async (t) => {
      const page = await openPage(t, "chat.html", { graph: "talk" });
      await page.getByLabel("Message").fill("ask");
      await page.getByText("Send").click();
      await page.getByText("yes").click();
      await page.waitForFunction((text) => [...document.querySelectorAll("li")].at(-1)?.textContent === text, reply("ask"));
      await page.getByText("Stop").waitFor({ state: "detached" });
      await page.reload();
      await page.waitForFunction(() => document.querySelectorAll("li").length === 2);
      await page.getByLabel("Message").fill(text);
      await page.getByText("Send").click();
      await end(page);
      await page.getByText("Stop").waitFor({ state: "detached" });
      assert.equal(await page.getByText("May I reply?").count(), 0);
      await page.getByLabel("Message").fill("one");
      await page.getByText("Send").click();
      await page.waitForFunction((text) => [...document.querySelectorAll("li")].at(-1)?.textContent === text, reply("one"));
    });
  }

  for (const [name, text, cut] of [
    ["that failed", "break", (page) => page.getByRole("alert").waitFor()],
    ["that was stopped", "slowly", (page) => page.getByText("Stop").click()],
  ]) {
    test(`does not show the half reply of a run ${name}, nor does it after a reload`, async (t) => {
      const page = await openPage(t, "chat.html", { graph: "talk" });
      const shows = async (want) => {
        await page.waitForFunction((all) => JSON.stringify([...document.querySelectorAll("li")].map((e) => e.textContent)) === all, JSON.stringify(want)).catch(async () => assert.deepEqual(await said(page), want));
        await page.getByText("Stop").waitFor({ state: "detached" });
      };
      const send = async (text) => {
        await page.getByLabel("Message").fill(text);
        await page.getByText("Send").click();
      };
      await send(text);
      await page.waitForFunction(() => [...document.querySelectorAll("li")].at(-1)?.textContent.includes(" 2"));
      await cut(page);
      await shows([text]);
      await page.reload();
      await shows([text]);
      if (text === "break") await page.getByRole("alert").filter({ hasText: "the model is overloaded" }).waitFor();
      await send("one");
      await shows([text, "one", reply("one")]);
      await page.reload();
      await shows([text, "one", reply("one")]);
    });
  }

  test("shows the call of a tool and no empty item", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "tools" });
    await page.getByLabel("Message").fill("add 2 3");
    await page.getByText("Send").click();
    await page.getByText("The sum is 5.").waitFor();
    assert.deepEqual(await said(page), ["add 2 3", "add: 5", "The sum is 5."]);
  });

  test("sends headers of its user", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "talk", token: "ada" });
    const command = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/commands"));
    await page.getByRole("button").click();
    assert.equal((await command).headers().authorization, "Bearer ada");
    await page.getByText(`one|${reply("one")}`).waitFor();
  });

  test("shows the error of a run", async (t) => {
    const page = await openPage(t, "chat.html", { graph: "nothing" });
    await page.getByLabel("Message").fill("one");
    await page.getByText("Send").click();
    await page.getByRole("alert").waitFor();
  });
});

describe("the page with threads", () => {
  const texts = (page) => page.$$eval("main li p", (list) => list.map((e) => e.textContent));
  const says = (page, want) => page.waitForFunction((all) => JSON.stringify([...document.querySelectorAll("main li p")].map((e) => e.textContent)) === all, JSON.stringify(want)).catch(async () => assert.deepEqual(await texts(page), want));
  const say = async (page, text) => {
    await page.getByLabel("Message").fill(text);
    await page.getByRole("button", { name: "Send" }).click();
  };
  const idle = (page) => page.locator("main li.ai").last().getByRole("button", { name: "Answer again", disabled: false }).waitFor();

  test("edits, answers again, and shows each version", async (t) => {
    const page = await openPage(t, "threads.html", { graph: "talk" });
    const title = `one ${crypto.randomUUID()}`;
    await say(page, title);
    await says(page, [title, reply(title)]);
    await idle(page);
    await page.getByRole("button", { name: "Answer again" }).click();
    // Both answers have the text and the id of this graph's model: only the history tells them apart.
    for (let tries = 0, answers = 1; answers < 2; tries++) {
      assert.ok(tries < 100, "there is no other answer");
      const [{ thread_id: id }] = await client.threads.search({ metadata: { title } });
      answers = (await client.threads.getHistory(id, { limit: 100 })).filter((state) => state.next.length === 0).length;
      await page.waitForTimeout(50);
    }
    await idle(page);
    await say(page, "two");
    await says(page, [title, reply(title), "two", reply("two")]);
    await idle(page);
    const first = page.locator("main li").first();
    await first.getByRole("button", { name: "Edit" }).click();
    await first.getByLabel("New text").fill("three");
    await first.getByLabel("New text").press("Enter");
    await says(page, ["three", reply("three")]);
    await idle(page);
    await first.getByText("2/2").waitFor();
    await first.getByRole("button", { name: "Earlier" }).click();
    await says(page, [title, reply(title), "two", reply("two")]);
    await first.getByRole("button", { name: "Later" }).click();
    await says(page, ["three", reply("three")]);
  });

  test("shows a message to an earlier version, also after a reload", async (t) => {
    const page = await openPage(t, "threads.html", { graph: "talk" });
    const title = `one ${crypto.randomUUID()}`;
    await say(page, title);
    await says(page, [title, reply(title)]);
    await idle(page);
    const first = page.locator("main li").first();
    await first.getByRole("button", { name: "Edit" }).click();
    await first.getByLabel("New text").fill("two");
    await first.getByLabel("New text").press("Enter");
    await says(page, ["two", reply("two")]);
    await idle(page);
    await first.getByRole("button", { name: "Earlier" }).click();
    await says(page, [title, reply(title)]);
    const want = [title, reply(title), "three", reply("three")];
    await say(page, "three");
    await says(page, want);
    await idle(page);
    await says(page, want);
    await page.reload();
    await page.getByRole("navigation").getByRole("button", { name: title }).click();
    await says(page, want);
    await first.getByText("1/2").waitFor();
    await say(page, "four");
    await says(page, [...want, "four", reply("four")]);
    await idle(page);
    await says(page, [...want, "four", reply("four")]);
  });

  test("lists threads by their titles, opens and deletes them", async (t) => {
    const page = await openPage(t, "threads.html", { graph: "talk" });
    const list = page.getByRole("navigation");
    const title = `a title ${crypto.randomUUID()}`;
    await say(page, title);
    await says(page, [title, reply(title)]);
    await list.getByRole("button", { name: title }).waitFor();
    await list.getByRole("button", { name: "New" }).click();
    await says(page, []);
    await list.getByRole("button", { name: title }).click();
    await says(page, [title, reply(title)]);
    await list.getByRole("listitem").filter({ hasText: title }).getByRole("button", { name: "Delete" }).click();
    await list.getByRole("button", { name: title }).waitFor({ state: "detached" });
    await says(page, []);
    assert.deepEqual((await client.threads.search({ metadata: { title } })).length, 0);
  });
});
