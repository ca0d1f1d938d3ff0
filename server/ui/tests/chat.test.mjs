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

const stateOf = async (thread) => (await fetch(`${at.origin}/threads/${thread}/state`)).text();

test("P1: a tool's card stays with its answer, also after a reload", limit, () => tab({}, async (chat, page) => {
  await chat.say("A picture, please");
  await chat.say("Make the invoice");
  await page.getByRole("button", { name: /^Make an invoice.* \d+(\.\d)? m?s/ }).waitFor(); // the time of the call
  await chat.say("Show me a picture again");
  const look = async () => ({
    pictures: await page.getByRole("img", { name: "The Lund chair in oiled oak" }).count(),
    files: await page.getByRole("link", { name: "Download invoice-2026-0398.pdf" }).count(),
    done: await page.getByText("done", { exact: true }).count(),
  });
  assert.deepEqual(await look(), { pictures: 2, files: 1, done: 3 });
  await page.reload();
  await page.getByText("The invoice is ready").waitFor();
  assert.deepEqual(await look(), { pictures: 2, files: 1, done: 3 });
}));

test("the studio shows a reply that is being written from its first word", limit, () => tab({}, async (chat, page) => {
  await chat.say("Take your time: slow", { wait: false });
  await page.getByText("large vessels").waitFor();
  const studio = await page.context().newPage();
  await studio.goto(`${at.origin}/studio/#/threads/${chat.thread}`);
  await studio.getByText("Oak is a ring-porous wood: its large vessels").first().waitFor();
  assert.ok((await stateOf(chat.thread)).includes("ring-porous") === false, "the reply is not stored yet");
}));

