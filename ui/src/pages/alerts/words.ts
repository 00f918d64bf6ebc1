// What alerts are called, and where what they are of is shown.

import type { Alert } from "../../api/types";
import { whole, type Meaning } from "../../format";
import { amount } from "../../parts/graph-shape";
import type { IconName } from "../../parts/icon";
import { ms, rfc3339 } from "../../time";

export const SEVERITIES: Record<string, { meaning: Meaning | "note"; icon: IconName }> = {
  critical: { meaning: "bad", icon: "bad" },
  warning: { meaning: "warn", icon: "warn" },
  info: { meaning: "note", icon: "note" },
};

/** How an alert or a subject stands, in words for people. */
export function standing(state: string, keptBack?: string | null): string {
  switch (state) {
    case "clearing":
      return "clearing: good again, not for long enough";
    case "suppressed":
      return keptBack ? `suppressed: ${keptBack}` : "suppressed";
    case "unknown":
      return "no data";
    case "resolved":
      return "resolved";
    default:
      return state;
  }
}

/** "more than 900,000,000" */
export const bound = (condition: string | null): string => (condition ?? "").replace(/\d{5,}/g, (digits) => whole(Number(digits)));

/** A value without a unit: what it is of says the title. */
export const figure = (value: number | null): string => amount(value, 1000, "");

const OUTCOMES: Record<string, Meaning> = { delivered: "good", failed: "warn", "in doubt": "warn", "given up": "bad", "left in doubt": "bad" };
const OUTCOME_TEXTS: Record<string, string> = { failed: "failed, will retry", "in doubt": "unconfirmed", "given up": "failed", "left in doubt": "unconfirmed, not sent again" };
export const outcomeText = (outcome: string): string => OUTCOME_TEXTS[outcome] ?? outcome;
export const meaningOfOutcome = (outcome: string): Meaning => OUTCOMES[outcome] ?? "none";

/** Alerts that can be kept back, by tests that all hold. */
export interface Choice {
  name: string;
  tests: string[];
}

/** Which silence is of this alert alone, of its device, of its rule: tests of labels. */
export function testsOf(alert: Alert): Choice[] {
  const rule = `rule = ${alert.rule}`;
  const index = alert.labels["index"];
  const one = alert.device ? [rule, `device = ${alert.device}`, ...(index ? [`index = ${index}`] : [])] : [rule, `subject = ${alert.subject ?? ""}`];
  return [
    { name: "This alert", tests: one },
    ...(alert.device ? [ofDevice(alert.device)] : []),
    { name: `All alerts of the rule ${alert.rule}`, tests: [rule] },
  ].filter(({ tests }) => tests.every(isPlain));
}

/** What is of a device. */
export const ofDevice = (device: string): Choice => ({ name: `All alerts of the device ${device}`, tests: [`device = ${device}`] });

/** Whether a test is about one device. */
export const isOfDevice = (test: string): boolean => test.startsWith("device = ") && isPlain(test);

/** In a test, commas part values and stars stand for anything. */
const isPlain = (test: string): boolean => !/[,*]/.test(test) && !test.endsWith("= ");

/** The calls that were counted when it began, until it was over. */
export function callsLink(alert: Alert): string | null {
  if (!alert.calls) return null;
  const from = rfc3339(ms(alert.began) - alert.calls.over_s * 1000);
  const search = new URLSearchParams({ from, ...(alert.ended ? { to: rfc3339(ms(alert.ended)) } : {}), filter: alert.calls.filter });
  if (!alert.calls.filter) search.delete("filter");
  return `/calls?${search.toString()}`;
}

/** How long silences are. */
export const TIMES: { s: number; name: string }[] = [
  { s: 1800, name: "30 minutes" },
  { s: 7200, name: "2 hours" },
  { s: 8 * 3600, name: "8 hours" },
  { s: 86_400, name: "a day" },
  { s: 7 * 86_400, name: "a week" },
];
