// docs:begin ask
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8123/v1", apiKey: "none" });
const answer = await client.chat.completions.create({ model: "assistant", messages: [{ role: "user", content: "hello" }] });
// docs:end
console.log(answer.choices[0].message.content);
