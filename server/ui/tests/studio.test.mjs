// Uses the studio in headless Chromium: every view with axe-core, light and dark, at 390 and 1,440
// pixels; what a person does, by keyboard; long threads; a read-only server.
// With WEFT_SCREENSHOTS=DIR, it keeps pictures.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "..", "..", "..");
const folder = mkdtempSync(join(tmpdir(), "weft-studio-test-"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pictures = process.env.WEFT_SCREENSHOTS;
const started = [];

const orders = "11111111-1111-4111-8111-111111111111";
const refund = "22222222-2222-4222-8222-222222222222";
const report = "33333333-3333-4333-8333-333333333333";
const published = "44444444-4444-4444-8444-444444444444";
const failed = "55555555-5555-4555-8555-555555555555";
const long = "66666666-6666-4666-8666-666666666666";
const counted = "77777777-7777-4777-8777-777777777777";

function serve(...args) {
  return new Promise((done, fail) => {
    const p = spawn(join(folder, "studiotest"), ["-listen", "127.0.0.1:0", ...args], { stdio: ["ignore", "pipe", "inherit"] });
    started.push(p);
    p.stdout.once("data", (line) => done(String(line).trim()));
    p.once("exit", (code) => fail(new Error(`the server ended with code ${code}`)));
  });
}

let browser;
async function open(base, address, { width = 1440, scheme = "light", motion = "reduce" } = {}) {
  const page = await browser.newPage({ viewport: { width, height: width < 600 ? 844 : 900 }, colorScheme: scheme, reducedMotion: motion });
  page.problems = [];
  const origin = new URL(base).origin;
  page.on("console", (m) => m.type() === "error" && !/status of 4\d\d/.test(m.text()) && page.problems.push(m.text()));
  page.on("pageerror", (e) => page.problems.push(e.message));
  page.on("request", (r) => {
    const u = new URL(r.url());
    if (!["data:", "blob:"].includes(u.protocol) && u.origin !== origin) page.problems.push(`a request left the origin: ${r.url()}`);
  });
  await page.goto(base + address);
  await settled(page);
  return page;
}

async function settled(page) {
  await page.waitForLoadState("networkidle").catch(() => undefined);
  await page.waitForFunction(() => !document.querySelector('[role="status"][aria-label="Loading"]') && !/reading \d+/.test(document.body.innerText), undefined, { timeout: 15_000 });
  await page.waitForTimeout(250); // the drawing of a graph comes into view
}

async function close(page) {
  assert.deepEqual(page.problems, [], `problems at ${page.url()}`);
  await page.close();
}

async function violations(page) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return result.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target.join(" ")} ${n.failureSummary?.split("\n")[1] ?? ""}`).slice(0, 4).join(" | ")}`);
}

async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `studio-${name}.png`) });
}

let base, readOnly;

