import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./program.mjs";
import { api, openCalls, shows, signedIn } from "./session.mjs";

const PASSWORD = "correct horse battery";

/** @param {import("./session.mjs").Signed} world */
export function roleTests(world) {
  test("a viewer chooses a password by a link, and sees masked numbers and no raw messages", async () => {
    const admin = await signedIn(world);
    await openCalls(admin.page);
    const { calls } = await api(admin.page, "/calls?from=2000-01-01T00:00:00Z&limit=1");
    const [known] = calls;
    await admin.page.goto("/settings/users");
    await admin.page.getByLabel("User name").fill("vera");
    await admin.page.getByRole("button", { name: "Add the user" }).click();
    const handed = await admin.page.getByRole("dialog", { name: "Link for vera" }).innerText();
    const token = /\/link#(\S+)/.exec(handed)?.[1];
    assert.ok(token, `a link is shown: ${handed}`);
    await admin.context.close();

    const { page: tab, context, faults } = await page(world);
    await tab.goto(`/link#${token}`);
    await tab.getByLabel(/^Password/).fill(PASSWORD);
    await tab.getByRole("button", { name: "Set the password" }).click();
    await shows(tab, "Now");

    await openCalls(tab);
    const text = await tab.locator("main").innerText();
    assert.match(text, /\*{3,}/, "numbers are masked");
    assert.ok(!text.includes(known.from), `${known.from} does not show`);
    await tab.goto(`/calls/${known.id}`);
    await tab.getByRole("listbox", { name: "Messages of the call" }).getByRole("option").first().click();
    await tab.getByText("Your role may not read raw messages").waitFor();
    const refused = await tab.request.get(`/api/v1/calls/${known.id}/messages`);
    assert.equal(refused.status(), 403);
    await tab.goto("/settings/users");
    await tab.getByText("Settings page not found").waitFor();
    assert.deepEqual(faults, []);
    await context.close();

    const again = await page(world);
    await again.page.goto("/");
    await again.page.getByLabel("Name").fill("vera");
    await again.page.getByLabel("Password").fill(PASSWORD);
    await again.page.getByRole("button", { name: "Sign in" }).click();
    await shows(again.page, "Now");
    await again.page.goto("/settings/account");
    await again.page.getByRole("main").getByRole("button", { name: "Sign out", exact: true }).click();
    await again.page.getByRole("heading", { name: "Sign in to Trunkline" }).waitFor();
    await again.context.close();
  });

  test("an administrator adds a user and names an address", async () => {
    const { page: tab, context, faults } = await signedIn(world);
    await tab.goto("/settings/users");
    await tab.getByLabel("User name").fill("nils");
    await tab.getByRole("radio", { name: /^support/ }).check();
    await tab.getByRole("button", { name: "Add the user" }).click();
    const dialog = tab.getByRole("dialog", { name: "Link for nils" });
    await dialog.waitFor();
    assert.match(await dialog.innerText(), /\/link#/);
    await tab.keyboard.press("Escape");
    await tab.getByRole("cell", { name: "nils", exact: true }).waitFor();
    assert.ok(await tab.getByRole("radio", { name: /^viewer/ }).isChecked(), "the next user begins with the least role again");

    await tab.goto("/settings/aliases");
    await tab.getByRole("textbox").fill("192.0.2.10, SBC London");
    await tab.getByRole("button", { name: "Save" }).click();
    await tab.getByRole("cell", { name: "SBC London" }).waitFor();
    await tab.goto("/settings/audit");
    await tab.getByRole("cell", { name: "nils", exact: true }).first().waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test("an administrator says which graphs viewers see, and what it comes to stands beside it", async () => {
    const { page: tab, context, faults } = await signedIn(world);
    /** @type {string[]} */
    const refused = [];
    tab.on("response", (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${new URL(answer.url()).pathname}`));
    await tab.goto("/settings/graph-rights");
    await tab.getByText("No rules yet.").waitFor();
    await tab.getByLabel("Without a matching rule").selectOption("nothing");
    await tab.getByRole("combobox", { name: /^Applies to/ }).selectOption("device-name");
    await tab.getByLabel(/^Device: /).fill("edge-*");
    await tab.getByRole("button", { name: "Add the rule" }).click();
    const row = tab.getByRole("row", { name: /allow devices by name edge-\*/ });
    await row.waitFor();
    // No devices are polled.
    await tab.getByRole("region", { name: "Preview" }).getByText("The preview is not available now: The graph poller is not running.").waitFor();
    await tab.reload();
    assert.equal(await tab.getByLabel("Without a matching rule").inputValue(), "nothing");
    const { rights } = await api(tab, "/graphs/rights");
    assert.deepEqual(rights[0].rules.map((/** @type {any} */ rule) => [rule.allow, rule.kind, rule.value]), [[true, "device-name", "edge-*"]]);
    await row.getByRole("button", { name: "Delete allow device-name edge-*" }).click();
    await tab.getByText("No rules yet.").waitFor();
    await tab.getByLabel("Without a matching rule").selectOption("everything");
    await tab.goto("/settings/audit");
    await tab.getByText("role viewer: allow device-name edge-*", { exact: true }).first().waitFor();
    // The browser tells of each answer that says so, and there is nothing else to tell.
    assert.deepEqual([...new Set(refused)], ["404 /api/v1/graphs/rights/preview"]);
    assert.deepEqual(faults.filter((fault) => !/^Failed to load resource: .* 404 /.test(fault)), []);
    await context.close();
  });
}
