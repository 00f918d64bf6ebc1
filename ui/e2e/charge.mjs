// Charging: the pages against a node with traffic of `trunkline charge load`, from an empty node to a plan that is tried
// out. UPDATE_SCREENSHOTS=1 also keeps pictures for docs/images.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { faultsOf, fits, keep, settle } from "./looks.mjs";
import { ended, outcome, page as fresh, run, till, WORLD_MS } from "./program.mjs";
import { shows } from "./session.mjs";

const PLAN = `[plan]
name = "standard"
currency = "EUR"
time-zone = "Europe/Berlin"

[allowance.gift]
amount = "50 MiB"
lasts = "30 days"

[[version]]
from = "2026-01-01"
rule = [
  { name = "data", rating-groups = [1], step = "1 KiB", price = "0.01", tranche = "2 MiB", validity = "10 min",
    allowances = ["gift"] },
  { name = "video", rating-groups = [10], step = "1 KiB", price = "0.02", tranche = "1 MiB", validity = "10 min" },
]
`;
const ACCOUNTS = 60;

/** What was charged for a call, as the API tells it. */
const CHARGE = {
  ...{ session: "gw.example;1;2;a84b4c76e66710@pc33.example", origin: "gw.example", subscriber: 7, account: 7, by: "call-id", from: "2026-01-01T00:01:48.000000Z", to: "2026-01-01T00:02:22.000000Z" },
  ...{ records: 2, seconds: 34, money: 12, short: 3, rated: true, currency: "EUR", decimals: 2 },
};

/**
 * A plan of calls whose only destination is the country of the first call, and subscribers for all callers but one.
 * @param {Awaited<ReturnType<typeof captured>>} calls
 */
function voiceOf(calls) {
  const first = calls[0];
  assert.ok(first);
  const plan = `[plan]
name = "voice"
currency = "EUR"
[destinations]
home = ["${first.to.slice(1, 3)}"]
[[version]]
from = "2020-01-01"
[[version.rule]]
name = "to home"
destinations = ["home"]
unit = "seconds"
step = 60
price = "7"
`;
  const numbers = [...new Set(calls.map((call) => call.from.slice(1)))].slice(0, -1);
  const rows = numbers.map((number, at) => `${at + 1001},${at + 1001},voice,0,${number}`);
  return { plan, subscribers: ["subscriber,account,plan,balance,e164", ...rows].join("\n") + "\n" };
}

/** How records are sent on, as the API tells it: no gateway is there to send to. */
const RECORDS = {
  ...{ records: 5210, files: 12, behind: 0, holds: false, failure: null },
  sent_on: {
    gateways: [
      { address: "10.20.0.4:3386", up: true },
      { address: "10.20.1.4:3386", up: false },
    ],
    ...{ file: 13, octets: 41_200, waiting_octets: 9000, packets: 17, done: 5180, doubtful: 4, refused: 2, cause: 205, gone_files: 0, failure: null },
  },
};

/** Accounts 1 to 60, each with a subscriber. */
const subscribers = () => {
  const row = (/** @type {number} */ n) => `${n},${n},standard,${n % 9 === 0 ? 20 : 500_000},00101${String(n).padStart(10, "0")}`;
  return ["subscriber,account,plan,balance,imsi", ...Array.from({ length: ACCOUNTS }, (_, n) => row(n + 1))].join("\n") + "\n";
};

/**
 * Calls of the capture between numbers: those that were answered and have ended.
 * @param {{ data: string }} world
 * @returns {Promise<{ from: string, to: string, answer: string, duration_ms: number }[]>}
 */
async function captured(world) {
  const told = (await run("calls", "--data", world.data, "--limit", "1000", "--json")).trim().split("\n");
  return told.map((line) => JSON.parse(line)).filter((call) => call.state === "completed" && call.duration_ms > 3000 && /^\+\d+$/.test(call.from) && /^\+\d+$/.test(call.to));
}

/**
 * A bill for these calls: one is left out, one is two minutes too long, one is there twice, one was not on the wire, and
 * a line cannot be read.
 * @param {Awaited<ReturnType<typeof captured>>} calls
 */
