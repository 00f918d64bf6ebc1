import { expect, test } from "vitest";
import type { Alert } from "../../api/types";
import { bound, callsLink, isOfDevice, outcomeText, standing, testsOf } from "./words";

const alert = (more: Partial<Alert>): Alert => ({ rule: "up", device: null, subject: "all", labels: {}, calls: null, began: "2026-11-26T10:00:00Z", ended: null, ...more }) as Alert;

test("silences of one alert, its device and its rule", () => {
  const names = (one: Alert): string[][] => testsOf(one).map(({ tests }) => tests);
  expect(names(alert({ device: "edge-1", labels: { index: "Gi0/1" } }))).toEqual([["rule = up", "device = edge-1", "index = Gi0/1"], ["device = edge-1"], ["rule = up"]]);
  expect(names(alert({ subject: "192.0.2.1" }))).toEqual([["rule = up", "subject = 192.0.2.1"], ["rule = up"]]);
  // What is masked, or more than a name, cannot be asked for.
  expect(names(alert({ subject: "+4420*****67" }))).toEqual([["rule = up"]]);
  expect(names(alert({ device: "a, b" }))).toEqual([["rule = up"]]);
});

test("a test about one device names it whole", () => {
  expect(["device = edge-1", "device = edge-*", "device = a, b", "device != edge-1", "rule = up"].map(isOfDevice)).toEqual([true, false, false, false, false]);
});

test("an alert leads to its calls, from what was counted first", () => {
  expect(callsLink(alert({}))).toBeNull();
  const link = callsLink(alert({ calls: { filter: "(code>=500) and src:192.0.2.1", over_s: 300 }, ended: "2026-11-26T10:30:00Z" }))!;
  const search = new URLSearchParams(link.split("?")[1]);
  expect(Object.fromEntries(search)).toEqual({ from: "2026-11-26T09:55:00.000Z", to: "2026-11-26T10:30:00.000Z", filter: "(code>=500) and src:192.0.2.1" });
});

test("limits, states and outcomes are words", () => {
  expect(bound("more than 900000000")).toBe("more than 900,000,000");
  expect(bound(null)).toBe("");
  expect(standing("suppressed", "dependency")).toBe("suppressed: dependency");
  expect(["failed", "given up", "left in doubt", "delivered"].map(outcomeText)).toEqual(["failed, will retry", "failed", "unconfirmed, not sent again", "delivered"]);
});
