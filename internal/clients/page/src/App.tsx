import { useState, type FormEvent } from "react";
import { useStream } from "@langchain/react";

// The address of the page may name the server, the graph and the thread.
const query = new URLSearchParams(location.search);

/** What a node asks: an approval of a tool call has a hash, and other questions of this page have options. */
type Question = { question?: string; options?: string[]; tool?: string; arguments?: unknown; hash?: string };

function Ask({ value, answer }: { value: Question; answer: (value: unknown) => void }) {
  const choices: [string, unknown][] = value.hash
    ? [["Approve", { verdict: "approve", hash: value.hash }], ["Reject", { verdict: "reject", hash: value.hash }]]
    : (value.options ?? []).map((option) => [option, option]);
  return (
    <section>
      <p>{value.hash ? `May ${value.tool} run with ${JSON.stringify(value.arguments)}?` : value.question}</p>
      {choices.map(([name, choice]) => <button key={name} onClick={() => answer(choice)}>{name}</button>)}
    </section>
  );
}

/** A conversation. Its thread is kept in the address, so that a reload shows it, and joins a run that goes on. */
export default function App() {
  const [threadId, setThreadId] = useState(query.get("thread"));
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<unknown>();
  const stream = useStream<Record<string, unknown>, Question>({
    apiUrl: query.get("api") ?? "http://127.0.0.1:8123",
    assistantId: query.get("graph") ?? "assistant",
    threadId,
    onThreadId(id) {
      setThreadId(id);
      query.set("thread", id);
      history.replaceState(null, "", `?${query}`);
    },
  });
  const asked = stream.interrupt !== undefined;
  const error = stream.error ?? problem;
  const send = (event: FormEvent) => {
    event.preventDefault();
    void stream.submit({ messages: [{ type: "human", content: text }] });
    setText("");
  };
  // stream.stop() cancels only a run that this page began, and not one that it joined after a reload.
  const stop = async () => {
    setProblem(undefined);
    try {
      if (stream.threadId !== null) await stream.client.runs.cancelMany({ threadId: stream.threadId, status: "all" });
      await stream.disconnect();
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <main>
      <ol>
        {stream.messages.filter((message) => message.text !== "").map((message) => (
          <li key={message.id} className={message.type}>{message.type === "tool" && `${message.name ?? "tool"}: `}{message.text}</li>
        ))}
      </ol>
      {stream.interrupt?.value && <Ask value={stream.interrupt.value} answer={(value) => void stream.respond(value)} />}
      {error !== undefined && <p role="alert">{String(error)}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={stream.isLoading || asked || text === ""}>Send</button>
        {stream.isLoading && <button type="button" onClick={() => void stop()}>Stop</button>}
      </form>
    </main>
  );
}
