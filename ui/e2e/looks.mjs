// Every page in both appearances and on a phone: axe finds nothing, nothing scrolls sideways. UPDATE_SCREENSHOTS=1 also
// keeps the pictures of docs/images.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { cacheOfDemo } from "./cache.mjs";
import { graphsOfDemo } from "./graphs.mjs";
import { shrink } from "./png.mjs";
import { demo, page as fresh, still, UI, WORLD_MS } from "./program.mjs";
import { openCalls, signedIn } from "./session.mjs";
import { richCall } from "./call.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PICTURES = join(UI, "..", "docs", "images");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** Pages that show what runs. */
const LIVE = ["/", "/packets", "/cache", "/system"];

/** @type {{ name: string, path: string }[]} */
const PAGES = [
  { name: "now", path: "/" },
  { name: "calls", path: "/calls" },
  { name: "registrations", path: "/registrations" },
  { name: "transactions", path: "/registrations?show=events" },
  { name: "packets", path: "/packets" },
  { name: "cache", path: "/cache" },
  { name: "graphs", path: "/graphs" },
  { name: "graphs-map", path: "/graphs/map" },
  { name: "alerts", path: "/alerts" },
  { name: "charge", path: "/charge" },
  { name: "charge-sessions", path: "/charge/sessions" },
  { name: "charge-accounts", path: "/charge/accounts" },
  { name: "charge-tariffs", path: "/charge/tariffs" },
  { name: "charge-bill", path: "/charge/bill" },
  { name: "charge-clients", path: "/charge/clients" },
  { name: "system", path: "/system" },
  ...["appearance", "account", "aliases", "filters", "retention", "users", "graph-rights", "audit"].map((part) => ({ name: `settings-${part}`, path: `/settings/${part}` })),
  { name: "lost", path: "/there-is-no-such-page" },
];

/** @param {import("./session.mjs").Signed} world */
export function lookTests(world) {
  /** @type {ReturnType<typeof calls> | undefined} */
  let known;
  const callPages = () => (known ??= calls(world));
  for (const dark of [false, true]) {
    test(`axe finds nothing on any page, ${dark ? "dark" : "light"}`, async (t) => {
      const { page, context } = await signedIn(world, { dark });
      for (const { name, path } of [...PAGES, ...(await callPages())]) {
        await t.test(name, async () => {
          await settle(page, path);
          if (name === "call-message") await openMessage(page);
          await picture(page, `${name}-${dark ? "dark" : "light"}`);
          assert.deepEqual(await faultsOf(page), []);
        });
      }
      await context.close();
      await t.test("sign-in", async () => {
        const nobody = await fresh(world, { dark });
        await nobody.page.goto("/");
        await nobody.page.getByRole("heading", { level: 1 }).waitFor();
        await picture(nobody.page, `sign-in-${dark ? "dark" : "light"}`);
        assert.deepEqual(await faultsOf(nobody.page), []);
        await nobody.context.close();
      });
    });
  }

  for (const width of [390, 1024]) {
    test(`no page scrolls sideways at ${width} pixels`, async (t) => {
      const { page, context } = await signedIn(world, width === 390 ? { phone: true } : { width });
      for (const { name, path } of [...PAGES, ...(await callPages())]) {
        await t.test(name, async () => {
          await settle(page, path);
          if (width === 390) await picture(page, `${name}-phone`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `the page is ${wide} pixels wide`);
        });
      }
      await context.close();
    });
  }
}

/**
 * @param {import("./session.mjs").Signed} world
 * @returns {Promise<{ name: string, path: string }[]>}
 */
async function calls(world) {
  const { page, context } = await signedIn(world);
  await openCalls(page);
  const { id } = await richCall(page);
  await context.close();
  return [
    { name: "call", path: `/calls/${id}` },
    { name: "call-message", path: `/calls/${id}` },
  ];
}

/**
 * Opens a page and waits until nothing loads any more.
 * @param {import("playwright-core").Page} page
 * @param {string} path
 */
