/** Returns the frames of a stream of the server: {id, event, data}. A comment is no frame. */
export async function* frames(response) {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  let rest = "";
  let frame = {};
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const lines = (rest + read.value).split("\n");
    rest = lines.pop(); // the beginning of the next line
    for (const line of lines) {
      if (line === "") {
        if (frame.data !== undefined) yield { ...frame, data: JSON.parse(frame.data) };
        frame = {};
      } else if (!line.startsWith(":")) {
        const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
        if (name) frame[name] = value;
      }
    }
  }
}
