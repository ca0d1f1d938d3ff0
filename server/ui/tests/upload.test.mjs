import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { begin, Chat } from "./harness.mjs";

let at;
before(async () => (at = await begin()));
after(() => at.end());

const limit = { timeout: 60_000 };

async function tab(options, use) {
  const chat = await Chat.open(at, options);
  await use(chat, chat.page);
  await chat.close();
}

const csv = (name, text = "product,pieces\nLund,4\nAske,2\n") => ({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
const attach = (page, ...files) => page.getByLabel("Files", { exact: true }).setInputFiles(files);
const attached = (page) => page.getByRole("list", { name: "Attached files" });
const send = (chat, text) => chat.say(text);
const threadsOf = async (title) => (await (await fetch(`${at.origin}/threads/search`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ metadata: { title } }) })).json());

test("a file goes to the application, and belongs to the message", limit, () => tab({}, async (chat, page) => {
  assert.equal(await page.getByLabel("Files", { exact: true }).getAttribute("accept"), ".csv,text/csv,image/*");
  const sent = page.waitForRequest((r) => r.url().includes("/api/lists"));
  await attach(page, csv("orders of May.csv"));
  const thread = new URL((await sent).url()).searchParams.get("thread");
  await attached(page).getByText("orders of May.csv").waitFor();
  await attached(page).getByText("3 rows").waitFor();
  assert.equal(chat.thread, "", "the page left the start");
  await send(chat, "Make the invoice");
  assert.equal(chat.thread, thread, "the message is in another thread than the file");
  assert.equal(await attached(page).count(), 0);
  const look = async () => {
    await page.getByRole("list", { name: "Files of the message" }).getByText("orders of May.csv").waitFor();
    await page.getByText("3 rows").waitFor();
  };
  await look();
  await page.reload();
  await look();
  await page.getByRole("link", { name: "Make the invoice" }).waitFor(); // the title, as without a file
  await page.getByRole("button", { name: "Edit and send again" }).click();
  await page.getByRole("textbox", { name: "Edit the message" }).fill("A picture, please");
  await page.keyboard.press("Enter");
  await page.getByText("This is the Lund chair").waitFor();
  await chat.idle();
  await look();
}));

test("a first message of the list takes the file along, and waits for it", limit, () => tab({}, async (chat, page) => {
  let go;
  await page.route("**/api/lists*", async (r) => {
    await new Promise((f) => (go = f));
    await r.continue();
  });
  await attach(page, csv("slow.csv"));
  await page.getByRole("progressbar", { name: "Upload of slow.csv" }).waitFor();
  const suggestion = page.getByRole("button", { name: "How did sales develop this year?" });
  assert.ok(await suggestion.isDisabled());
  await chat.field.fill("wait for the file");
  assert.ok(await page.getByRole("button", { name: "Send", exact: true }).isDisabled());
  await chat.field.press("Enter");
  await chat.field.fill("");
  go();
  await attached(page).getByText("3 rows").waitFor();
  await suggestion.click();
  await page.waitForURL(/#\/.+/);
  await page.getByRole("list", { name: "Files of the message" }).getByText("slow.csv").waitFor();
  await chat.idle();
}));

test("files that were kept and cannot be read are no files", limit, () => tab({}, async (chat, page) => {
  for (const damaged of ["{", "3", "{}", '{"thread":"t","files":3}', '{"thread":1,"files":[]}', '{"thread":"t","files":[null]}']) {
    await page.evaluate((text) => sessionStorage.setItem("weft.files.new", text), damaged);
    await page.reload();
    await chat.field.waitFor();
  }
  await page.evaluate(() => sessionStorage.setItem("weft.files.new", "{"));
  await page.reload();
  await attach(page, csv("orders.csv"));
  await attached(page).getByText("3 rows").waitFor();
  await send(chat, "Make the invoice");
  await page.getByRole("list", { name: "Files of the message" }).getByText("orders.csv").waitFor();
}));

test("a refusal of the application is told, and the file can be put away", limit, () => tab({}, async (chat, page) => {
  await attach(page, csv("broken.csv", 'a,b\n"1,2\n'), csv("good.csv"), csv("large.csv", "x".repeat(2_000_000)));
  await page.getByRole("alert").filter({ hasText: "This is not a CSV file" }).waitFor();
  await page.getByRole("alert").filter({ hasText: "larger than 1048576 bytes" }).waitFor();
  for (const name of ["broken.csv", "large.csv"]) await page.getByRole("button", { name: `Remove ${name}` }).click();
  await send(chat, "Make the invoice");
  const files = page.getByRole("list", { name: "Files of the message" });
  assert.equal(await files.getByRole("listitem").count(), 1);
  await files.getByText("good.csv").waitFor();
}));

test("a file of another type is not sent; an image is part of the message", limit, () => tab({}, async (chat, page) => {
  let calls = 0;
  page.on("request", (r) => r.url().includes("/api/lists") && calls++);
  await attach(page, { name: "letter.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7") });
  await page.getByRole("alert").filter({ hasText: "letter.pdf cannot be attached. These files can: .csv,text/csv." }).waitFor();
  const pixel = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await attach(page, { name: "chair.png", mimeType: "image/png", buffer: pixel });
  await send(chat, "What is this?");
  await page.getByRole("img", { name: "Attachment 1" }).waitFor();
  assert.equal(calls, 0);
}));

