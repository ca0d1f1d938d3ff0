// The reader of frames of the guides, with plain fetch.
import assert from "node:assert/strict";
import { test } from "node:test";
import { frames } from "./frames.mjs";

const run = (body) => fetch(`${process.env.BASE_URL}/runs/stream`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

test("frames reads a stream with plain fetch", async () => {
  const parts = new Map();
  const events = new Set();
  const body = { assistant_id: "talk", input: { messages: [{ type: "human", content: "grüße" }] }, stream_mode: ["messages-tuple", "values"] };
  for await (const { event, data } of frames(await run(body))) {
    events.add(event);
    if (event === "messages" && data[0].type === "AIMessageChunk") parts.set(data[0].id, (parts.get(data[0].id) ?? "") + data[0].content);
  }
  assert.deepEqual([...events].sort(), ["messages", "metadata", "values"]);
  assert.deepEqual([...parts.values()], ["You said grüße. 1 2 3 4 5 6 7 8 9 10"]);
});

test("frames says why a stream was refused", async () => {
  await assert.rejects(async () => {
    for await (const frame of frames(await run({ assistant_id: "nothing" }))) assert.fail(JSON.stringify(frame));
  }, /^Error: 4\d\d: /);
});

test("frames joins lines that come in pieces", async () => {
  const text = 'event: custom\ndata: {"a":"ü"}\nid: 1-0\n\n: heartbeat\n\nevent: end\ndata: 1\n\n';
  const bytes = new TextEncoder().encode(text);
  const pieces = new ReadableStream({
    start(c) {
      for (const b of bytes) c.enqueue(new Uint8Array([b]));
      c.close();
    },
  });
  const found = [];
  for await (const frame of frames(new Response(pieces))) found.push(frame);
  assert.deepEqual(found, [{ event: "custom", data: { a: "ü" }, id: "1-0" }, { event: "end", data: 1 }]);
});
