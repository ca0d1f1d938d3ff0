// The chat page with users: sign-in, the script of an application, and attachments.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { build, Chat, launch } from "./harness.mjs";

const limit = { timeout: 60_000 };
const at = {};
let program;

before(async () => {
  program = build("./server/ui/internal/chattest");
  at.browser = await launch();
  for (const way of ["token", "login", "script", "optional"]) {
    at[way] = { origin: await program.serve(["-listen", "127.0.0.1:0", "-sign-in", way]), browser: at.browser };
  }
});
after(async () => {
  await at.browser.close();
  await program.end();
});

const newTab = async (way, context) => {
  context ??= await at.browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-GB" });
  return new Chat(await context.newPage(), at[way].origin);
};

// signIn gives a token. The page loads again.
async function signIn({ page }, token) {
  await page.getByLabel("Token").fill(token);
  const loaded = page.waitForEvent("load");
  await page.keyboard.press("Enter");
  await loaded;
}

test("sign-in: without credentials the page asks for a token, and a wrong one is asked for again", limit, async () => {
  const chat = await newTab("token");
  const { page } = chat;
  await page.goto(`${at.token.origin}/chat/`);
  const dialog = page.getByRole("dialog", { name: "Sign in" });
  await dialog.getByText("Your token is kept until you close this tab.").waitFor();
  assert.deepEqual(await chat.axe(), []);
  assert.ok(await page.getByLabel("Token").evaluate((e) => e === document.activeElement), "the field for the token has no focus");
  assert.equal(await dialog.getByRole("alert").count(), 0);
  await signIn(chat, "nonsense");
  await dialog.getByText("The server did not accept your token").waitFor();
  await signIn(chat, "token-of-ada");
  await chat.field.fill("hello");
  await chat.field.press("Enter");
  await page.getByText("I got 5 characters of text.").waitFor();
  assert.equal(await dialog.count(), 0);
  const sent = await page.evaluate(() => ({ cookie: document.cookie, kept: JSON.stringify(localStorage) }));
  assert.doesNotMatch(sent.cookie + sent.kept + page.url(), /token-of-ada/, "the token is kept longer than the tab");

  // Another person sees nothing of it, and the link of the conversation shows none.
  const other = await newTab("token");
  await other.page.goto(page.url());
  await signIn(other, "token-of-bob");
  await other.page.getByText("There is no such conversation").waitFor();
  assert.equal(await other.page.getByText("hello").count(), 0);
  await other.close();
  await chat.close();
});

test("sign-in: credentials that end while a person writes lose nothing", limit, async () => {
  const chat = await newTab("token");
  const { page } = chat;
  await page.goto(`${at.token.origin}/chat/`);
  await signIn(chat, "token-of-ada");
  await chat.field.fill("one");
  await chat.field.press("Enter");
  await page.getByText("I got 3 characters of text.").waitFor();
  await page.evaluate(() => sessionStorage.setItem("weft.token", "ended"));
  await chat.field.fill("precious words");
  await chat.field.press("Enter");
  await page.getByRole("dialog", { name: "Sign in" }).waitFor();
  await signIn(chat, "token-of-ada");
  await chat.field.waitFor();
  assert.equal(await chat.field.inputValue(), "precious words");
  await chat.field.press("Enter");
  await page.getByText("I got 14 characters of text.").waitFor();
  await chat.close();
});

test("sign-in: Login leads to the page of the application and back", limit, async () => {
  const chat = await newTab("login");
  const { page } = chat;
  await page.goto(`${at.login.origin}/chat/#/`);
  await page.waitForURL(/\/login\?return=/);
  assert.equal(new URL(page.url()).searchParams.get("return"), `${at.login.origin}/chat/#/`);
  await page.getByRole("button", { name: "Sign in as Ada" }).click();
  await page.waitForURL(`${at.login.origin}/chat/#/`);
  await chat.field.fill("hello");
  await chat.field.press("Enter");
  await page.getByText("I got 5 characters of text.").waitFor();
  const { thread } = chat;
  // The session ends: a link to a conversation leads to it after the sign-in.
  await page.context().clearCookies();
  await page.reload();
  await page.waitForURL(/\/login\?return=/);
  await page.getByRole("button", { name: "Sign in as Ada" }).click();
  await page.getByText("I got 5 characters of text.").waitFor();
  assert.equal(chat.thread, thread);
  await chat.close();
});

