// The SDK of OpenAI for JavaScript: each graph with messages is a model.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.BASE_URL}/v1`, apiKey: "none" });
const messages = [{ role: "user", content: "add 2 3" }];

describe("openai for JavaScript", () => {
  test("lists the graphs as models", async () => {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.ok(ids.includes("tools") && ids.includes("echo"), ids.join());
    assert.equal((await client.models.retrieve("tools")).id, "tools");
  });

  test("gets an answer", async () => {
    const answer = await client.chat.completions.create({ model: "tools", messages });
    assert.equal(answer.choices[0].message.content, "The sum is 5.");
    assert.equal(answer.choices[0].finish_reason, "stop");
  });

  test("streams an answer", async () => {
    const pieces = [];
    let end;
    for await (const chunk of await client.chat.completions.create({ model: "talk", messages: [{ role: "user", content: "hi" }], stream: true })) {
      if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content);
      end = chunk.choices[0]?.finish_reason ?? end;
    }
    assert.equal(pieces.join(""), "You said hi. 1 2 3 4 5 6 7 8 9 10");
    assert.ok(pieces.length > 5, `the answer came in ${pieces.length} pieces`);
    assert.equal(end, "stop");
  });

  test("goes on with a conversation", async () => {
    const answer = await client.chat.completions.create({
      model: "echo", messages: [{ role: "user", content: "a" }, { role: "assistant", content: "b" }, { role: "user", content: "c" }],
    });
    assert.equal(answer.choices[0].message.content, "echo: c");
  });

  test("is told of errors", async () => {
    await assert.rejects(client.chat.completions.create({ model: "none", messages }), (error) => error instanceof OpenAI.APIError && error.status === 404);
    await assert.rejects(client.chat.completions.create({ model: "echo", messages: [] }), (error) => error.status === 400 || error.status === 422);
  });
});
