// The page: a conversation with a graph. See the package's documentation for what
// it asks the server for. Text of users, models and tools is only ever set as text.

import { draw } from "./graph.js";

const $ = (id) => document.getElementById(id);
let config = {};
let session = "";
let running = null; // the AbortController of a run
let nodes = new Map();
let images = [];
let tokens = 0;
let opened = 0; // counts what was opened: what a run finds out later may be about another conversation

function make(name, properties = {}, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}

// --- asking the server

async function ask(method, path, body, signal) {
  const headers = {};
  if (config.token && $("token").value) headers.Authorization = "Bearer " + $("token").value;
  if (body !== undefined && !(body instanceof FormData)) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(body);
  }
  const reply = await fetch(path, { method, headers, body, signal });
  if (!reply.ok) {
    const text = await reply.text();
    let problem;
    try { problem = JSON.parse(text); } catch { problem = { error: text || reply.statusText }; }
    throw new Error(explain(problem));
  }
  return reply;
}

const explain = (p) => p.error + (p.details ? ` (${typeof p.details === "string" ? p.details : JSON.stringify(p.details)})` : "");
const get = async (path) => (await ask("GET", path)).json();
const of = (id, rest = "") => `api/sessions/${encodeURIComponent(id)}${rest}`;

// events reads server-sent events as they come.
async function* events(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const name = /^event: (.*)$/m.exec(part), data = /^data: (.*)$/m.exec(part);
      if (name && data) yield [name[1], JSON.parse(data[1])];
    }
  }
}

// --- what is shown

const shown = new Map(); // by message, call or pause

function status(text) { $("status").textContent = text; }

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

function show(key, e) {
  const old = key && shown.get(key);
  const log = $("log");
  const follow = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  if (old) old.replaceWith(e); else log.append(e);
  if (key) shown.set(key, e);
  if (follow) log.scrollTop = log.scrollHeight;
  return e;
}

function bubble(key, role, text, pictures = []) {
  const words = make("div", { className: "words", textContent: text });
  const e = make("article", { className: role }, make("h3", { textContent: role === "user" ? "You" : "Assistant" }), words);
  for (const src of pictures) e.append(make("img", { src, alt: "an image that was sent" }));
  return show(key, e);
}

function say(c) {
  const e = shown.get(c.message_id) ?? bubble(c.message_id, "assistant", "");
  e.setAttribute("aria-busy", "true"); // read out when it is complete
  const log = $("log");
  const follow = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  e.querySelector(".words").append(c.text);
  if (follow) log.scrollTop = log.scrollHeight;
}

function said() {
  for (const e of document.querySelectorAll("[aria-busy]")) e.removeAttribute("aria-busy");
}

const pretty = (v) => {
  if (typeof v === "string") { try { v = JSON.parse(v); } catch { return v; } }
  return JSON.stringify(v, null, 2);
};

function call(c, answer, failed) {
  const state = answer === undefined ? "is running" : failed ? "failed" : "answered";
  const mark = make("span", { textContent: state, className: failed ? "failed" : answer === undefined ? "" : "done" });
  const e = make("details", { className: "call" }, make("summary", {}, `Tool ${c.name} `, mark));
  e.open = shown.get("call " + c.id)?.open ?? false;
  e.append(make("pre", { textContent: pretty(c.arguments ?? {}) }));
  if (answer !== undefined) e.append(make("pre", { textContent: pretty(answer) }));
  show("call " + c.id, e);
}

const textOf = (m) => (m.parts ?? []).map((p) => p.text ?? "").join("");

// --- questions

function question(c) {
  const id = c.pause.id ?? "";
  const e = make("section", { className: "question" });
  const send = (answer) => () => { e.remove(); shown.delete("pause " + id); run(of(session, "/answers"), { id, answer }); };
  const button = (label, action) => make("button", { type: "button", textContent: label, onclick: action });
  e.setAttribute("aria-label", "A question for you");
  if (c.kind === "approval") approval(c, e, button, send);
  else {
    const prompt = c.text || c.pause.prompt || `Go on with ${c.pause.node}?`;
    e.append(make("p", { className: "words", textContent: visible(typeof prompt === "string" ? prompt : prompt.text ?? pretty(prompt)) }));
    e.append(button("Yes", send("yes")), " ", button("No", send("no")));
  }
  show("pause " + id, e);
  e.querySelector("button").focus();
}

