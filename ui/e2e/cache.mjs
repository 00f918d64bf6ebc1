// The page of caches: empty, with the demonstration's cache, and with servers that answer and one that does not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { shows, signedIn } from "./session.mjs";

/** @param {import("./session.mjs").Signed} world */
export function cacheTests(world) {
  test("where there is no cache the page says how to have one", async () => {
    const { page, context, faults } = await signedIn(world);
    await page.goto("/cache");
    await shows(page, "Cache");
    await page.getByRole("heading", { name: "No cache" }).waitFor();
    await page.getByText('[cache] listen = ["127.0.0.1:11211"]').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
}

/**
 * What the cache of a demonstration shows, on a page that is signed in to it.
 * @param {import("playwright-core").Page} page
 */
export async function cacheOfDemo(page) {
  await page.getByRole("link", { name: "Cache" }).click();
  await shows(page, "Cache");
  await page.getByText("with simulated traffic").waitFor();
  const now = page.getByRole("region", { name: "Now" });
  await now.getByText(/^\d+(\.\d)? %$/).first().waitFor();
  await now.getByText(/^\d[\d ,.k]*\/s$/).first().waitFor();
  await page.getByRole("table").getByText(/^profile:\+44/).first().waitFor();
  await page.getByRole("region", { name: "Memory by kind" }).getByText("Key table").waitFor();
  await page.getByRole("region", { name: "Last hour" }).getByRole("img", { name: /^Hit ratio from/ }).waitFor({ timeout: 40_000 });
  await page.getByText(/^Settings \(\d+\)$/).click();
  await page.getByText("unix-mode").waitFor();
  await page.goto("/cache?cache=nobody");
  await page.getByRole("heading", { name: "Cache not found" }).waitFor();
  await page.goto("/cache?cache=this run");
  await page.getByRole("region", { name: "Hot keys" }).waitFor();
}
