// The pages in a browser, against the program: `npm run e2e`. Needs TRUNKLINE_BIN and Chromium; skips without, and says so.

import { after, before, describe } from "node:test";
import { alertTests } from "./alerts.mjs";
import { cacheTests } from "./cache.mjs";
import { callTests } from "./call.mjs";
import { chargeTests } from "./charge.mjs";
import { graphTests } from "./graphs.mjs";
import { keyTests } from "./keys.mjs";
import { ladderTests } from "./ladder.mjs";
import { liveTests, lookTests } from "./looks.mjs";
import { missing, start } from "./program.mjs";
import { registrationTests } from "./registrations.mjs";
import { roleTests } from "./roles.mjs";
import { signInTests } from "./sign-in.mjs";
import { sizeTests } from "./size.mjs";
import { wayTests } from "./way.mjs";

/** @type {Partial<import("./program.mjs").World & { state: unknown }>} */
const world = {};
const why = missing();
if (why) console.log(`# the browser tests are skipped: ${why}`);

sizeTests();

describe("in the browser", { skip: why, concurrency: false }, () => {
  before(async () => void Object.assign(world, await start()));
  after(() => world.stop?.());
  const all = /** @type {import("./session.mjs").Signed} */ (world);
  signInTests(all);
  cacheTests(all);
  graphTests(all);
  callTests(all);
  ladderTests(all);
  registrationTests(all);
  keyTests(all);
  roleTests(all);
  lookTests(all);
  liveTests();
  chargeTests();
  alertTests();
  wayTests();
});
