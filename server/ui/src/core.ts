// In place of @langchain/core, of which the SDK needs ids and, for streams of the newer protocol,
// message classes. The package brings the client of a tracing service along: 80 kB that no page
// needs. vite.config.js puts this in its place. Messages are plain objects here.

/** v7 returns a UUID of version 7: it begins with the time. It works without TLS, too. */
export function v7(): string {
  const b = crypto.getRandomValues(new Uint8Array(16));
  let time = Date.now();
  for (let i = 5; i >= 0; i--) {
    b[i] = time % 256;
    time = Math.floor(time / 256);
  }
  b[6] = ((b[6] ?? 0) & 0x0f) | 0x70;
  b[8] = ((b[8] ?? 0) & 0x3f) | 0x80;
  const h = [...b].map((x) => x.toString(16).padStart(2, "0")).join("");
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
}

function plain(type: string) {
  return class {
    readonly type = type;
    constructor(fields: object) {
      Object.assign(this, fields);
    }
  };
}

export const AIMessage = plain("ai");
export const AIMessageChunk = plain("ai");
export const HumanMessage = plain("human");
export const RemoveMessage = plain("remove");
export const SystemMessage = plain("system");
export const ToolMessage = plain("tool");

export function coerceMessageLikeToMessage(message: unknown): unknown {
  return message;
}

export const BaseMessageChunk = plain("");
export const HumanMessageChunk = plain("human");
export const SystemMessageChunk = plain("system");
export const ToolMessageChunk = plain("tool");
export const convertToChunk = coerceMessageLikeToMessage;
