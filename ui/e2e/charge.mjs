// Charging: the pages against a node with traffic of `trunkline charge load`, from an empty node to a plan that is tried
// out. UPDATE_SCREENSHOTS=1 also keeps pictures for docs/images.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { faultsOf, fits, keep, settle } from "./looks.mjs";
import { page as fresh, run, till } from "./program.mjs";
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

/** Accounts 1 to 60, each with a subscriber. */
const subscribers = () => {
  const row = (/** @type {number} */ n) => `${n},${n},standard,${n % 9 === 0 ? 20 : 5000},00101${String(n).padStart(10, "0")}`;
  return ["subscriber,account,plan,balance,imsi", ...Array.from({ length: ACCOUNTS }, (_, n) => row(n + 1))].join("\n") + "\n";
};

export function chargeTests() {
  test("charging, from an empty node to a plan that is tried out", async (t) => {
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
        await page.getByRole("heading", { name: "No charging node serves here" }).waitFor();
        await page.getByText("trunkline charge serve --host").waitFor();
      });

      node = await world.charging();
      await t.test("a plan is written, checked and put live", async () => {
        await page.goto("/charge");
        await page.getByText("There is no tariff plan yet: nothing has a price.").waitFor();
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
      run("charge", "import", csv, "--data", world.data);
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
        await page.goto("/charge/sessions");
        await page.locator("[data-row-link]").first().waitFor();
        await page.keyboard.press("j");
        await page.keyboard.press("Enter");
        await shows(page, "Session");
        const told = page.getByRole("region", { name: "What happened" });
        await told.getByText("Began").waitFor();
        await told.getByText("granted").first().waitFor();
        account = (await page.getByRole("region", { name: "Now" }).getByRole("link").first().innerText()).trim();
        assert.match(account, /^\d+$/);
        await page.goto(`/charge/sessions?account=${account}`);
        await page.locator("[data-row-link]").first().waitFor();
        await page.goto("/charge/sessions/99999-1");
        await page.getByRole("heading", { name: "No open session has this key" }).waitFor();
      });

      await t.test("an account is found by its subscriber, and is topped up once", async () => {
        await page.goto("/charge/accounts");
        await page.getByRole("searchbox", { name: "Account, number or identity" }).fill("001010000000009");
        await page.getByRole("button", { name: "Find" }).click();
        await shows(page, "Account 9");
        await page.getByRole("button", { name: "Top up" }).click();
        await page.getByLabel("Amount in EUR").fill("25.00");
        await page.getByLabel(/What for/).fill("voucher 4711");
        await page.getByRole("button", { name: "Go on" }).click();
        await page.getByText("It stands in the ledger for ever").waitFor();
        await page.getByRole("button", { name: "Do it" }).click();
        await page.getByRole("region", { name: "Ledger" }).getByText("voucher 4711 (you)").waitFor();
        await page.getByRole("region", { name: "Ledger" }).getByText("+25.00 EUR").waitFor();
        await page.getByRole("button", { name: "Give a bundle" }).click();
        await page.getByRole("button", { name: "Go on" }).click();
        await page.getByRole("button", { name: "Give it" }).click();
        await page.getByRole("region", { name: "Ledger" }).getByText("Bundle bought").waitFor();
        await page.getByRole("region", { name: "Bundles and limits" }).getByText("gift").waitFor();
        await page.goto("/charge/accounts/77777");
        await page.getByRole("heading", { name: "There is no such account" }).waitFor();
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
        await page.getByRole("group", { name: "Lines that differ" }).getByText('price = "0.05"').waitFor();
        await page.getByRole("combobox", { name: "Usage of" }).selectOption({ label: "Today" });
        await page.getByRole("button", { name: "Try it out" }).click();
        await page.getByText(/would have paid more/).waitFor({ timeout: 60_000 });
        if (process.env.UPDATE_SCREENSHOTS) {
          await page.getByRole("region", { name: "Try it out" }).scrollIntoViewIfNeeded();
          await keep(page, "charge-tariffs-light");
        }
        await page.getByRole("button", { name: "Put live" }).click();
        await page.getByRole("button", { name: "Put it live" }).click();
        await page.getByText(/^version 2, since entry/).waitFor();
        await page.getByRole("combobox", { name: /former version/ }).selectOption({ index: 1 });
        await page.getByText("What changed since the version of").waitFor();
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
            if (process.env.LOOK_AT && !dark) await page.screenshot({ path: join(process.env.LOOK_AT, `${name}-phone.png`) });
          }
          await page.setViewportSize({ width: 1440, height: 900 });
        });
      }

      await t.test("a session is ended by an operator", async () => {
        // One that ends by itself before it is looked at cannot be ended: then it is another one.
        for (let tries = 1; ; tries += 1) {
          await page.goto("/charge/sessions");
          await page.locator("[data-row-link]").first().click();
          const ended = await page.getByRole("button", { name: "End the session" }).click({ timeout: 4000 }).then(
            () => true,
            () => false,
          );
          if (ended) break;
          assert.ok(tries < 6, "no open session can be ended");
        }
        await page.getByRole("button", { name: "End it" }).click();
        await page.getByText("The client is asked to end the session.").waitFor();
      });

      assert.equal(load.exitCode, null, said);
      assert.deepEqual(faults.filter((fault) => !fault.includes("404")), []);
      await context.close();
    } finally {
      load?.kill("SIGINT");
      await node?.end();
      await world.stop();
    }
  });
}
