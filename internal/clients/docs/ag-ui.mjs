// docs:begin approve
import { HttpAgent } from "@ag-ui/client";

const agent = new HttpAgent({ url: "http://127.0.0.1:8123/ag-ui/assistant", threadId: "my-thread" });
agent.addMessage({ id: "1", role: "user", content: "send hello" });
let questions = [];
await agent.runAgent({}, { onRunFinishedEvent: ({ event }) => { questions = event.outcome?.interrupts ?? []; } });
for (const { message } of questions) console.log(message);
// Send a message
// send: Sends a message to the team.
// arguments: {"text":"hello"}
await agent.runAgent({
  resume: questions.map(({ id, metadata }) => (
    { interruptId: id, status: "resolved", payload: { verdict: "approve", hash: metadata.value.hash } }
  )),
});
// docs:end
console.log(agent.messages.at(-1).content);
