// What the tests of the pages have in common: the demonstration server, a browser, and axe.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = resolve(fileURLToPath(import.meta.url), "../../../..");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const program = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** launch starts a headless browser. */
export function launch() {
  if (!program) throw new Error("there is no Chromium: install it, or set CHROMIUM to its path");
  return chromium.launch({
    executablePath: program,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** build builds a program of this repository. Its function serve starts it, and returns the address that it prints. */
export function build(what) {
  const folder = mkdtempSync(join(tmpdir(), "weft-pages-"));
  const binary = join(folder, "program");
  execFileSync("go", ["build", "-o", binary, what], { cwd: root, stdio: "inherit" });
  const started = [];
  const serve = (args, { cwd, env } = {}) => new Promise((done, fail) => {
    const p = spawn(binary, args, { cwd, env: { ...process.env, DATABASE_URL: "", ...env }, stdio: ["ignore", "pipe", "inherit"] });
    started.push(p);
    let said = "";
    p.stdout.on("data", (text) => {
      said += text;
      const address = /(http:\/\/[^/\s]+)[/\s]/.exec(said);
      if (address) done(address[1]);
    });
    p.on("exit", (code) => fail(new Error(`${what} ended with ${code}: ${said}`)));
  });
  const end = async () => {
    for (const p of started) {
      p.removeAllListeners("exit");
      const ended = new Promise((done) => p.on("exit", done));
      if (p.kill()) await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  /** kill ends what runs, without a warning. */
  const kill = async () => {
    for (const p of started.splice(0)) {
      p.removeAllListeners("exit");
      const ended = new Promise((done) => p.on("exit", done));
      if (p.kill("SIGKILL")) await ended;
    }
  };
  return { serve, kill, end };
}

/** begin starts the demonstration server and a browser. */
export const begin = () => beginExample("pages", ["-addr", "127.0.0.1:0"]);

/** beginExample builds and starts an example, and a browser. The example prints the address of its page. */
export async function beginExample(name, args, options) {
  const program = build(`./examples/${name}`);
  const origin = await program.serve(args, options);
  const browser = await launch();
  const end = async () => {
    await browser.close();
    await program.end();
  };
  return { origin, browser, end };
}

/** Chat is the chat page in a tab. */
export class Chat {
  problems = [];

  constructor(page, origin) {
    this.page = page;
    this.origin = origin;
    page.on("console", (m) => m.type() === "error" && !/ERR_INTERNET_DISCONNECTED|ERR_FAILED|status of [45]/.test(m.text()) && this.problems.push(m.text()));
    page.on("pageerror", (e) => this.problems.push(String(e.stack)));
    page.on("request", (r) => /^(data|blob):/.test(r.url()) || r.url().startsWith(origin) || this.problems.push(`a request to ${r.url()}`));
  }

  static async open(at, { width = 1440, height = 900, dark = false, hash = "", context, ...more } = {}) {
    context ??= await at.browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", locale: "en-GB", ...more });
    const chat = new Chat(await context.newPage(), at.origin);
    const known = chat.page.waitForResponse((r) => r.url().endsWith("/threads/search") && r.ok()); // the page may sign in first, and load again
    await chat.page.goto(`${at.origin}/chat/${hash}`);
    await known;
    await chat.field.waitFor();
    return chat;
  }

  get field() {
    return this.page.getByRole("textbox", { name: "Message" });
  }

  get thread() {
    return new URL(this.page.url()).hash.slice(2);
  }

  /** fresh opens a new conversation, and waits until the page has left the old one. */
  async fresh() {
    await this.page.getByRole("link", { name: "New chat" }).click();
    await this.page.waitForURL(/#\/$/);
    await this.page.locator("[data-index]").first().waitFor({ state: "detached" }); // the address changes before the page does
  }

  /** say sends a message. With wait, it waits for the end of the answer. */
  async say(text, { wait = true } = {}) {
    const last = () => this.page.evaluate(() => Math.max(-1, ...[...document.querySelectorAll("[data-index]")].map((e) => Number(e.dataset.index))));
    const before = await last();
    await this.field.fill(text);
    const taken = this.page.waitForResponse((r) => r.request().method() === "POST" && r.url().endsWith("/runs"));
    await this.field.press("Enter");
    await taken;
    if (before < 0) await this.page.waitForURL(/#\/.+/);
    for (const until = Date.now() + 20_000; (await last()) <= before; ) {
      if (Date.now() > until) throw new Error(`the message ${JSON.stringify(text)} is not shown`);
      await this.page.waitForTimeout(20);
    }
    if (wait) await this.idle();
  }

  /** idle waits until nothing runs, and the last message has an answer, a question or an error. */
  async idle() {
    const runs = async () => (await this.page.request.get(`${this.origin}/threads/${this.thread}/runs`)).json();
    for (const until = Date.now() + 30_000; (await runs()).some((r) => r.status === "running" || r.status === "pending"); ) {
      if (Date.now() > until) throw new Error("the run does not end");
      await this.page.waitForTimeout(50);
    }
    await this.page.waitForFunction(() => {
      const rows = document.querySelectorAll("[data-index]");
      const busy = document.querySelector("[aria-label^='Stop'], [aria-label='The answer is coming']");
      const failed = [...document.querySelectorAll("button")].some((b) => b.textContent.includes("Try again")); // it may have no row of its own
      return (rows.length > 1 || failed) && !busy;
    });
  }

  async close() {
    await this.page.context().close();
    assert.deepEqual(this.problems, [], "errors in the console, or requests to other hosts");
  }

  /** axe returns the violations of the page as it is. */
  async axe() {
    await this.page.waitForFunction(() => document.getAnimations().every((a) => a.playState !== "running" || a.effect?.getTiming().iterations === Infinity));
    // The page's policy forbids scripts that are not its own; the tool is not part of the page.
    await this.page.evaluate(axe);
    const found = await this.page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    return found.violations.map((v) => `${v.id}: ${v.help} (${v.nodes.map((n) => `${n.target} ${n.failureSummary?.split("\n").slice(1, 2)}`).slice(0, 3).join("; ")})`);
  }
}
