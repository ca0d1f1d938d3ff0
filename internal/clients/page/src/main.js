// A page for one conversation. Its address names the hook, the server, the graph and the thread.
import { createElement as h, useState } from "react";
import { createRoot } from "react-dom/client";
import { useStream as useReact } from "@langchain/react";
import { Client } from "langgraph-sdk-1";
import { useStream as useSDK1 } from "langgraph-sdk-1/react";
import { useStream as useSDK2 } from "langgraph-sdk-2/react";

const query = new URLSearchParams(location.search);
const client = new Client({ apiUrl: query.get("api") });

// docs:begin react
/** The options of the hooks. The thread is kept in the address, so that a reload shows it again. */
function useOptions() {
  const [threadId, setThreadId] = useState(query.get("thread"));
  return {
    apiUrl: query.get("api"), assistantId: query.get("graph"), threadId, reconnectOnMount: true, fetchStateHistory: true,
    onThreadId(id) {
      setThreadId(id);
      query.set("thread", id);
      history.replaceState(null, "", `?${query}`);
    },
  };
}

// docs:end

const human = (content) => ({ messages: [{ type: "human", content }] });

// docs:begin edit
// The hook's metadata of a message has the parent of the newest checkpoint. The history has that of the
// checkpoint in which the message came.
async function edit(stream, messageId, text) {
  const history = await client.threads.getHistory(stream.threadId, { limit: 100 });
  const first = history.findLast((state) => state.values.messages?.some((m) => m.id === messageId));
  await stream.submit({ messages: [{ type: "human", content: text }] }, { forkFrom: first.parent_checkpoint.checkpoint_id });
}
// docs:end

/** The hook of @langchain/react. */
const react = {
  use: () => useReact(useOptions()),
  useEdit: (s, message) => (text) => edit(s, message.id, text),
  answer: (s, value) => s.respond(value),
  Branches: () => null, // this hook has no list of branches
};

/** A hook of @langchain/langgraph-sdk/react. */
const sdk = (useSDK) => ({
  use: () => useSDK(useOptions()),
  useEdit(s, message) {
    const state = s.getMessagesMetadata(message)?.firstSeenState;
    return (text) => s.submit(human(text), { checkpoint: state?.parent_checkpoint });
  },
  answer: (s, resume) => s.submit(undefined, { command: { resume } }),
  Branches({ s, message }) {
    const metadata = s.getMessagesMetadata(message);
    const list = metadata?.branchOptions ?? [];
    return list.length < 2 ? null : h("span", { className: "branches" }, list.map((branch, i) =>
      h("button", { key: branch, onClick: () => s.setBranch(branch) }, `branch ${i + 1}`)));
  },
});

const hook = { react, sdk1: sdk(useSDK1), sdk2: sdk(useSDK2) }[query.get("hook")];

function Message({ s, message }) {
  const edit = hook.useEdit(s, message);
  const [text, setText] = useState("");
  const type = message.type ?? message.getType();
  const content = typeof message.content === "string" ? message.content : message.text;
  return h("li", { className: type },
    h("span", { className: "text" }, content),
    type === "human" && h("form", { onSubmit: (e) => { e.preventDefault(); edit(text); } },
      h("input", { className: "edit", value: text, onChange: (e) => setText(e.target.value) })),
    type === "human" && h(hook.Branches, { s, message }));
}

function App() {
  const s = hook.use();
  const [text, setText] = useState("");
  const submit = (e) => {
    e.preventDefault();
    s.submit(query.get("graph") === "approve" ? { request: text } : human(text));
    setText("");
  };
  return h("main", null,
    h("ol", null, s.messages.map((m) => h(Message, { key: m.id, s, message: m }))),
    s.interrupt && h("div", { id: "question" }, h("p", null, s.interrupt.value.question),
      s.interrupt.value.options.map((o) => h("button", { key: o, onClick: () => hook.answer(s, o) }, o))),
    s.error && h("p", { id: "error" }, String(s.error)),
    h("p", { id: "result" }, s.values?.result),
    h("p", { id: "status" }, s.isLoading ? "running" : "ready"),
    h("form", { onSubmit: submit }, h("input", { id: "input", value: text, onChange: (e) => setText(e.target.value) })));
}

createRoot(document.getElementById("root")).render(h(App));
