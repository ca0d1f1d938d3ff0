// docs:begin ask
// ask sends a message, and calls show with each piece of the answer.
async function ask(token, thread, text, show) {
  const response = await fetch(`/chat/${encodeURIComponent(thread)}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ text }),
  });
  if (!response.ok) throw new Error(await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the connection broke");
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const chunk = JSON.parse(line);
      if (chunk.kind === "error") throw new Error(chunk.text);
      if (chunk.kind === "end") return;
      show(chunk.text);
    }
  }
}
// docs:end

export { ask };