test("sign-in: the studio asks for a token, and leads to the Login page", limit, async () => {
  for (const way of ["token", "login"]) {
    const chat = await newTab(way);
    const { page } = chat;
    const { origin } = at[way];
    await page.goto(`${origin}/studio/#/settings`);
    if (way === "login") {
      await page.getByRole("button", { name: "Sign in as Ada" }).click();
      await page.waitForURL(`${origin}/studio/#/settings`);
    } else await signIn({ page }, "token-of-ada");
    await page.goto(`${origin}/studio/#/graphs`);
    await page.getByText("bureau").first().waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    await chat.close();
  }
});

test("the studio shows an operator whose threads and runs they are", limit, async () => {
  const { origin } = at.token;
  for (const [name, text] of [["ada", "a word"], ["bob", "two more words"]]) {
    const chat = await newTab("token");
    await chat.page.goto(`${origin}/chat/`);
    await signIn(chat, `token-of-${name}`);
    await chat.field.fill(text);
    await chat.field.press("Enter");
    await chat.page.getByText(`I got ${text.length} characters of text.`).waitFor();
    await chat.close();
  }
  const chat = await newTab("token");
  const { page } = chat;
  await page.goto(`${origin}/studio/#/runs`);
  await signIn(chat, "token-of-ops");
  for (const [name, text] of [["ada", "a word"], ["bob", "two more words"]]) {
    await page.goto(`${origin}/studio/#/runs`);
    await page.getByRole("listitem").filter({ hasText: text }).getByText(name, { exact: true }).waitFor();
    await page.getByRole("link", { name: text }).click();
    await page.getByRole("link", { name: "Thread", exact: true }).waitFor();
    await page.getByRole("main").getByText(name, { exact: true }).waitFor();
    await page.getByRole("link", { name: "Thread", exact: true }).click();
    await page.locator("main header").getByText(name, { exact: true }).waitFor();
  }
  assert.deepEqual(await chat.axe(), []);
  await chat.close();
});

test("weft.headers: each request has the headers of the application's script", limit, async () => {
  const chat = await newTab("script");
  const { page } = chat;
  const bare = [];
  page.on("request", (r) => {
    const { pathname } = new URL(r.url());
    if (/^\/(threads|runs|assistants|store|info|weft)/.test(pathname) && r.headers().authorization !== "Bearer token-of-ada") bare.push(r.url());
  });
  await page.goto(`${at.script.origin}/chat/`);
  await chat.field.fill("hello");
  await chat.field.press("Enter");
  await page.getByText("I got 5 characters of text.").waitFor();
  await page.reload();
  await page.getByText("I got 5 characters of text.").waitFor();
  assert.deepEqual(bare, []);
  assert.equal(await page.getByRole("dialog").count(), 0);
  await chat.close();
});

test("weft.headers: an expired token is asked for again, once, and the message is sent", limit, async () => {
  const chat = await newTab("script");
  const { page } = chat;
  await page.goto(`${at.script.origin}/chat/`);
  await chat.field.waitFor();
  await page.evaluate(() => {
    sessionStorage.setItem("app.token", "expired");
    sessionStorage.setItem("app.next", "token-of-ada");
  });
  await chat.field.fill("hello");
  await chat.field.press("Enter");
  await page.getByText("I got 5 characters of text.").waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);

  // The session is over: a person is told so, and is asked for no token.
  await page.evaluate(() => {
    sessionStorage.setItem("app.token", "expired");
    sessionStorage.removeItem("app.next");
  });
  await chat.field.fill("precious words");
  await chat.field.press("Enter");
  const dialog = page.getByRole("dialog", { name: "You are signed out" });
  await dialog.getByText("The text of your message is kept.").waitFor();
  assert.deepEqual(await chat.axe(), []);
  assert.equal(await page.getByLabel("Token").count(), 0);
  await page.evaluate(() => sessionStorage.removeItem("app.token"));
  await dialog.getByRole("button", { name: "Reload" }).click();
  await dialog.waitFor({ state: "detached" });
  await chat.field.waitFor();
  assert.equal(await chat.field.inputValue(), "precious words");
  await chat.close();
});

