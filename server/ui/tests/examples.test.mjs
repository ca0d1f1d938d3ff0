// The pages of the examples, as a person uses them.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { build, Chat, launch } from "./harness.mjs";

const limit = { timeout: 120_000 };

/** example describes the tests of one example, which share a server. A test can kill the server and start it again. */
function example(name, args, tests) {
  describe(name, () => {
    let program, folder;
    const at = {};
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), "weft-example-"));
      program = build(`./examples/${name}`);
      at.browser = await launch();
      at.origin = await program.serve(args(folder), { cwd: folder });
    }, limit);
    after(async () => {
      await at.browser?.close();
      await program?.end();
      rmSync(folder, { recursive: true, force: true });
    });
    for (const [title, run] of Object.entries(tests))
      test(title, limit, async () => {
        let chat = await Chat.open(at);
        // restart kills the server, and returns the conversation in a new tab of the next one.
        const restart = async () => {
          const hash = new URL(chat.page.url()).hash;
          await chat.page.context().close(); // it would have errors in its console
          await program.kill();
          at.origin = await program.serve(args(folder), { cwd: folder });
          return (chat = await Chat.open(at, { hash }));
        };
        await run(chat, chat.page, restart);
        assert.deepEqual(await chat.axe(), []);
        await chat.close();
      });
  });
}

const file = (name, text, mimeType = "text/plain") => ({ name, mimeType, buffer: Buffer.from(text) });
const csv = (name, text) => file(name, text, "text/csv");
const attach = (page, ...files) => page.getByLabel("Files", { exact: true }).setInputFiles(files);

example("calendar", (folder) => ["-data", folder, "-offline", "-serve", "127.0.0.1:0"], {
  "days are a list, and one day has hours": async (chat, page) => {
    await chat.say("what's on my calendar next week?");
    await page.getByRole("heading", { name: /^Tuesday/ }).waitFor();
    await chat.say("what do I have on Tuesday?");
    await page.getByRole("listitem").filter({ hasText: "14:00–15:00 · Room 4" }).waitFor();
  },
  "a change is asked about, made, and shown": async (chat, page) => {
    await chat.say("move the dentist to Thursday at 3pm");
    await page.getByText("planned", { exact: true }).waitFor();
    assert.equal(await page.getByText("That is all.").count(), 0, "the planner's words are not shown");
    await page.getByRole("button", { name: "Yes", exact: true }).click();
    await page.getByText("I've moved your dentist").waitFor();
    await page.getByRole("group", { name: "Changes" }).waitFor();
    await chat.idle();
  },
  "a message is an answer, and another request leaves the question open": async (chat, page) => {
    await chat.say("cancel the dentist");
    await page.getByRole("button", { name: "Yes", exact: true }).waitFor();
    await chat.say("no");
    await page.getByText("Cancelled: I have not done it.").waitFor();
    await chat.say("delete my meeting with John and then send a mail to ann@example.com saying sorry");
    await page.getByText("This will do 2 things. Confirm?").waitFor();
    await page.reload();
    await page.getByRole("cell", { name: /^send a mail to ann@example.com/ }).waitFor();
    await chat.say("any unread mail?");
    await page.getByText("Slides for our meeting").first().waitFor();
    await page.getByRole("button", { name: "Yes", exact: true }).waitFor();
    await chat.say("when is my meeting with John?");
    await page.getByText("at 2:00 PM: Meeting with John").first().waitFor();
  },
});