test("a file is removed before the message is sent", limit, () => tab({}, async (chat, page) => {
  await attach(page, csv("wrong.csv"), csv("right.csv"));
  await attached(page).getByText("3 rows").nth(1).waitFor();
  const gone = page.waitForResponse((r) => r.request().method() === "DELETE");
  await page.getByRole("button", { name: "Remove wrong.csv" }).click();
  assert.equal((await gone).status(), 200);
  await attached(page).getByText("wrong.csv").waitFor({ state: "detached" });
  await page.reload(); // what is attached stays
  await attached(page).getByText("right.csv").waitFor();
  await send(chat, "Make the invoice");
  const files = page.getByRole("list", { name: "Files of the message" });
  await files.getByText("right.csv").waitFor();
  assert.equal(await files.getByRole("listitem").count(), 1);
}));

test("an upload is stopped, and one that breaks off says so", limit, () => tab({}, async (chat, page) => {
  await page.route("**/api/lists*", () => undefined); // no answer comes
  await attach(page, csv("never.csv"));
  await page.getByRole("progressbar", { name: "Upload of never.csv" }).waitFor();
  await page.getByRole("button", { name: "Remove never.csv" }).click();
  await attached(page).waitFor({ state: "detached" });
  await page.unroute("**/api/lists*");
  await page.route("**/api/lists*", (r) => r.abort());
  await attach(page, csv("lost.csv"));
  await page.getByRole("alert").filter({ hasText: "The connection broke" }).waitFor();
  await page.unroute("**/api/lists*");
  await page.getByRole("button", { name: "Remove lost.csv" }).click();
  await attach(page, csv("found.csv"));
  await attached(page).getByText("3 rows").waitFor();
  assert.equal((await threadsOf("never.csv")).length, 1, "each file made a thread of its own");
  assert.equal((await threadsOf("found.csv")).length, 0);
}));

test("a file goes to the conversation that is shown, also one that is dropped", limit, () => tab({}, async (chat, page) => {
  await send(chat, "A picture, please");
  const sent = page.waitForRequest((r) => r.url().includes("/api/lists"));
  const data = await page.evaluateHandle(() => {
    const d = new DataTransfer();
    d.items.add(new File(["a,b\n1,2\n"], "dropped.csv", { type: "text/csv" }));
    return d;
  });
  await page.locator("form").dispatchEvent("drop", { dataTransfer: data });
  assert.equal(new URL((await sent).url()).searchParams.get("thread"), chat.thread);
  await attached(page).getByText("2 rows").waitFor();
  await send(chat, "Make the invoice");
  await page.getByRole("list", { name: "Files of the message" }).getByText("dropped.csv").waitFor();
}));

const field = (page) => page.getByRole("textbox", { name: "Message" });