test("a script of the application that is not there is told", limit, async () => {
  const chat = await newTab("script");
  await chat.page.route("**/app.js", (r) => r.fulfill({ status: 404, body: "" }));
  await chat.page.goto(`${at.script.origin}/chat/`);
  await chat.page.getByText("/app.js was not loaded.").waitFor();
  await chat.page.context().close();
});

// scripted opens the page with a script of its own.
async function scripted(script, hash = "") {
  const chat = await newTab("script");
  await chat.page.route("**/app.js", (r) => r.fulfill({ contentType: "text/javascript", body: script }));
  await chat.page.goto(`${at.script.origin}/chat/${hash}`);
  return chat;
}

test("a script of the application that does not end is told, until it has ended", limit, async () => {
  const notice = (page) => page.getByRole("status").getByText("The page waits for /app.js.");
  const asks = (page) => page.waitForRequest((r) => r.url().endsWith("/threads/search"));
  const headers = `weft.headers(() => ({ Authorization: "Bearer token-of-ada" }));`;
  for (const [what, script, told] of [
    ["stalls", undefined, true],
    ["waits for a token", `await new Promise((f) => (window.goOn = f)); ${headers}`, true],
    ["sets the headers and waits", `${headers} await new Promise(() => {});`, false],
  ]) {
    const chat = await newTab("script");
    const { page } = chat;
    await page.clock.install();
    await page.route("**/app.js", (r) => script && r.fulfill({ contentType: "text/javascript", body: script }));
    const begun = told || asks(page);
    await page.goto(`${at.script.origin}/chat/`, { waitUntil: "commit" });
    await chat.field.waitFor();
    if (told && script) await page.waitForFunction(() => window.goOn);
    await begun;
    await page.clock.runFor(12_000); // longer than a toast is shown
    assert.equal(await notice(page).count(), told ? 1 : 0, what);
    if (told && script) {
      const asked = asks(page);
      await page.evaluate(() => window.goOn());
      await asked;
      await notice(page).waitFor({ state: "detached" });
    }
    await page.context().close();
  }
});

// quoted returns a file that docs/chat.md quotes.
const quoted = (name) => readFileSync(new URL(`docs/${name}`, import.meta.url), "utf8");

async function conversation() {
  const chat = await newTab("script");
  await chat.page.goto(`${at.script.origin}/chat/`);
  await chat.field.fill("hello");
  await chat.field.press("Enter");
  await chat.page.getByText("I got 5 characters of text.").waitFor();
  const { thread } = chat;
  await chat.close();
  return thread;
}

test("weft.headers: requests that are refused together share one call for other headers", limit, async () => {
  const { page } = await scripted(`
    let token = "expired";
    window.renewed = 0;
    weft.headers(async ({ refused }) => {
      if (refused) {
        window.renewed++;
        await new Promise((f) => setTimeout(f, 1000));
        token = "token-of-ada";
      }
      return { Authorization: "Bearer " + token };
    });`, `#/${await conversation()}`);
  await page.getByText("I got 5 characters of text.").waitFor();
  assert.equal(await page.evaluate(() => window.renewed), 1);
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.context().close();
});

