import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { isProgram, output, still } from "./program.mjs";
import { api, openCalls, shows, signedIn } from "./session.mjs";

const TSHARK = ["/usr/bin/tshark", "/usr/local/bin/tshark"].find(isProgram);

/**
 * A call with media and several messages.
 * @typedef {{ id: string, from: string, to: string, sip_call_id: string, messages: number, streams: unknown[] }} Call
 * @param {import("playwright-core").Page} page
 * @returns {Promise<Call>}
 */
export async function richCall(page) {
  // One in which something was wrong, for the pictures.
  const filter = encodeURIComponent("has:streams and has:verdict and mos<3.8");
  const { calls } = await api(page, `/calls?from=2000-01-01T00:00:00Z&limit=100&filter=${filter}`);
  const call = calls.find((/** @type {Call} */ one) => one.streams.length >= 2);
  assert.ok(call, "the simulated world has a bad call with two streams");
  return call;
}

/** @param {import("./session.mjs").Signed} world */
export function callTests(world) {
  test("a filter finds a call, and the row opens it", async () => {
    const { page, context, faults } = await signedIn(world);
    await openCalls(page);
    const call = await richCall(page);
    const bar = page.getByRole("combobox", { name: "Filter" });
    await bar.fill(`callid:"${call.sip_call_id}"`);
    await bar.press("Enter");
    await page.waitForURL(/filter=/);
    const row = page.locator(`[data-row-link][href="/calls/${call.id}"]`);
    await row.waitFor();
    await row.click();
    await shows(page, `${call.from} → ${call.to}`);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test("a wrong filter says where it is wrong", async () => {
    const { page, context } = await signedIn(world);
    await openCalls(page);
    await page.getByRole("combobox", { name: "Filter" }).fill("mos<<3");
    await page.getByRole("combobox", { name: "Filter" }).press("Enter");
    await page.getByRole("alert").first().waitFor();
    await context.close();
  });

  test("a click on the ladder shows the raw message", async () => {
    const { page, context, faults } = await signedIn(world);
    await openCalls(page);
    const call = await richCall(page);
    await page.goto(`/calls/${call.id}`);
    await page.getByRole("listbox", { name: "Messages of the call" }).getByRole("option").first().click();
    await page.getByRole("region", { name: "Text of the message" }).getByText("INVITE sip:").first().waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test("the plots zoom together, and Escape shows all again", async () => {
    const { page, context, faults } = await signedIn(world);
    await openCalls(page);
    const call = await richCall(page);
    await page.goto(`/calls/${call.id}`);
    const plot = page.locator(".plots .u-over").first();
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    assert.ok(box);
    const before = page.url();
    await page.mouse.move(box.x + box.width * 0.3, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction((before) => location.href !== before, before);
    await page.keyboard.press("Escape");
    await page.waitForFunction((before) => location.href === before, before);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test("the packets of a call open in tshark", { skip: TSHARK ? false : "tshark is not installed" }, async () => {
    const { page, context } = await signedIn(world);
    await openCalls(page);
    const call = await richCall(page);
    await page.goto(`/calls/${call.id}`);
    const waiting = page.waitForEvent("download");
    await page.locator(`a[href$="/calls/${call.id}/pcap"]`).first().click();
    const file = join(world.folder, "call.pcapng");
    await (await waiting).saveAs(file);
    const ids = await output(String(TSHARK), ["-r", file, "-Y", "sip", "-T", "fields", "-e", "sip.Call-ID"]);
    const found = ids.trim().split("\n");
    assert.ok(found.includes(call.sip_call_id), `the Call-ID is in the file: ${found[0]}`);
    const packets = await output(String(TSHARK), ["-r", file, "-T", "fields", "-e", "frame.number"]);
    assert.ok(packets.trim().split("\n").length > found.length, "and its media");
    await context.close();
  });

  test("what came over the wire stays text", async () => {
    const { page, context, faults } = await signedIn(world);
    await page.goto(`/calls/${encodeURIComponent("<img src=x onerror=alert(1)>@x")}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await still(page);
    assert.equal(await page.locator("main img").count(), 0);
    assert.deepEqual(
      faults.filter((fault) => !/404/.test(fault)),
      [],
    );
    await context.close();
  });
}
