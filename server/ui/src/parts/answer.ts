import { useState } from "react";
import { messageOf } from "../client";

/** useAnswer sends the answer to a question once. After a failure it can be sent again. */
export function useAnswer(onAnswer: (value: unknown) => Promise<void>) {
  const [sent, setSent] = useState(false);
  const [failed, setFailed] = useState<string>();
  const send = async (value: unknown) => {
    setSent(true);
    setFailed(undefined);
    try {
      await onAnswer(value);
    } catch (error) {
      setFailed(messageOf(error));
      setSent(false);
    }
  };
  return { sent, failed, send };
}
