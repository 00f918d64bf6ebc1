// The map of the network and what was on the way of a call, over devices that are polled.

import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, fits, settle } from "./looks.mjs";
import { network, page as fresh, WORLD_MS } from "./program.mjs";

export function wayTests() {
  test("a map of devices, and the page of a call on whose way packets were dropped", { timeout: WORLD_MS }, async (t) => {
    const world = await network();
    try {
      const { page, context, faults } = await fresh(world);
      await page.goto(world.link);
      await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
      const state = await context.storageState();
      await t.test("the call names what was dropped first, and why each place is on its way", async () => {
        await settle(page, `/calls/${world.call}`);
        const way = page.getByRole("region", { name: "Network path" });
        const first = way.getByRole("listitem").first();
        assert.match((await first.innerText()).trim(), /^[0-9,]+ discards out on dist-1\.farm\.example Gi1\/1 during the call$/);
        await way.getByText("is in its ARP table").first().waitFor();
        const lane = way.getByRole("article").first();
        assert.equal(await lane.getAttribute("aria-label"), "Errors and discards of dist-1.farm.example Gi1/1");
        await lane.locator(".graph-moment").first().waitFor({ state: "attached" });
        assert.equal(await lane.locator(".graph-moment").count(), 2);
        assert.equal(await lane.locator(".graph-series path").count() > 0, true);
      });
      await t.test("the map leads to devices, their graphs and neighbours not polled", async () => {
        await settle(page, "/graphs/map");
        await page.locator(".map-node", { hasText: "dist-1.farm.example" }).click();
        const side = page.getByRole("region", { name: "About dist-1.farm.example" });
        await side.getByRole("link", { name: "Traffic" }).first().waitFor();
        await side.getByRole("button", { name: "core-0.farm.example" }).click();
        await page.getByRole("region", { name: "About core-0.farm.example" }).getByText("reported by this side only").first().waitFor();
        await page.locator(".map-node.stranger").first().click();
        await page.getByRole("button", { name: "Add this device" }).click();
        assert.match(await page.getByRole("textbox", { name: "Address or host name" }).inputValue(), /^127\.64\.0\./);
        await page.keyboard.press("Escape");
        await page.getByRole("searchbox", { name: "Search devices" }).fill("dist-2");
        await page.waitForURL(/q=dist-2/);
        assert.equal(await page.locator(".map-node:not(.dim)").count(), 1);
        await page.getByRole("button", { name: "List" }).click();
        await page.getByRole("region", { name: "Devices and their neighbours" }).getByText("Gi1/1 → core-0.farm.example Gi1/3").waitFor();
      });
      await t.test("who is behind whom is learnt from the map, and told of one device", async () => {
        await settle(page, "/graphs/map");
        await page.locator(".map-node", { hasText: "core-0.farm.example" }).click();
        await page.getByRole("button", { name: "Set dependencies from here" }).click();
        const window = page.getByRole("dialog", { name: "Dependencies" });
        await window.getByText("dist-1.farm.example via core-0.farm.example").waitFor();
        await keepPicture(page, "behind-learn");
        await window.getByRole("button", { name: "Save" }).click();
        await page.getByText("Saved the dependencies of devices, seen from core-0.farm.example.").waitFor();
        await page.locator(".map-node", { hasText: "dist-1.farm.example" }).click();
        await page.getByRole("link", { name: "Open the device" }).click();
        const about = page.getByRole("region", { name: "About the device" });
        await about.getByText("core-0.farm.example").waitFor();
        await page.getByRole("button", { name: "Upstream devices" }).click();
        const way = page.getByRole("dialog", { name: "Upstream devices of dist-1.farm.example" });
        await way.getByRole("button", { name: "Remove core-0.farm.example" }).click();
        await way.getByRole("searchbox").fill("dist-2");
        await keepPicture(page, "behind-one");
        await way.getByRole("button", { name: "dist-2.farm.example" }).click();
        await way.getByRole("button", { name: "Save" }).click();
        await about.getByText("dist-2.farm.example").waitFor();
        assert.equal(await about.getByText("core-0.farm.example").count(), 0);
      });
      assert.deepEqual(faults, []);
      await context.close();
      const [call, map] = [`/calls/${world.call}`, "/graphs/map?at=d2"];
      for (const { dark, phone } of [{ dark: false, phone: true }, { dark: true, phone: false }]) {
        await t.test(`axe finds nothing and nothing scrolls sideways, ${dark ? "dark" : "light"}`, async () => {
          const { page, context } = await fresh(world, { dark, state });
          for (const path of [call, map]) {
            await settle(page, path);
            await keepPicture(page, `${path}-${dark ? "dark" : "light"}`);
            assert.deepEqual(await faultsOf(page), [], path);
            if (!phone) continue;
            await page.setViewportSize({ width: 390, height: 844 });
            await settle(page, path);
            await keepPicture(page, `${path}-phone`);
            await fits(page, path, 390);
            await page.setViewportSize({ width: 1440, height: 900 });
          }
          await context.close();
        });
      }
    } finally {
      await world.stop();
    }
  });
}

/**
 * LOOKS_FOLDER keeps pictures of whole pages, to be looked at.
 * @param {import("playwright-core").Page} page
 * @param {string} name
 */
async function keepPicture(page, name) {
  if (!process.env.LOOKS_FOLDER) return;
  const file = name.replace(/[^a-z0-9-]/gi, "_").replace(/_calls_[0-9a-f-]{36}/, "call");
  await page.screenshot({ path: `${process.env.LOOKS_FOLDER}/${file}.png`, fullPage: true });
}
