// The pages of graphs: where there are none, and over the simulated devices of a demonstration.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { faultsOf, fits, settle } from "./looks.mjs";
import { page as fresh } from "./program.mjs";
import { api, shows, signedIn } from "./session.mjs";

const PASSWORD = "correct horse battery";

/** @param {import("./session.mjs").Signed} world */
export function graphTests(world) {
  test("where no device is polled the pages say how to have graphs", async () => {
    const { page, context, faults } = await signedIn(world);
    await page.goto("/graphs");
    await shows(page, "Graphs");
    await page.getByRole("heading", { name: "Polling is off" }).waitFor();
    await page.getByText("trunkline graph add NAME ADDRESS").waitFor();
    assert.equal(await page.getByRole("button", { name: "Add a device" }).count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });
}

/**
 * What the graphs of a demonstration show, on a page that an administrator is signed in to.
 * @param {import("./program.mjs").World} world
 * @param {import("playwright-core").Page} page
 */
export async function graphsOfDemo(world, page) {
  await settle(page, "/");
  await page.getByRole("link", { name: "Graphs", exact: true }).click();
  await shows(page, "Graphs");
  await previews(page);
  await arranged(page);
  const graph = await oneGraph(page);
  await deepLink(world, page, graph);
  await devices(page);
  await report(page);
  await viewer(world, page);
  await look(page, graph);
}

/**
 * Previews with a past, words, and a tree.
 * @param {import("playwright-core").Page} page
 */
async function previews(page) {
  await page.locator(".graphs-preview svg .graph-series path").first().waitFor({ state: "attached" });
  const search = page.getByRole("searchbox", { name: "Search graphs" });
  await search.fill('"core-0 - Gi1" traffic');
  await page.waitForURL(/q=.*core-0/);
  await page.waitForFunction(() => {
    const links = [...document.querySelectorAll(".graphs-preview > a")];
    return links.length === 5 && links.every((a) => /^core-0 .*Traffic$/.test(a.textContent ?? ""));
  });
  await search.fill("nothing-is-called-so");
  await page.getByRole("heading", { name: "No graphs match" }).waitFor();
  await search.fill("");
  const trees = page.getByRole("navigation", { name: "Trees of graphs" });
  await trees.getByRole("button", { name: "Open Core and routers" }).click();
  await trees.getByRole("button", { name: "dist-3", exact: true }).click();
  await page.getByRole("heading", { name: "dist-3" }).waitFor();
  await page.waitForFunction(() => {
    const links = [...document.querySelectorAll(".graphs-preview > a")];
    // Its own, and the sum that it is a part of.
    const others = links.map((a) => a.textContent?.trim() ?? "").filter((title) => !title.startsWith("dist-3 "));
    return links.length > 5 && others.join() === "All uplinks together";
  });
  await page.reload();
  await page.getByRole("heading", { name: "dist-3" }).waitFor();
}

/**
 * A tree is made, filled, changed and removed; a graph is made of several.
 * @param {import("playwright-core").Page} page
 */
async function arranged(page) {
  const trees = page.getByRole("navigation", { name: "Trees of graphs" });
  const dialog = page.getByRole("dialog");
  const gone = () => dialog.waitFor({ state: "detached" });
  await trees.getByRole("button", { name: "Add a tree" }).click();
  await dialog.getByLabel("Name").fill("Mine");
  await dialog.getByRole("button", { name: "Add the tree" }).click();
  await gone();
  for (const folder of ["North", "South"]) {
    await trees.getByRole("button", { name: "Arrange Mine" }).click();
    await dialog.getByLabel("Name of the new folder").fill(folder);
    await dialog.getByRole("button", { name: "Add the folder" }).click();
    await gone();
  }
  await trees.getByRole("button", { name: "Arrange South" }).click();
  await dialog.getByLabel("Device", { exact: true }).selectOption({ label: "access-5" });
  await dialog.getByRole("button", { name: "Add the device" }).click();
  await gone();
  await trees.getByRole("button", { name: "Arrange South" }).click();
  await dialog.getByRole("button", { name: "Up" }).click();
  await gone();
  await trees.getByRole("button", { name: "Open South" }).click();
  await trees.getByRole("button", { name: "Arrange access-5" }).click();
  await dialog.getByLabel("Folder", { exact: true }).selectOption({ label: "North" });
  await dialog.getByRole("button", { name: "Move", exact: true }).click();
  await gone();
  await trees.getByRole("button", { name: "Arrange North" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("Far north");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await gone();
  /** @type {{ trees: { id: number, name: string, nodes: { id: number, name: string, opens: boolean }[] }[] }} */
  const told = await api(page, "/graphs/trees");
  const mine = told.trees.find((tree) => tree.name === "Mine");
  assert.deepEqual(mine?.nodes.map(({ name, opens }) => [name, opens]), [["South", false], ["Far north", true]]);
  await trees.getByRole("button", { name: "Arrange Mine" }).click();
  await dialog.getByRole("button", { name: "Remove the tree" }).click();
  await gone();
  await trees.getByRole("button", { name: "Arrange Mine" }).waitFor({ state: "detached" });

  await page.goto('/graphs?q="core-0 - Gi1" traffic');
  await page.getByRole("button", { name: "Combine these graphs" }).click();
  await dialog.getByLabel("Title").fill("All of the core");
  await dialog.getByLabel("Template").selectOption({ label: "Traffic of several interfaces together" });
  await dialog.getByRole("button", { name: "Create the graph" }).click();
  await gone();
  await page.getByRole("searchbox", { name: "Search graphs" }).fill("all of the core");
  await page.getByRole("link", { name: "All of the core" }).click();
  await shows(page, "All of the core");
  await page.getByRole("button", { name: "Change" }).click();
  await dialog.getByLabel(/^Title/).fill("The whole core");
  await dialog.getByRole("button", { name: "Change the graph" }).click();
  await gone();
  await shows(page, "The whole core");
  await page.getByRole("button", { name: "Remove" }).click();
  await dialog.getByRole("button", { name: "Remove the graph" }).click();
  await shows(page, "Graphs");
}

/**
 * Ranges, zoom, an older time beside it, kinds of values, files; the way to the graph.
 * @param {import("playwright-core").Page} page
 */
async function oneGraph(page) {
  await page.goto('/graphs?q="core-0 - Gi1/2" traffic');
  await page.locator(".graphs-preview > a").click();
  await shows(page, /^core-0 - Gi1\/2/);
  const way = new URL(page.url()).pathname;
  const legend = page.getByRole("group", { name: "Table of the legend" });
  const mean = () => legend.getByRole("row", { name: /^In/ }).first().getByRole("cell").nth(3).innerText();
  const plot = page.getByRole("img", { name: /^core-0/ });
  // A year is there from the first minute on.
  await page.keyboard.press("5");
  await page.waitForURL(/from=now-365d/);
  await page.getByText(/resolution (21600|43200) s/).waitFor();
  assert.match(await mean(), /bit\/s$/);
  await page.keyboard.press("2");
  await page.getByText(/resolution (60|120|300) s/).waitFor();
  assert.match(await legend.getByRole("row", { name: /^Total in/ }).getByRole("cell").nth(1).innerText(), /\d [kMGTP]?B$/);

  const box = await plot.boundingBox();
  assert.ok(box);
  const hours = (/** @type {string} */ href) => {
    const { searchParams } = new URL(href);
    return (Date.parse(searchParams.get("to") ?? "") - Date.parse(searchParams.get("from") ?? "")) / 3_600_000;
  };
  // What is zoomed is the time that is drawn: it has to be there.
  const drawn = async (/** @type {(hours: number) => boolean} */ wanted, /** @type {() => Promise<unknown>} */ how) => {
    const answer = page.waitForResponse((answer) => new URL(answer.url()).pathname.endsWith("/graphs/pictures") && wanted(hours(answer.url())));
    await how();
    await (await answer).finished();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return hours(page.url());
  };
  await page.mouse.move(box.x + box.width * 0.4, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 100, { steps: 4 });
  const zoomed = await drawn((hours) => hours < 20, () => page.mouse.up());
  assert.ok(zoomed > 3 && zoomed < 7, `a fifth of a day is ${zoomed} hours`);
  await plot.focus();
  const nearer = await drawn((hours) => hours < zoomed * 0.75, () => page.keyboard.press("+"));
  assert.ok(Math.abs(nearer - zoomed / 2) < 0.1, `${nearer} of ${zoomed}`);
  const wider = await drawn((hours) => hours > zoomed * 0.75, () => page.keyboard.press("-"));
  assert.ok(Math.abs(wider - zoomed) < 0.2, `${wider} of ${zoomed}`);

  await page.getByLabel("Compare with").selectOption({ label: "with 1 week earlier" });
  await legend.getByRole("row", { name: /In \(1 week earlier\)/ }).getByText(/bit\/s/).first().waitFor();
  const told = [true, false].map((isBefore) =>
    page.waitForResponse((answer) => {
      const { pathname, searchParams } = new URL(answer.url());
      return pathname.endsWith("/graphs/pictures") && searchParams.get("function") === "max" && searchParams.has("shift") === isBefore;
    }),
  );
  await page.getByLabel("Aggregation").selectOption({ label: "maximum" });
  await page.waitForURL(/of=max/);
  await Promise.all(told);
  const csv = (await file(page, "CSV")).toString();
  assert.match(csv, /^time,In,Out\r\n\d{4}-\d\d-\d\dT[\d:]+Z,\d/);
  assert.ok(csv.split("\r\n").length > 30, csv.slice(0, 200));
  const png = await file(page, "PNG");
  assert.equal(png.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
  assert.equal(png.subarray(-8, -4).toString(), "IEND");
  // The plot is as wide as asked, with its axis beside it.
  assert.ok(png.readUInt32BE(16) > 900 && png.readUInt32BE(20) > 100);
  assert.match((await file(page, "SVG")).toString(), /^<\?xml[^]*<svg[^]*<\/svg>\s*$/);
  await realTime(page);
  return way;
}

/**
 * Second by second, as long as somebody looks: the simulated device is polled each minute otherwise.
 * @param {import("playwright-core").Page} page
 */
async function realTime(page) {
  await page.getByRole("button", { name: "Real time" }).click();
  await page.waitForURL(/live=1/);
  const now = page.getByRole("status").filter({ hasText: "Read every 1 s, last at" });
  await now.waitFor();
  const at = () => now.locator("time").getAttribute("datetime");
  const before = Date.parse((await at()) ?? "");
  const legend = page.getByRole("group", { name: "Table of the legend" });
  await legend.getByRole("row", { name: /^In/ }).getByText(/bit\/s/).first().waitFor();
  const comes = page.waitForFunction((before) => [...document.querySelectorAll("[role=status] time")].some((time) => Date.parse(time.getAttribute("datetime") ?? "") >= before + 3000), before);
  await comes.catch((cause) => {
    throw new Error("nothing comes any more", { cause });
  });
  assert.equal(await page.getByRole("link", { name: "Download as CSV" }).count(), 0, "what is not kept is no file");
  await page.getByLabel("Polling interval").selectOption({ label: "every 5 s" });
  await page.waitForURL(/live=5/);
  // A link leads to it, and a key away from it.
  await page.reload();
  await page.getByText(/^resolution 5 s$/).waitFor();
  await page.keyboard.press("r");
  await page.waitForURL((url) => !url.searchParams.has("live"));
  await page.getByText(/resolution (60|120|300) s/).waitFor();
}

/**
 * A file that a link downloads.
 * @param {import("playwright-core").Page} page
 * @param {string} kind
 */
async function file(page, kind) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: `Download as ${kind}` }).click()]);
  return readFileSync(await download.path());
}