// Invisible characters could make a question look like another. The escapes are valid in JSON.
const invisible = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const visible = (text) => text.replace(invisible, (c) => c.split("").map((u) => "\\u" + u.charCodeAt(0).toString(16).padStart(4, "0")).join(""));

function approval(c, e, button, send) {
  const q = c.question;
  const args = make("textarea", { value: visible(pretty(q.arguments)), rows: 4, hidden: true });
  args.setAttribute("aria-label", "Arguments");
  const reason = make("input", { placeholder: "Reason, if you say no" });
  reason.setAttribute("aria-label", "Reason, if you say no");
  const decide = (d) => send({ ...d, hash: q.hash })();
  e.append(make("p", {}, "May ", make("strong", { textContent: visible(q.tool) }), " be called?"));
  e.append(make("pre", { textContent: c.prompt }), args, reason); // the text of the question, from the server
  e.append(make("p", {},
    button("Approve", () => {
      if (args.hidden) return decide({ verdict: "approve" });
      try { decide({ verdict: "edit", arguments: JSON.parse(args.value) }); } catch { problem("The arguments are not JSON."); }
    }), " ",
    button("Reject", () => decide({ verdict: "reject", reason: reason.value })), " ",
    button("Change the arguments", () => { args.hidden = false; args.focus(); })));
}

// --- the graph

function path(c) {
  return [...(c.path ?? "").split("/"), c.node ?? ""].filter(Boolean).map((p) => p.split("[")[0]).join("/");
}

function mark(c, kind) {
  const e = nodes.get(path(c));
  if (!e) return;
  e.classList.remove(...marks);
  e.classList.add(kind);
  const named = (kind) => [...document.querySelectorAll("svg ." + kind)].map((n) => n.dataset.node).join(", ");
  const active = named("active"), waits = named("waits");
  $("active").textContent = active ? `Running: ${active}` : waits ? `Waiting for you: ${waits}` : "No node is running.";
}

const marks = ["active", "waits", "ran", "broke"]; // what the elements of nodes are marked with

function unmark() {
  for (const e of nodes.values()) e.classList.remove(...marks);
  $("active").textContent = "No node is running.";
}

// --- running

function take(name, c) {
  switch (name) {
    case "node_started": return mark(c, "active");
    case "node_finished": return mark(c, c.problem ? "broke" : "ran");
    case "text": return say(c);
    case "turn": return status(`Thinking, turn ${c.turn.number ?? ""}`);
    case "usage": tokens += c.usage?.total ?? 0; return said();
    case "tool_started": return call(c.call);
    case "progress": return status(`${c.progress.tool}: ${c.progress.message ?? c.progress.done}`);
    case "tool_finished": return call(c.call, textOf(c.answer), c.answer.status === "error");
    case "approval": case "pause": mark(c, "waits"); return question(c);
    case "notice": return status(c.text);
    case "error": return problem(explain(c));
  }
}

async function run(where, body) {
  problem("");
  busy(new AbortController());
  status("Working");
  unmark();
  const at = opened;
  try {
    for await (const [name, c] of events(await ask("POST", where, body, running.signal))) take(name, c);
    status(tokens ? `Ready. ${tokens} tokens so far.` : "Ready.");
  } catch (err) {
    status(err.name === "AbortError" ? "Stopped." : "");
    if (err.name !== "AbortError") problem(err.message);
  }
  busy(null);
  await after(at);
}

// after shows what there is to do when a run has ended, in whatever way.
async function after(at) {
  said();
  try {
    const t = await get(of(session));
    if (at !== opened) return;
    if (missing(t)) redraw(t);
    $("resume").hidden = !t.unfinished;
    if (t.waits.length) status("Waiting for your answer.");
    await list();
  } catch (err) { problem(err.message); }
}

// missing reports whether a conversation has what was not shown: a run that goes on does not
// send again what it remembers of before.
function missing(t) {
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  const seen = plain([...document.querySelectorAll("article.assistant .words")].map((e) => e.textContent).join(" "));
  return t.messages.some((m) => m.role !== "user" && (m.text && !shown.has(m.id) && !seen.includes(plain(m.text)) ||
    m.calls?.some((c) => c.answered && !shown.has("call " + c.id))));
}

// redraw shows a conversation anew.
function redraw(t) {
  const unfolded = [...shown].filter(([, e]) => e.open).map(([key]) => key);
  clear();
  load(t);
  for (const key of unfolded) if (shown.has(key)) shown.get(key).open = true;
}

function clear() {
  shown.clear();
  $("log").replaceChildren();
}

