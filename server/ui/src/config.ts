// The configuration that the server writes into the page; see package ui.

/** Tool is a tool as the page shows it. */
export type Tool = {
  title?: string;
  /** The type of the result, which selects its card. */
  result?: string;
  destructive?: boolean;
  description?: string;
  /** The JSON schema of the arguments. */
  schema?: Schema;
};

/** Schema is the part of JSON schema that forms are made of. */
export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  additionalProperties?: boolean | Schema;
  $ref?: string;
  $defs?: Record<string, Schema>;
};

export type Config = {
  /** The address of the server; relative addresses are relative to the page. */
  api?: string;
  /** The graph or assistant that the chat talks to. */
  assistant?: string;
  /** The channel of messages of the graph, unless it is "messages". */
  messages?: string;
  title?: string;
  /** The language of the page, as a tag of BCP 47. */
  language?: string;
  /** The words of the application for texts of the page, by the English text. */
  texts?: Record<string, string>;
  greeting?: string;
  suggestions?: string[];
  placeholder?: string;
  /** The address of the module of the application. */
  script?: string;
  /** Where a person signs in when the server refuses the credentials. */
  login?: string;
  /** Whether a person can sign in before the server refuses a request. */
  signIn?: boolean;
  tools?: Record<string, Tool>;
  /** Whether images and texts can be attached to messages. */
  attach?: boolean;
  /** The address of the application that takes files, and the types that it takes. */
  upload?: string;
  accept?: string;
  /** The address of the application that lists and forgets facts about the person. */
  memory?: string;
  /** The currency of costs: a code of ISO 4217. */
  currency?: string;
  /** Whether the studio may change things. */
  write?: boolean;
};

function read(): Config {
  const text = document.getElementById("config")?.textContent;
  return text ? (JSON.parse(text) as Config) : {};
}

export const config: Config = read();

/** channel is the name of the channel of messages. */
export const channel = config.messages ?? "messages";
