import { useMemo } from "react";
import { useStream } from "@langchain/react";

const query = new URLSearchParams(location.search);
const apiUrl = query.get("api")!;
const assistantId = query.get("graph")!;

/** A page whose user has a token. */
export default function Signed({ token }: { token: string }) {
  // docs:begin headers
  const defaultHeaders = useMemo(() => ({ Authorization: `Bearer ${token}` }), [token]);
  const stream = useStream({ apiUrl, assistantId, defaultHeaders });
  // docs:end
  return <button onClick={() => void stream.submit({ messages: [{ type: "human", content: "one" }] })}>{stream.messages.map((message) => message.text).join("|")}</button>;
}