function billOf(calls) {
  const written = (/** @type {string} */ time) => time.slice(0, 19).replace("T", " ");
  const line = (/** @type {Awaited<ReturnType<typeof captured>>[number]} */ call, longer = 0) => {
    const seconds = Math.ceil(call.duration_ms / 1000) + longer;
    return [call.from, call.to, written(call.answer), seconds, (seconds * 0.01).toFixed(2)].join(";");
  };
  const [left, long, twice, ...rest] = calls;
  assert.ok(left && long && twice && rest.length > 10, `${calls.length} calls are too few`);
  const nobody = ["+4420000000", "+4420000001", written(String(rest[5]?.answer)), 77, "0.77"].join(";");
  return ["A-Number;B-Number;Start;Seconds;Charge", line(long, 120), line(twice), line(twice), nobody, "+1;+2;yesterday;1;1", ...rest.map((call) => line(call))].join("\r\n") + "\r\n";
}

export function chargeTests() {
  test("charging, from an empty node to a plan that is tried out", { timeout: WORLD_MS }, async (t) => {
    const world = await till();
    /** @type {Awaited<ReturnType<typeof world.charging>> | undefined} */
    let node;
    /** @type {import("node:child_process").ChildProcess | undefined} */
    let load;
    try {
      const { page, context, faults } = await fresh(world);
      await page.goto(world.link);
      await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();

      await t.test("without a node the page says how to have one", async () => {
        await page.goto("/charge");
        await page.getByRole("heading", { name: "No charging node is running" }).waitFor();
        await page.getByText("trunkline charge serve --host").waitFor();
      });

      node = await world.charging();
      await t.test("a plan is written, checked and put live", async () => {
        await page.goto("/charge");
        await page.getByText("No tariff plans yet: nothing has a price.").waitFor();
        await page.getByRole("link", { name: "Tariffs" }).first().click();
        const text = page.getByRole("textbox", { name: "Text of the plan" });
        await text.fill(PLAN.replace("currency", "curency").replace("0.02", "two"));
        await page.getByRole("button", { name: "Check" }).click();
        await page.getByText("2 mistakes:").waitFor();
        await page.getByRole("button", { name: "Line 3" }).click();
        await text.fill(PLAN);
        await page.getByRole("button", { name: "Put live" }).click();
        await page.getByRole("button", { name: "Put it live" }).click();
        await page.getByText("version 1, since entry 1; EUR").waitFor();
      });

      const csv = join(world.folder, "subscribers.csv");
      writeFileSync(csv, subscribers());
      await run("charge", "import", csv, "--data", world.data);
      load = world.begin(
        ...["charge", "load", node.address, "--subscription", "imsi", "--subscribers", `00101%010d:${ACCOUNTS + 5}`, "--rating-groups", "1,10"],
        ...["--sessions-per-second", "8", "--updates", "30", "--interval", "1", "--usage", "all", "--duplicates", "0.1", "--duration", "600", "--connections", "2"],
      );
      let said = "";
      load.stderr?.on("data", (octets) => (said += octets));

      await t.test("the overview shows what is answered", async () => {
        await page.goto("/charge");
        const now = page.getByRole("region", { name: "Now" });
        await now.getByText(/^[\d.]+\/s$/).first().waitFor();
        await page.getByRole("img", { name: /^Requests by type from/ }).waitFor();
        await page.getByRole("button", { name: "24 hours" }).click();
        await page.waitForURL(/every=minute/);
        await page.getByRole("button", { name: "15 minutes" }).click();
        await page.waitForFunction(() => /Open sessions\s*[1-9]/.test(document.body.innerText));
      });

      let account = "";
      await t.test("sessions are listed, and one tells what happened", async () => {
        const told = page.getByRole("region", { name: "Timeline" });
        // Sessions last half a minute: the one that is chosen may have ended before its page has loaded.
        for (let tries = 1; ; tries += 1) {
          await page.goto("/charge/sessions");
          await page.locator("[data-row-link]").first().waitFor();
          await page.keyboard.press("j");
          await page.keyboard.press("Enter");
          await shows(page, "Session");
          try {
            await told.getByText("Started").waitFor({ timeout: 15_000 });
            break;
          } catch (ended) {
            if (tries === 5) throw ended;
          }
        }
        await told.getByText("granted").first().waitFor();
        account = (await page.getByRole("region", { name: "Now" }).getByRole("link").first().innerText()).trim();
        assert.match(account, /^\d+$/);
        await page.goto(`/charge/sessions?account=${account}`);
        await page.locator("[data-row-link]").first().waitFor();
        await page.goto("/charge/sessions/99999-1");
        await page.getByRole("heading", { name: "Session not found" }).waitFor();
      });

      await t.test("an account is found by its subscriber, and is topped up once", async () => {
        await page.goto("/charge/accounts");
        await page.getByRole("searchbox", { name: "Account, number or identity" }).fill("001010000000009");
        await page.getByRole("button", { name: "Find" }).click();
        await shows(page, "Account 9");
        await page.getByRole("button", { name: "Top up" }).click();
        await page.getByLabel("Amount in EUR").fill("25.00");
        await page.getByLabel(/^Reason/).fill("voucher 4711");
        await page.getByRole("button", { name: "Continue" }).click();
        await page.getByText("The ledger entry cannot be deleted").waitFor();
        await page.getByRole("button", { name: "Confirm" }).click();
        await page.getByRole("region", { name: "Ledger" }).getByText("voucher 4711 (you)").waitFor();
        await page.getByRole("region", { name: "Ledger" }).getByText("+25.00 EUR").waitFor();
        await page.getByRole("button", { name: "Add a bundle" }).click();
        await page.getByRole("button", { name: "Continue" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Add the bundle" }).click();
        await page.getByRole("region", { name: "Ledger" }).getByText("Bundle bought").waitFor();
        await page.getByRole("region", { name: "Bundles and limits" }).getByText("gift").waitFor();
        await page.goto("/charge/accounts/77777");
        await page.getByRole("heading", { name: "Account not found" }).waitFor();
      });

      await t.test("clients are shown with their watchdog", async () => {
        await page.goto("/charge/clients");
        const clients = page.getByRole("region", { name: "Clients" });
        await clients.getByText("okay").first().waitFor();
        assert.equal(await clients.getByRole("row").count(), 3);
      });

      await t.test("a dearer text is compared, tried out against today and put live", async () => {
        await page.goto("/charge/tariffs/standard");
        const text = page.getByRole("textbox", { name: "Text of the plan" });
        await text.fill(PLAN.replace('price = "0.01"', 'price = "0.05"'));
        await page.getByRole("group", { name: "Changed lines" }).getByText('price = "0.05"').waitFor();
        await page.getByRole("combobox", { name: "Usage of" }).selectOption({ label: "Today" });
        await page.getByRole("button", { name: "Replay usage" }).click();
        await page.getByText(/would have paid more/).waitFor({ timeout: 60_000 });
        if (process.env.UPDATE_SCREENSHOTS) {
          await page.getByRole("region", { name: "Replay usage" }).scrollIntoViewIfNeeded();
          await keep(page, "charge-tariffs-light");
        }
        await page.getByRole("button", { name: "Put live" }).click();
        await page.getByRole("button", { name: "Put it live" }).click();
        await page.getByText(/^version 2, since entry/).waitFor();
        await page.getByRole("combobox", { name: /previous version/ }).selectOption({ index: 1 });
        await page.getByText("Changes since the version of").waitFor();
      });

      let compared = "";
      await t.test("a bill is dropped, compared with the wire, and each difference leads to its call", async () => {
        const calls = await captured(world);
        await page.goto("/charge/bill");
        await page.getByRole("heading", { name: "Compare captured calls with" }).waitFor();
        await page.getByRole("button", { name: "a bill", exact: true }).click();
        await page.getByRole("button", { name: "Compare", exact: true }).click();
        await page.getByText("Choose the bill first.").waitFor();
        const columns = page.getByRole("group", { name: "Columns of the bill" });
        await page.getByLabel("The bill", { exact: true }).setInputFiles({ name: "carrier.csv", mimeType: "text/csv", buffer: Buffer.from(billOf(calls)) });
        assert.equal(await columns.getByLabel("Caller").inputValue(), "A-Number");
        assert.equal(await columns.getByLabel("Amount").inputValue(), "Charge");
        await page.getByLabel("Time zone").selectOption("UTC");
        await page.getByRole("button", { name: "Compare", exact: true }).click();
        await page.waitForURL(/\/charge\/bill\/[0-9a-f]{32}$/);
        await page.getByRole("heading", { name: "4 differences" }).waitFor({ timeout: 60_000 });
        compared = new URL(page.url()).pathname;
        if (process.env.UPDATE_SCREENSHOTS) await keep(page, "charge-bill-light");
        await page.getByText("1 line of the bill could not be read").click();
        await page.getByText("no time of a begin: 'yesterday'").waitFor();
        const table = page.getByRole("group", { name: "Table of differences" });
        await table.getByRole("row").nth(4).waitFor();
        assert.equal(await table.getByRole("row").count(), 5);
        await page.getByRole("link", { name: "Longer" }).click();
        await page.waitForURL(/kind=longer/);
        await page.getByRole("status").filter({ hasText: "1 row" }).waitFor();
        await page.reload();
        await table.getByText("Longer").waitFor();
        assert.equal(await table.getByRole("row").count(), 2);
        const file = page.waitForEvent("download");
        await page.getByRole("link", { name: "CSV" }).click();
        assert.match(readFileSync(await (await file).path(), "utf8"), /^kind,at,sure,.*\r\nlonger,/);
        const packets = page.waitForEvent("download");
        await table.getByRole("link", { name: "Packets of the call" }).click();
        await packets;
        await page.keyboard.press("j");
        await page.keyboard.press("Enter");
        await page.getByRole("region", { name: "Verdict" }).waitFor();
        const charged = page.getByRole("region", { name: "Online charges" });
        assert.equal(await charged.count(), 0, "nothing was charged for it");
        // What a node would have charged: clients of the load program call nobody.
        await page.route("**/api/v1/calls/*/charges", (route) => route.fulfill({ json: { charges: [CHARGE], stopped: false } }));
        await page.reload();
        await charged.getByText("0.12 EUR").waitFor();
        await charged.getByRole("link", { name: "7", exact: true }).waitFor();
        assert.deepEqual(await faultsOf(page), []);
        await page.unroute("**/api/v1/calls/*/charges");
        // By money, and changed: with a tolerance that lets what is short and what is long pass.
        await page.goto(compared);
        await page.getByRole("button", { name: /^In dispute/ }).click();
        await page.waitForURL(/order=most/);
        await page.getByRole("link", { name: "Change and compare again" }).click();
        await page.getByText("uploaded before").waitFor();
        await page.getByText("Filter and tolerances").click();
        await page.getByLabel("Maximum difference of durations, seconds").fill("600");
        await page.getByRole("button", { name: "Compare", exact: true }).click();
        await page.getByRole("heading", { name: "2 differences" }).waitFor({ timeout: 60_000 });
        await page.goto("/charge/bill");
        await page.getByRole("region", { name: "Comparisons" }).getByText("2 differences").waitFor();
        await page.goto("/charge/bill/00000000000000000000000000000000");
        await page.getByRole("heading", { name: "Comparison not found" }).waitFor();
      });

      await t.test("what was charged online beside the wire, where there is nothing", async () => {
        await page.goto("/charge/bill?from=2020-01-01T00:00:00.000Z&to=2020-01-02T00:00:00.000Z");
        await page.getByRole("button", { name: "Compare", exact: true }).click();
        await page.getByRole("heading", { name: "No charges for calls in this time range" }).waitFor({ timeout: 60_000 });
        await page.getByText("choose another range").waitFor();
      });

      let rated = "";
      await t.test("calls are rated by plans, and say what lacks a price and why", async () => {
        const voice = voiceOf(await captured(world));
        const [plan, csv] = [join(world.folder, "voice.toml"), join(world.folder, "voice.csv")];
        writeFileSync(plan, voice.plan);
        writeFileSync(csv, voice.subscribers);
        await run("charge", "plan", plan, "--data", world.data);
        await run("charge", "import", csv, "--data", world.data);
        const span = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
        const told = await outcome(String(process.env.TRUNKLINE_BIN), ["charge", "rate-calls", "--data", world.data, "--from", String(span[0]), "--to", String(span[1]), "--json"]);
        const sums = JSON.parse(String(told.stdout.trim().split("\n").at(-1))).sums;
        assert.ok(sums.priced > 0 && sums.no_rule > 0 && sums.nobody_pays > 0, told.stdout + told.stderr);
        await page.goto("/charge");
        await page.getByRole("link", { name: "Rated calls" }).click();
        await page.getByRole("heading", { name: "Cost of captured calls" }).waitFor();
        await page.goto(`/charge/rated?from=${span[0]}&to=${span[1]}`);
        await page.getByRole("button", { name: "Rate calls" }).click();
        await page.waitForURL(/\/charge\/rated\/[0-9a-f]{32}$/);
        rated = new URL(page.url()).pathname;
        const cost = sums.accounts.reduce((/** @type {number} */ all, /** @type {{ money: number }} */ one) => all + one.money, 0) / 100;
        await page.getByRole("heading", { name: `${sums.priced} call${sums.priced === 1 ? " costs" : "s cost"} ${cost.toFixed(2)} EUR` }).waitFor({ timeout: 60_000 });
        if (process.env.UPDATE_SCREENSHOTS) await keep(page, "charge-rated-light");
        const totals = page.getByRole("region", { name: "Totals" });
        await totals.getByRole("link", { name: "home" }).waitFor();
        await totals.getByRole("button", { name: "Prefix" }).click();
        await page.waitForURL(/by=prefix/);
        await totals.getByRole("button", { name: "Account" }).click();
        await totals.getByRole("link", { name: /^10\d\d$/ }).first().waitFor();
        // What has no rule, by an address of its own, and as files.
        await page.getByRole("region", { name: "Result" }).getByRole("link", { name: "No rule" }).click();
        await page.waitForURL(/outcome=no-rule/);
        const calls = page.getByRole("region", { name: "Calls" });
        const count = `${sums.no_rule} call${sums.no_rule === 1 ? "" : "s"}`;
        await calls.getByRole("status").filter({ hasText: count }).waitFor();
        await page.reload();
        await calls.getByRole("status").filter({ hasText: count }).waitFor();
        const file = page.waitForEvent("download");
        await calls.getByRole("link", { name: "CSV" }).click();
        assert.match(readFileSync(await (await file).path(), "utf8"), /^call,caller,called,.*\r\n[^\r]*,no-rule,/);
        await page.keyboard.press("j");
        await page.keyboard.press("Enter");
        await page.getByRole("region", { name: "Verdict" }).waitFor();
        // By a text in place of the plan: only accounts with it, dearer.
        await page.goto(rated);
        await page.getByRole("link", { name: "Change and rate again" }).click();
        await page.getByLabel("Plans").selectOption({ label: "edited plan text" });
        await page.getByRole("textbox", { name: "Text of the plan" }).fill(voice.plan.replace('price = "7"', 'price = "14"'));
        await page.getByRole("button", { name: "Rate calls" }).click();
        await page.getByRole("heading", { name: `${(2 * cost).toFixed(2)} EUR` }).waitFor({ timeout: 60_000 });
        await page.getByText("By a plan text that is not live").waitFor();
        // Where there is nothing, it says why; what is wrong is told at once.
        await page.goto("/charge/rated?from=2020-01-01T00:00:00.000Z&to=2020-01-02T00:00:00.000Z");
        await page.getByRole("button", { name: "Rate calls" }).click();
        await page.getByRole("heading", { name: "No calls to rate" }).waitFor({ timeout: 60_000 });
        await page.getByText("The store has no call in this time range: choose another time.").waitFor();
        await page.goto("/charge/rated");
        await page.getByRole("region", { name: "Ratings" }).getByText("no call", { exact: true }).waitFor();
        await page.goto("/charge/rated/00000000000000000000000000000000");
        await page.getByRole("heading", { name: "Rating not found" }).waitFor();
      });

      await t.test("records that are sent on are told, and fit a phone, light and dark", async () => {
        await page.route("**/api/v1/charge", async (route) => {
          const answer = await route.fetch();
          const status = await answer.json();
          return route.fulfill({ response: answer, json: { ...status, node: { ...status.node, records: RECORDS } } });
        });
        for (const dark of [false, true]) {
          await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
          await page.setViewportSize({ width: 1440, height: 900 });
          await page.goto("/charge");
          const sent = page.getByRole("region", { name: "Record export" });
          await sent.getByText("1 of 2 charging gateways up").waitFor();
          await sent.getByText("5,180 packets").waitFor();
          await sent.getByText("trunkline charge refused").waitFor();
          assert.equal(await sent.getByRole("listitem").count(), 2);
          assert.deepEqual(await faultsOf(page), []);
          if (process.env.LOOK_AT) await sent.screenshot({ path: join(process.env.LOOK_AT, `charge-sent-${dark ? "dark" : "light"}.png`) });
          await page.setViewportSize({ width: 390, height: 844 });
          await fits(page, "/charge", 390);
          if (process.env.LOOK_AT) await sent.screenshot({ path: join(process.env.LOOK_AT, `charge-sent-phone-${dark ? "dark" : "light"}.png`) });
        }
        // A status that is asked for just now is answered first.
        await page.unrouteAll({ behavior: "wait" });
        await page.emulateMedia({ colorScheme: "light" });
        await page.setViewportSize({ width: 1440, height: 900 });
      });

      for (const dark of [false, true]) {
        await t.test(`axe finds nothing, nothing scrolls sideways, ${dark ? "dark" : "light"}`, async () => {
          await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
          await page.goto("/charge/sessions");
          const session = await page.locator("[data-row-link]").first().getAttribute("href");
          /** @type {[string, string][]} */
          const pages = [
            ["charge", "/charge"],
            ["charge-sessions", "/charge/sessions"],
            ["charge-session", String(session)],
            ["charge-account", `/charge/accounts/${account}`],
            ["charge-tariffs", "/charge/tariffs/standard"],
            ["charge-rated", "/charge/rated"],
            ["charge-rated-result", rated],
            ["charge-bill", "/charge/bill"],
            ["charge-bill-result", compared],
            ["charge-clients", "/charge/clients"],
          ];
          for (const [name, path] of pages) {
            await page.setViewportSize({ width: 1440, height: 900 });
            await settle(page, path);
            assert.deepEqual(await faultsOf(page), [], path);
            if (process.env.LOOK_AT) await page.screenshot({ path: join(process.env.LOOK_AT, `${name}-${dark ? "dark" : "light"}.png`) });
            if (process.env.UPDATE_SCREENSHOTS && !dark && ["charge", "charge-account", "charge-session"].includes(name)) await keep(page, `${name}-light`);
            await page.setViewportSize({ width: 390, height: 844 });
            await fits(page, path, 390);
            if (process.env.LOOK_AT) await page.screenshot({ fullPage: true, path: join(process.env.LOOK_AT, `${name}-phone${dark ? "-dark" : ""}.png`) });
          }
          await page.setViewportSize({ width: 1440, height: 900 });
        });
      }

      await t.test("a session is ended by an operator", async () => {
        // One that ends by itself before that is done cannot be ended: then it is another one. The first of the list is
        // the oldest, which is about to end.
        const end = async () => {
          await page.goto("/charge/sessions");
          await page.locator("[data-row-link]").first().waitFor();
          await page.locator("[data-row-link]").last().click();
          await page.getByRole("button", { name: "End the session" }).click({ timeout: 4000 });
          await page.getByRole("dialog").getByRole("button", { name: "End the session" }).click({ timeout: 4000 });
          await page.getByText("The node asked the client to end the session.").waitFor({ timeout: 4000 });
          return true;
        };
        let ended = false;
        for (let tries = 0; tries < 6 && !ended; tries += 1) ended = await end().catch(() => false);
        assert.ok(ended, "no open session can be ended");
      });

      assert.equal(load.exitCode, null, said);
      assert.deepEqual(faults.filter((fault) => !fault.includes("404")), []);
      await context.close();
    } finally {
      await ended(load, "SIGINT");
      await node?.end();
      await world.stop();
    }
  });
}
