import { expect, test } from "vitest";
import type { AlertPending, AlertStatus } from "../../api/types";
import { aboutAlerts, counted, countsOf, parted, searched } from "./parted";

const pending = (subject: string, standing: string, more: Partial<AlertPending> = {}): AlertPending => ({
  rule: "switch-down", severity: "warning", subject, device: subject, standing, kept_back_by: standing === "suppressed" ? "dependency" : null,
  since: "2026-11-26T10:00:00Z", value: 0, limit: 1, labels: { site: "Paris" }, ...more,
});
const summary = (more: Partial<NonNullable<AlertStatus["summary"]>> = {}): NonNullable<AlertStatus["summary"]> => ({
  revision: 1, open: 3, critical: 3, warning: 0, info: 0, acknowledged: 0, kept_back: 2, pending: 3, rules: 6, channels: 0, fault: null, rules_critical: [], ...more,
});
const all = [pending("access-1", "suppressed"), pending("access-2", "suppressed"), pending("access-3", "pending")];

test("head and lists count the same: what is kept back is that, an alert before or not", () => {
  expect(countsOf(summary(), { total: 3, pending: all })).toEqual({ open: 3, kept: 4, coming: 1 });
  expect(aboutAlerts(summary(), { total: 3, pending: all })).toBe("3 open (3 critical), 4 suppressed, 1 pending");
  expect(aboutAlerts(summary({ acknowledged: 1, kept_back: 0, pending: 0 }), { total: 0, pending: [] })).toBe("3 open (3 critical, 1 acknowledged)");
  expect(parted(all).coming.map((one) => one.subject)).toEqual(["access-3"]);
});

test("where more are pending than are listed, nobody says how they part", () => {
  expect(aboutAlerts(summary({ pending: 700 }), { total: 700, pending: all })).toBe("3 open (3 critical), 702 suppressed or pending");
  expect(aboutAlerts(summary({ open: 0, critical: 0, kept_back: 0, pending: 0 }), undefined)).toBe("0 open");
});

test("a search is of what is no alert yet, too", () => {
  const found = (search: Parameters<typeof searched>[1]): string[] => searched(all, search).map((one) => one.subject);
  expect(found({})).toHaveLength(3);
  expect(found({ q: "PARIS access-2" })).toEqual(["access-2"]);
  expect(found({ state: "suppressed" })).toEqual(["access-1", "access-2"]);
  expect(found({ state: "firing" })).toEqual([]);
  expect(found({ device: "access-3", severity: "warning", rule: "switch-down" })).toEqual(["access-3"]);
  expect(found({ severity: "critical" })).toEqual([]);
  expect(found({ taken: "yes" })).toEqual([]);
  expect([counted(1, 3), counted(3, 3), counted(2, undefined)]).toEqual(["1 of 3", "3", "2"]);
});
