// The programs of the documents. Only the address of the server is another one.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { describe, test } from "node:test";
import { promisify } from "node:util";

const { SERVING_URL: serving, PAGES_URL: pages } = process.env;

/** Runs a program against a server, and returns what it prints. */
async function run(file, server, ...args) {
  const text = await readFile(file, "utf8");
  const changed = text.replaceAll("http://127.0.0.1:8123", server);
  assert.notEqual(changed, text, `${file} names the server`);
  await writeFile(`run-${file}`, changed);
  const { stdout } = await promisify(execFile)(process.execPath, [`run-${file}`, ...args], { timeout: 30_000 });
  return stdout;
}

/** Sends JSON, and returns the answer. */
async function post(url, body) {
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.ok(response.ok, `${url}: ${response.status}`);
  return response.json();
}

/** Runs a function while fetch takes the paths of a server, as in a page of this server. */
async function inPage(server, f) {
  const { fetch } = globalThis;
  globalThis.fetch = (path, options) => fetch(new URL(path, server), options);
  try {
    await f();
  } finally {
    globalThis.fetch = fetch;
  }
}

describe("the programs of the documents", () => {
  test("docs/serving.md: the SDK streams the pieces of the answer", async () => {
    const out = await run("sdk.mjs", serving);
    assert.match(out, /^messages \[$/m);
    for (const word of ["This is message 1 of the thread", "morning ", "good "]) assert.ok(out.includes(`content: '${word}`), out);
  });

  test("docs/protocols.md: the SDK of OpenAI", async () => {
    assert.equal(await run("openai.mjs", serving), "This is message 1 of the thread. Its 1 words, for you, in reverse: hello \n");
  });

  test("docs/protocols.md: AG-UI asks for an approval", async () => {
    const out = await run("ag-ui.mjs", serving);
    const asked = /^\/\/ (Send a message\n)\/\/ (send: .*\n)\/\/ (arguments: .*\n)/m.exec(await readFile("ag-ui.mjs", "utf8"));
    assert.equal(out, `${asked.slice(1).join("")}The message of you is sent: hello\n`);
  });

  test("docs/howto/answer-from-a-browser.md: plain fetch answers a question", async () => {
    const { thread_id: thread } = await post(`${pages}/threads`, {});
    const input = { messages: [{ role: "user", content: "Book the delivery" }] };
    const asked = await post(`${pages}/threads/${thread}/runs/wait`, { assistant_id: "shop", input });
    assert.equal(asked.__interrupt__.length, 1);
    assert.equal(await run("answer.mjs", pages, thread), "Booked. The carrier calls half an hour before.\n");
  });

  test("docs/howto/frames.md: refs of Vue take the frames", () => inPage(serving, async () => {
    const { messages, questions, send } = await import("./vue.mjs");
    const { thread_id: thread } = await post("/threads", {});
    await send(thread, "send hello");
    assert.deepEqual(messages.value.map((m) => m.type), ["human", "ai"]);
    assert.deepEqual(questions.value.map((q) => q.value.arguments), [{ text: "hello" }]);
    await send(thread, "one two");
    assert.match(messages.value.at(-1).content, /in reverse: two one $/);
    assert.deepEqual(questions.value, []);
  }));

  test("docs/howto/stream-to-a-browser.md: the page shows the pieces of the answer", async (t) => {
    let lines = [{ kind: "text", text: "good " }, { kind: "text", text: "morning" }, { kind: "end", text: "" }];
    const asked = [];
    const web = createServer(async (request, response) => {
      asked.push([request.url, request.headers.authorization, JSON.parse(Buffer.concat(await request.toArray()))]);
      if (request.headers.authorization !== "Bearer token-of-ann") response.writeHead(401);
      response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    });
    await new Promise((listens) => web.listen(0, "127.0.0.1", listens));
    t.after(() => web.close());
    await inPage(`http://127.0.0.1:${web.address().port}`, async () => {
      const { ask } = await import("./ask.mjs");
      const shown = [];
      await ask("token-of-ann", "a/b", "hi", (text) => shown.push(text));
      assert.deepEqual(shown, ["good ", "morning"]);
      assert.deepEqual(asked, [["/chat/a%2Fb", "Bearer token-of-ann", { text: "hi" }]]);
      await assert.rejects(ask("guess", "1", "hi", assert.fail));
      lines = [{ kind: "error", text: "the run failed" }];
      await assert.rejects(ask("token-of-ann", "1", "hi", assert.fail), /the run failed/);
      lines = [];
      await assert.rejects(ask("token-of-ann", "1", "hi", assert.fail), /the connection broke/);
    });
  });
});
