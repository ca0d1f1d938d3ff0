import { useEffect, useRef, useState, type FormEvent } from "react";
import { useStream } from "@langchain/react";

// The address of the page may name the server, the graph and the thread.
const query = new URLSearchParams(location.search);
const page = "react-page"; // marks the threads of this page

/** The address of a thread, or of a new one. */
function addressOf(thread?: string) {
  const to = new URLSearchParams(query);
  if (thread === undefined) to.delete("thread");
  else to.set("thread", thread);
  return `?${to}`;
}

/** What a node asks: an approval of a tool call has a hash, and other questions of this page have options. */
type Question = { question?: string; options?: string[]; tool?: string; arguments?: unknown; hash?: string; problem?: string };

/** What a text has as JSON, or undefined. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function Ask({ value, answer }: { value: Question; answer: (value: unknown) => void }) {
  const [edited, setEdited] = useState(JSON.stringify(value.arguments, null, 2)); // all arguments, also those that stay
  const choices: [string, unknown][] = value.hash
    ? [["Approve", { verdict: "approve", hash: value.hash }], ["Reject", { verdict: "reject", hash: value.hash }]]
    : (value.options ?? []).map((option) => [option, option]);
  return (
    <section>
      {value.problem && <p role="alert">The last answer did not fit: {value.problem}</p>}
      <p>{value.hash ? `May ${value.tool} run with ${JSON.stringify(value.arguments)}?` : value.question}</p>
      {choices.map(([name, choice]) => <button key={name} onClick={() => answer(choice)}>{name}</button>)}
      {value.hash && (
        <p>
          <textarea aria-label="Arguments" value={edited} onChange={(event) => setEdited(event.target.value)} />
          <button disabled={jsonOf(edited) === undefined} onClick={() => answer({ verdict: "edit", hash: value.hash, arguments: jsonOf(edited) })}>Run with these arguments</button>
        </p>
      )}
    </section>
  );
}

/** A conversation. Its thread is kept in the address, so that a reload shows it, and joins a run that goes on. */
export default function App() {
  const [threadId, setThreadId] = useState(query.get("thread"));
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<unknown>();
  const [threads, setThreads] = useState<{ thread_id: string; metadata?: Record<string, unknown> | null }[]>([]);
  const title = useRef(""); // of a new thread
  const sent = useRef(false); // then the error of an old run is not shown any more
  const [run, setRun] = useState<string>(); // that this page began, until its end
  const stream = useStream<Record<string, unknown>, Question>({
    apiUrl: query.get("api") ?? "http://127.0.0.1:8123",
    assistantId: query.get("graph") ?? "assistant",
    threadId,
    onThreadId(id) {
      setThreadId(id);
      query.set("thread", id);
      history.replaceState(null, "", `?${query}`);
      void entitle(id).catch(setProblem);
    },
    onCreated: ({ runId }) => void follow(runId),
  });
  const list = async () => setThreads(await stream.client.threads.search({ metadata: { page }, sortBy: "updated_at", sortOrder: "desc", limit: 50 }));
  // This hook has the id of a new thread before the server has the thread, and an update would get 404.
  const entitle = async (id: string) => {
    await stream.client.threads.create({ threadId: id, ifExists: "do_nothing" });
    await stream.client.threads.update(id, { metadata: { page, title: title.current } });
    await list();
  };
  // After a reload this hook does not have the error of a failed run. The state of the thread has it.
  const failure = async (id: string) => (await stream.client.threads.getState(id)).tasks.find((task) => task.error)?.error ?? undefined;
  useEffect(() => {
    const show = (problem: unknown) => !sent.current && setProblem(problem);
    if (threadId !== null) failure(threadId).then(show, show);
  }, []);
  // After a reload it also takes the end of an earlier run for the end of the next one. The server knows when that one ends, and how.
  const follow = async (runId: string) => {
    const id = query.get("thread")!;
    setRun(runId);
    try {
      await stream.client.runs.join(id, runId);
      setProblem(await failure(id));
    } catch (error) {
      setProblem(error);
    }
    setRun(undefined);
  };
  const busy = stream.isLoading || run !== undefined;
  useEffect(() => void list().catch(setProblem), [busy]); // the newest first, also after a run
  const error = stream.error ?? problem;
  const begin = () => {
    sent.current = true;
    setProblem(undefined);
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    begin();
    title.current = text.slice(0, 60);
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
      <nav aria-label="Threads">
        <a href={addressOf()}>New</a>
        {threads.map(({ thread_id: id, metadata }) => <a key={id} href={addressOf(id)} aria-current={id === threadId}>{String(metadata?.title ?? "Untitled")}</a>)}
      </nav>
      <ol>
        {stream.messages.filter((message) => message.text !== "").map((message) => (
          <li key={message.id} className={message.type}>{message.type === "tool" && `${message.name ?? "tool"}: `}{message.text}</li>
        ))}
      </ol>
      {stream.interrupts.map(({ id, value }) => value && <Ask key={id} value={value} answer={(answer) => { begin(); void stream.respond(answer, { interruptId: id }); }} />)}
      {error !== undefined && <p role="alert">{String(error)}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={busy || stream.interrupts.length > 0 || text === ""}>Send</button>
        {busy && <button type="button" onClick={() => void stop()}>Stop</button>}
      </form>
    </main>
  );
}