/**
 * A link shows what its sender saw.
 * @param {import("./program.mjs").World} world
 * @param {import("playwright-core").Page} page
 * @param {string} graph
 */
async function deepLink(world, page, graph) {
  const legend = () => page.getByRole("group", { name: "Table of the legend" }).innerText();
  const [href, seen] = [page.url(), await legend()];
  assert.ok(href.startsWith(`${world.base}${graph}?`), href);
  await page.goto("/graphs");
  await page.goto(href);
  await page.getByText("(1 week earlier)").first().waitFor();
  assert.equal(await legend(), seen);
  assert.equal(await page.getByLabel("Compare with").inputValue(), String(7 * 86_400));
  assert.equal(await page.getByLabel("Aggregation").inputValue(), "max");
}

/**
 * One is added with its credential, is not polled, and goes.
 * @param {import("playwright-core").Page} page
 */
async function devices(page) {
  await page.goto("/graphs?show=devices");
  await page.getByRole("link", { name: "core-0" }).waitFor();
  await page.getByRole("button", { name: "Add a device" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a device" });
  await dialog.getByLabel("Name", { exact: true }).fill("own-1");
  await dialog.getByLabel("Address or host name").fill("127.0.0.1");
  await dialog.getByLabel("Port").fill("9");
  await dialog.getByLabel("Credential").selectOption({ label: "a new one …" });
  await dialog.getByLabel("Name of the credential").fill("lab");
  await dialog.getByRole("textbox", { name: "Community" }).fill("not-to-be-seen");
  await dialog.getByRole("button", { name: "Add the device" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("searchbox", { name: "Search devices" }).fill("own-1");
  await page.getByRole("link", { name: "own-1" }).click();
  await shows(page, "own-1");
  await page.getByRole("heading", { name: "No graphs yet" }).waitFor();
  await page.getByText("v2c, port 9, lab").waitFor();
  assert.ok(!(await page.content()).includes("not-to-be-seen"));
  await page.getByRole("button", { name: "Pause polling" }).click();
  await page.getByText("not polled").waitFor();
  await page.getByRole("button", { name: "Resume polling" }).click();
  await page.getByRole("button", { name: "Pause polling" }).waitFor();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove the device" }).click();
  await shows(page, "Graphs");
  await page.getByRole("searchbox", { name: "Search devices" }).fill("own-1");
  await page.getByRole("heading", { name: "No devices match" }).waitFor();
}

/** @param {import("playwright-core").Page} page */
async function report(page) {
  await page.goto('/graphs?show=report&q="core-0 - Gi1" traffic&from=now-7d');
  const table = page.getByRole("group", { name: "Table of figures" });
  const row = await table.getByRole("row", { name: /core-0 - Gi1\/1/ }).innerText();
  assert.match(row, /In\s+[\d.]+ [kMG]?bit\/s\s+[\d.]+ [kMG]?bit\/s\s+[\d.]+ [kMG]?bit\/s\s+[\d.]+ [GTPE]?bit\s/);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download the report as CSV" }).click()]);
  const csv = readFileSync(await download.path(), "utf8");
  assert.match(csv, /^graph,title,series,unit,step_s,average,max,p95,total\r\n\d+,core-0 - Gi1\/1[^,]*,In,bit\/s,\d+,[\d.]+,/);
  assert.equal(csv.trim().split("\r\n").length, 11);
}

/**
 * Who may only look sees no way to change anything, and cannot.
 * @param {import("./program.mjs").World} world
 * @param {import("playwright-core").Page} page
 */
async function viewer(world, page) {
  await page.goto("/settings/users");
  await page.getByLabel("User name").fill("vera");
  await page.getByRole("button", { name: "Add the user" }).click();
  const handed = await page.getByRole("dialog", { name: "Link for vera" }).innerText();
  await page.keyboard.press("Escape");
  const { page: tab, context, faults } = await fresh(world);
  await tab.goto(/\/link#\S+/.exec(handed)?.[0] ?? "/");
  await tab.getByLabel(/^Password/).fill(PASSWORD);
  await tab.getByRole("button", { name: "Set the password" }).click();
  await shows(tab, "Now");
  await tab.goto('/graphs?q="core-0 - Gi1" traffic');
  await tab.locator(".graphs-preview > a").first().waitFor();
  for (const name of [/^Add a device$/, /^Arrange /, /^Add a tree$/, /^Combine these graphs$/]) assert.equal(await tab.getByRole("button", { name }).count(), 0, `${name}`);
  await tab.locator(".graphs-preview > a").first().click();
  await shows(tab, /^core-0/);
  assert.equal(await tab.getByRole("button", { name: "Remove" }).count(), 0);
  const refused = await tab.request.post("/api/v1/graphs/trees", { data: { name: "Hers" }, headers: { Origin: world.base } });
  assert.equal(refused.status(), 403);
  assert.deepEqual(faults, []);
  await context.close();
}

/**
 * Nothing is hard to read or to reach, light and dark, and nothing scrolls sideways on a phone.
 * @param {import("playwright-core").Page} page
 * @param {string} graph
 */
async function look(page, graph) {
  const { devices } = /** @type {{ devices: { id: number }[] }} */ (await api(page, "/graphs/devices?text=access-5"));
  const pages = ["/graphs", "/graphs?show=devices", "/graphs?show=report&q=core-0", graph, `${graph}?live=1`, `/graphs/device/${devices[0]?.id}`];
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    await page.emulateMedia({ colorScheme });
    for (const path of pages) {
      await settle(page, path);
      assert.deepEqual(await faultsOf(page), [], `${path}, ${colorScheme}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of pages) {
    await settle(page, path);
    await fits(page, path, 390);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}