export async function settle(page, path) {
  await page.goto(path);
  await page.getByRole("heading").first().waitFor();
  await still(page);
}

/** @param {import("playwright-core").Page} page */
async function openMessage(page) {
  await page.getByRole("listbox", { name: "Messages of the call" }).getByRole("option").first().click();
  await page.getByRole("region", { name: "Text of the message" }).getByText("INVITE sip:").first().waitFor();
}

/**
 * What axe finds, a line each.
 * @param {import("playwright-core").Page} page
 * @returns {Promise<string[]>}
 */
export async function faultsOf(page) {
  // Through the debugger: the policy of the pages runs no script that is not theirs.
  await page.evaluate(AXE);
  return page.evaluate(async (rules) => {
    const found = await /** @type {any} */ (globalThis).axe.run(document, { runOnly: { type: "tag", values: rules }, resultTypes: ["violations"], selectors: false });
    return found.violations.flatMap((/** @type {any} */ fault) => fault.nodes.slice(0, 5).map((/** @type {any} */ node) => `${fault.id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? node.failureSummary}`));
  }, RULES);
}

/**
 * @param {import("playwright-core").Page} page
 * @param {string} name
 */
export async function picture(page, name) {
  if (!process.env.UPDATE_SCREENSHOTS || !KEPT.has(name)) return;
  await keep(page, name);
}

/**
 * @param {import("playwright-core").Page} page
 * @param {string} name
 */
export async function keep(page, name) {
  mkdirSync(PICTURES, { recursive: true });
  const path = join(PICTURES, `${name}.png`);
  await page.screenshot({ path });
  shrink(path);
}

/**
 * The page scrolls no way but down. Pictures take a new width a moment after the window has it.
 * @param {import("playwright-core").Page} page
 * @param {string} path
 * @param {number} width in pixels
 */
export async function fits(page, path, width) {
  await page.waitForFunction((width) => document.documentElement.scrollWidth <= width, width, { timeout: 15_000 }).catch(async () => {
    assert.fail(`${path} is ${await page.evaluate(() => document.documentElement.scrollWidth)} pixels wide`);
  });
}

/** The demonstration, while it runs. */
export function liveTests() {
  test("what runs: axe finds nothing, nothing scrolls sideways", { timeout: WORLD_MS }, async () => {
    const world = await demo();
    // One that goes on would keep the tests from ending.
    try {
      const { page, context } = await fresh(world);
      await page.goto(world.link);
      await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
      await page.getByText("New calls per second").waitFor();
      await settle(page, "/");
      await cacheOfDemo(page);
      await graphsOfDemo(world, page);
      for (const path of LIVE) {
        await page.setViewportSize({ width: 1440, height: 900 });
        await settle(page, path);
        assert.deepEqual(await faultsOf(page), [], path);
        await page.setViewportSize({ width: 390, height: 844 });
        await fits(page, path, 390);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      if (process.env.UPDATE_SCREENSHOTS) await livePictures(page);
      await context.close();
    } finally {
      await world.stop();
    }
  });
}

/** @param {import("playwright-core").Page} page */
async function livePictures(page) {
  for (const [name, path, wait] of /** @type {const} */ ([["packets-light", "/packets?from=now-15m", 1000], ["system-light", "/system", 1000], ["cache-light", "/cache", 60_000], ["now-light", "/", 60_000], ["graphs-light", "/graphs", 1000], ["alerts-light", "/alerts", 1000]])) {
    await settle(page, path);
    await page.waitForTimeout(wait);
    await keep(page, name);
  }
  await settle(page, '/graphs?q="core-0 - Gi1/2" traffic');
  await page.locator(".graphs-preview > a").click();
  await page.getByLabel("Compare with").selectOption({ label: "with 1 week earlier" });
  await page.getByText("(1 week earlier)").first().waitFor();
  await page.waitForTimeout(1000);
  await keep(page, "graph-light");
}

/** Pictures that the documentation shows: few, for they weigh. */
const KEPT = new Set(["calls-light", "call-light", "call-message-dark", "registrations-light", "call-phone", "call-ladder-light"]);
