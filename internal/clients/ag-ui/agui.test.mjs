// AG-UI: the agent of @ag-ui/langgraph, which reads the protocol of LangGraph Server, and the agent of
// @ag-ui/client, which reads AG-UI from the server itself.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { LangGraphAgent } from "@ag-ui/langgraph";

const deploymentUrl = process.env.BASE_URL;

/** Runs an agent, and returns the events. */
async function run(agent, parameters = {}) {
  const events = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => { events.push(event); } });
  return events;
}

describe("@ag-ui/langgraph 0.0.43", () => {
  test("streams a conversation with a tool", async () => {
    const agent = new LangGraphAgent({ deploymentUrl, graphId: "tools", threadId: crypto.randomUUID() });
    agent.setMessages([{ id: "h1", role: "user", content: "add 2 3" }]);
    const events = await run(agent);
    const text = events.filter((e) => e.type === "TEXT_MESSAGE_CONTENT").map((e) => e.delta);
    assert.deepEqual(text, ["The ", "sum ", "is ", "5."]);
    assert.ok(events.some((e) => e.type === "TOOL_CALL_START" && e.toolCallName === "add"), JSON.stringify(events.map((e) => e.type)));
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    const contents = agent.messages.map((m) => m.content);
    assert.ok(contents.includes("The sum is 5.") && contents.includes("5"), JSON.stringify(contents));
  });

  test("goes on with a conversation", async () => {
    const agent = new LangGraphAgent({ deploymentUrl, graphId: "tools", threadId: crypto.randomUUID() });
    agent.setMessages([{ id: "h1", role: "user", content: "add 2 3" }]);
    await run(agent);
    agent.addMessage({ id: "h2", role: "user", content: "add 4 5" });
    await run(agent);
    assert.ok(agent.messages.some((m) => m.content === "The sum is 9."));
  });
});

describe("@ag-ui/client 1.0.0, HttpAgent", () => {
  const newAgent = (graph) => {
    const agent = new HttpAgent({ url: `${deploymentUrl}/ag-ui/${graph}`, threadId: crypto.randomUUID() });
    agent.setMessages([{ id: "h1", role: "user", content: "add 2 3" }]);
    return agent;
  };

  test("streams a conversation with a tool", async () => {
    const agent = newAgent("tools");
    const events = await run(agent);
    assert.equal(events[0].type, "RUN_STARTED");
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    assert.deepEqual(events.filter((e) => e.type === "TEXT_MESSAGE_CONTENT").map((e) => e.delta), ["The ", "sum ", "is ", "5."]);
    assert.equal(events.filter((e) => e.type === "TOOL_CALL_ARGS").map((e) => e.delta).join(""), '{"a": 2, "b": 3}');
    assert.ok(agent.messages.some((m) => m.role === "tool" && m.content === "5"));
    assert.equal(agent.messages.at(-1).content, "The sum is 5.");
  });

  test("goes on with a conversation", async () => {
    const agent = newAgent("tools");
    await run(agent);
    agent.addMessage({ id: "h2", role: "user", content: "add 4 5" });
    await run(agent);
    assert.equal(agent.messages.at(-1).content, "The sum is 9.");
  });
});
