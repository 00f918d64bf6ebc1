// One screen for a whole call: three hosts, sixty messages, four streams.

import assert from "node:assert/strict";
import { test } from "node:test";
import { BUSY_ALIASES, BUSY_CALL_ID } from "./busy.mjs";
import { picture } from "./looks.mjs";
import { still } from "./program.mjs";
import { api, shows, signedIn } from "./session.mjs";

/** @param {import("./session.mjs").Signed} world */
export function ladderTests(world) {
  test("three hosts, sixty messages and four streams are one screen", async () => {
    const { page, context, faults } = await signedIn(world);
    await page.goto("/settings/aliases");
    await page.getByRole("textbox").fill(BUSY_ALIASES.map(({ network, name }) => `${network}, ${name}`).join("\n"));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "Carrier gateway" }).waitFor();
    await page.goto(`/calls/${encodeURIComponent(BUSY_CALL_ID)}`);
    const ladder = page.getByRole("region", { name: "Ladder" });
    await ladder.getByText("60 messages").waitFor();
    for (const { name } of BUSY_ALIASES) await ladder.getByText(name).first().waitFor();
    assert.equal(await page.getByRole("region", { name: "Stream statistics" }).getByRole("columnheader").count(), 5);
    // Nothing to scroll within the ladder, and the ladder is no higher than the window.
    const scroller = ladder.locator(".ladder-scroll");
    const [inner, seen] = await scroller.evaluate((/** @type {HTMLElement} */ box) => [box.scrollHeight, box.clientHeight]);
    assert.ok(inner <= seen, `${inner} pixels of ladder in ${seen}`);
    await ladder.evaluate((/** @type {HTMLElement} */ panel) => scrollTo(0, panel.getBoundingClientRect().top + scrollY - 12));
    const box = await ladder.boundingBox();
    assert.ok(box && box.y >= 0 && box.y + box.height <= 900, `the ladder stands from ${box?.y} to ${box && box.y + box.height}`);
    await still(page);
    await picture(page, "call-ladder-light");
    assert.deepEqual(faults, []);
    await context.close();
  });

  test("a way that was longer for ten seconds shows as delay", async () => {
    const { page, context } = await signedIn(world);
    await page.goto(`/calls/${encodeURIComponent(BUSY_CALL_ID)}`);
    await shows(page, /→/);
    const id = new URL(page.url()).pathname.split("/").at(-1);
    /** @type {{ streams: { ssrc: string, intervals: { delay_mean_ms: number, delay_max_ms: number }[] }[] }} */
    const { streams } = await api(page, `/calls/${id}/intervals`);
    const delays = (/** @type {string} */ ssrc) => streams.find((one) => one.ssrc === ssrc)?.intervals ?? [];
    // 45 to 63 ms from 24 s to 34 s of the call, else half a millisecond.
    assert.ok(delays("0x1a2b0004").some((one) => one.delay_mean_ms > 45 && one.delay_max_ms <= 64), JSON.stringify(delays("0x1a2b0004")));
    assert.ok(delays("0x1a2b0003").every((one) => one.delay_max_ms < 1), JSON.stringify(delays("0x1a2b0003")));
    const plot = page.getByRole("img", { name: /^Delay above the fastest packet/ });
    assert.match((await plot.getAttribute("aria-label")) ?? "", /4\. .*: \d.* ms to 5\d ms, up to 6\d ms/);
    await context.close();
  });
}