example("csvanalyst", (folder) => ["-data", folder, "-addr", "127.0.0.1:0", "-pace", "100ms"], {
  "figures are a chart, rows a table, and both stay": async (chat, page) => {
    await attach(page, csv("sales.csv", "city;amount\nAthens;10\nBern;20,5\nAthens;40\n"));
    await page.getByText("3 rows, 2 columns: city, amount").waitFor();
    // The result is shown when it is there, and not at the end of the run.
    const shown = page.evaluate(() => new Promise((done) => new MutationObserver((_, observer) => {
      const text = document.querySelector("[aria-label='Conversation']")?.innerText ?? "";
      if (!/\bdone\b/.test(text)) return;
      observer.disconnect();
      done(text);
    }).observe(document.body, { subtree: true, childList: true, characterData: true })));
    await chat.say("What is the total amount by city?");
    assert.doesNotMatch(await shown, /Bern: 20\.5/);
    const look = async () => {
      await page.getByRole("img", { name: /sum amount/ }).waitFor();
      await page.getByText("Bern: 20.5").waitFor();
      await page.getByRole("button", { name: /Compute figures.*sales\.csv/ }).waitFor();
    };
    await look();
    await chat.say("show rows where amount is over 15");
    await page.getByRole("table", { name: "Result" }).getByRole("cell", { name: "20.5" }).waitFor();
    await page.getByText("2 rows", { exact: true }).waitFor();
    await page.reload();
    await look();
    await page.getByRole("button", { name: "Table", exact: true }).click();
    await page.getByRole("cell", { name: "50", exact: true }).waitFor();
  },
  "a file that is none is refused, and another one can be asked about": async (chat, page) => {
    await attach(page, csv("x.csv", "%PDF-1.7"));
    await page.getByRole("alert").filter({ hasText: "a PDF document" }).waitFor();
    await page.getByRole("button", { name: "Remove x.csv" }).click();
    await chat.say("hello");
    await page.getByText("There is no CSV file in this session yet.").waitFor();
    await attach(page, csv("people.csv", "name,age\nAnn,40\nBob,30\n"));
    await page.getByText("2 rows, 2 columns").waitFor();
    await chat.say("What is the average age?");
    await page.getByText("The average age is 35, in people.csv.").waitFor();
  },
  "a run goes on when its program was killed": async (chat, page, restart) => {
    await attach(page, csv("sales.csv", "city;amount\nAthens;10\nBern;20,5\nAthens;40\n"));
    await page.getByText("3 rows, 2 columns").waitFor();
    await chat.say("What is the highest amount?", { wait: false });
    await page.getByText("done", { exact: true }).first().waitFor();
    chat = await restart();
    await chat.page.getByText("The highest amount is 40").waitFor();
  },
});

const tender = "Request for proposals\n\nThe bridge must carry 40 tonnes. Proposals are due on 3 May 2027.\n\nThe budget is 200,000 euros.\n";

example("research", (folder) => ["-data", folder, "-addr", "127.0.0.1:0", "-pace", "10ms"], {
  "the answer comes first, beside the document with the cited lines marked": async (chat, page) => {
    await chat.say("When are proposals due?");
    await page.getByText("Attach a document first").waitFor();
    await attach(page, file("tender.txt", tender));
    await page.getByText("21 words").waitFor();
    await chat.say("When are proposals due?", { wait: false });
    const panel = page.getByRole("complementary", { name: "Document tender.txt" });
    await panel.locator("[data-line='3'][data-marked='cited']").waitFor();
    await chat.idle();
    const said = await page.getByRole("region", { name: "Conversation" }).innerText();
    const places = ["Proposals are due on 3 May 2027. ", ...["Purpose", "Requirements", "Deadlines", "Budget", "Evaluation", "Submission", "Summary"].map((title) => `\n${title}\n`)].map((text) => said.indexOf(text));
    assert.deepEqual(places, places.toSorted((a, b) => a - b), `the answer is before the steps: ${said}`);
    assert.doesNotMatch(said, /What is said about money/, "questions of the program are not shown");
    await page.getByRole("button", { name: /^Budget/ }).click();
    await page.getByRole("link", { name: "Lines 5 of the document" }).click();
    await panel.locator("[data-line='5'][data-marked='chosen']").waitFor();
    assert.deepEqual(await chat.axe(), []);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Open tender.txt" }).click();
    await panel.getByText("Request for proposals").waitFor();
    await chat.say("What is the budget?");
    assert.equal(await panel.count(), 1, "a document that was opened again stays open in the next turn");
    await page.route(/\/api\/.*document/, (route) => route.fulfill({ status: 404, json: { error: "This document is not kept any more." } }));
    await page.getByRole("button", { name: "Close the document" }).click();
    await page.getByRole("button", { name: "Open tender.txt" }).first().click();
    await panel.getByText("This document is not kept any more.", { exact: true }).waitFor();
  },
  "a document is text, however hostile it is": async (chat, page) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await attach(page, file("x\u202etxt.html", `The boat is <img src="https://evil.example/x" onerror="alert(1)"> red\u202e.\n\nSee [this](javascript:alert(1)) boat. ${String.fromCodePoint(0xe0041)}\n`));
    await page.getByText(/\d+ words/).waitFor();
    await chat.say("Which boat is red?");
    const panel = page.getByRole("complementary", { name: /^Document/ });
    assert.equal(await panel.count(), 0, "on a small screen the document is opened by a person");
    await page.getByRole("link", { name: "Lines 1 of the document" }).click();
    await panel.locator("[data-line='1'][data-marked='chosen']").getByText('The boat is <img src="https://evil.example/x" onerror="alert(1)"> red\\u202e.').waitFor();
    await panel.getByText("See [this](javascript:alert(1)) boat. \\U000e0041").waitFor();
    await panel.getByRole("heading", { name: "x\\u202etxt.html" }).waitFor();
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.locator("a[href^='javascript']").count(), 0);
  },
  "a run goes on when its program was killed": async (chat, page, restart) => {
    await attach(page, file("tender.txt", tender));
    await page.getByText("21 words").waitFor();
    await chat.say("What must the bridge carry?", { wait: false });
    await page.getByRole("button", { name: /^Requirements/ }).waitFor();
    chat = await restart();
    await chat.page.getByRole("button", { name: /^Summary/ }).waitFor();
    const said = await chat.page.getByRole("region", { name: "Conversation" }).innerText();
    for (const title of ["Purpose", "Requirements", "Deadlines", "Budget", "Evaluation", "Submission", "Summary"])
      assert.equal(said.split(`\n${title}\n`).length, 2, `${title} is there once: ${said}`);
    assert.equal(said.split("Rules answer here").length, 2, `the answer is there once: ${said}`);
  },
});