test("P1: calls of two turns with one id keep their own results", limit, async () => {
  const post = async (path, body) => (await fetch(at.origin + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();
  const { thread_id } = await post("/threads", { metadata: { graph_id: "shop", page: "chat", title: "Twice" } });
  const turn = (n, pieces) => [
    { type: "human", id: `h${n}`, content: `question ${n}` },
    { type: "ai", id: `a${n}`, content: "", tool_calls: [{ id: "call_1", name: "order_details", args: { order: `order-${n}` } }] },
    { type: "tool", id: `t${n}`, tool_call_id: "call_1", name: "order_details", content: JSON.stringify({ pieces }) },
    { type: "ai", id: `z${n}`, content: `answer ${n}` },
  ];
  await post(`/threads/${thread_id}/state`, { values: { messages: [...turn(1, 111), ...turn(2, 222)] } });
  await tab({ hash: `#/${thread_id}` }, async (chat, page) => {
    await page.getByText("answer 2").waitFor();
    for (const line of await page.getByRole("button", { name: /Order details/ }).all()) await line.click();
    const rows = await page.locator("[data-index]").allInnerTexts();
    assert.match(rows[1], /order-1[\s\S]*111/);
    assert.match(rows[3], /order-2[\s\S]*222/);
    assert.doesNotMatch(rows[1], /222/);
  });
});

test("P2: on a phone the answer stays in sight, and the composer at the bottom", limit, () => tab({ width: 390, height: 700 }, async (chat, page) => {
  await chat.say("Write a program");
  await chat.say("Take your time: slow", { wait: false });
  await page.getByText("large vessels").waitFor();
  for (let i = 0; i < 8; i++) {
    await page.waitForTimeout(250);
    const gap = await page.getByRole("region", { name: "Conversation" }).evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    assert.ok(gap < 60, `the end is ${gap} pixels below the fold`);
    const box = await chat.field.boundingBox();
    assert.ok(box.y + box.height <= 700, "the composer is out of sight");
  }
  await page.getByRole("region", { name: "Conversation" }).evaluate((e) => e.dispatchEvent(new WheelEvent("wheel", { deltaY: -400 })) && (e.scrollTop -= 400));
  const top = await page.getByRole("region", { name: "Conversation" }).evaluate((e) => e.scrollTop);
  await page.waitForTimeout(700);
  const later = await page.getByRole("region", { name: "Conversation" }).evaluate((e) => e.scrollTop);
  assert.ok(Math.abs(later - top) < 30, `a person who scrolled up is moved by ${later - top} pixels`);
}));

test("P3: a reload joins the run, and a second tab sees it", limit, () => tab({}, async (chat, page) => {
  await chat.say("Take your time: slow", { wait: false });
  await page.getByText("ring-porous").waitFor();
  const other = await Chat.open(at, { context: page.context(), hash: `#/${chat.thread}` });
  await other.page.getByText("large vessels").waitFor();
  await page.reload();
  await page.getByText("large vessels").waitFor();
  assert.ok(await page.getByRole("button", { name: "Stop" }).isVisible(), "the run has ended");
  await page.getByText("between summer and winter.").waitFor({ timeout: 40_000 });
  await other.page.getByText("between summer and winter.").waitFor();
  await chat.idle();
  for (const p of [page, other.page]) assert.equal(await p.getByText("ring-porous").count(), 1, "a text is there twice");
  // A run that begins in one tab is seen in the other one.
  await other.say("A picture, please");
  await page.getByText("This is the Lund chair").waitFor();
}));

test("P3: a closed tab does not end the run", limit, async () => {
  let thread;
  await tab({}, async (chat, page) => {
    await chat.say("Take your time: slow", { wait: false });
    await page.getByText("ring-porous").waitFor();
    thread = chat.thread;
  });
  for (let i = 0; i < 200 && !(await stateOf(thread)).includes("between summer and winter."); i++) await new Promise((f) => setTimeout(f, 200));
  assert.match(await stateOf(thread), /between summer and winter\./);
});

test("P3: the answer of a run that ends while the page reads the state is shown", limit, () => tab({}, async (chat, page) => {
  let first = true;
  await page.route(/\/threads\/[^/]+\/state$/, async (r) => {
    let response = await r.fetch();
    if (first) {
      first = false;
      while (!(await response.text()).includes("A picture, please")) response = await r.fetch();
      assert.doesNotMatch(await response.text(), /Lund chair/, "the run has ended before the test begins");
      const thread = new URL(r.request().url()).pathname.split("/")[2];
      const runs = async () => (await fetch(`${at.origin}/threads/${thread}/runs`)).json();
      while ((await runs()).some((run) => run.status === "running" || run.status === "pending")) await new Promise((f) => setTimeout(f, 50));
    }
    await r.fulfill({ response });
  });
  await chat.field.fill("A picture, please");
  await chat.field.press("Enter");
  await page.getByText("This is the Lund chair").waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
}));

test("P4: a message that was not sent comes back, also over a reload", limit, () => tab({}, async (chat, page) => {
  await chat.say("A picture, please");
  await page.route("**/runs", (r) => r.abort());
  await chat.field.fill("precious words");
  await chat.field.press("Enter");
  await page.getByText("The message was not sent.").waitFor();
  assert.equal(await chat.field.inputValue(), "precious words");
  assert.equal(await page.locator("[data-index]").getByText("precious words").count(), 0, "a bubble as if it was sent");
  await page.reload();
  await chat.field.waitFor();
  assert.equal(await chat.field.inputValue(), "precious words");
  await page.unroute("**/runs");
  await chat.field.press("Enter");
  await page.getByText("You wrote: precious words").waitFor();
  assert.equal(await chat.field.inputValue(), "");
  await page.reload();
  await page.getByText("You wrote: precious words").waitFor();
  assert.equal(await chat.field.inputValue(), "");
}));

test("P4: the first message of a thread is not lost, and not there twice", limit, () => tab({}, async (chat, page) => {
  await page.route("**/threads", (r) => r.abort());
  await chat.field.fill("first words");
  await chat.field.press("Enter");
  await page.getByText("The message was not sent.").waitFor();
  assert.equal(await chat.field.inputValue(), "first words");
  await page.unroute("**/threads");
  await chat.field.press("Enter");
  await page.getByText("You wrote: first words").waitFor();
  assert.equal(await page.getByText("first words", { exact: true }).locator("visible=true").count() > 0, true);
  assert.equal((await stateOf(chat.thread)).match(/"type":"human"/g).length, 1);
}));

test("P5: a superseded question is closed and says so, also after a reload", limit, () => tab({}, async (chat, page) => {
  await chat.say("Delete the order");
  assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 1);
  await chat.say("A picture, please");
  const check = async () => {
    await page.getByText("superseded").waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
    assert.equal(await page.getByText("running", { exact: true }).count(), 0);
  };
  await check();
  await page.reload();
  await check();
}));

test("P5: an answer in one tab closes the question in the other", limit, () => tab({}, async (chat, page) => {
  await chat.say("Delete the order");
  const other = await Chat.open(at, { context: page.context(), hash: `#/${chat.thread}` });
  await other.page.getByRole("button", { name: "Reject" }).click();
  await other.page.getByRole("button", { name: "Reject" }).click();
  await page.getByText("I left that alone").waitFor();
  assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
}));

test("P5: a rejected call is not a failed one", limit, () => tab({}, async (chat, page) => {
  await chat.say("Delete the order");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByLabel(/Why/).fill("not today");
  await page.keyboard.press("Enter");
  await page.getByText("I left that alone").waitFor();
  await page.getByText("rejected", { exact: true }).waitFor();
  assert.equal(await page.getByText("failed", { exact: true }).count(), 0);
  await chat.say("Ask the warehouse");
  await page.getByText("failed", { exact: true }).waitFor();
}));

test("P6: Enter does not send while an input method composes", limit, () => tab({}, async (chat, page) => {
  const cdp = await page.context().newCDPSession(page);
  await chat.field.focus();
  await cdp.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
  await page.keyboard.press("Enter");
  await page.waitForTimeout(300);
  assert.equal(chat.thread, "", "the message was sent");
  await cdp.send("Input.insertText", { text: "日本" });
  assert.match(await chat.field.inputValue(), /日本/);
  await page.keyboard.press("Shift+Enter");
  assert.match(await chat.field.inputValue(), /\n/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/.+/);
}));

test("P7: Markdown, code, tables and links are shown; HTML is text", limit, () => tab({}, async (chat, page) => {
  await chat.say("Write a program");
  assert.equal(await page.getByRole("button", { name: "Copy the code" }).count(), 2);
  await page.locator(".hljs-keyword").first().waitFor();
  await chat.say("Which oak chairs fit a budget of 250 €?");
  assert.equal(await page.getByRole("group", { name: "Table" }).locator("tr").count(), 4);
  await chat.say('<img src="x" onerror="alert(1)"> <b>bold</b> [bad](javascript:alert(1)) [good](https://example.com)');
  await page.getByRole("link", { name: "good" }).waitFor();
  assert.equal(await page.locator("a[href^='javascript']").count(), 0);
  assert.equal(await page.locator("img[src='x']").count(), 0);
  await page.getByText('<img src="x" onerror="alert(1)"> <b>bold</b> bad good').last().waitFor();
}));

test("no word of an answer is lost: tags are shown", limit, () => tab({}, async (chat, page) => {
  const texts = [
    "use list<string> and <div class=x> or a<b && c>d, <my-tag>;",
    "line<br>break and <!-- a note --> here",
    "<fieldset><legend>more</legend>hidden words</fieldset>",
    "<script>alert(1)</script>",
  ];
  await chat.say(texts.join("\n\n"));
  const answer = page.getByRole("article", { name: "Assistant" }).last();
  for (const text of texts) await answer.getByText(text, { exact: false }).waitFor();
  assert.equal(await answer.locator("fieldset, script, my-tag").count(), 0);
  await chat.say("look:\n\n<div>\none\n  two</div>");
  assert.match(await page.getByRole("article", { name: "Assistant" }).last().innerText(), /<div>\none\n *two<\/div>/);
}));

test("what is shown as it is has no links of citations", limit, () => tab({}, async (chat, page) => {
  await chat.say("A picture, please");
  const content = "look:\n\n<div>see [12] and [2024-12]</div>\n\n    [13]\n\nand [14]";
  const files = [{ name: "tender.txt", url: "/api/tender.txt" }];
  await page.request.post(`${at.origin}/threads/${chat.thread}/runs`, { data: { assistant_id: "shop", input: { messages: [{ type: "human", content, additional_kwargs: { files } }] } } });
  await page.getByRole("link", { name: "Lines 14 of the document" }).waitFor();
  const answer = await page.getByRole("article", { name: "Assistant" }).last().innerText();
  assert.ok(answer.includes("<div>see [12] and [2024-12]</div>"), answer);
  assert.match(answer, /\[13\](?!\()/);
}));

test("a call that a deadline rejected is shown as rejected", limit, () => tab({}, async (chat, page) => {
  await chat.say("Delete the order");
  const state = await (await page.request.get(`${at.origin}/threads/${chat.thread}/state`)).json();
  const [question] = state.tasks.flatMap((t) => t.interrupts);
  const no = { verdict: "reject", hash: question.value.hash, by: "the deadline", reason: "nobody answered in time" };
  await page.request.post(`${at.origin}/threads/${chat.thread}/runs`, { data: { assistant_id: "shop", command: { resume: { [question.id]: no } } } });
  await page.getByText("I left that alone").waitFor();
  assert.equal(await page.getByText("rejected", { exact: true }).count(), 1);
  assert.equal(await page.getByText("failed", { exact: true }).count(), 0);
}));

test("a conversation has its speakers in the tree of accessibility", limit, () => tab({}, async (chat, page) => {
  await chat.say("A picture, please");
  await chat.say("The packing list");
  const list = page.getByRole("region", { name: "Conversation" });
  assert.deepEqual(await list.getByRole("heading", { level: 2 }).allTextContents(), ["You", "Assistant", "You", "Assistant"]);
  await list.getByRole("article", { name: "You" }).nth(1).getByText("The packing list").waitFor();
  assert.equal(await list.getByRole("article", { name: "Assistant" }).nth(1).getAttribute("aria-posinset"), "4");
  await list.getByRole("checkbox", { name: "done", exact: true }).waitFor();
}));

test("P7: an approval names its object; a dangerous one needs a second press", limit, () => tab({}, async (chat, page) => {
  await chat.say("Send the quote to Meyer & Sons");
  const card = page.getByRole("region", { name: "Question: Send a quote" });
  const text = await card.innerText();
  for (const part of ["Meyer & Sons", "Lund chair, oak", "1290", "9007199254740993"]) assert.ok(text.includes(part), `${part} is not shown`);
  assert.doesNotMatch(text, /[{}]/);
  await card.getByRole("button", { name: "Approve" }).click();
  await card.getByText("Press once more").waitFor();
  assert.match(await stateOf(chat.thread), /"next":\["tools"\]/);
  await card.getByRole("button", { name: "Yes, send a quote" }).click();
  await page.getByText("Sent. Meyer & Sons have the quote").waitFor();
}));

test("numbers stay exact in an edit, and a wrong edit is told in place", limit, () => tab({}, async (chat, page) => {
  await chat.say("Send the quote to Meyer & Sons");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const discount = page.getByLabel("Discount percent");
  await discount.fill("a lot");
  await page.getByRole("button", { name: /with these changes/ }).click();
  await page.getByText("Write a number.").waitFor();
  await discount.fill("12");
  assert.equal(await page.getByLabel("Order number").inputValue(), "9007199254740993");
  await page.getByRole("button", { name: /with these changes/ }).click();
  await page.getByText("Press once more").waitFor();
  assert.match(await stateOf(chat.thread), /"next":\["tools"\]/, "a dangerous call runs at the second press");
  await page.getByLabel("Customer").fill("Nord & Sons");
  await page.getByRole("button", { name: /with these changes/ }).click();
  await page.getByRole("button", { name: "Yes, send a quote" }).click();
  await page.getByText("Sent. Meyer & Sons have the quote").waitFor();
  assert.match(await stateOf(chat.thread), /\\"discount_percent\\":12,.*\\"order_number\\":9007199254740993/);
  // The line and the opened call show the arguments that ran, and the result without the note for the model.
  const line = page.getByRole("button", { name: /^Send a quote\s*Nord & Sons.*changed/ });
  await line.click();
  const opened = await line.locator("xpath=..").innerText();
  assert.match(opened, /Discount percent\s+12/);
  assert.match(opened, /9007199254740993/);
  assert.match(opened, /Result\s+sent to office@meyer\.example$/);
}));

test("the card of a call whose arguments a person changed gets the decoded result", limit, async () => {
  const post = async (path, body) => (await fetch(at.origin + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();
  const { thread_id } = await post("/threads", { metadata: { graph_id: "shop", page: "chat", title: "Changed" } });
  const text = (text) => ({ type: "text", text });
  await post(`/threads/${thread_id}/state`, { values: { messages: [
    { type: "human", id: "h", content: "the invoice" },
    { type: "ai", id: "a", content: "", tool_calls: [{ id: "c", name: "make_invoice", args: { order: "old" } }] },
    {
      type: "tool", id: "t", tool_call_id: "c", name: "make_invoice", response_metadata: { edited_arguments: { order: "new" } },
      content: [text("The arguments were changed by a person; the tool ran with {\"order\":\"new\"}\n\n"), text(JSON.stringify({ name: "invoice-new.pdf", url: "/invoice-new.pdf" }))],
    },
    { type: "ai", id: "z", content: "Here it is." },
  ] } });
  await tab({ hash: `#/${thread_id}` }, async (_chat, page) => {
    await page.getByRole("link", { name: "Download invoice-new.pdf" }).waitFor();
    const line = page.getByRole("button", { name: /Make an invoice\s*new/ });
    await line.click();
    assert.doesNotMatch(await page.getByRole("region", { name: "Conversation" }).innerText(), /old|the tool ran with/);
    await page.goto(`${at.origin}/studio/#/threads/${thread_id}`);
    const use = page.getByRole("button", { name: /Make invoice\s*new/ });
    await use.click();
    assert.match(await use.locator("xpath=..").innerText(), /changed by a person\s+Order\s+new\s+Arguments of the model\s+Order\s+old\s+Result\s+Name/i);
  });
});

test("a stopped conversation is no question: the sidebar and the studio say stopped, and a failed one failed", limit, () => tab({}, async (chat, page) => {
  const mark = (thread) => page.getByRole("listitem").filter({ has: page.locator(`a[href="#/${thread}"]`) }).getByRole("img");
  await chat.say("Take your time: slow", { wait: false });
  await page.getByText("ring-porous").waitFor();
  await page.getByRole("button", { name: /^Stop/ }).click();
  await chat.idle();
  const stopped = chat.thread;
  await mark(stopped).and(page.getByLabel("stopped")).waitFor();
  await chat.fresh();
  await chat.say("crash");
  await mark(chat.thread).and(page.getByLabel("failed")).waitFor();
  await chat.fresh();
  await chat.say("Send the quote to Meyer & Sons");
  const asking = chat.thread;
  await mark(asking).and(page.getByLabel("waiting for you")).waitFor();
  const studio = await page.context().newPage();
  const row = (thread) => studio.locator(`[data-thread="${thread}"]`);
  await studio.goto(`${at.origin}/studio/#/threads?status=interrupted`);
  await row(asking).getByText("waiting").waitFor();
  assert.equal(await row(stopped).count(), 0);
  await studio.getByRole("button", { name: "Stopped" }).click();
  await row(stopped).getByText("stopped").waitFor();
  assert.equal(await row(asking).count(), 0);
  const badge = Number(await studio.getByRole("link", { name: /^Questions/ }).first().locator("[aria-label]").innerText());
  await studio.goto(`${at.origin}/studio/#/questions`);
  await studio.getByText(`${badge} question${badge === 1 ? " waits" : "s wait"}`).waitFor();
}));

test("conversations are listed if their questions cannot be read", limit, () => tab({}, async (chat, page) => {
  await chat.say("Send the quote to Meyer & Sons");
  await page.route("**/threads/search", (r) => (r.request().postDataJSON().ids ? r.fulfill({ status: 422, json: { detail: "no" } }) : r.fallback()));
  const refused = page.waitForResponse((r) => r.status() === 422);
  await page.reload();
  await refused;
  const row = page.getByRole("listitem").filter({ has: page.locator(`a[href="#/${chat.thread}"]`) });
  await row.waitFor();
  assert.equal(await row.getByRole("img").count(), 0);
}));

test("the studio shows why a run failed below the conversation", limit, () => tab({}, async (chat, page) => {
  await chat.say("crash");
  await page.goto(`${at.origin}/studio/#/threads/${chat.thread}`);
  await page.getByRole("alert").filter({ hasText: "the model is overloaded" }).waitFor();
}));

test("two questions are answered one by one", limit, () => tab({}, async (chat, page) => {
  await chat.say("Both, please");
  await page.getByText("2 questions are open").waitFor();
  const order = page.getByRole("region", { name: "Question: Delete an order" });
  await order.getByRole("button", { name: "Approve" }).click();
  await order.getByRole("button", { name: "Yes, delete an order" }).click();
  await order.waitFor({ state: "detached" });
  const quote = page.getByRole("region", { name: "Question: Send a quote" });
  await quote.getByRole("button", { name: "Approve" }).click();
  await quote.getByRole("button", { name: "Yes, send a quote" }).click();
  await page.getByText("Both are done.").waitFor();
}));

test("a question with a schema is a form", limit, () => tab({}, async (chat, page) => {
  await chat.say("Plan the delivery");
  await page.getByLabel("Day", { exact: true }).fill("2026-12-03");
  await page.getByLabel("Time of day").selectOption("evening");
  await page.getByLabel("Floor").fill("3");
  await page.getByLabel("There is a lift").check();
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Booked.").waitFor();
  assert.match(await stateOf(chat.thread), /\\"floor\\":3,\\"lift\\":true|\\"lift\\":true,\\"floor\\":3/);
}));

test("an edited message and another answer are branches", limit, () => tab({}, async (chat, page) => {
  await chat.say("A picture, please");
  await page.getByRole("button", { name: "Edit and send again" }).click();
  await page.getByRole("textbox", { name: "Edit the message" }).fill("Make the invoice");
  await page.keyboard.press("Enter");
  await page.getByText("The invoice is ready").waitFor();
  await page.getByRole("group", { name: "Versions of the message" }).getByText("2/2").waitFor();
  await page.getByRole("button", { name: "Answer again" }).click();
  await page.getByRole("group", { name: "Versions of the answer" }).getByText("2/2").waitFor();
  await page.getByRole("button", { name: "Previous message" }).click();
  await page.getByText("This is the Lund chair").waitFor();
  await page.getByText("An earlier branch").waitFor();
  await chat.say("Make the invoice");
  await page.getByText("The invoice is ready").waitFor();
  assert.equal(await page.getByText("This is the Lund chair").count(), 1, "the message did not continue the branch");
}));

test("a message to an earlier branch stays in sight if its run ends before the answer to its request", limit, () => tab({}, async (chat, page) => {
  await chat.say("Make the invoice");
  await page.getByRole("button", { name: "Edit and send again" }).click();
  await page.getByRole("textbox", { name: "Edit the message" }).fill("Numbers, please");
  await page.keyboard.press("Enter");
  await page.getByRole("group", { name: "Versions of the message" }).getByText("2/2").waitFor();
  await chat.idle();
  await page.getByRole("button", { name: "Previous message" }).click();
  await page.getByText("An earlier branch").waitFor();
  await page.route("**/runs", async (r) => {
    const state = page.waitForResponse((x) => /\/state(\/[^/]+)?$/.test(new URL(x.url()).pathname));
    const response = await r.fetch();
    await state; // the page reads it at the end of the run
    await r.fulfill({ response });
  }, { times: 1 });
  await chat.say("A picture, please");
  for (const text of ["Make the invoice", "The invoice is ready", "A picture, please", "This is the Lund chair"]) await page.locator("[data-index]").getByText(text).first().waitFor();
}));

test("conversations are found, renamed, and deleted with undo", limit, () => tab({}, async (chat, page) => {
  await chat.say("A picture of a very particular chair");
  const link = page.getByRole("link", { name: "A picture of a very particular chair" });
  await link.waitFor();
  await page.getByRole("searchbox").fill("nothing like it");
  await link.waitFor({ state: "detached" });
  await page.getByRole("searchbox").fill("particular picture");
  await link.hover();
  await page.getByRole("button", { name: "Actions for A picture of a very particular chair" }).click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.getByRole("textbox", { name: "Title" }).fill("Particular seat");
  await page.keyboard.press("Enter");
  await page.getByRole("searchbox").fill("seat");
  await page.getByRole("link", { name: "Particular seat" }).waitFor();
  const remove = async () => {
    await page.getByRole("button", { name: "Actions for Particular seat" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByText("Deleted “Particular seat”").waitFor();
  };
  const { thread } = chat;
  await remove();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("link", { name: "Particular seat" }).waitFor();
  assert.equal((await fetch(`${at.origin}/threads/${thread}`)).status, 200);
  await remove();
  for (let i = 0; i < 100 && (await fetch(`${at.origin}/threads/${thread}`)).status !== 404; i++) await page.waitForTimeout(100);
  assert.equal((await fetch(`${at.origin}/threads/${thread}`)).status, 404);
}));

test("an answer goes on while the connection is away", limit, () => tab({}, async (chat, page) => {
  await chat.say("Take your time: slow", { wait: false });
  await page.getByText("ring-porous").waitFor();
  await page.context().setOffline(true);
  await page.getByText("You are offline").waitFor();
  await page.waitForTimeout(1500);
  await page.context().setOffline(false);
  await page.getByText("between summer and winter.").waitFor({ timeout: 40_000 });
  await page.getByText("You are offline").waitFor({ state: "detached" });
  assert.equal(await page.getByText("ring-porous").count(), 1);
}));

test("a stopped and a failed run say so, and go on", limit, () => tab({}, async (chat, page) => {
  await chat.say("Take your time: slow", { wait: false });
  await page.getByText("large vessels").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("stopped by you").waitFor();
  await page.reload();
  await page.getByText("stopped by you").waitFor();
  await chat.say("Crash on the ledger", { wait: false });
  const alert = page.getByRole("alert").filter({ hasText: "overloaded" });
  await alert.waitFor();
  await page.reload();
  await alert.waitFor();
  await alert.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Stop" }).or(alert).first().waitFor();
}));

test("the keyboard alone sends, answers and copies", limit, () => tab({}, async (chat, page) => {
  const reach = async (name) => {
    for (let i = 0; i < 20; i++) { // back from the message field, and not through the list of conversations
      await page.keyboard.press("Shift+Tab");
      const label = await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent?.trim());
      if (label === name) return;
    }
    assert.fail(`${name} is not reached by Shift+Tab`);
  };
  await page.keyboard.type("Delete the order");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Approve", disabled: false }).waitFor();
  await reach("Approve");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.getByText("The order 2026-0412 is deleted.").waitFor();
  await chat.idle();
  await reach("Answer again");
  await reach("Copy the answer");
}));

test("a table of 1,000 rows is sorted, and few rows are in the page", limit, () => tab({}, async (chat, page) => {
  await chat.say("Show the stock list");
  const table = page.getByRole("table", { name: "Result" });
  await page.getByText("1,000 rows").waitFor();
  assert.ok((await table.getByRole("row").count()) < 60);
  const cells = async () => (await table.getByRole("row").nth(1).getByRole("cell").allInnerTexts())[2];
  await table.getByRole("button", { name: "Pieces" }).click();
  assert.equal(await cells(), "0");
  await table.getByRole("button", { name: "Pieces" }).click();
  assert.equal(await cells(), "96");
  assert.equal(await table.getByRole("columnheader", { name: "Pieces" }).getAttribute("aria-sort"), "descending");
}));

test("another tab says that a person types, until the message is sent", limit, () => tab({}, async (chat, page) => {
  await chat.say("A picture, please");
  const other = await Chat.open(at, { context: page.context(), hash: `#/${chat.thread}` });
  await other.field.pressSequentially("hello");
  const typing = page.getByText("You are typing in another tab.");
  await typing.waitFor();
  await other.field.press("Enter");
  await typing.waitFor({ state: "detached", timeout: 2000 }); // it goes by itself after 3 seconds
  await other.page.close();
}));

test("a print has all messages, and nothing but the conversation", limit, () => tab({}, async (chat, page) => {
  const texts = [];
  for (let i = 0; i < 14; i++) {
    texts.push(`message number ${i}`);
    await chat.say(texts.at(-1));
  }
  assert.equal(await page.getByRole("article", { name: "You" }).filter({ hasText: texts[0] }).count(), 0, "all messages are on the screen: the test shows nothing");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint"))); // first, as in a browser: no scroll event of the page on paper counts
  await page.emulateMedia({ media: "print" });
  const seen = await page.evaluate(() => ({ text: document.body.innerText, height: document.documentElement.scrollHeight, last: [...document.querySelectorAll("article")].at(-1).getBoundingClientRect().bottom }));
  for (const text of texts) assert.ok(seen.text.includes(`\n${text}\n`), `${text} is not printed`);
  assert.doesNotMatch(seen.text, /New chat|Theme:|Write a message/);
  assert.ok(seen.height + 1 >= seen.last, `the last message ends at ${seen.last} of ${seen.height} pixels`);
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.getByRole("article", { name: "You" }).filter({ hasText: texts[0] }).waitFor({ state: "detached" });
  await page.getByRole("article", { name: "You" }).filter({ hasText: texts.at(-1) }).waitFor(); // the end is shown, as before
}));
