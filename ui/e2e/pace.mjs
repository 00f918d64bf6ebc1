// How long the Calls page lets one wait, over a store that is served already: `node e2e/pace.mjs ORIGIN ROUNDS [PICTURE]`
// with the session's cookie in TRUNKLINE_COOKIE. Prints a line of JSON for each step; `cargo xtask bench web` reads them.
// Every round has a browser context of its own, with nothing kept from before. PICTURE is a file for the page as it looks.

import { chromium } from "playwright-core";
import { browserPath } from "./program.mjs";

const [origin = "", rounds = "1", picture] = process.argv.slice(2);
const [cookie = "", secret = ""] = (process.env.TRUNKLINE_COOKIE ?? "").split("=");
/** The days of the store that the benchmark makes. */
const ALL = "/calls?from=2026-11-20T00:00:00Z&to=2026-11-26T00:00:00Z";

/** Milliseconds in which the page must be usable, and rows must be there after that. */
const BUDGET = { page: 1000, rows: 200 };

/** What a user needs at least between two steps. */
const SETTLE_MS = 150;

/** Filters that are typed, by what they ask. */
const FILTERS = {
  "a number": "number:+442070012345",
  "callers of a block": "caller:+442070012*",
  "a host": "ip:10.44.3.7",
  "a network": "ip:10.44.0.0/16",
  "a code": "code:503",
  "low scores": "mos<3",
  several: "caller:+4420* and mos<3.5 and duration>=60",
};

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
/** @type {Map<string, { budget_ms: number, rounds_ms: number[] }>} */
const steps = new Map();

/**
 * @param {string} step
 * @param {number} budget_ms
 * @param {number} ms
 */
function took(step, budget_ms, ms) {
  const known = steps.get(step) ?? { budget_ms, rounds_ms: [] };
  steps.set(step, known);
  known.rounds_ms.push(Math.round(ms * 10) / 10);
}

/**
 * Does something on the page, and waits until its rows have been painted: the time in between, as the page's own clock
 * tells it. The clock is begun there, so that the way of the command into the browser does not count.
 * @param {import("playwright-core").Page} page
 * @param {{ filter?: string, range?: [string, string] }} what typed into the filter, or asked for by the address
 * @returns {Promise<number>}
 */
const asked = (page, what) =>
  page.evaluate(async (what) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    performance.clearResourceTimings();
    const began = performance.now();
    if (what.filter !== undefined) {
      const bar = /** @type {HTMLInputElement} */ (document.querySelector(".filter-input"));
      bar.focus();
      bar.value = what.filter;
      bar.dispatchEvent(new InputEvent("input", { bubbles: true }));
      bar.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    } else if (what.range) {
      const address = new URL(location.href);
      address.searchParams.set("from", what.range[0]);
      address.searchParams.set("to", what.range[1]);
      const link = Object.assign(document.createElement("a"), { href: address.pathname + address.search });
      document.querySelector("main")?.append(link);
      link.click();
      link.remove();
    }
    const answered = () => performance.getEntriesByType("resource").some((one) => one.startTime >= began && one.name.includes("/api/v1/calls?"));
    const shown = () => document.querySelector(".calls-table:not(.busy) [data-row='0'] [data-row-link], .calls.none");
    while (!answered() || !shown()) {
      if (performance.now() - began > 10_000) throw new Error(`nothing came of ${JSON.stringify(what)}`);
      await frame();
    }
    await frame();
    return performance.now() - began;
  }, what);

/**
 * Scrolls to the end of what is there, and waits until the first row of the next page has been painted.
 * @param {import("playwright-core").Page} page
 * @returns {Promise<number>}
 */
const scrolled = (page) =>
  page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const list = /** @type {HTMLElement} */ (document.querySelector(".calls-table .virtual"));
    const body = /** @type {HTMLElement} */ (list.querySelector(".virtual-body"));
    const known = body.clientHeight;
    const row = /** @type {HTMLElement} */ (list.querySelector(".virtual-row"));
    const next = known / parseFloat(row.style.height);
    const began = performance.now();
    list.scrollTop = list.scrollHeight;
    while (!list.querySelector(`[data-row='${next}'] [data-row-link]`)) {
      if (performance.now() - began > 10_000) throw new Error(`row ${next} did not come`);
      await frame();
      // Who scrolls on does so as soon as the list is longer.
      if (body.clientHeight > known && list.scrollTop < known) list.scrollTop = known;
    }
    await frame();
    return performance.now() - began;
  });

/**
 * The figures above the list come by themselves, later: the next step shall not share the program with them.
 * @param {import("playwright-core").Page} page
 */
async function settled(page) {
  await page.locator(".calls-sum:not(.busy)").waitFor();
  await page.waitForTimeout(SETTLE_MS);
}

for (let round = 0; round < Number(rounds); round += 1) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, timezoneId: "Europe/Berlin", baseURL: origin });
  await context.addCookies([{ name: cookie, value: secret, url: origin }]);
  const page = await context.newPage();
  const usable = () =>
    page.evaluate(async () => {
      while (!document.querySelector("[data-row='20'] [data-row-link]")) await new Promise((resolve) => requestAnimationFrame(resolve));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      return performance.now();
    });
  await page.goto(ALL, { waitUntil: "commit" });
  took("the page, nothing kept by the browser", BUDGET.page, await usable());
  await settled(page);
  if (picture && round === 0) await page.screenshot({ path: picture });
  await page.goto(ALL, { waitUntil: "commit" });
  took("the page again", BUDGET.page, await usable());
  await settled(page);

  for (let n = 0; n < 3; n += 1) {
    took("the next page of rows", BUDGET.rows, await scrolled(page));
    await settled(page);
  }
  for (const [name, filter] of Object.entries(FILTERS)) {
    took(`${name}: \`${filter}\``, BUDGET.rows, await asked(page, { filter }));
    await settled(page);
  }
  took("no filter again", BUDGET.rows, await asked(page, { filter: "" }));
  await settled(page);
  took("an hour of another day", BUDGET.rows, await asked(page, { range: ["2026-11-21T09:00:00Z", "2026-11-21T10:00:00Z"] }));
  await settled(page);
  await context.close();
}
await browser.close();
for (const [step, figures] of steps) console.log(JSON.stringify({ step, ...figures }));