before(async () => {
  const program = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  if (!program) throw new Error("there is no Chromium: install it, or set CHROMIUM to its path");
  execFileSync("go", ["build", "-o", join(folder, "studiotest"), "./server/ui/internal/studiotest"], { cwd: root, stdio: "inherit" });
  browser = await chromium.launch({
    executablePath: program,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  [base, readOnly] = await Promise.all([serve("-large"), serve("-read-only")]);
});

after(async () => {
  await browser?.close();
  for (const p of started) {
    p.removeAllListeners("exit");
    p.kill();
  }
  rmSync(folder, { recursive: true, force: true });
});

async function runsOf(base, body) {
  const r = await fetch(new URL("../weft/runs/search", base), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return (await r.json()).runs;
}

const views = [
  ["threads", "#/threads"], ["conversation", `#/threads/${orders}`], ["report", `#/threads/${report}`], ["failed", `#/threads/${failed}`],
  ["changes", `#/threads/${report}?view=changes`], ["graph-of-thread", `#/threads/${report}?view=graph`], ["node", `#/threads/${published}?node=search&view=graph`],
  ["thread-runs", `#/threads/${orders}?view=runs`], ["missing", "#/threads/99999999-9999-4999-8999-999999999999"],
  ["runs", "#/runs"], ["run", async () => `#/runs/${await newestRun(published)}`], ["model-run", async () => `#/runs/${await newestRun(orders)}`],
  ["two-runs", async () => `#/runs/${await newestRun(report)}?with=${await newestRun(failed)}`],
  ["questions", "#/questions"], ["memory", "#/memory"], ["memory-space", "#/memory/preferences/ada"], ["facts", "#/facts?past=yes"], ["recall", "#/facts?q=which+shoes+does+Ada+wear"], ["graphs", "#/graphs"], ["graph", "#/graphs/report"], ["settings", "#/settings"],
  ["palette", "#/threads", (p) => p.keyboard.press("Control+k")],
  ["new-run", "#/runs", (p) => p.getByRole("button", { name: "Start a run" }).click()],
  ["edit", `#/threads/${report}`, (p) => p.getByRole("button", { name: "Edit state" }).click()],
  ["delete", `#/threads/${report}`, async (p) => {
    await p.getByRole("button", { name: "More actions" }).click();
    await p.getByRole("menuitem", { name: "Delete" }).click();
  }],
];

async function newestRun(thread) {
  const [r] = await runsOf(base, { thread_id: thread, limit: 1 });
  return `${r.thread_id}/${r.run_id}`;
}

for (const [name, address, act] of views) test(`${name} is accessible, light and dark, on a phone and a wide screen`, { timeout: 120_000 }, async () => {
  const bad = [];
  for (const scheme of ["light", "dark"]) for (const width of [1440, 390]) {
    const page = await open(base, typeof address === "string" ? address : await address(), { width, scheme });
    if (act) await act(page);
    for (const v of await violations(page)) bad.push(`${scheme} ${width}: ${v}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) bad.push(`${scheme} ${width}: the page is ${wide} pixels too wide`);
    await picture(page, `${name}-${scheme}-${width}`);
    await close(page);
  }
  assert.deepEqual(bad, []);
});

test("a question is answered in the inbox by keyboard alone, and its thread goes on", { timeout: 60_000 }, async () => {
  const page = await open(base, "#/questions");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.getByText("Refund of the boots").first().waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter"); // Approve
  await page.keyboard.press("Enter"); // and once more, since it cannot be undone
  await page.waitForFunction(() => !document.querySelector('[aria-label="Open questions"]')?.textContent.includes("Refund of the boots"));
  await page.goto(`${base}#/threads/${refund}`);
  await page.getByText("the money will be on your account").waitFor();
  await close(page);
});

test("the checkpoints are gone through by keyboard, and the state and the graph follow", { timeout: 60_000 }, async () => {
  const page = await open(base, `#/threads/${published}?view=state`);
  const line = page.getByRole("slider", { name: "Checkpoints" });
  await line.focus();
  await page.keyboard.press("Home");
  await page.getByText("Input 0", { exact: false }).first().waitFor();
  await page.getByRole("button", { name: /Node plan\s?, due next/ }).waitFor();
  assert.equal(await page.getByText("published", { exact: true }).count(), 0);
  await page.keyboard.press("ArrowRight");
  await page.getByRole("button", { name: /Node plan\s?, done/ }).waitFor();
  await page.getByText("history of bicycles").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("published", { exact: true }).first().waitFor();
  assert.match(page.url(), /threads\/44444444/);
  assert.doesNotMatch(page.url(), /checkpoint=/);
  await close(page);
});

test("the facts of a scope are shown with trust and evidence, and what a question recalls and why", { timeout: 60_000 }, async () => {
  const page = await open(base, "#/memory");
  await page.getByRole("link", { name: "Facts", exact: true }).click();
  await page.getByLabel("Scope").selectOption({ label: "tenant shop · user ada · agent support" });
  const facts = page.getByRole("list", { name: "Facts" }).getByRole("listitem");
  await facts.filter({ hasText: "Keswick" }).filter({ hasText: "stated" }).waitFor();
  await facts.filter({ hasText: "size 43, wide" }).getByText("my left foot is a bit wider").waitFor();
  await facts.filter({ hasText: "green jackets" }).filter({ hasText: "untrusted" }).waitFor();
  assert.equal(await facts.filter({ hasText: "Leeds" }).count(), 0);
  await page.getByRole("button", { name: "Past, too" }).click();
  await facts.filter({ hasText: "Leeds" }).filter({ hasText: "superseded" }).waitFor();
  await page.getByRole("searchbox", { name: "Ask the memory" }).fill("which shoes does Ada wear?");
  await page.keyboard.press("Enter");
  const first = facts.first();
  await first.filter({ hasText: "size 43" }).filter({ hasText: /cosine 0\.\d+/ }).filter({ hasText: /BM25 \d/ }).waitFor();
  await page.getByRole("button", { name: "Untrusted, too" }).click();
  await page.waitForFunction(() => !document.querySelector("[aria-label=Facts]")?.textContent.includes("green jackets"));
  assert.match(await first.innerText(), /size 43/);
  const address = page.url();
  await page.getByLabel("Scope").selectOption({ label: "tenant shop · user grace" });
  await page.waitForFunction(() => !document.querySelector("[aria-label=Facts]")?.textContent.includes("size 43"));
  await close(page);
  const again = await open(base, new URL(address).hash);
  await again.getByRole("list", { name: "Facts" }).getByText("size 43, wide").waitFor();
  await close(again);
});

test("the failed attempts of a node are in its run and at the node", { timeout: 60_000 }, async () => {
  const page = await open(base, `#/threads/${published}?node=search&view=graph`);
  const inspector = page.getByRole("region", { name: "Node search" });
  for (let i = 0; i < 3 && !(await inspector.getByText("attempt 1").isVisible()); i++) {
    await inspector.getByRole("button", { name: "Earlier call" }).click();
    await settled(page);
  }
  await inspector.getByText("the search index is busy").waitFor();
  await close(page);
  const runs = await runsOf(base, { thread_id: published });
  const first = await open(base, `#/runs/${published}/${runs.at(-1).run_id}`);
  await first.getByRole("button", { name: /^attempt 1\s?, attempt, failed/ }).click();
  await first.getByText("the search index is busy").waitFor();
  await close(first);
});

test("what a node wrote to a logger is at the node", { timeout: 60_000 }, async () => {
  const page = await open(base, `#/threads/${published}?node=search&view=graph`);
  const inspector = page.getByRole("region", { name: "Node search" });
  for (let i = 0; i < 3 && !(await inspector.getByText("the index answered with status 429").isVisible()); i++) {
    await inspector.getByRole("button", { name: "Earlier call" }).click();
    await settled(page);
  }
  const lines = inspector.getByRole("listitem").filter({ hasText: /INFO|WARN/ });
  await lines.filter({ hasText: "WARN the index answered with status 429" }).waitFor();
  assert.match((await lines.first().innerText()).replaceAll("\n", " "), /INFO the search begins.*prices of bicycles/);
  await close(page);
});

test("the cost of a run is at the run, at its models and at the nodes", { timeout: 60_000 }, async () => {
  const runs = (await runsOf(base, {})).filter((r) => r.graph_id === "support" && r.status === "success");
  const { thread_id, run_id } = runs[0];
  const trace = await (await fetch(new URL(`../weft/threads/${thread_id}/runs/${run_id}`, base))).json();
  const models = trace.spans.filter((s) => s.kind === "model");
  const cost = models.reduce((n, s) => n + (0.4 * s.usage.input_tokens + 1.6 * s.usage.output_tokens) / 1e6, 0);
  assert.ok(cost > 0);
  const shown = (n) => new RegExp(`€\\s?${n.toFixed(4).replace(".", "\\.").replace(/0{1,2}$/, "0*")}|${n.toFixed(4)}\\s?€`);
  const page = await open(base, `#/runs/${thread_id}/${run_id}`);
  const fact = page.locator("dl div", { has: page.getByText("Cost", { exact: true }) }).first();
  await fact.waitFor();
  assert.match(await fact.innerText(), shown(cost));
  await page.getByRole("button", { name: /^model\s?, model/ }).first().click();
  await page.getByRole("listitem").getByText("Cost", { exact: true }).waitFor();
  await close(page);
  const other = await open(base, `#/threads/${thread_id}?node=agent&view=graph`);
  await other.getByRole("region", { name: "Node agent" }).getByText(/€/).first().waitFor();
  await close(other);
});

test("two checkpoints are compared, and the address opens the same view", { timeout: 60_000 }, async () => {
  const page = await open(base, `#/threads/${published}`);
  await page.getByRole("button", { name: "Compare with" }).click();
  await page.getByRole("menuitem", { name: "the first" }).click();
  const region = page.getByRole("region", { name: "Comparison" });
  await region.getByText("draft").first().waitFor();
  const address = page.url();
  await close(page);
  const again = await open(base, new URL(address).hash);
  await again.getByRole("region", { name: "Comparison" }).getByText("draft").first().waitFor();
  await close(again);
});

test("a state is edited on a branch, and numbers stay exact", { timeout: 60_000 }, async () => {
  const page = await open(base, `#/threads/${failed}?view=state`);
  await page.getByRole("button", { name: "Edit state" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: /^Channel/ }).selectOption("revision");
  await dialog.getByRole("textbox", { name: /^Update/ }).fill("9007199254740993");
  await dialog.getByRole("button", { name: "Edit the state" }).click();
  await page.getByText("9007199254740993").first().waitFor();
  await page.getByLabel("Search in the state").fill("9007199254740993");
  await page.getByText("1 match", { exact: true }).waitFor();
  await close(page);
});

test("an edit says whether it replaces the value of a channel or is merged into it", { timeout: 60_000 }, async () => {
  const page = await open(base, `#/threads/${orders}?view=state`);
  await page.getByRole("button", { name: "Edit state" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: /^Channel/ }).selectOption("messages");
  await dialog.getByText("it is merged into the channel (keyed)").waitFor();
  assert.equal(await dialog.getByRole("textbox", { name: /^Update/ }).inputValue(), "");
  await close(page);
});

test("wrong JSON is told in place, and what was typed stays", { timeout: 60_000 }, async () => {
  const page = await open(base, `#/threads/${published}?view=state`);
  await page.getByRole("button", { name: "Edit state" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("textarea").fill("{oops");
  await dialog.getByRole("button", { name: "Edit the state" }).click();
  await dialog.getByRole("alert").filter({ hasText: "not JSON" }).waitFor();
  assert.equal(await dialog.locator("textarea").inputValue(), "{oops");
  await close(page);
});

test("a run is started from a form made of the schema, and is watched while it runs", { timeout: 60_000 }, async () => {
  const page = await open(base, "#/runs");
  await page.getByRole("button", { name: "Start a run" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Graph").selectOption("report");
  await dialog.getByRole("button", { name: "Form" }).click();
  await dialog.getByRole("textbox", { name: "Topic" }).fill("lighthouses");
  await dialog.getByRole("button", { name: "Start the run" }).click();
  await page.getByRole("button", { name: /Node write\s?, running/ }).waitFor(); // it runs until it is released
  await page.request.post(new URL("/release", base).href);
  await page.getByRole("heading", { name: "Publish this report?" }).waitFor();
  await page.getByRole("button", { name: /Node search\s?, done.*×3/ }).waitFor();
  await close(page);
});

test("a fork from an old checkpoint is a branch of its own", { timeout: 60_000 }, async () => {
  const page = await open(base, `#/threads/${published}`);
  const line = page.getByRole("slider", { name: "Checkpoints" });
  const before = Number(await line.getAttribute("aria-valuemax"));
  await line.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await page.getByRole("button", { name: "Fork here" }).click();
  await page.waitForFunction((n) => Number(document.querySelector('[role="slider"]')?.getAttribute("aria-valuemax")) > n, before);
  await line.focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => location.hash.includes("checkpoint="));
  await close(page);
});

test("the palette finds a thread by its title and by its id", { timeout: 60_000 }, async () => {
  const page = await open(base, "#/settings");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("canal");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Report on canal boats" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type(orders);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Where are my orders?" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("body").press("g");
  await page.locator("body").press("r");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await close(page);
});

// listed answers the requests for threads with 201 interrupted ones, of which the oldest asks a question.
async function listed(page, questions) {
  const threads = Array.from({ length: 201 }, (_, i) => ({
    thread_id: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`, status: "interrupted", metadata: { title: i === 200 ? "The oldest" : `Stopped ${i}` },
    created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z", interrupts: i === 200 ? { task: [{ id: "q", value: "?" }] } : {},
  }));
  await page.route("**/threads/search", (r) => {
    const { ids, limit, offset = 0 } = r.request().postDataJSON();
    return ids ? questions(r, threads.filter((t) => ids.includes(t.thread_id))) : r.fulfill({ json: threads.slice(offset, offset + limit).map((t) => ({ ...t, interrupts: undefined })) });
  });
}

test("the threads of a filter are found behind the first page", { timeout: 60_000 }, async () => {
  const page = await open(base, "#/settings");
  await listed(page, (r, found) => r.fulfill({ json: found }));
  for (const address of ["status=interrupted", "q=the+oldest"]) {
    await page.goto(`${base}#/threads?${address}`);
    await page.getByText("1 thread", { exact: true }).waitFor();
    await page.getByRole("link", { name: /The oldest/ }).getByText("waiting").waitFor();
  }
  await page.goto(`${base}#/threads?q=none`);
  await page.getByText("No threads", { exact: true }).waitFor();
  await close(page);
});

test("threads are listed if their questions cannot be read", { timeout: 60_000 }, async () => {
  const page = await open(base, "#/settings");
  await listed(page, (r) => r.fulfill({ status: 422, json: { detail: "no" } }));
  await page.goto(`${base}#/threads?status=stopped`);
  await page.getByRole("link", { name: /Stopped 0/ }).getByText("interrupted").waitFor();
  await close(page);
});

test("a value is forgotten, and comes back by Undo", { timeout: 60_000 }, async () => {
  const page = await open(base, "#/memory/facts");
  await page.getByText("The shop opens at nine.").waitFor();
  await page.getByRole("button", { name: "Forget opening" }).click();
  await page.getByText("Nothing is stored here").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("The shop opens at nine.").waitFor();
  await close(page);
});

// measure returns the processor time of the longest task of the page while something is done, in
// milliseconds. A frame is one task. A frame is late, too, when other programs use the processor.
async function measure(t, page, name, act) {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const calls = new Map();
  for (const e of traceEvents) if (e.name === "FunctionCall") calls.set(`${e.pid}/${e.tid}`, (calls.get(`${e.pid}/${e.tid}`) ?? 0) + 1);
  const main = [...calls].sort((a, b) => b[1] - a[1])[0]?.[0];
  const tasks = traceEvents.filter((e) => e.name === "ThreadControllerImpl::RunTask" && `${e.pid}/${e.tid}` === main && e.tdur !== undefined).map((e) => e.tdur / 1000).sort((a, b) => a - b);
  t.diagnostic(`${name}: ${tasks.length} tasks, p99 ${tasks[Math.floor(0.99 * (tasks.length - 1))]?.toFixed(1)} ms, longest ${tasks.at(-1)?.toFixed(1)} ms of processor time`);
  return tasks.at(-1);
}

test("a thread of 1,000 messages scrolls without a task over 50 ms", { timeout: 120_000 }, async (t) => {
  const page = await open(base, `#/threads/${long}`, { motion: "no-preference" });
  await page.getByText("Question 500:").waitFor();
  const drawn = await page.locator('[role="log"] article').count();
  assert.ok(drawn < 60, `${drawn} messages are drawn at once`);
  const longest = await measure(t, page, "scrolling", async () => {
    await page.locator('[role="log"]').hover();
    for (let i = 0; i < 60; i++) {
      await page.mouse.wheel(0, -600);
      await page.waitForTimeout(30);
    }
  });
  assert.ok(longest <= 50, `a task took ${longest} ms`);
  await close(page);
});

test("5,000 checkpoints are scrubbed without a task over 50 ms", { timeout: 120_000 }, async (t) => {
  const page = await open(base, `#/threads/${counted}`, { motion: "no-preference" });
  const line = page.getByRole("slider", { name: "Checkpoints" });
  await page.waitForFunction(() => document.querySelector('[role="slider"]')?.getAttribute("aria-valuemax") === "5001");
  assert.ok((await line.locator("svg g").count()) < 200, "all marks are drawn at once");
  const longest = await measure(t, page, "scrubbing", async () => {
    await line.focus();
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("ArrowLeft");
      await page.waitForTimeout(25);
    }
    await line.hover();
    for (let i = 0; i < 40; i++) {
      await page.mouse.wheel(-1500, 0);
      await page.waitForTimeout(25);
    }
  });
  assert.ok(longest <= 50, `a task took ${longest} ms`);
  await page.keyboard.press("Home");
  await page.getByText("1 of 5001").first().waitFor();
  await close(page);
});

test("a read-only server says so, and offers nothing that changes", { timeout: 60_000 }, async () => {
  const page = await open(readOnly, `#/threads/${orders}`);
  await page.getByText("Read-only", { exact: true }).waitFor();
  for (const name of ["Fork here", "Edit state", "Run from here"]) assert.ok(await page.getByRole("button", { name }).isDisabled(), name);
  assert.ok(await page.getByRole("button", { name: "Approve" }).isDisabled());
  await page.getByRole("button", { name: "More actions" }).click();
  assert.equal(await page.getByRole("menuitem", { name: "Delete" }).count(), 0);
  await page.keyboard.press("Escape");
  assert.deepEqual(await violations(page), []);
  await picture(page, "read-only");
  await page.goto(`${readOnly}#/questions`);
  await page.getByText("This server is read-only.").first().waitFor();
  await close(page);
});

// asked returns the address of a thread with an open question, and reads its answer.
async function asked(graph, prompt) {
  const post = async (path, body) => (await fetch(new URL(`..${path}`, base), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();
  const { thread_id: thread } = await post("/threads", { metadata: { graph_id: graph } });
  await post(`/threads/${thread}/runs/wait`, { assistant_id: graph, input: { prompt } });
  const state = async () => (await fetch(new URL(`../threads/${thread}/state`, base))).json();
  const [{ id }] = (await state()).interrupts;
  return {
    address: `#/questions/${id}`, thread,
    async answer() {
      for (let s; ; await new Promise((go) => setTimeout(go, 50))) if ((s = await state()).interrupts.length === 0 && s.next.length === 0) return s.values.answer;
    },
  };
}

const mail = (config) => [{ action_request: { action: "send_email", args: { to: "ada@example.org", subject: "Lunch" } }, config, description: "# The mail\n\nShall we **meet**?" }];
const all = { allow_accept: true, allow_edit: true, allow_respond: true, allow_ignore: true };
const press = (p, name) => p.getByRole("button", { name, exact: true }).click();

const asking = [
  ["a list is shown, and answered by a text", "ask", [{ description: "the mail", price: 3 }], async (p) => {
    await p.getByText("the mail").waitFor();
    await p.getByLabel("Your answer").fill("yes");
  }, "yes"],
  ["a list is answered by JSON", "ask", ["buy tea", ["nested"]], async (p) => {
    await p.getByText("buy tea").waitFor();
    await p.getByLabel("JSON").check();
    await p.getByLabel("Your answer").fill('[{"type":"accept"');
    await press(p, "Answer");
    await p.getByText("This is not JSON yet.").waitFor();
    await p.getByLabel("Your answer").fill('[{"type":"accept","args":null}]');
  }, [{ type: "accept", args: null }]],
  ["null is an answer", "ask", "Which colour?", async (p) => {
    await p.getByLabel("JSON").check();
    await press(p, "Answer");
    await p.getByText("This is needed.").waitFor();
    await p.getByLabel("Your answer").fill("null");
  }, null],
  ["an object without a schema is answered by JSON", "ask", { title: 7, question: "How many?", limits: { least: 1 } }, async (p) => {
    await p.getByRole("heading", { name: "How many?" }).waitFor();
    await p.getByText("least").waitFor();
    await p.getByLabel("JSON").check();
    await p.getByLabel("Your answer").fill("[7, null]");
  }, [7, null]],
  ["a number is shown", "ask", 42, async (p) => {
    await p.getByRole("form", { name: "Question: The assistant asks" }).getByText("42").waitFor();
    await p.getByLabel("Your answer").fill("");
  }, ""],
  ["the type of an answer makes a form", "rate", "How was it?", async (p) => {
    await p.getByLabel("Stars").fill("4");
    await press(p, "Add");
    await p.getByRole("group", { name: "Reasons" }).getByRole("textbox").fill("warm");
    assert.equal(await p.getByLabel("JSON").count(), 0);
  }, { stars: 4, reasons: ["warm"] }],
  ["a yes is one press", "confirm", "Publish?", (p) => press(p, "Yes"), true, "pressed"],
  ["a no is one press", "confirm", "Publish?", (p) => press(p, "No"), false, "pressed"],
  ["a request of Agent Inbox is accepted", "ask", mail(all), async (p) => {
    await p.getByRole("heading", { name: "Send email" }).waitFor();
    await p.getByRole("heading", { name: "The mail" }).waitFor();
    await p.getByText("ada@example.org").waitFor();
    await press(p, "Accept");
  }, [{ type: "accept", args: null }], "pressed"],
  ["a request of Agent Inbox is edited", "ask", mail(all), async (p) => {
    await press(p, "Edit");
    await p.getByLabel("Subject").fill("Dinner");
    await press(p, "Send email with these changes");
  }, [{ type: "edit", args: { action: "send_email", args: { to: "ada@example.org", subject: "Dinner" } } }], "pressed"],
  ["a list of values of several types is edited as JSON", "ask", [{ action_request: { action: "order", args: { rows: ["tea", 2], days: [1, 2] } }, config: all }], async (p) => {
    await press(p, "Edit");
    await p.getByLabel("Rows").fill('["milk", 3]');
    await p.getByRole("group", { name: "Days" }).getByRole("textbox").first().fill("5");
    await press(p, "Order with these changes");
  }, [{ type: "edit", args: { action: "order", args: { rows: ["milk", 3], days: [5, 2] } } }], "pressed"],
  ["a request of Agent Inbox gets a response", "ask", mail(all), async (p) => {
    await press(p, "Respond");
    await p.getByLabel("Your response").fill("Ask her first.");
    await press(p, "Respond");
  }, [{ type: "response", args: "Ask her first." }], "pressed"],
  ["a request of Agent Inbox is ignored", "ask", mail({ allow_ignore: true, allow_respond: false }), async (p) => {
    await p.getByText("ada@example.org").waitFor();
    assert.equal(await p.getByRole("button", { name: "Accept" }).count() + await p.getByRole("button", { name: "Respond" }).count(), 0);
    await press(p, "Ignore");
  }, [{ type: "ignore", args: null }], "pressed"],
];

for (const [name, graph, prompt, act, want, pressed] of asking) test(`questions: ${name}`, { timeout: 60_000 }, async () => {
  const q = await asked(graph, prompt);
  const page = await open(base, q.address);
  await picture(page, name.replaceAll(/\W+/g, "-"));
  assert.deepEqual(await violations(page), []);
  await act(page);
  if (!pressed) await press(page, "Answer");
  const got = await q.answer();
  assert.deepEqual(got, want);
  await close(page);
});
