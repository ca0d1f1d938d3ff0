// The thread-centric protocol, with the client of the SDK for JavaScript, by server-sent events and by WebSocket.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { WebSocket } from "ws";
import { Client } from "langgraph-sdk-1";

globalThis.WebSocket ??= WebSocket; // Node has one from version 22 on
const client = new Client({ apiUrl: process.env.BASE_URL });
const human = (content) => ({ messages: [{ type: "human", content }] });

for (const transport of ["sse", "websocket"]) {
  describe(`threads.stream of @langchain/langgraph-sdk 1.15.0, ${transport}`, () => {
    /** Opens a new thread, which the end of the test closes. */
    const open = (t, assistantId, id = crypto.randomUUID()) => {
      const thread = client.threads.stream(id, { assistantId, transport });
      t.after(() => thread.close());
      return thread;
    };

    /** Reads events until one meets the condition. */
    async function until(subscription, condition) {
      const events = [];
      for await (const event of subscription) {
        events.push(event);
        if (condition(event)) return events;
      }
      assert.fail(`the stream ended: ${JSON.stringify(events)}`);
    }
    const ended = (e) => e.method === "lifecycle" && e.params.namespace.length === 0 && ["completed", "interrupted", "failed"].includes(e.params.data.event);

    test("streams the messages and values of a run", async (t) => {
      const thread = open(t, "tools");
      const sub = await thread.subscribe({ channels: ["values", "messages", "lifecycle"] });
      await thread.run.start({ input: human("add 2 3") });
      const events = await until(sub, ended);
      const text = events.filter((e) => e.method === "messages" && e.params.data.event === "content-block-delta" && e.params.data.delta.type === "text-delta");
      assert.deepEqual(text.map((e) => e.params.data.delta.text), ["The ", "sum ", "is ", "5."]);
      assert.equal(events.filter((e) => e.method === "values").at(-1).params.data.messages.at(-1).content, "The sum is 5.");
      const ids = events.map((e) => e.event_id);
      assert.equal(new Set(ids).size, ids.length, "an event came twice");
    });

    test("assembles messages, and has the output of a run", async (t) => {
      const thread = open(t, "tools");
      const texts = [];
      const reading = (async () => {
        for await (const message of thread.messages) {
          const text = await message.text;
          texts.push(text);
          if (text === "The sum is 9.") return;
        }
      })();
      const result = thread.output; // before the run begins, else a quick run ends before the client reads values
      await thread.run.start({ input: human("add 4 5") });
      const output = await result;
      assert.equal(output.messages.at(-1).content, "The sum is 9.");
      await reading;
      assert.equal(texts.at(-1), "The sum is 9.");
    });

    test("asks and takes the answer", async (t) => {
      const thread = open(t, "approve");
      const sub = await thread.subscribe({ channels: ["input", "lifecycle", "values"] });
      await thread.run.start({ input: { request: "r" } });
      const events = await until(sub, (e) => e.method === "input.requested");
      const { interrupt_id } = events.at(-1).params.data;
      const rest = [];
      const completed = new Promise((resolve) => thread.onEvent((e) => { // the pause has ended the subscription
        rest.push(e);
        if (e.method === "lifecycle" && e.params.data.event === "completed") resolve();
      }));
      await thread.input.respond({ namespace: [], interrupt_id, response: "yes" });
      await completed;
      assert.equal(rest.filter((e) => e.method === "values").at(-1).params.data.result, "r: yes");
    });

    test("has the events of subgraphs, and what they emit", async (t) => {
      const thread = open(t, "sub");
      const sub = await thread.subscribe({ channels: ["custom", "updates", "lifecycle"] });
      await thread.run.start({ input: { topic: "a" } });
      const events = await until(sub, ended);
      const custom = events.filter((e) => e.method === "custom");
      assert.deepEqual(custom.map((e) => (e.params.data.payload ?? e.params.data).phase), ["draft", "polish"]);
      assert.ok(custom.every((e) => e.params.namespace[0].startsWith("child:")));
      assert.ok(events.some((e) => e.method === "updates" && e.params.namespace.length === 0));
    });

    test("has the tree of a run with its subgraphs", async (t) => {
      const thread = open(t, "sub");
      const sub = await thread.subscribe({ channels: ["lifecycle"] });
      const { run_id } = await thread.run.start({ input: { topic: "tea" } });
      await until(sub, ended);
      for (const params of [{}, { run_id }]) {
        const { tree } = await thread.agent.getTree(params);
        assert.deepEqual([tree.namespace, tree.status, tree.graph_name], [[], "completed", "sub"]);
        assert.deepEqual(tree.children.map((c) => [c.namespace[0].split(":")[0], c.status, c.graph_name]), [["child", "completed", "child"]]);
      }
    });

    test("is joined by a second reader, in the middle and after the end", async (t) => {
      const first = open(t, "slow");
      const sub = await first.subscribe({ channels: ["custom", "lifecycle"] });
      await first.run.start({ input: { tag: "a", n: 5 } });
      await until(sub, (e) => e.method === "custom");
      const steps = (events) => events.filter((e) => e.method === "custom").map((e) => (e.params.data.payload ?? e.params.data).step);
      for (const _ of ["in the middle", "after the end"]) {
        const other = open(t, "slow", first.threadId);
        const events = await until(await other.subscribe({ channels: ["custom", "lifecycle"] }), ended);
        assert.deepEqual(steps(events), [0, 1, 2, 3, 4]);
      }
    });

    test("forks from a checkpoint", async (t) => {
      const thread = open(t, "echo");
      for (const text of ["one", "two"]) await client.runs.wait(thread.threadId, "echo", { input: human(text), ifNotExists: "create" });
      const history = await client.threads.getHistory(thread.threadId, { limit: 100 });
      const { checkpoint } = history.find((s) => s.next.length === 0 && s.values.messages.length === 2);
      const replied = new Promise((resolve) => thread.onEvent((e) => { // the end of an earlier run may end the subscription
        if (e.method === "values" && e.params.data.messages.at(-1).content === "echo: three") resolve();
      }));
      await thread.subscribe({ channels: ["values", "lifecycle"] });
      const { run_id } = await thread.submitRun({ input: human("three"), forkFrom: checkpoint.checkpoint_id });
      await client.runs.join(thread.threadId, run_id);
      await replied;
      const { values } = await client.threads.getState(thread.threadId);
      assert.deepEqual(values.messages.map((m) => m.content), ["one", "echo: one", "three", "echo: three"]);
    });

    test("tells that a run failed", async (t) => {
      const thread = open(t, "fail");
      const sub = await thread.subscribe({ channels: ["lifecycle"] });
      await thread.run.start({ input: { text: "boom" } });
      const events = await until(sub, ended);
      assert.equal(events.at(-1).params.data.event, "failed");
      assert.match(JSON.stringify(events.at(-1).params.data.error), /bad text: boom/);
    });
  });
}
