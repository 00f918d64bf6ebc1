import assert from "node:assert/strict";
import { test } from "node:test";
import { shows, signedIn } from "./session.mjs";

/** @param {import("./session.mjs").Signed} world */
export function registrationTests(world) {
  test("of the registrations only those on the screen are made", async () => {
    const { page, context, faults } = await signedIn(world, { height: 480 });
    await page.goto("/registrations");
    await shows(page, "Registrations");
    const table = page.getByRole("table", { name: "Registrations, newest first" });
    await page.locator("[data-row-link]").first().waitFor();
    const all = Number(await table.getAttribute("aria-rowcount")) - 1;
    const made = await page.locator(".virtual-row").count();
    assert.ok(all >= 30 && made < all, `${made} of ${all} rows`);
    await page.keyboard.press("j");
    await page.keyboard.press("End");
    await page.locator(`[data-row="${all - 1}"] [data-row-link]:focus`).waitFor();
    await page.getByText("End of list").waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test("failed registrations say why, and a search without a hit what to do", async () => {
    const { page, context, faults } = await signedIn(world);
    await page.goto("/registrations");
    await shows(page, "Registrations");
    await page.getByRole("button", { name: /^failed/ }).click();
    await page.waitForURL(/state=failed/);
    await page.getByText(/refused the credentials|answered 403|nonce was too old/).first().waitFor();
    await page.getByText("200 OK").first().waitFor({ state: "detached" });
    const search = page.getByRole("searchbox", { name: "Search" });
    await search.fill("nobody-of-that-name");
    await search.press("Enter");
    await page.getByRole("heading", { name: "No matches" }).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
}
