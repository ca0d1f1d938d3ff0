// The runtime of assistant-ui for LangGraph, with React in jsdom.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { JSDOM } from "jsdom";

const apiUrl = process.env.BASE_URL;
const dom = new JSDOM("<div id=root></div>", { url: apiUrl });
for (const [name, value] of Object.entries({ window: dom.window, document: dom.window.document, navigator: dom.window.navigator })) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}
const { createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
const { Client } = await import("@langchain/langgraph-sdk");
const { useLangGraphMessages, unstable_createLangGraphStream, appendLangChainChunk } = await import("@assistant-ui/react-langgraph");

const client = new Client({ apiUrl });
const root = createRoot(document.getElementById("root"));
after(() => {
  root.unmount();
  dom.window.close();
  setTimeout(() => process.exit(), 1000); // a MessagePort of React keeps the process alive
});

/** Shows a conversation. The hook's result is in the returned object after each render. */
function show(assistantId, threadId) {
  const seen = { texts: new Set() };
  const stream = unstable_createLangGraphStream({ client, assistantId });
  const initialize = async () => ({ remoteId: threadId, externalId: threadId });
  function App() {
    seen.hook = useLangGraphMessages({ stream: (messages, config) => stream(messages, { ...config, initialize }), appendMessage: appendLangChainChunk });
    for (const m of seen.hook.messages) if (typeof m.content === "string") seen.texts.add(m.content);
    return createElement("p", null, seen.hook.messages.map((m) => m.content || m.type).join(" | "));
  }
  root.render(createElement(App, { key: threadId }));
  return seen;
}

async function until(condition, what) {
  for (const end = Date.now() + 5000; ;) {
    if (condition()) return;
    if (Date.now() > end) assert.fail(`${what}: ${document.body.textContent}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("@assistant-ui/react-langgraph 0.14.0", () => {
  test("shows a streamed conversation with a tool", async () => {
    const seen = show("tools", (await client.threads.create()).thread_id);
    await until(() => seen.hook, "the hook runs");
    await seen.hook.sendMessage([{ id: "h1", type: "human", content: "add 2 3" }], {});
    await until(() => document.body.textContent.endsWith("The sum is 5."), "the answer");
    assert.equal(document.body.textContent, "add 2 3 | ai | 5 | The sum is 5.");
  });

  test("shows a question and sends its answer", async () => {
    const thread = (await client.threads.create()).thread_id;
    const seen = show("approve", thread);
    await until(() => seen.hook, "the hook runs");
    await client.runs.wait(thread, "approve", { input: { request: "r" }, interruptBefore: ["ask"] });
    await seen.hook.sendMessage([], { command: undefined });
    await until(() => seen.hook.interrupt, "the question");
    assert.deepEqual(seen.hook.interrupt.value, { question: "approve r?", options: ["yes", "no"] });
    await seen.hook.sendMessage([], { command: { resume: "yes" } });
    await until(() => !seen.hook.interrupt, "the question is gone");
    assert.equal((await client.threads.getState(thread)).values.result, "r: yes");
  });
});
