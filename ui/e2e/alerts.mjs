// Alerts: pages that say what is missing, then a device that is an alert: acknowledged by a key, silenced by a button,
// shown in the rail, on the page of its device and in its own course.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { faultsOf, fits, settle } from "./looks.mjs";
import { ended, farm, page as fresh, run, till, WORLD_MS } from "./program.mjs";
import { shows } from "./session.mjs";

const RULES = `[rule.seen]
title = "|device| says |value|"
template = "device"
device = "edge-*"
value = "up"
condition = "low"
limit = 2
severity = "critical"
for = "1 s"

[rule.quiet]
metric = "trunkline_alert_waiting_messages_count"
limit = 1000

[route.all]
channels = ["noc", "pager"]
wait = "0 s"

[channel.noc]
kind = "command"
command = "/bin/true"

[channel.pager]
kind = "command"
command = ["/bin/sh", "-c", "exit 3"]
`;

export function alertTests() {
  test("an alert is seen, acknowledged, silenced and read about", { timeout: WORLD_MS }, async (t) => {
    const world = await till();
    const begun = /** @type {import("node:child_process").ChildProcess[]} */ ([]);
    try {
      const { page, context, faults } = await fresh(world);
      await page.goto(world.link);
      await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
      await page.goto("/alerts");
      await page.getByRole("heading", { name: "Alerting is off" }).waitFor();

      const config = join(world.folder, "alerts.toml");
      writeFileSync(config, '[alert]\nenabled = true\nevery = "1 s"\n');
      mkdirSync(join(world.data, "alert", "rules"), { recursive: true });
      const devices = await farm("--devices", "1", "--interfaces", "1", "--sound");
      begun.push(devices.farm);
      begun.push(world.begin("graph", "serve", "--data", world.data, "--config", config));
      await page.getByRole("heading", { name: "No rules yet" }).waitFor();
      await page.getByRole("region", { name: "Example rules" }).getByText("[rule.device-down]").waitFor();
      assert.deepEqual(await faultsOf(page), []);

      writeFileSync(join(world.data, "alert", "rules", "noc.toml"), RULES);
      await run("graph", "add", "edge-1", "127.64.0.1", "--port", devices.port, "--data", world.data);
      await page.goto("/alerts/rules");
      await page.getByRole("button", { name: "Reload" }).click();
      await page.getByText("2 rules loaded.").waitFor();

      await t.test("it shows by itself, and in the rail", async () => {
        await page.goto("/alerts");
        await page.getByRole("link", { name: "edge-1 says 1" }).waitFor({ timeout: 60_000 });
        await page.getByRole("link", { name: /^Alerts ?1 open, 1 critical$/ }).waitFor();
        await page.waitForFunction(() => document.title === "(1) Alerts · Trunkline");
        await page.goto("/");
        await page.getByRole("region", { name: "What needs attention" }).getByText("A critical alert by the rule seen.").waitFor();
      });

      await t.test("a key acknowledges it, a button silences it", async () => {
        await page.goto("/alerts");
        await page.getByRole("link", { name: "edge-1 says 1" }).waitFor();
        await page.keyboard.press("j");
        await page.keyboard.press("t");
        await page.getByText(/acknowledged by you/).waitFor();
        await page.getByRole("button", { name: "Silence: edge-1 says 1" }).click();
        const dialog = page.getByRole("dialog", { name: "Silence alerts" });
        await dialog.getByLabel("Alerts").selectOption({ label: "All alerts of the device edge-1" });
        await dialog.getByLabel("Reason").fill("new firmware");
        await dialog.getByRole("button", { name: "Silence" }).click();
        await page.getByText("suppressed: maintenance").waitFor();
      });

      await t.test("its own page tells what happened", async () => {
        await page.getByRole("link", { name: "edge-1 says 1" }).click();
        await shows(page, "edge-1 says 1");
        const course = page.getByRole("region", { name: "Timeline" });
        await course.getByText("Acknowledged by you.").waitFor();
        await course.getByText("delivered").waitFor();
        await page.getByRole("region", { name: "Suppressed by" }).getByText("new firmware").waitFor();
        await page.getByRole("link", { name: "edge-1", exact: true }).click();
        await page.getByRole("region", { name: "Alerts of the device" }).getByRole("link", { name: "edge-1 says 1" }).waitFor();
      });

      await t.test("a silence ends by a button, a channel is tried out", async () => {
        await page.goto("/alerts/silences");
        await page.getByRole("button", { name: "End the silence device = edge-1" }).click();
        await page.getByRole("heading", { name: "No silences" }).waitFor();
        await page.goto("/alerts/channels");
        await page.getByRole("button", { name: "Send a test to noc" }).click();
        await page.getByText("noc: delivered").waitFor();
      });

      await t.test("who sees that device alone silences its alerts, and ends that again", async () => {
        await page.goto("/settings/graph-rights?of=role:support");
        await page.getByLabel("Without a matching rule").selectOption("nothing");
        await page.getByRole("combobox", { name: /^Applies to/ }).selectOption("device-name");
        await page.getByLabel(/^Device: /).fill("edge-1");
        await page.getByRole("button", { name: "Add the rule" }).click();
        await page.getByRole("row", { name: /allow devices by name edge-1/ }).waitFor();
        await page.goto("/settings/users");
        await page.getByLabel("User name").fill("lena");
        await page.getByRole("radio", { name: /^support/ }).check();
        await page.getByRole("button", { name: "Add the user" }).click();
        const token = /\/link#(\S+)/.exec(await page.getByRole("dialog", { name: "Link for lena" }).innerText())?.[1];
        const lena = await fresh(world);
        await lena.page.goto(`/link#${token}`);
        await lena.page.getByLabel(/^Password/).fill("a wet sock and 7 violins");
        await lena.page.getByRole("button", { name: "Set the password" }).click();
        await lena.page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
        await lena.page.goto("/alerts");
        await lena.page.getByRole("button", { name: "Silence: edge-1 says 1" }).click();
        const dialog = lena.page.getByRole("dialog", { name: "Silence alerts" });
        assert.deepEqual(await dialog.getByLabel("Alerts").getByRole("option").allInnerTexts(), ["This alert", "All alerts of the device edge-1", "Alerts that match these tests …"]);
        await dialog.getByLabel("Alerts").selectOption({ label: "Alerts that match these tests …" });
        await dialog.getByLabel(/^Tests, one per line/).fill("rule = seen");
        await dialog.getByRole("button", { name: "Silence" }).click();
        await dialog.getByText(/one (of the tests has to|test must) name one device that you see/).first().waitFor();
        await look(lena.page, "narrowed-dialog");
        await dialog.getByLabel("Alerts").selectOption({ label: "All alerts of the device edge-1" });
        await dialog.getByRole("button", { name: "Silence" }).click();
        await lena.page.getByText("suppressed: maintenance").waitFor();
        await lena.page.goto("/alerts/silences");
        await lena.page.getByText("only your own silences are shown").waitFor();
        assert.deepEqual(await faultsOf(lena.page), []);
        await look(lena.page, "narrowed-silences");
        await lena.page.getByRole("button", { name: "End the silence device = edge-1" }).click();
        await lena.page.getByRole("heading", { name: "No silences" }).waitFor();
        assert.deepEqual(lena.faults.filter((fault) => !/^Failed to load resource: .* 400 /.test(fault)), []);
        await lena.context.close();
      });

      await t.test("axe finds nothing, nothing scrolls sideways", async () => {
        await page.goto("/alerts");
        const own = await page.getByRole("link", { name: "edge-1 says 1" }).getAttribute("href");
        for (const path of ["/alerts", String(own), "/alerts/history", "/alerts/rules", "/alerts/rules/seen", "/alerts/silences", "/alerts/silences?new=1", "/alerts/channels"]) {
          for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
            await page.emulateMedia({ colorScheme });
            await page.setViewportSize({ width: 1440, height: 900 });
            await settle(page, path);
            assert.deepEqual(await faultsOf(page), [], `${path} ${colorScheme}`);
            await look(page, `${path}-${colorScheme}`);
          }
          await page.setViewportSize({ width: 390, height: 844 });
          await fits(page, path, 390);
          await look(page, `${path}-phone`);
        }
      });
      assert.deepEqual(faults, []);
      await context.close();
    } finally {
      await Promise.all(begun.map((one) => ended(one, "SIGKILL")));
      await world.stop();
    }
  });
}

/**
 * A picture to look at: ALERT_PICTURES names the folder.
 * @param {import("playwright-core").Page} page
 * @param {string} name
 */
async function look(page, name) {
  const folder = process.env.ALERT_PICTURES;
  if (folder) await page.screenshot({ path: join(folder, `${name.replaceAll(/[^a-z-]+/g, "_")}.png`) });
}