test("weft.headers: no request begins before the script of the application has run", limit, async () => {
  const headers = `weft.headers(() => ({ Authorization: "Bearer token-of-ada" }));`;
  for (const [what, script] of [
    ["comes late", headers],
    ["waits for a token", `await new Promise((f) => (window.goOn = f)); ${headers}`],
    ["sets the headers and waits", `await new Promise((f) => (window.goOn = f)); ${headers} await new Promise(() => {});`],
  ]) {
    const chat = await newTab("script");
    const { page } = chat;
    const asked = [];
    page.on("request", (r) => /^\/(threads|runs|assistants|info|weft)/.test(new URL(r.url()).pathname) && asked.push(r.headers().authorization));
    let come;
    const came = new Promise((f) => (come = f));
    if (what !== "comes late") come();
    await page.route("**/app.js", (r) => came.then(() => r.fulfill({ contentType: "text/javascript", body: script })));
    await page.goto(`${at.script.origin}/chat/`, { waitUntil: "commit" });
    await page.getByLabel("Loading the conversations").waitFor();
    // A message that is sent meanwhile waits, too.
    await chat.field.fill("hello");
    await chat.field.press("Enter");
    if (what !== "comes late") await page.waitForFunction(() => window.goOn);
    await page.waitForTimeout(300);
    assert.deepEqual(asked, [], what);
    if (what === "comes late") come();
    else await page.evaluate(() => window.goOn());
    await page.getByText("I got 5 characters of text.").waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0, what);
    assert.deepEqual([...new Set(asked)], ["Bearer token-of-ada"], what);
    await chat.close();
  }
});

test("weft.headers: a script that fails lets the page ask for a token", limit, async () => {
  for (const script of [`throw new Error("broken");`, `await Promise.reject(new Error("broken"));`, "no JavaScript"]) {
    const { page } = await scripted(script);
    await page.getByRole("dialog", { name: "Sign in" }).waitFor();
    await page.context().close();
  }
});

test("weft.headers: a script without a token yet returns nothing, and one that throws is told", limit, async () => {
  const thread = await conversation();
  const late = await scripted(`weft.headers(({ refused }) => refused ? { Authorization: "Bearer token-of-ada" } : undefined);`, `#/${thread}`);
  await late.page.getByText("I got 5 characters of text.").waitFor();
  await late.page.context().close();

  const { page } = await scripted(`weft.headers(() => { throw new Error("The company's sign-in does not answer."); });`, `#/${thread}`);
  await page.getByRole("heading", { name: "The conversation cannot be shown" }).waitFor();
  await page.getByRole("main").getByText("The company's sign-in does not answer.").waitFor();
  await page.context().close();
});

test("credentials that end while an answer arrives are refused once, and the answer goes on", limit, async () => {
  const chat = await newTab("script");
  const { page } = chat;
  await page.goto(`${at.script.origin}/chat/`);
  await chat.field.fill("slow");
  await chat.field.press("Enter");
  await page.getByText("one word after the other").first().waitFor();
  await page.evaluate(() => sessionStorage.setItem("app.token", "expired"));
  let asked = 0;
  page.on("request", (r) => (asked += r.method() === "GET" && /\/runs\?/.test(r.url())));
  const refused = page.waitForResponse((r) => asked === 2 && /\/runs\?/.test(r.url())); // the second time, with other headers
  const dialog = page.getByRole("dialog", { name: "You are signed out" });
  await refused;
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.waitForTimeout(4000); // longer than the page waits between two comparisons with the server
  assert.equal(asked, 2, "the page asks again and again");
  assert.equal(await dialog.count(), 0);
  await page.evaluate(() => sessionStorage.removeItem("app.token"));
  await page.context().close();
});

