// The states of the chat. Each function brings a new page to its state.

const first = (chat, text) => chat.page.getByText(text).first().waitFor();

export const states = {
  empty: async () => undefined,
  pending: async (chat) => {
    await chat.page.route("**/runs", async (r) => {
      await new Promise((f) => setTimeout(f, 4000));
      await r.continue().catch(() => undefined); // the page may be closed
    });
    await chat.field.fill("Which oak chairs fit?");
    await chat.field.press("Enter");
    await chat.page.waitForTimeout(200);
  },
  streaming: async (chat) => {
    await chat.say("Take your time: slow", { wait: false });
    await first(chat, "large vessels");
  },
  tool: async (chat) => {
    await chat.say("Which oak chairs fit a budget of 250 €?", { wait: false });
    await chat.page.getByText("running", { exact: true }).waitFor();
  },
  products: (chat) => chat.say("Which oak chairs fit a budget of 250 €?"),
  chart: async (chat) => {
    await chat.say("How did sales develop this year?");
    await chat.page.locator("canvas").waitFor();
  },
  day: (chat) => chat.say("What is on my calendar on Tuesday?"),
  table: (chat) => chat.say("Show the stock list"),
  links: async (chat) => {
    await chat.say("What do the documents say?");
    await chat.page.locator("a[href='#source-1']").click();
    await chat.page.getByRole("complementary", { name: "Sources" }).waitFor();
  },
  file: (chat) => chat.say("Make the invoice"),
  image: (chat) => chat.say("A picture, please"),
  diff: (chat) => chat.say("What has changed?"),
  tree: async (chat) => {
    await chat.say("The details of the order");
    await chat.page.getByRole("button", { name: /Order details/ }).click();
    await first(chat, "Hafenstr. 12");
  },
  code: async (chat) => {
    await chat.say("Write a program");
    await chat.page.locator(".hljs-keyword").first().waitFor();
  },
  tasks: async (chat) => {
    await chat.say("The packing list");
    await chat.page.getByText('<label for="x">').waitFor();
  },
  approval: (chat) => chat.say("Send the quote to Meyer & Sons"),
  confirm: async (chat) => {
    await chat.say("Send the quote to Meyer & Sons");
    await chat.page.getByRole("button", { name: "Approve" }).click();
  },
  edit: async (chat) => {
    await chat.say("Send the quote to Meyer & Sons");
    await chat.page.getByRole("button", { name: "Edit", exact: true }).click();
    await chat.page.getByLabel("Discount percent").fill("many");
    await chat.page.getByRole("button", { name: /with these changes/ }).click();
    await first(chat, "Write a number.");
  },
  questions: (chat) => chat.say("Both, please"),
  form: async (chat) => {
    await chat.say("Plan the delivery");
    await chat.page.getByRole("button", { name: "Answer" }).click();
    await first(chat, "This is needed.");
  },
  rejected: async (chat) => {
    await chat.say("Delete the order");
    await chat.page.getByRole("button", { name: "Reject" }).click();
    await chat.page.getByRole("button", { name: "Reject" }).click();
    await first(chat, "I left that alone");
    await chat.idle();
  },
  superseded: async (chat) => {
    await chat.say("Delete the order");
    await chat.say("A picture, please");
    await first(chat, "superseded");
  },
  toolFailed: (chat) => chat.say("Ask the warehouse"),
  stopped: async (chat) => {
    await chat.say("Take your time: slow", { wait: false });
    await first(chat, "large vessels");
    await chat.page.getByRole("button", { name: "Stop" }).click();
    await first(chat, "stopped by you");
  },
  failed: async (chat) => {
    await chat.say("Crash on the ledger", { wait: false });
    await chat.page.getByRole("button", { name: "Try again" }).waitFor();
  },
  refused: async (chat) => {
    await chat.page.route("**/runs", (r) => r.fulfill({ status: 429, contentType: "application/json", body: '{"detail":"You have sent many messages. Wait a minute."}' }));
    await chat.field.fill("Which oak chairs fit?");
    await chat.field.press("Enter");
    await first(chat, "Wait a minute.");
  },
  queued: async (chat) => {
    await chat.say("Take your time: slow", { wait: false });
    await first(chat, "ring-porous");
    await chat.field.fill("And then a picture");
    await chat.field.press("Enter");
    await first(chat, "queued until");
  },
  offline: async (chat) => {
    await chat.say("Which oak chairs fit?");
    await chat.page.context().setOffline(true);
    await first(chat, "You are offline");
  },
  branches: async (chat) => {
    await chat.say("A picture, please");
    await chat.page.getByRole("button", { name: "Edit and send again" }).click();
    await chat.page.getByRole("textbox", { name: "Edit the message" }).fill("Make the invoice");
    await chat.page.getByRole("textbox", { name: "Edit the message" }).press("Enter");
    await first(chat, "The invoice is ready");
    await chat.idle();
    await first(chat, "2/2");
  },
  editing: async (chat) => {
    await chat.say("A picture, please");
    await chat.page.getByRole("button", { name: "Edit and send again" }).click();
  },
  thoughts: async (chat) => {
    await chat.say("Which oak chairs fit a budget of 250 €?");
    await chat.page.getByRole("button", { name: "Thoughts" }).click();
  },
  rightToLeft: (chat) => chat.say("مرحبا، أريد كرسيا"),
  sidebar: async (chat) => {
    await chat.say("A picture, please");
    const menu = chat.page.getByRole("button", { name: "Open the sidebar" });
    if (await menu.isVisible()) await menu.click();
    await chat.page.getByRole("button", { name: /^Actions for/ }).first().click();
    await chat.page.getByRole("menuitem", { name: "Rename" }).waitFor();
  },
  rename: async (chat) => {
    await states.sidebar(chat);
    await chat.page.getByRole("menuitem", { name: "Rename" }).click();
  },
  files: async (chat) => {
    const file = (name, text) => ({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
    await chat.page.getByLabel("Files", { exact: true }).setInputFiles([file("orders of May, north and south.csv", "product,pieces\nLund,4\n"), file("broken.csv", 'a,b\n"1,2\n')]);
    await first(chat, "This is not a CSV file");
    await chat.page.route("**/api/lists*", () => undefined);
    await chat.page.getByLabel("Files", { exact: true }).setInputFiles([file("prices.csv", "a,b\n")]);
    await chat.page.getByRole("progressbar").waitFor();
  },
  fileSent: async (chat) => {
    await chat.page.getByLabel("Files", { exact: true }).setInputFiles([{ name: "orders.csv", mimeType: "text/csv", buffer: Buffer.from("product,pieces\nLund,4\n") }]);
    await first(chat, "2 rows");
    await chat.say("Make the invoice");
  },
  missing: async (chat) => {
    await chat.page.evaluate(() => (location.hash = "#/00000000-0000-4000-8000-000000000000"));
    await first(chat, "There is no such conversation");
  },
};
