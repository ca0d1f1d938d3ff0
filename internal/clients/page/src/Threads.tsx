import { useEffect, useRef, useState, type FormEvent } from "react";
import { Client, type Message, type Thread } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";

const query = new URLSearchParams(location.search);
const apiUrl = query.get("api") ?? "http://127.0.0.1:8123";
const assistantId = query.get("graph") ?? "assistant";
const client = new Client({ apiUrl });
const page = "my-page"; // marks the threads of this page

/** The threads of this page, the newest first, and what a person does with them. */
function useThreads() {
  const [threads, setThreads] = useState<Thread[]>([]);
  const load = async () => setThreads(await client.threads.search({ metadata: { page }, sortBy: "updated_at", sortOrder: "desc", limit: 50 }));
  useEffect(() => void load(), []);
  return {
    threads, load,
    rename: (id: string, title: string) => client.threads.update(id, { metadata: { page, title } }).then(load),
    remove: (id: string) => client.threads.delete(id).then(load),
  };
}

export default function App() {
  const { threads, load, rename, remove } = useThreads();
  const [opened, setOpened] = useState<string>();
  const [current, setCurrent] = useState<string>(); // the opened thread, or the new one
  const open = (id?: string) => {
    setOpened(id);
    setCurrent(id);
  };
  return (
    <>
      <nav aria-label="Threads">
        <button onClick={() => open()}>New</button>
        <ul>
          {threads.map((thread) => (
            <li key={thread.thread_id}>
              <button aria-current={thread.thread_id === current} onClick={() => open(thread.thread_id)}>{String(thread.metadata?.title ?? "Untitled")}</button>
              <button onClick={() => void remove(thread.thread_id).then(() => thread.thread_id === current && open())}>Delete</button>
            </li>
          ))}
        </ul>
      </nav>
      {/* The key begins another conversation when another thread is opened, and not when a new one gets its id. */}
      <Conversation key={opened ?? "new"} threadId={current} onThread={setCurrent} onTitle={rename} onEnd={load} />
    </>
  );
}

type Props = { threadId?: string; onThread: (id: string) => void; onTitle: (id: string, title: string) => void; onEnd: () => void };

function Conversation({ threadId, onThread, onTitle, onEnd }: Props) {
  const [text, setText] = useState("");
  const title = useRef("");
  const stream = useStream<{ messages: Message[] }>({
    apiUrl, assistantId, threadId: threadId ?? null, reconnectOnMount: true, onFinish: onEnd,
    fetchStateHistory: { limit: 100 }, // branches are found in this many checkpoints
    onThreadId(id) {
      onThread(id);
      onTitle(id, title.current);
    },
  });
  // The hook shows the branch that began last. The state of the thread is the branch with the newest checkpoint.
  useEffect(() => stream.setBranch(newestBranch(stream.experimental_branchTree)), [stream.isThreadLoading]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    const message: Message = { type: "human", content: text, id: crypto.randomUUID() };
    void stream.submit({ messages: [message] }, {
      // Without a checkpoint the hook would leave the branch that is shown.
      checkpoint: stream.branch ? stream.history.at(-1)?.checkpoint : undefined,
      // The message is shown at once, and not when the server has it.
      optimisticValues: (values) => ({ ...values, messages: [...(values.messages ?? []), message] }),
    });
    title.current = text.slice(0, 60); // of a new thread
    setText("");
  };
  return (
    <main>
      <ol>
        {stream.messages.map((message) => {
          const metadata = stream.getMessagesMetadata(message);
          const before = metadata?.firstSeenState?.parent_checkpoint; // the state without the message
          const versions = metadata?.branchOptions ?? [];
          const at = versions.indexOf(metadata?.branch ?? "");
          return (
            <li key={message.id} className={message.type}>
              <p>{String(message.content)}</p>
              {message.type === "human" && (
                <Edit disabled={stream.isLoading || !before} onSave={(content) => void stream.submit({ messages: [{ type: "human", content }] }, { checkpoint: before })} />
              )}
              {message.type === "ai" && (
                <button disabled={stream.isLoading || !before} onClick={() => void stream.submit(undefined, { checkpoint: before })}>Answer again</button>
              )}
              {versions.length > 1 && (
                <span>
                  <button disabled={at < 1} onClick={() => stream.setBranch(versions[at - 1])}>Earlier</button>
                  {at + 1}/{versions.length}
                  <button disabled={at + 1 >= versions.length} onClick={() => stream.setBranch(versions[at + 1])}>Later</button>
                </span>
              )}
            </li>
          );
        })}
      </ol>
      {stream.error !== undefined && <p role="alert">{String(stream.error)}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={stream.isLoading || text === ""}>Send</button>
      </form>
    </main>
  );
}

type Sequence = ReturnType<typeof useStream>["experimental_branchTree"];
type Node = Extract<Sequence["items"][number], { type: "node" }>;

function newestBranch(tree: Sequence): string {
  const nodes = (sequence: Sequence): Node[] => sequence.items.flatMap((item) => (item.type === "node" ? [item] : item.items.flatMap(nodes)));
  const id = (node: Node) => node.value.checkpoint.checkpoint_id ?? "";
  return nodes(tree).sort((a, b) => id(a).localeCompare(id(b))).at(-1)?.path.join(">") ?? "";
}

function Edit({ disabled, onSave }: { disabled: boolean; onSave: (text: string) => void }) {
  const [text, setText] = useState<string>();
  if (text === undefined) return <button disabled={disabled} onClick={() => setText("")}>Edit</button>;
  const save = (event: FormEvent) => {
    event.preventDefault();
    onSave(text);
    setText(undefined);
  };
  return <form onSubmit={save}><input aria-label="New text" value={text} onChange={(event) => setText(event.target.value)} /></form>;
}
