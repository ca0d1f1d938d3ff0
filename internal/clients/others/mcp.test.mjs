// The SDK of MCP for JavaScript: each graph is a tool.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

/** Runs a function with a connected client. If answer is given, the client asks its person. */
async function connected(answer, run) {
  const client = new Client({ name: "test", version: "1" }, { capabilities: answer ? { elicitation: {} } : {} });
  if (answer) client.setRequestHandler(ElicitRequestSchema, answer);
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", process.env.BASE_URL)));
  try {
    await run(client);
  } finally {
    await client.close();
  }
}

describe("@modelcontextprotocol/sdk 1.32.2", () => {
  test("lists and calls the graphs", () => connected(undefined, async (client) => {
    const { tools } = await client.listTools();
    assert.ok(["tools", "slow", "answer"].every((name) => tools.some((t) => t.name === name)), tools.map((t) => t.name).join());
    const steps = [];
    const result = await client.callTool({ name: "tools", arguments: { message: "add 2 3" } }, undefined, { onprogress: (p) => steps.push(p.message) });
    assert.equal(result.content[0].text, "The sum is 5.");
    assert.deepEqual(steps, ["agent", "tools", "agent"]);
    const { structuredContent } = await client.callTool({ name: "slow", arguments: { tag: "a", n: 0 } });
    assert.deepEqual(structuredContent.steps, ["a:begin", "a:done"]);
  }));

  test("tells the error of a graph", () => connected(undefined, async (client) => {
    const result = await client.callTool({ name: "fail", arguments: { text: "boom" } });
    assert.equal(result.isError, true);
    assert.equal(result.content[0].text, "ValueError: bad text: boom");
  }));

  test("puts a question to a person", async () => {
    const asked = [];
    const answer = async ({ params }) => {
      asked.push(params.message);
      return { action: "accept", content: { answer: "yes" } };
    };
    await connected(answer, async (client) => {
      const { structuredContent } = await client.callTool({ name: "approve", arguments: { request: "r" } });
      assert.equal(structuredContent.result, "r: yes");
    });
    assert.deepEqual(asked, ["approve r?"]);
  });

  test("answers a question by a tool", () => connected(undefined, async (client) => {
    const { structuredContent: { thread_id, questions } } = await client.callTool({ name: "approve", arguments: { request: "r" } });
    assert.equal(questions.length, 1);
    const { structuredContent } = await client.callTool({ name: "answer", arguments: { thread_id, question_id: questions[0].id, answer: "no" } });
    assert.equal(structuredContent.result, "r: no");
  }));
});
