// Pages with somebody signed in.

import { page } from "./program.mjs";

/**
 * A world of which the first test keeps who signed in.
 * @typedef {import("./program.mjs").World & { state: unknown }} Signed
 */

/**
 * A fresh page with the first administrator signed in.
 * @param {Signed} world
 * @param {Parameters<typeof page>[1]} [options]
 */
export const signedIn = (world, options = {}) => page(world, { ...options, state: world.state });

/**
 * Waits until a page shows what it is about: its head, and nothing that loads.
 * @param {import("playwright-core").Page} page
 * @param {string | RegExp} head
 */
export async function shows(page, head) {
  const found = page.getByRole("heading", { level: 1, name: head }).waitFor();
  await found.catch(async (cause) => {
    const instead = await page.locator("body").innerText();
    throw new Error(`${page.url()} does not show ${head} but:\n${instead.slice(0, 2000)}`, { cause });
  });
  await page.locator(".spinner").first().waitFor({ state: "detached" });
}

/**
 * Opens Calls and waits for its rows. The capture is of its own time, so the range is all of it.
 * @param {import("playwright-core").Page} page
 * @param {string} [filter]
 */
export async function openCalls(page, filter) {
  const query = new URLSearchParams({ from: "2000-01-01T00:00:00Z", ...(filter ? { filter } : {}) });
  await page.goto(`/calls?${query}`);
  await page.locator("[data-row-link]").first().waitFor();
}

/**
 * Asks the API as the page would.
 * @template T
 * @param {import("playwright-core").Page} page
 * @param {string} path
 * @returns {Promise<T>}
 */
export const api = (page, path) => page.evaluate(async (path) => (await fetch(`/api/v1${path}`)).json(), path);
