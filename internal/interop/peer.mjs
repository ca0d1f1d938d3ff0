// Loads messages of Weft with @langchain/core, and writes messages of @langchain/core.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const {
  AIMessage,
  ChatMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
} = require("@langchain/core/messages");

const roles = { system: "system", human: "user", ai: "assistant", tool: "tool" };

const blocks = (m) => (typeof m.content === "string" ? [m.content] : m.content);
const text = (b) => (typeof b === "string" ? b : b.type === "text" ? b.text : "");
const count = (m, ...types) => blocks(m).filter((b) => types.includes(b.type)).length;
const calls = (list) => (list ?? []).map((c) => ({ id: c.id, name: c.name, args: c.args }));

function usage(m) {
  const u = m.usage_metadata;
  if (!u) return null;
  return {
    input: u.input_tokens,
    output: u.output_tokens,
    total: u.total_tokens,
    cached: u.input_token_details?.cache_read ?? 0,
    cache_write: u.input_token_details?.cache_creation ?? 0,
    reasoning: u.output_token_details?.reasoning ?? 0,
  };
}

function describe(m) {
  return {
    role: roles[m.getType()] ?? roles[m.role] ?? "user",
    id: m.id ?? "",
    name: m.name ?? "",
    text: blocks(m).map(text).join(""),
    images: count(m, "image", "image_url"),
    files: count(m, "file"),
    calls: calls(m.tool_calls),
    invalid: calls(m.invalid_tool_calls),
    answers: m.tool_call_id ?? "",
    failed: m.status === "error",
    usage: usage(m),
  };
}

const own = [
  new SystemMessage("You are a helpful assistant."),
  new HumanMessage({ content: "Grüße ☀️ \u0000 end", id: "h1", name: "ann", additional_kwargs: { k: { deep: [1, 2.5, null] } } }),
  new HumanMessage({ content: ["bare", { type: "text", text: " block", cache_control: { type: "ephemeral" } }] }),
  new HumanMessage({
    content: [
      { type: "text", text: "What are these?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } },
      { type: "image_url", image_url: "https://example.com/a.png" },
      { type: "image", source_type: "base64", mime_type: "image/png", data: "iVBORw0KGgo=" },
      { type: "file", source_type: "base64", mime_type: "application/pdf", data: "JVBERg==", metadata: { filename: "a.pdf" } },
    ],
  }),
  new AIMessage({
    content: [{ type: "thinking", thinking: "hm", signature: "c2ln" }, { type: "text", text: "Let me look." }],
    id: "a1",
    tool_calls: [
      { name: "weather", args: { city: "Athens", days: 2 }, id: "call_1", type: "tool_call" },
      { name: "now", args: {}, id: "call_2" },
    ],
    invalid_tool_calls: [{ name: "f", args: "{not json", id: "call_3", error: "Unexpected token", type: "invalid_tool_call" }],
    usage_metadata: {
      input_tokens: 120,
      output_tokens: 24,
      total_tokens: 144,
      input_token_details: { cache_read: 100, cache_creation: 5, audio: 2 },
      output_token_details: { reasoning: 8 },
    },
    response_metadata: { model_name: "m-1", finish_reason: "tool_calls", logprobs: null },
  }),
  new ToolMessage({ content: '{"sky":"clear"}', tool_call_id: "call_1", name: "weather", id: "t1", artifact: { rows: [1, null] } }),
  new ToolMessage({ content: [{ type: "text", text: "noon" }], tool_call_id: "call_2", status: "success" }),
  new ToolMessage({ content: "not JSON", tool_call_id: "call_3", status: "error" }),
  new AIMessage({ content: "Clear.", response_metadata: { stop_reason: "end_turn" } }),
  new AIMessage({
    content: "",
    additional_kwargs: { tool_calls: [{ id: "o1", type: "function", function: { name: "f", arguments: '{"a":1}' } }] },
  }),
  new ToolMessage({ content: "1", tool_call_id: "o1" }),
  new ChatMessage("arr", "pirate"),
  new ChatMessage("be brief", "system"),
  new AIMessage(""),
];

const loaded = mapStoredMessagesToChatMessages(JSON.parse(readFileSync(process.argv[2], "utf8")));
const stored = mapChatMessagesToStoredMessages(own);
const answer = {
  version: "@langchain/core " + require("@langchain/core/package.json").version,
  loaded: loaded.map(describe),
  rewritten: mapChatMessagesToStoredMessages(loaded),
  own: stored,
  described: mapStoredMessagesToChatMessages(JSON.parse(JSON.stringify(stored))).map(describe),
};
process.stdout.write(JSON.stringify(answer, null, 1));
