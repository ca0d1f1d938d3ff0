// The pages of the examples, as a person uses them.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { beginExample, Chat } from "./harness.mjs";

const limit = { timeout: 120_000 };

/** example describes the tests of one example, which share a server. */
function example(name, args, tests) {
  let at, folder;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "weft-example-"));
    at = await beginExample(name, args(folder), { cwd: folder });
  }, limit);
  after(async () => {
    await at?.end();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const [title, run] of Object.entries(tests))
    test(`${name}: ${title}`, limit, async () => {
      const chat = await Chat.open(at);
      await run(chat, chat.page);
      assert.deepEqual(await chat.axe(), []);
      await chat.close();
    });
}

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
    await page.getByText("I've changed your dentist").waitFor();
    await page.getByRole("region", { name: "Changes" }).waitFor();
    await chat.idle();
  },
  "a message is an answer, and another one leaves the question": async (chat, page) => {
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
    assert.equal(await page.getByRole("button", { name: "Yes", exact: true }).count(), 0);
    await chat.say("when is my meeting with John?");
    await page.getByText("at 2:00 PM: Meeting with John").first().waitFor();
  },
});
