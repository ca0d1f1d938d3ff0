// The programs of the documents. Only the address of the server is another one.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { describe, test } from "node:test";
import { promisify } from "node:util";

const { SERVING_URL: serving, PAGES_URL: pages, SPARE_URL: spare } = process.env;

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

  test("docs/serving.md: curl waits for the values, and reads a stream", async () => {
    const text = (await readFile("curl.sh", "utf8")).replaceAll("127.0.0.1:8123", new URL(serving).host);
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", text], { timeout: 30_000 });
    const answer = "This is message 1 of the thread. Its 2 words, for you, in reverse: morning good ";
    const [values, ...frames] = stdout.split("event: ");
    assert.equal(JSON.parse(values).messages.at(-1).content, answer);
    for (const kind of ["metadata", "values", "messages"]) assert.ok(frames.some((f) => f.startsWith(kind)), stdout);
    assert.ok(frames.at(-1).includes(answer), stdout);
  });

  test("docs/operating.md: the script forgets the data of a user", async () => {
    const message = { messages: [{ role: "user", content: "hi" }] };
    const { thread_id: thread } = await post(`${spare}/threads`, {});
    await post(`${spare}/threads/${thread}/runs/wait`, { assistant_id: "echo", input: message });
    await post(`${spare}/threads/${thread}/runs/crons`, { assistant_id: "echo", schedule: "0 0 1 1 *", input: message });
    await post(`${spare}/runs/crons`, { assistant_id: "echo", schedule: "0 0 1 1 *", input: message });
    await post(`${spare}/assistants`, { graph_id: "echo", name: "mine" });
    const kept = await fetch(`${spare}/store/items`, {
      method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ namespace: ["a", "b"], key: "k", value: { n: 1 } }),
    });
    assert.ok(kept.ok);
    const text = await readFile("forget.sh", "utf8");
    const env = { ...process.env, WEFT_SERVER: spare, USER_TOKEN: "none" };
    const count = text.replace(/^for id[^]*/m, "left\n"); // the functions alone
    const bash = async (script) => (await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], { env, timeout: 60_000 })).stdout;
    assert.equal(await bash(count), "crons 2 threads 1 assistants 1 items 1\n");
    assert.equal(await bash(text), "crons 0 threads 0 assistants 0 items 0\n");
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