test("the files of a new conversation go with its thread when that is opened", limit, () => tab({}, async (chat, page) => {
  for (const remove of [false, true]) {
    const name = remove ? "removed.csv" : "kept.csv";
    await attach(page, csv(name));
    await attached(page).getByText("3 rows").waitFor();
    if (remove) {
      await page.getByRole("button", { name: `Remove ${name}` }).click();
      await attached(page).waitFor({ state: "detached" });
    }
    await page.getByRole("link", { name }).click();
    await page.waitForURL(/#\/.+/);
    const thread = chat.thread;
    if (!remove) {
      await attached(page).getByText(name).waitFor();
      await page.reload();
      await attached(page).getByText(name).waitFor();
    }
    await send(chat, "A picture, please");
    assert.equal(await page.getByRole("list", { name: "Files of the message" }).count(), remove ? 0 : 1);
    await chat.fresh();
    assert.equal(await attached(page).count(), 0);
    await send(chat, "hello");
    assert.notEqual(chat.thread, thread, "the message went into another conversation");
    assert.equal((await threadsOf(name)).length, 1, "another message has changed the title");
    await chat.fresh();
  }
}));

test("the files of a new conversation go with its thread when that is deleted", limit, () => tab({}, async (chat, page) => {
  await attach(page, csv("deleted.csv"));
  await attached(page).getByText("3 rows").waitFor();
  const [{ thread_id: thread }] = await threadsOf("deleted.csv");
  const remove = async () => {
    const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "deleted.csv" }) });
    await row.hover();
    await row.getByRole("button").click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
  };
  await remove();
  await attached(page).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("link", { name: "deleted.csv" }).click();
  await attached(page).getByText("deleted.csv").waitFor();
  await chat.fresh();
  await remove();
  await send(chat, "hello");
  assert.notEqual(chat.thread, thread, "the message went into a deleted conversation");
  assert.equal(await page.getByRole("list", { name: "Files of the message" }).count(), 0);
}));

test("a message that was not sent does not go into a thread that was opened since", limit, () => tab({}, async (chat, page) => {
  await page.route("**/runs", (r) => r.abort());
  await field(page).fill("Say it once");
  await field(page).press("Enter");
  await page.getByText("The message was not sent.").waitFor();
  await page.unroute("**/runs");
  await page.getByRole("link", { name: "Say it once" }).click();
  await page.waitForURL(/#\/.+/);
  const thread = chat.thread;
  await send(chat, "A picture, please");
  await chat.fresh();
  await send(chat, "Say it once");
  assert.notEqual(chat.thread, thread);
}));

test("a file that is attached while a message is sent stays for the next one", limit, () => tab({}, async (chat, page) => {
  const during = async (text, late) => {
    let go;
    const asked = new Promise((f) => {
      void page.route("**/runs", async (r) => {
        await new Promise((open) => f((go = open)));
        await r.continue();
      });
    });
    await field(page).fill(text);
    await field(page).press("Enter");
    await asked;
    await attach(page, csv(late));
    await attached(page).getByText(late).waitFor();
    await attached(page).getByText("3 rows").last().waitFor();
    go();
    await page.getByText(text, { exact: true }).last().waitFor();
    await page.waitForURL(/#\/.+/);
    await page.unroute("**/runs");
    await chat.idle();
  };
  await during("A picture, please", "late.csv"); // the first message, without a file
  await attached(page).getByText("late.csv").waitFor();
  assert.equal(await attached(page).getByRole("listitem").count(), 1);
  assert.equal((await threadsOf("late.csv")).length, 0, "the file has a thread of its own");
  await during("Make the invoice", "later.csv");
  await page.getByRole("list", { name: "Files of the message" }).getByText("late.csv").waitFor();
  await attached(page).getByText("later.csv").waitFor();
  assert.equal(await attached(page).getByRole("listitem").count(), 1);
  await send(chat, "Show me a picture again");
  await page.getByRole("list", { name: "Files of the message" }).getByText("later.csv").waitFor();
  assert.equal(await attached(page).count(), 0);
}));

test("a file that is removed while its thread is created is not sent", limit, () => tab({}, async (chat, page) => {
  const uploads = [];
  page.on("request", (r) => r.url().includes("/api/lists") && uploads.push(r.method()));
  let go;
  const asked = new Promise((f) => {
    void page.route("**/threads", async (r) => {
      await new Promise((open) => f((go = open)));
      await r.continue();
    });
  });
  await attach(page, csv("early.csv"), csv("next.csv"));
  await asked;
  await page.getByRole("button", { name: "Remove early.csv" }).click();
  await page.getByRole("button", { name: "Remove early.csv" }).waitFor({ state: "detached" });
  go();
  await attached(page).getByText("3 rows").waitFor();
  assert.deepEqual(uploads, ["POST"], "the removed file was sent");
}));