function busy(controller) {
  running = controller;
  $("send").disabled = !!controller;
  $("stop").hidden = !controller;
  $("resume").hidden = true;
}

async function send(text) {
  text = text.trim();
  if (!text || running) return;
  $("suggestions").hidden = true;
  try { if (!session) await begin(); } catch (err) { return problem(err.message); }
  bubble("", "user", text, images.map((i) => `data:${i.mimeType};base64,${i.data}`));
  const body = images.length ? { message: text, images } : { message: text };
  images = [];
  $("images").replaceChildren();
  $("text").value = "";
  await run(of(session, "/messages"), body);
  if (!document.querySelector(".question")) $("text").focus();
}

// --- conversations

async function begin() {
  const s = await (await ask("POST", "api/sessions", {})).json();
  session = s.id;
  history.replaceState(null, "", "#" + session);
}

async function list() {
  const all = await get("api/sessions");
  $("sessions").replaceChildren(...all.map((s) => {
    const b = make("button", { type: "button", textContent: s.title || "New conversation", onclick: () => open(s.id) });
    if (s.id === session) b.setAttribute("aria-current", "true");
    return make("li", {}, b);
  }));
}

async function open(id) {
  if (running) running.abort();
  session = id;
  opened++;
  clear();
  $("suggestions").hidden = !!id;
  $("resume").hidden = true;
  problem("");
  status("");
  unmark();
  history.replaceState(null, "", id ? "#" + id : location.pathname);
  try {
    if (id) await load(await get(of(id)));
    await list();
    if (config.upload) await resources();
  } catch (err) { problem(err.message); }
}

function load(t) {
  for (const m of t.messages) {
    if (m.text || m.images?.length) bubble(m.id, m.role, m.text, m.images);
    for (const c of m.calls ?? []) call(c, c.answered ? c.answer : undefined, c.failed);
  }
  for (const c of t.waits) { mark(c, "waits"); question(c); }
  $("resume").hidden = !t.unfinished;
  if (t.unfinished) status("The last run was not finished.");
}

// --- files

async function resources() {
  const all = session ? await get(of(session, "/resources")) : [];
  $("resources").replaceChildren(...all.map((r) => make("li", {}, r.originalName, make("br"), make("small", { textContent: r.note ?? `${r.sizeBytes} bytes` }))));
}

async function upload(files) {
  problem("");
  try {
    if (!session) await begin();
    for (const f of files) {
      status(`Uploading ${f.name}`);
      const form = new FormData();
      form.append("file", f);
      await ask("POST", of(session, "/resources"), form);
      status(`${f.name} is there.`);
    }
    await list();
  } catch (err) { status(""); problem(err.message); }
  await resources();
}

async function attach(files) {
  for (const f of files) {
    const url = await new Promise((done) => {
      const r = new FileReader();
      r.onload = () => done(r.result);
      r.readAsDataURL(f);
    });
    images.push({ data: url.slice(url.indexOf(",") + 1), mimeType: f.type, originalName: f.name });
    $("images").append(make("img", { src: url, alt: f.name }));
  }
}

async function start() {
  config = await get("page.json");
  document.title = config.title;
  $("title").textContent = config.title;
  $("intro").textContent = config.intro;
  $("text").placeholder = config.placeholder;
  $("tokenline").hidden = !config.token;
  $("imageline").hidden = !config.images;
  $("files").hidden = !config.upload;
  $("upload").accept = config.upload;
  $("suggestions").append(...(config.suggestions ?? []).map((s) => make("button", { type: "button", textContent: s, onclick: () => send(s) })));
  if (config.graph) {
    $("drawing").hidden = false;
    nodes = draw(config.graph, $("graph"));
  }
  $("form").onsubmit = (e) => { e.preventDefault(); send($("text").value); };
  $("text").onkeydown = (e) => { if (e.key === "Enter" && !e.shiftKey) { e.preventDefault(); send($("text").value); } };
  $("stop").onclick = () => running?.abort();
  $("resume").onclick = () => run(of(session, "/resume"));
  $("new").onclick = () => { open(""); $("text").focus(); };
  $("token").onchange = () => open("");
  $("upload").onchange = (e) => { upload([...e.target.files]); e.target.value = ""; };
  $("image").onchange = (e) => { attach([...e.target.files]); e.target.value = ""; };
  await open(location.hash.slice(1));
  document.body.dataset.ready = "yes"; // for tests
}

start().catch((err) => problem(err.message));
