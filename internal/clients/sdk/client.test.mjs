// The client of the SDK for JavaScript, in both of its current versions.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, test } from "node:test";
import * as sdk1 from "langgraph-sdk-1";
import * as sdk2 from "langgraph-sdk-2";

const apiUrl = process.env.BASE_URL;
const human = (content) => ({ type: "human", content });

/** Reads a stream to its end. */
async function all(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

/** Waits until a run has a status. */
async function until(client, thread, run, status) {
  for (;;) {
    const got = await client.runs.get(thread, run);
    if (got.status === status) return got;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

for (const [version, { Client }] of [["1.15.0", sdk1], ["2.0.0", sdk2]]) {
  describe(`@langchain/langgraph-sdk ${version}`, () => {
    const client = new Client({ apiUrl });
    const newThread = async (options) => (await client.threads.create(options)).thread_id;

    describe("assistants", () => {
      test("are created, changed, found and deleted", async () => {
        const a = await client.assistants.create({
          graphId: "echo", name: `polite ${version}`, context: { prefix: "dear" }, metadata: { version },
        });
        assert.equal(a.graph_id, "echo");
        assert.deepEqual((await client.assistants.search({ metadata: { version } })).map((x) => x.assistant_id), [a.assistant_id]);
        assert.equal(await client.assistants.count({ metadata: { version } }), 1);
        assert.equal((await client.assistants.search({ metadata: { version }, includePagination: true })).assistants.length, 1);
        const b = await client.assistants.update(a.assistant_id, { context: { prefix: "hello" } });
        assert.equal(b.version, 2);
        const versions = await client.assistants.getVersions(a.assistant_id);
        assert.deepEqual(versions.map((v) => v.version), [2, 1]);
        const values = await client.runs.wait(null, a.assistant_id, { input: { messages: [human("x")] } });
        assert.equal(values.messages.at(-1).content, "hello: x");
        assert.equal((await client.assistants.setLatest(a.assistant_id, 1)).version, 1);
        await client.assistants.delete(a.assistant_id);
        await assert.rejects(client.assistants.get(a.assistant_id), /404/);
      });

      test("describe their graphs", async () => {
        const [a] = await client.assistants.search({ graphId: "sub" });
        const graph = await client.assistants.getGraph(a.assistant_id);
        assert.deepEqual(graph.nodes.map((n) => n.id).sort(), ["__end__", "__start__", "child", "close", "prepare"]);
        const deep = await client.assistants.getGraph(a.assistant_id, { xray: true });
        assert.ok(deep.nodes.some((n) => n.id === "child:draft"), JSON.stringify(deep.nodes));
        const schemas = await client.assistants.getSchemas(a.assistant_id);
        assert.deepEqual(Object.keys(schemas.state_schema.properties).sort(), ["log", "out", "topic"]);
        const subgraphs = await client.assistants.getSubgraphs(a.assistant_id);
        assert.deepEqual(Object.keys(subgraphs), ["child"]);
        assert.deepEqual(Object.keys(subgraphs.child.state_schema.properties).sort(), ["draft", "out", "topic"]);
        assert.deepEqual(Object.keys(await client.assistants.getSubgraphs(a.assistant_id, { namespace: "child", recurse: true })), ["child"]);
      });
    });

    describe("threads", () => {
      test("are created, found, changed, copied and deleted", async () => {
        const mark = crypto.randomUUID();
        const threadId = crypto.randomUUID();
        const t = await client.threads.create({ threadId, metadata: { mark }, graphId: "echo" });
        assert.equal(t.thread_id, threadId);
        assert.equal(t.status, "idle");
        await assert.rejects(client.threads.create({ threadId }), /409/);
        assert.equal((await client.threads.create({ threadId, ifExists: "do_nothing" })).thread_id, threadId);
        await client.threads.update(threadId, { metadata: { colour: "red" } });
        const [found] = await client.threads.search({ metadata: { mark, colour: "red" } });
        assert.equal(found.thread_id, threadId);
        assert.equal(found.metadata.graph_id, "echo");
        assert.equal(await client.threads.count({ metadata: { mark } }), 1);
        await client.runs.wait(threadId, "echo", { input: { messages: [human("one")] } });
        const copy = await client.threads.copy(threadId);
        assert.notEqual(copy.thread_id, threadId);
        assert.equal((await client.threads.getState(copy.thread_id)).values.messages.at(-1).content, "echo: one");
        await client.threads.delete(threadId);
        await assert.rejects(client.threads.get(threadId), /404/);
        assert.equal((await client.threads.getState(copy.thread_id)).values.messages.length, 2);
      });

      test("are sorted, paged and selected", async () => {
        const mark = crypto.randomUUID();
        const made = [];
        for (let i = 0; i < 3; i++) made.push(await newThread({ metadata: { mark } }));
        const page = await client.threads.search({ metadata: { mark }, sortBy: "created_at", sortOrder: "asc", limit: 2, offset: 1 });
        assert.deepEqual(page.map((t) => t.thread_id), made.slice(1));
        const few = await client.threads.search({ metadata: { mark }, select: ["thread_id"] });
        assert.deepEqual(few.map((t) => Object.keys(t)), [["thread_id"], ["thread_id"], ["thread_id"]]);
        assert.equal((await client.threads.search({ ids: [made[0]] })).length, 1);
      });

      test("begin with supersteps of another thread", async () => {
        const thread = await newThread({
          graphId: "approve",
          supersteps: [
            { updates: [{ values: { request: "r" }, asNode: "__start__" }] },
            { updates: [{ values: { answers: ["yes"] }, asNode: "ask" }] },
          ],
        });
        const state = await client.threads.getState(thread);
        assert.deepEqual(state.values, { request: "r", answers: ["yes"] });
        assert.deepEqual(state.next, ["finish"]);
        assert.equal((await client.runs.wait(thread, "approve", { input: null })).result, "r: yes");
      });

      test("have a history, and are changed at an older checkpoint", async () => {
        const thread = await newThread();
        for (const text of ["one", "two"]) await client.runs.wait(thread, "echo", { input: { messages: [human(text)] } });
        const history = await client.threads.getHistory(thread, { limit: 100 });
        assert.deepEqual(history.map((s) => s.next), [[], ["reply"], ["__start__"], [], ["reply"], ["__start__"]]);
        assert.deepEqual(history[0].parent_checkpoint.checkpoint_id, history[1].checkpoint.checkpoint_id);
        const before = await client.threads.getHistory(thread, { before: { configurable: { checkpoint_id: history[3].checkpoint.checkpoint_id } } });
        assert.equal(before.length > 0 && before[0].checkpoint.checkpoint_id, history[4].checkpoint.checkpoint_id);
        const old = await client.threads.getState(thread, history[3].checkpoint.checkpoint_id);
        assert.equal(old.values.messages.length, 2);
        assert.equal((await client.threads.getState(thread, history[3].checkpoint)).values.messages.length, 2);
        const made = await client.threads.updateState(thread, {
          values: { messages: [human("other")] }, checkpointId: history[3].checkpoint.checkpoint_id, asNode: "__start__",
        });
        assert.ok(made.checkpoint ?? made.configurable);
        const state = await client.threads.getState(thread);
        assert.equal(state.values.messages.at(-1).content, "other");
        assert.equal(state.values.messages.length, 3);
        assert.deepEqual(state.next, ["reply"]);
      });

      test("have the states of their subgraphs", async () => {
        const thread = await newThread();
        await client.runs.wait(thread, "sub", { input: { topic: "?a" } });
        const state = await client.threads.getState(thread, undefined, { subgraphs: true });
        assert.deepEqual(state.next, ["child"]);
        assert.deepEqual(state.tasks[0].state.next, ["polish"]);
        assert.equal(state.tasks[0].state.values.draft, "draft of ?a");
        assert.deepEqual(state.tasks[0].interrupts[0].value, { ask: "tone" });
      });

      test("are joined for all their runs", async () => {
        const thread = await newThread();
        const stop = new AbortController();
        const seen = [];
        const joined = (async () => {
          for await (const part of client.threads.joinStream(thread, { streamMode: ["run_modes", "lifecycle"], signal: stop.signal })) {
            seen.push(part);
            if (seen.filter((p) => p.event === "values").length === 4) stop.abort();
          }
        })().catch((error) => { if (!stop.signal.aborted) throw error; });
        await new Promise((resolve) => setTimeout(resolve, 200));
        for (const text of ["one", "two"]) await client.runs.wait(thread, "echo", { input: { messages: [human(text)] }, streamMode: ["values"] });
        await Promise.race([joined, new Promise((_, reject) => setTimeout(() => reject(new Error(JSON.stringify(seen))), 5000))]);
        assert.ok(seen.every((p) => p.id), "every event has an id");
      });

      if (client.threads.prune) test("are pruned", async () => {
        const thread = await newThread();
        assert.deepEqual(await client.threads.prune([thread]), { pruned_count: 1 });
        await assert.rejects(client.threads.get(thread), /404/);
      });
    });

    describe("runs", () => {
      test("stream in every mode", async () => {
        const input = { messages: [human("add 2 3")] };
        const stream = async (streamMode) => all(client.runs.stream(await newThread(), "tools", { input, streamMode }));
        const parts = await stream(["values", "updates", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "events"]);
        const names = new Set(parts.map((p) => p.event));
        for (const name of ["metadata", "values", "updates", "messages", "tasks", "checkpoints", "debug", "events"]) {
          assert.ok(names.has(name), `there is no event ${name}`);
        }
        assert.ok(!names.has("error"));
        const text = parts.filter((p) => p.event === "messages").map((p) => p.data[0]).filter((m) => m.id === "ai-3").map((m) => m.content);
        assert.equal(text.join(""), "The sum is 5.");
        assert.equal(parts.filter((p) => p.event === "values").at(-1).data.messages.at(-1).content, "The sum is 5.");
        const whole = await stream("messages");
        assert.ok(whole.some((p) => p.event === "messages/metadata") && whole.some((p) => p.event === "messages/complete"));
        const partial = whole.filter((p) => p.event === "messages/partial" && p.data[0].content).map((p) => p.data[0].content);
        assert.deepEqual([...new Set(partial)], ["The ", "The sum ", "The sum is ", "The sum is 5."]);
      });

      test("stream what subgraphs and nodes emit", async () => {
        const parts = await all(client.runs.stream(null, "sub", { input: { topic: "a" }, streamMode: ["updates", "custom"], streamSubgraphs: true }));
        const custom = parts.filter((p) => p.event.startsWith("custom|child:"));
        assert.deepEqual(custom.map((p) => p.data.phase), ["draft", "polish"]);
        assert.ok(parts.some((p) => p.event.startsWith("updates|child:") && p.data.polish), JSON.stringify(parts));
      });

      test("name themselves when they are created", async () => {
        const thread = await newThread();
        let created;
        await all(client.runs.stream(thread, "echo", { input: { messages: [human("x")] }, onRunCreated: (run) => { created = run; } }));
        assert.equal(created.thread_id, thread);
        assert.equal((await client.runs.get(thread, created.run_id)).status, "success");
      });

      test("are joined from any event, and by several readers", async () => {
        const thread = await newThread();
        const run = await client.runs.create(thread, "slow", { input: { tag: "a", n: 6 }, streamMode: ["custom", "values"], streamResumable: true });
        const [first, second, values] = await Promise.all([
          all(client.runs.joinStream(thread, run.run_id, { lastEventId: "-1" })),
          all(client.runs.joinStream(thread, run.run_id, { lastEventId: "-1" })),
          client.runs.join(thread, run.run_id),
        ]);
        assert.deepEqual(first.filter((p) => p.event === "custom").map((p) => p.data.step), [0, 1, 2, 3, 4, 5]);
        assert.deepEqual(first, second);
        assert.deepEqual(values.steps, ["a:begin", "a:done"]);
        const ids = first.map((p) => p.id);
        assert.equal(new Set(ids).size, ids.length, "ids repeat");
        const rest = await all(client.runs.joinStream(thread, run.run_id, { lastEventId: ids[3] }));
        assert.deepEqual(rest.map((p) => p.id), ids.slice(4));
      });

      test("are waited for, listed, read and deleted", async () => {
        const thread = await newThread();
        const values = await client.runs.wait(thread, "echo", { input: { messages: [human("hi")] }, config: { configurable: { prefix: "p" } }, metadata: { a: 1 } });
        assert.equal(values.messages.at(-1).content, "p: hi");
        const [run] = await client.runs.list(thread, { limit: 10, status: "success" });
        assert.equal(run.metadata.a, 1);
        assert.equal(run.status, "success");
        await client.runs.delete(thread, run.run_id);
        assert.deepEqual(await client.runs.list(thread), []);
      });

      test("begin together", async () => {
        const list = await client.runs.createBatch(["one", "two"].map((text) => ({ assistantId: "echo", input: { messages: [human(text)] } })));
        const values = await Promise.all(list.map((run) => client.runs.join(run.thread_id, run.run_id)));
        assert.deepEqual(values.map((v) => v.messages.at(-1).content), ["echo: one", "echo: two"]);
      });

      test("ask, and go on with the answer", async () => {
        const thread = await newThread();
        const asked = await client.runs.wait(thread, "approve", { input: { request: "r" } });
        assert.deepEqual(asked.__interrupt__[0].value, { question: "approve r?", options: ["yes", "no"] });
        assert.equal((await client.threads.get(thread)).status, "interrupted");
        const parts = await all(client.runs.stream(thread, "approve", { command: { resume: { ok: true } }, streamMode: "updates" }));
        assert.deepEqual(parts.at(-1).data, { finish: { result: 'r: {"ok":true}' } });
        assert.equal((await client.threads.get(thread)).status, "idle");
      });

      test("answer two questions by their ids", async () => {
        const thread = await newThread();
        await client.runs.wait(thread, "approve2", { input: { request: "r" } });
        const { tasks } = await client.threads.getState(thread);
        const open = tasks.flatMap((t) => t.interrupts);
        const resume = Object.fromEntries(open.map((i) => [i.id, i.value.side.toUpperCase()]));
        assert.equal((await client.runs.wait(thread, "approve2", { command: { resume } })).result, "left=LEFT,right=RIGHT");
      });

      test("stop before a node, and go on from there", async () => {
        const thread = await newThread();
        await client.runs.wait(thread, "echo", { input: { messages: [human("hi")] }, interruptBefore: ["reply"] });
        assert.deepEqual((await client.threads.getState(thread)).next, ["reply"]);
        assert.equal((await client.runs.wait(thread, "echo", { input: null })).messages.at(-1).content, "echo: hi");
      });

      test("go to a node with an update", async () => {
        const thread = await newThread();
        await client.runs.wait(thread, "approve", { input: { request: "r" } });
        await client.runs.wait(thread, "approve", { command: { resume: "yes" } });
        const values = await client.runs.wait(thread, "approve", { command: { goto: "finish", update: { answers: ["maybe"] } } });
        assert.equal(values.result, "r: maybe");
      });

      test("fork from a checkpoint", async () => {
        const thread = await newThread();
        for (const text of ["one", "two"]) await client.runs.wait(thread, "echo", { input: { messages: [human(text)] } });
        const history = await client.threads.getHistory(thread, { limit: 100 });
        const { checkpoint } = history.find((s) => s.next.length === 0 && s.values.messages.length === 2);
        const values = await client.runs.wait(thread, "echo", { input: { messages: [human("three")] }, checkpoint });
        assert.deepEqual(values.messages.map((m) => m.content), ["one", "echo: one", "three", "echo: three"]);
        const children = (await client.threads.getHistory(thread, { limit: 100 }))
          .filter((s) => s.parent_checkpoint?.checkpoint_id === checkpoint.checkpoint_id);
        assert.equal(children.length, 2, "the checkpoint has two branches");
      });

      test("are cancelled", async () => {
        const thread = await newThread();
        const run = await client.runs.create(thread, "slow", { input: { tag: "a", n: 100 } });
        await until(client, thread, run.run_id, "running");
        await client.runs.cancel(thread, run.run_id, true);
        assert.equal((await client.runs.get(thread, run.run_id)).status, "interrupted");
        const undone = await client.runs.create(thread, "slow", { input: { tag: "b", n: 100 } });
        await until(client, thread, undone.run_id, "running");
        await client.runs.cancel(thread, undone.run_id, true, "rollback");
        await assert.rejects(client.runs.get(thread, undone.run_id), /404/);
        assert.equal((await client.threads.getState(thread)).values.tag, "a");
      });

      if (client.runs.cancelMany) test("are cancelled together", async () => {
        const thread = await newThread();
        const list = [];
        for (const tag of ["a", "b"]) list.push(await client.runs.create(thread, "slow", { input: { tag, n: 100 } }));
        await client.runs.cancelMany({ threadId: thread, runIds: list.map((r) => r.run_id) });
        for (const r of list) await until(client, thread, r.run_id, "interrupted");
      });

      test("end when their only reader leaves, if it says so", async () => {
        const thread = await newThread();
        const stop = new AbortController();
        let created;
        try {
          for await (const part of client.runs.stream(thread, "slow", {
            input: { tag: "a", n: 100 }, streamMode: "custom", onDisconnect: "cancel", signal: stop.signal, onRunCreated: (run) => { created = run; },
          })) if (part.event === "custom") stop.abort();
        } catch (error) {
          if (!stop.signal.aborted) throw error;
        }
        await until(client, thread, created.run_id, "interrupted");
      });

      for (const [multitaskStrategy, steps, status] of [
        ["enqueue", ["a:begin", "a:done", "b:begin", "b:done"], "success"],
        ["interrupt", ["a:begin", "b:begin", "b:done"], "interrupted"],
        ["rollback", ["b:begin", "b:done"], undefined],
      ]) {
        test(`follow another run: ${multitaskStrategy}`, async () => {
          const thread = await newThread();
          const a = await client.runs.create(thread, "slow", { input: { tag: "a", n: 8 } });
          for (;;) {
            const state = await client.threads.getState(thread).catch(() => undefined);
            if (state?.values.steps?.length) break;
          }
          const values = await client.runs.wait(thread, "slow", { input: { tag: "b", n: 1 }, multitaskStrategy });
          assert.deepEqual(values.steps, steps);
          const got = await client.runs.get(thread, a.run_id).catch(() => undefined);
          assert.equal(got?.status, status);
        });
      }

      test("are refused while another one goes on, if they say so", async () => {
        const thread = await newThread();
        const run = await client.runs.create(thread, "slow", { input: { tag: "a", n: 3 } });
        await assert.rejects(client.runs.create(thread, "slow", { input: { tag: "b", n: 1 }, multitaskStrategy: "reject" }), /409/);
        await client.runs.join(thread, run.run_id);
      });

      test("wait for their time", async () => {
        const thread = await newThread();
        const began = Date.now();
        const run = await client.runs.create(thread, "echo", { input: { messages: [human("later")] }, afterSeconds: 1 });
        await client.runs.join(thread, run.run_id);
        assert.ok(Date.now() - began >= 1000);
      });

      test("call a webhook", async () => {
        let body = "";
        const hook = createServer(async (request, response) => {
          for await (const chunk of request) body += chunk;
          response.end();
          hook.emit("called");
        }).listen(0, "127.0.0.1");
        await once(hook, "listening");
        const called = once(hook, "called");
        await client.runs.wait(null, "echo", { input: { messages: [human("x")] }, webhook: `http://127.0.0.1:${hook.address().port}/done` });
        await called;
        hook.close();
        assert.equal(JSON.parse(body).status, "success");
        assert.equal(JSON.parse(body).values.messages.at(-1).content, "echo: x");
      });

      test("tell their errors", async () => {
        await assert.rejects(client.runs.wait(null, "fail", { input: { text: "boom" } }), /bad text: boom/);
        const parts = await all(client.runs.stream(null, "fail", { input: { text: "boom" } }));
        assert.deepEqual(parts.at(-1), { ...parts.at(-1), event: "error", data: { error: "ValueError", message: "bad text: boom" } });
        const values = await client.runs.wait(null, "fail", { input: { text: "boom" }, raiseError: false });
        assert.equal(values.__error__.error, "ValueError");
        await assert.rejects(client.runs.wait(null, "none", { input: {} }), /404|422/);
      });
    });

    describe("crons", () => {
      test("are created, changed, found and deleted", async () => {
        const thread = await newThread();
        const made = await client.crons.createForThread(thread, "echo", {
          schedule: "0 0 1 1 *", timezone: "Europe/Berlin", input: { messages: [human("x")] }, metadata: { version },
        });
        const free = await client.crons.create("echo", { schedule: "0 0 1 1 *", input: { messages: [human("x")] }, metadata: { version } });
        assert.equal(made.thread_id, thread);
        assert.equal((await client.crons.search({ threadId: thread }))[0].cron_id, made.cron_id);
        assert.ok(await client.crons.count() >= 2);
        assert.equal((await client.crons.update(made.cron_id, { schedule: "30 12 * * *", enabled: false })).schedule, "30 12 * * *");
        if (version === "1.15.0") assert.deepEqual(await client.crons.search({ threadId: thread, enabled: true }), []);
        for (const c of [made, free]) await client.crons.delete(c.cron_id);
        assert.deepEqual(await client.crons.search({ threadId: thread }), []);
      });
    });

    describe("store", () => {
      test("keeps values by namespace and key", async () => {
        const root = crypto.randomUUID();
        await client.store.putItem([root, "a"], "k1", { colour: "red", n: 1 });
        await client.store.putItem([root, "a"], "k2", { colour: "blue", n: 2 });
        await client.store.putItem([root, "b"], "k1", { colour: "red", n: 3 });
        const item = await client.store.getItem([root, "a"], "k1");
        assert.deepEqual(item.value, { colour: "red", n: 1 });
        assert.deepEqual(item.namespace, [root, "a"]);
        assert.ok(item.createdAt && item.updatedAt);
        const { items } = await client.store.searchItems([root], { filter: { colour: "red" }, limit: 10 });
        assert.deepEqual(items.map((i) => i.value.n).sort(), [1, 3]);
        const { namespaces } = await client.store.listNamespaces({ prefix: [root] });
        assert.deepEqual(namespaces.map((n) => n[1]).sort(), ["a", "b"]);
        await client.store.deleteItem([root, "a"], "k1");
        assert.equal(await client.store.getItem([root, "a"], "k1"), null);
      });
    });
  });
}
