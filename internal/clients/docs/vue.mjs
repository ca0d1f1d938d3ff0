// docs:begin send
import { ref } from "vue";
import { frames } from "./frames.mjs";

const messages = ref([]);
const questions = ref([]);

async function send(thread, content) {
  questions.value = [];
  const response = await fetch(`/threads/${thread}/runs/stream`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ assistant_id: "assistant", input: { messages: [{ type: "human", content }] } }),
  });
  for await (const { event, data } of frames(response)) {
    if (event === "error") throw new Error(data.message);
    if (event !== "values") continue;
    messages.value = data.messages;
    questions.value.push(...(data.__interrupt__ ?? []));
  }
}
// docs:end

export { messages, questions, send };
