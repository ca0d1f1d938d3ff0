import { useEffect, useRef, useState, type FormEvent } from "react";
import { useStream } from "@langchain/react";

// The address of the page may name the server, the graph and the thread.
const query = new URLSearchParams(location.search);

/** What a node asks: an approval of a tool call has a hash, and other questions of this page have options. */
type Question = { question?: string; options?: string[]; tool?: string; arguments?: unknown; hash?: string; problem?: string };

function Ask({ value, answer }: { value: Question; answer: (value: unknown) => void }) {
  const choices: [string, unknown][] = value.hash
    ? [["Approve", { verdict: "approve", hash: value.hash }], ["Reject", { verdict: "reject", hash: value.hash }]]
    : (value.options ?? []).map((option) => [option, option]);
  return (
    <section>
      {value.problem && <p role="alert">The last answer did not fit: {value.problem}</p>}
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
  const sent = useRef(false); // then the error of an old run is not shown any more
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
  const error = stream.error ?? problem;
  // After a reload the hook does not have the error of a failed run. The state of the thread has it.
  useEffect(() => {
    const show = (problem: unknown) => !sent.current && setProblem(problem);
    if (threadId !== null) stream.client.threads.getState(threadId).then(({ tasks }) => show(tasks.find((task) => task.error)?.error ?? undefined), show);
  }, []);
  const begin = () => {
    sent.current = true;
    setProblem(undefined);
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    begin();
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
      {stream.interrupts.map(({ id, value }) => value && <Ask key={id} value={value} answer={(answer) => { begin(); void stream.respond(answer, { interruptId: id }); }} />)}
      {error !== undefined && <p role="alert">{String(error)}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={stream.isLoading || stream.interrupts.length > 0 || text === ""}>Send</button>
        {stream.isLoading && <button type="button" onClick={() => void stop()}>Stop</button>}
      </form>
    </main>
  );
}
