import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./program.mjs";
import { shows } from "./session.mjs";

/** @param {import("./session.mjs").Signed} world */
export function signInTests(world) {
  test("nobody sees anything without signing in", async () => {
    const { page: tab, context } = await page(world);
    await tab.goto("/calls");
    await tab.getByRole("heading", { name: "Sign in to Trunkline" }).waitFor();
    const answer = await tab.request.get("/api/v1/calls");
    assert.equal(answer.status(), 401);
    await context.close();
  });

  test("the printed link signs in, once", async () => {
    const { page: tab, context, faults } = await page(world);
    await tab.goto(world.link);
    await shows(tab, "Now");
    assert.equal(new URL(tab.url()).hash, "", "the secret does not stay in the address");
    assert.deepEqual(faults, []);
    world.state = await context.storageState();
    await context.close();

    const other = await page(world);
    await other.page.goto(world.link);
    await other.page.getByText("This link does not work").waitFor();
    await other.context.close();
  });
}
