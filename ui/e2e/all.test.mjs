// The pages in a browser, against the program: `npm run e2e`. Needs TRUNKLINE_BIN and Chromium; skips without, and says
// so, but fails in CI. Each line of the outer suite has a program of its own; they run at the same time, and the longest
// ones begin first.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { alertTests } from "./alerts.mjs";
import { cacheTests } from "./cache.mjs";
import { callTests } from "./call.mjs";
import { chargeTests } from "./charge.mjs";
import { graphTests } from "./graphs.mjs";
import { keyTests } from "./keys.mjs";
import { ladderTests } from "./ladder.mjs";
import { liveTests, lookTests } from "./looks.mjs";
import { endAll, missing, start, WORLD_MS } from "./program.mjs";
import { registrationTests } from "./registrations.mjs";
import { roleTests } from "./roles.mjs";
import { providerTests, signInTests } from "./sign-in.mjs";
import { sizeTests } from "./size.mjs";
import { wayTests } from "./way.mjs";

/** Programs with their tests at the same time, and tests of the shared one: more would wait for the processors. */
const [WORLDS, LOOKS] = [3, 2];
/** Milliseconds for all of it: what takes longer hangs. */
const ALL_MS = 900_000;

/** @type {Partial<import("./session.mjs").Signed>} */
const world = {};
const why = missing();
if (why) console.log(`# the browser tests are skipped: ${why}`);
if (why && process.env.CI) test("what the browser tests need is there", () => assert.fail(why));

sizeTests();

describe("in the browser", { skip: why, concurrency: WORLDS, timeout: ALL_MS }, () => {
  after(endAll);
  describe("over a capture", { concurrency: 1, timeout: WORLD_MS }, () => {
    before(async () => void Object.assign(world, await start()));
    after(() => world.stop?.());
    const all = /** @type {import("./session.mjs").Signed} */ (world);
    signInTests(all);
    describe("what changes nothing", { concurrency: LOOKS }, () => {
      cacheTests(all);
      graphTests(all);
      callTests(all);
      registrationTests(all);
      keyTests(all);
    });
    describe("what changes what others see", { concurrency: 1 }, () => {
      ladderTests(all);
      roleTests(all);
    });
    describe("how all pages look", { concurrency: LOOKS }, () => lookTests(all));
  });
  chargeTests();
  liveTests();
  alertTests();
  wayTests();
  providerTests();
});
