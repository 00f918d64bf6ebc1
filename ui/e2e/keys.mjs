import assert from "node:assert/strict";
import { test } from "node:test";
import { openCalls, shows, signedIn } from "./session.mjs";
import { richCall } from "./call.mjs";

/** @param {import("./session.mjs").Signed} world */
export function keyTests(world) {
  test("by the keyboard alone from Now to a message of a call", async () => {
    const { page, context, faults } = await signedIn(world);
    await page.goto("/");
    await shows(page, "Now");
    // Nothing is captured, so Now lists the newest calls of the store.
    await page.locator("[data-row-link]").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/calls\/[0-9a-f-]{36}/);
    await page.getByRole("listbox", { name: "Messages of the call" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Text of the message" }).getByText("Call-ID").first().waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test("g and a letter goes to a page, ? shows the keys", async () => {
    const { page, context } = await signedIn(world);
    await page.goto("/");
    await shows(page, "Now");
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await shows(page, "System");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor({ state: "detached" });
    await context.close();
  });

  test("the palette goes to a page, finds a call and changes the appearance", async () => {
    const { page, context, faults } = await signedIn(world);
    await openCalls(page);
    const call = await richCall(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /^Page, number/ }).fill("regis");
    await page.keyboard.press("Enter");
    await shows(page, "Registrations");
    await page.keyboard.press(":");
    await page.getByRole("combobox", { name: /^Page, number/ }).fill(call.sip_call_id);
    await page.keyboard.press("Enter");
    await shows(page, `${call.from} → ${call.to}`);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /^Page, number/ }).fill("dark");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.documentElement.getAttribute("data-theme") === "dark");
    assert.deepEqual(faults, []);
    await context.close();
  });
}
