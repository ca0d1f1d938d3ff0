// RemoteGraph of LangGraph for JavaScript, alone and as a node of a graph.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Annotation, Command, END, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { Client } from "@langchain/langgraph-sdk";

const url = process.env.BASE_URL;

async function all(stream) {
  const parts = [];
  for await (const part of await stream) parts.push(part);
  return parts;
}

const newThread = async () => ({ configurable: { thread_id: (await new Client({ apiUrl: url }).threads.create()).thread_id } });

describe("RemoteGraph of @langchain/langgraph 1.7.3", () => {
  test("has the nodes of the graph", async () => {
    const graph = new RemoteGraph({ graphId: "sub", url });
    assert.deepEqual(Object.keys((await graph.getGraphAsync()).nodes).sort(), ["__end__", "__start__", "child", "close", "prepare"]);
    const deep = await graph.getGraphAsync({ xray: true });
    assert.ok(Object.keys(deep.nodes).some((n) => n.startsWith("child:")));
  });

  test("streams updates and the events of subgraphs", async () => {
    const graph = new RemoteGraph({ graphId: "sub", url });
    const parts = await all(graph.stream({ topic: "a" }, { streamMode: ["updates", "custom"], subgraphs: true }));
    assert.ok(parts.some(([ns, mode, data]) => ns.length === 1 && ns[0].startsWith("child:") && mode === "custom" && data.phase === "draft"), JSON.stringify(parts));
    assert.deepEqual(parts.at(-1), [[], "updates", { close: { log: ["close draft of a (plain)"] } }]);
    assert.equal((await graph.invoke({ topic: "b" })).out, "draft of b (plain)");
  });

  test("asks, reads states and their history, goes on, and changes states", async () => {
    const graph = new RemoteGraph({ graphId: "approve", url });
    const config = await newThread();
    const parts = await all(graph.stream({ request: "r" }, { ...config, streamMode: "updates" }).catch((error) => {
      if (error.name !== "GraphInterrupt") throw error;
      return [];
    }));
    assert.ok(parts.length <= 1);
    const state = await graph.getState(config);
    assert.deepEqual(state.next, ["ask"]);
    assert.deepEqual(state.tasks[0].interrupts[0].value, { question: "approve r?", options: ["yes", "no"] });
    assert.equal((await graph.invoke(new Command({ resume: "yes" }), config)).result, "r: yes");
    const history = await all(graph.getStateHistory(config, { limit: 10 }));
    assert.deepEqual(history.map((s) => s.next), [[], ["finish"], ["ask"], ["__start__"]]);
    const changed = await graph.updateState(config, { request: "s" }, "ask");
    assert.ok(changed.configurable.checkpoint_id);
    assert.equal((await graph.getState(config)).values.request, "s");
    assert.equal((await graph.getState({ configurable: { ...config.configurable, checkpoint_id: history[1].config.configurable.checkpoint_id } })).values.result, undefined);
  });

  test("is a node of another graph", async () => {
    const State = Annotation.Root({ topic: Annotation(), out: Annotation(), log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
    const graph = new StateGraph(State)
      .addNode("remote", new RemoteGraph({ graphId: "sub", url }))
      .addEdge(START, "remote").addEdge("remote", END)
      .compile({ checkpointer: new MemorySaver() });
    const values = await graph.invoke({ topic: "c" }, await newThread());
    assert.equal(values.out, "draft of c (plain)");
  });

  test("tells errors", async () => {
    await assert.rejects(new RemoteGraph({ graphId: "fail", url }).invoke({ text: "boom" }), /bad text: boom/);
  });
});
