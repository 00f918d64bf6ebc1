import assert from "node:assert/strict";
import { test } from "node:test";
import { house, page, WORLD_MS } from "./program.mjs";
import { provider } from "./provider.mjs";
import { shows } from "./session.mjs";

const OIDC = `
[web.oidc]
issuer = "ISSUER"
client-id = "trunkline"
client-secret-file = "FOLDER/secret"
label = "Voice house"
roles = ["voice-noc=support"]
`;

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

export function providerTests() {
  test("somebody signs in by the button, through an identity provider", { timeout: WORLD_MS }, async () => {
    const voice = await provider();
    const world = await house(OIDC.replace("ISSUER", voice.issuer), { secret: "s3cret\n" });
    try {
      // By another name than the provider's: to the browser they are two sites, as they are in the world.
      world.base = world.base.replace("127.0.0.1", "localhost");
      const { page: tab, context, faults } = await page(world);
      const go = async () => {
        await tab.getByRole("link", { name: "Voice house" }).click();
        await tab.getByRole("link", { name: "Go on as Alice" }).click();
      };
      await tab.goto("/registrations?q=10.1");
      await go();
      await shows(tab, "Registrations");
      assert.equal(new URL(tab.url()).search, "?q=10.1", "back at the page that was asked for");
      await tab.reload();
      await shows(tab, "Registrations");
      await tab.goto("/settings/account");
      await tab.getByRole("heading", { name: "Your sessions" }).waitFor();
      await tab.getByText("this one").waitFor();

      // Another browser of the same person, and an end to it from here.
      const other = await page(world);
      await other.page.goto("/");
      await other.page.getByRole("link", { name: "Voice house" }).click();
      await other.page.getByRole("link", { name: "Go on as Alice" }).click();
      await shows(other.page, "Now");
      await tab.reload();
      await tab.getByRole("button", { name: /^Sign out .* at 127\.0\.0\.1$/ }).click();
      await tab.getByText("Session signed out").waitFor();
      await other.page.goto("/calls");
      await other.page.getByRole("heading", { name: "Sign in to Trunkline" }).waitFor();
      await other.context.close();

      voice.groups = ["staff"];
      await tab.getByRole("main").getByRole("button", { name: "Sign out", exact: true }).click();
      await go();
      await tab.getByText("none of your groups has a role here").waitFor();
      assert.equal(new URL(tab.url()).search, "", "the word does not stay in the address");
      assert.deepEqual(faults, []);
      await context.close();
    } finally {
      await world.stop();
      await voice.stop();
    }
  });
}
