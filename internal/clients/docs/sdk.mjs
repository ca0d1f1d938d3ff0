const token = "none";
// docs:begin stream
import { Client } from "@langchain/langgraph-sdk";
const client = new Client({ apiUrl: "http://127.0.0.1:8123", apiKey: token });
const thread = await client.threads.create();
const input = { messages: [{ role: "user", content: "good morning" }] };
for await (const event of client.runs.stream(thread.thread_id, "assistant", { input, streamMode: "messages-tuple" })) {
  console.log(event.event, event.data);
}
// docs:end