example("chatapi", (folder) => ["-data", folder, "-addr", "127.0.0.1:0"], {
  "a conversation is there after a restart": async (chat, page, restart) => {
    await chat.say("hello");
    const talk = () => chat.page.getByRole("region", { name: "Conversation" });
    const said = await talk().innerText();
    chat = await restart();
    await talk().getByText("hello", { exact: true }).waitFor();
    assert.equal(await talk().innerText(), said);
  },
  "a list of facts that comes late brings back nothing that was forgotten": async (chat, page) => {
    const facts = [{ id: "1", content: "Ann likes oak" }];
    let hold = false, late;
    await page.route(/\/api\/memories/, (route) => {
      if (route.request().method() === "DELETE") {
        facts.pop();
        return route.fulfill({ status: 204 });
      }
      const json = [...facts];
      if (!hold) return route.fulfill({ json });
      hold = false;
      late = () => route.fulfill({ json });
    });
    await page.getByRole("button", { name: "Memory" }).click();
    await page.getByText("Ann likes oak").waitFor();
    await page.keyboard.press("Escape");
    hold = true;
    const asked = page.waitForRequest(/\/api\/memories/);
    await page.getByRole("button", { name: "Memory" }).click();
    await asked;
    await page.getByRole("button", { name: "Forget: Ann likes oak" }).click();
    await page.getByText("Nothing yet.").waitFor();
    await late();
    await page.waitForTimeout(300);
    assert.ok(await page.getByText("Nothing yet.").isVisible(), "the fact is back");
  },
});

example("designer", (folder) => ["-data", folder, "-serve", "127.0.0.1:0"], {
  "an approval is given in another process": async (chat, page, restart) => {
    await chat.say("find oak chairs under 700 and quote 6 of the first");
    await page.getByRole("button", { name: "Approve" }).waitFor();
    chat = await restart();
    await chat.page.getByRole("button", { name: "Approve" }).click();
    assert.equal(await chat.page.getByText("/studio/").isVisible(), false, "for whom the tool works is folded under the arguments");
    await chat.page.getByRole("button", { name: "Yes, make a quote" }).click(); // it cannot be taken back
    await chat.page.getByText("waiting for you").waitFor({ state: "detached" });
    await chat.idle();
  },
  "a search without a result says so": async (chat, page) => {
    await chat.say("find oak chairs under 3");
    await page.getByText("Nothing found.").first().waitFor(); // oak may be a material or a word of a name
    assert.equal(await page.getByText("all_that_fit").isVisible(), false);
  },
});
