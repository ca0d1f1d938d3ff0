import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { begin, Chat } from "./harness.mjs";
import { states } from "./states.mjs";

let at;
before(async () => (at = await begin()));
after(() => at.end());

// Each state is free of what axe-core finds, light and dark, on a phone and a wide screen, and
// nothing overflows sideways.
for (const width of [390, 1440])
  for (const dark of [false, true])
    for (const [name, reach] of Object.entries(states))
      test(`${name} is accessible at ${width} pixels, ${dark ? "dark" : "light"}`, { timeout: 60_000 }, async () => {
        const chat = await Chat.open(at, { width, height: width === 390 ? 844 : 900, dark, hasTouch: width === 390 });
        await reach(chat);
        await chat.page.mouse.move(0, 0);
        assert.deepEqual(await chat.axe(), []);
        assert.equal(await chat.page.evaluate(() => document.documentElement.scrollWidth), width);
        await chat.page.unrouteAll({ behavior: "ignoreErrors" });
        await chat.close();
      });