test("a frame: pages of the named origin show the chat, and no others", limit, async () => {
  const sites = [];
  const site = () => new Promise((done) => {
    const s = createServer((_, w) => w.writeHead(200, { "Content-Type": "text/html" }).end(`<!doctype html><title>Site</title>${quoted("frame.html").replace("https://chat.example.com", framed)}`));
    sites.push(s.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${s.address().port}`)));
  });
  const [named, other] = [await site(), await site()];
  const framed = await program.serve(["-listen", "127.0.0.1:0", "-sign-in", "script", "-frame", named]);
  const page = await at.browser.newPage();
  await page.goto(named);
  const chat = page.frameLocator("iframe");
  const field = chat.getByRole("textbox", { name: "Message" });
  await field.fill("hello");
  await field.press("Enter");
  await chat.getByText("I got 5 characters of text.").waitFor();
  const refused = page.waitForEvent("console", (m) => /frame-ancestors/.test(m.text()));
  await page.goto(other);
  await refused;
  assert.equal(await field.count(), 0);
  await page.close();
  for (const s of sites) s.close();
});

// inFrame shows the chat page in a frame of another site. Chromium then lets it keep nothing.
async function inFrame(t, way, script) {
  const site = createServer((_, w) => w.writeHead(200, { "Content-Type": "text/html" }).end(`<!doctype html><title>Site</title><iframe title="Chat" src="${framed}/chat/" width=1100 height=600></iframe>`));
  t.after(() => site.close());
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  const outer = `http://localhost:${site.address().port}`;
  const framed = await program.serve(["-listen", "127.0.0.1:0", "-sign-in", way, "-frame", outer]);
  const page = await at.browser.newPage();
  t.after(() => page.close());
  if (script) await page.route("**/app.js", (r) => r.fulfill({ contentType: "text/javascript", body: script }));
  await page.goto(outer);
  const frame = page.frames().find((f) => f.url().startsWith(framed));
  for (const store of ["sessionStorage", "localStorage"])
    assert.equal(await frame.evaluate((name) => { try { return typeof globalThis[name]; } catch (e) { return e.name; } }, store), "SecurityError", `${store} of the frame is not denied: this test proves nothing`);
  return { frame, field: frame.getByRole("textbox", { name: "Message" }) };
}

test("a frame of another site: the page works where the browser denies storage", limit, async (t) => {
  const guest = await inFrame(t, "optional");
  await guest.field.fill("hello");
  await guest.field.press("Enter");
  await guest.frame.getByText("I got 5 characters of text.").waitFor();
  await guest.frame.getByRole("button", { name: /^Theme/ }).click();
  await guest.frame.getByRole("menuitem", { name: "Dark" }).click();
  assert.equal(await guest.frame.evaluate(() => document.documentElement.dataset.theme), "dark");

  // A token lasts until the page is left, and the text of a message is kept.
  const { frame, field } = await inFrame(t, "token");
  const dialog = frame.getByRole("dialog", { name: "Sign in" });
  await dialog.getByText("Your token is kept until you leave this page.").waitFor();
  await frame.getByRole("button", { name: "Close" }).click();
  await field.fill("precious words");
  await field.press("Enter");
  await dialog.waitFor();
  await frame.getByLabel("Token").fill("token-of-ada");
  await frame.getByLabel("Token").press("Enter");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await field.inputValue(), "precious words");
  await field.press("Enter");
  await frame.getByText("I got 14 characters of text.").waitFor();
  await frame.getByRole("link", { name: "precious words" }).waitFor();

  // A reload loses the text of a message: the page does not say that it is kept.
  const ended = await inFrame(t, "script", `weft.headers(() => ({ Authorization: "Bearer ended" }));`);
  await ended.frame.getByText("Reload the page to sign in again.").waitFor();
  assert.equal(await ended.frame.getByText("is kept").count(), 0);
});

test("weft.card: the application shows a result of its own type", limit, async () => {
  const chat = await newTab("script");
  const { page } = chat;
  await page.goto(`${at.script.origin}/chat/`);
  await chat.field.fill("Make the invoice");
  await chat.field.press("Enter");
  const card = page.locator("output");
  // The number is exact, and what a tool wrote is text.
  const text = "Invoice 9007199254740993: 1290.5 EUR for <b>Meyer</b> & Sons";
  await page.getByText("Here it is.").waitFor();
  assert.equal(await card.innerText(), text);
  await page.reload();
  await card.waitFor();
  assert.equal(await card.innerText(), text);
  assert.deepEqual(await chat.axe(), []);
  await chat.close();
});

test("the script of docs/chat.md sets the headers and shows a card", limit, async () => {
  const { page } = await scripted(quoted("headers.js") + quoted("card.js"));
  const field = page.getByRole("textbox", { name: "Message" });
  await field.fill("Make the invoice");
  await field.press("Enter");
  await page.getByText("Invoice 9007199254740993: 1290.5").waitFor();
  await page.getByRole("button", { name: "Pay" }).click();
  await page.getByText("Pay invoice 9007199254740993.", { exact: true }).waitFor();
  await page.context().close();
});

test("weft.send: a message of the application's script is sent like one that is typed", limit, async () => {
  const { page } = await scripted(quoted("headers.js"));
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  const send = (text) => page.evaluate((text) => window.weft.send(text), text);
  assert.equal(await send(" "), false, "it is empty");
  const shown = (text) => page.getByText(text, { exact: true }).waitFor();
  assert.equal(await send("hello"), true);
  await shown("I got 5 characters of text.");
  assert.match(page.url(), /#\/.+/, "it has begun a conversation");
  assert.equal(await send("slow"), true);
  await page.getByRole("button", { name: "Stop" }).waitFor();
  assert.equal(await send("next"), true, "it waits in the queue");
  await page.getByRole("button", { name: "Stop" }).click();
  await shown("I got 4 characters of text.");
  await page.route("**/runs*", (route) => route.fulfill({ status: 429, contentType: "application/json", body: '{"detail":"Too much."}' }));
  assert.equal(await send("more"), false);
  await page.getByRole("alert").filter({ hasText: "The message was not sent. Too much." }).waitFor();
  await page.context().close();
});

test("a file card: the download has the credentials of the page", limit, async () => {
  for (const way of ["token", "login", "script"]) {
    const chat = await newTab(way);
    const { page } = chat;
    await page.goto(`${at[way].origin}/chat/`);
    if (way === "token") await signIn(chat, "token-of-ada");
    if (way === "login") await page.getByRole("button", { name: "Sign in as Ada" }).click();
    await chat.field.fill("Write the letter");
    await chat.field.press("Enter");
    await page.getByText("Here it is.").waitFor();
    const started = page.waitForEvent("download");
    const link = page.getByRole("link", { name: "Download letter.txt" });
    await link.click();
    const download = await started;
    assert.equal(await download.failure(), null, way);
    assert.equal(download.suggestedFilename(), "letter.txt");
    assert.equal(readFileSync(await download.path(), "utf8"), "Dear Ms Meyer,\n");
    if (way === "script") {
      // A refusal is told.
      await page.route("**/api/letter.txt", (r) => r.fulfill({ status: 404, json: { detail: "The letter was removed." } }));
      await link.click();
      await page.getByText("letter.txt was not downloaded. The letter was removed.").waitFor();
    }
    await chat.close();
  }
});

test("an image of the server is shown with the credentials of the page", limit, async () => {
  for (const way of ["token", "login", "script"]) {
    const chat = await newTab(way);
    const { page } = chat;
    await page.goto(`${at[way].origin}/chat/`);
    if (way === "token") await signIn(chat, "token-of-ada");
    if (way === "login") await page.getByRole("button", { name: "Sign in as Ada" }).click();
    await chat.field.fill("Draw a picture");
    await chat.field.press("Enter");
    await page.getByText("Here it is.").waitFor();
    const shown = async () => {
      const image = page.getByRole("img", { name: "A grey field" });
      await image.waitFor();
      await page.waitForFunction(() => document.querySelector("img[alt='A grey field']")?.naturalWidth === 40);
    };
    await shown();
    await page.reload();
    await shown();
    if (way === "token") {
      await page.route("**/api/picture.png", (r) => r.fulfill({ status: 404, body: "gone" }));
      await page.reload();
      await page.getByRole("img", { name: "A grey field cannot be shown" }).waitFor();
      assert.deepEqual(await chat.axe(), []);
    }
    await chat.close();
  }
});

test("sign-in: a guest can sign in and out", limit, async () => {
  const chat = await newTab("optional");
  const { page } = chat;
  await page.goto(`${at.optional.origin}/chat/`);
  await chat.field.fill("hello");
  await chat.field.press("Enter");
  await page.getByText("I got 5 characters of text.").waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("dialog", { name: "Sign in" }).waitFor();
  await signIn(chat, "token-of-ada");
  await page.getByText("There is no such conversation").waitFor(); // it is the guest's
  await page.getByRole("button", { name: "New chat" }).first().click();
  await chat.field.fill("secret words");
  await chat.field.press("Enter");
  await page.getByText("I got 12 characters of text.").waitFor();
  assert.deepEqual(await chat.axe(), []);
  const loaded = page.waitForEvent("load");
  await page.getByRole("button", { name: "Sign out" }).click();
  await loaded;
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await page.getByRole("link", { name: "hello" }).waitFor();
  assert.equal(await page.getByText("secret words").count(), 0);
  await chat.close();
});

const pixel = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

test("attachments: an image and a text reach the model, and are shown after a reload", limit, async () => {
  const chat = await newTab("script");
  const { page } = chat;
  await page.goto(`${at.script.origin}/chat/`);
  const choose = async (...files) => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    await (await chooser).setFiles(files);
  };
  await choose({ name: "dot.png", mimeType: "image/png", buffer: pixel }, { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("grüße") });
  await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
  await page.getByRole("button", { name: "Remove notes.txt" }).waitFor();
  assert.deepEqual(await chat.axe(), []);
  await chat.field.fill("look");
  await chat.field.press("Enter");
  const text = "look" + "\n\nnotes.txt:\n```\ngrüße\n```";
  await page.getByText(`I got ${[...text].length} characters of text and an image of the type image/png with ${pixel.length} bytes.`).waitFor();
  const shown = async () => {
    await page.locator("[data-index] img[src^='data:image/png']").waitFor();
    await page.getByText("grüße").first().waitFor();
  };
  await shown();
  await page.reload();
  await shown();
  assert.deepEqual(await chat.axe(), []);
  await chat.close();
});

test("attachments: what is too large or no text is refused in place, and the rest stays", limit, async () => {
  const chat = await newTab("script");
  const { page } = chat;
  await page.goto(`${at.script.origin}/chat/`);
  const files = page.getByLabel("Files", { exact: true });
  await chat.field.fill("some words");
  await files.setInputFiles([{ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("fine") }, { name: "large.png", mimeType: "image/png", buffer: Buffer.alloc(5_000_001) }]);
  await page.getByRole("alert").getByText("large.png is larger than 5 MB.").waitFor();
  await files.setInputFiles({ name: "program.bin", mimeType: "application/octet-stream", buffer: Buffer.from([1, 0, 2]) });
  await page.getByRole("alert").getByText("program.bin is neither an image nor a text.").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Remove / }).count(), 1);
  // A message that was not sent keeps its files.
  await page.route("**/threads", (r) => r.abort());
  await chat.field.press("Enter");
  await page.getByText("The message was not sent.").waitFor();
  await page.getByRole("button", { name: "Remove notes.txt" }).waitFor();
  assert.equal(await chat.field.inputValue(), "some words");
  await page.unroute("**/threads");
  await page.getByRole("button", { name: "Remove notes.txt" }).click();
  await chat.field.press("Enter");
  await page.getByText("I got 10 characters of text.").waitFor();
  await chat.close();
});

test("reduced motion: nothing moves on the page", limit, async () => {
  const moving = async (reducedMotion) => {
    const chat = await newTab("script", await at.browser.newContext({ viewport: { width: 390, height: 844 }, reducedMotion }));
    const { page } = chat;
    await page.route("**/runs/*/stream*", async (r) => {
      await new Promise((f) => setTimeout(f, 1500));
      await r.continue().catch(() => undefined);
    });
    await page.goto(`${at.script.origin}/chat/`);
    await chat.field.fill("hello");
    // The moves of all that happens until the answer is there.
    await page.evaluate(() => {
      globalThis.moves = new Set();
      const look = () => {
        for (const a of document.getAnimations()) globalThis.moves.add(a.animationName ?? a.transitionProperty);
        requestAnimationFrame(look);
      };
      look();
    });
    await chat.field.press("Enter");
    await page.getByText("I got 5 characters of text.").waitFor();
    await page.getByRole("button", { name: "Open the sidebar" }).click();
    await page.waitForTimeout(200);
    const moves = await page.evaluate(() => [...globalThis.moves]);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await chat.close();
    return moves;
  };
  assert.notDeepEqual(await moving("no-preference"), [], "the test sees no move at all");
  assert.deepEqual(await moving("reduce"), []);
});
