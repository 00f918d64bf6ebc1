import { describe, expect, it } from "vitest";
import type { ChargeRated, ChargeRatedTotal, ChargeRating } from "../../api/types";
import { byWhat, cost, counts, lacking, outcomeOf, remarks, whyNothing } from "./rated-words";

const NOTHING: ChargeRated = {
  ...{ from: "2026-11-20T00:00:00Z", to: "2026-11-21T00:00:00Z", priced: 0, incomplete: 0, unanswered: 0, open: 0, legs: 0, not_understood: 0, nobody_pays: 0, nobody_pays_numbers: 0 },
  ...{ no_rule: 0, blocked: 0, other_plan: 0, sums: [], destinations: [], prefixes: [], rules: [], accounts: [], skipped: [] },
};
const total = (currency: string, money: number, calls = 1): ChargeRatedTotal => ({ name: null, destination: null, plan: null, others: false, currency, decimals: 2, calls, seconds: 60, bundle_seconds: 0, money, incomplete_money: 0, without_price: 0 });
const ASK: ChargeRating["ask"] = { from: "-1d", to: null, tz: null, filter: null, profile: null, plan_name: null, plan_entry: null, plan: null, rating_group: null, service: null };

describe("rated calls", () => {
  it("are summed up in a line", () => {
    expect(outcomeOf(NOTHING)).toBe("no call");
    expect(outcomeOf({ ...NOTHING, priced: 2, sums: [total("EUR", 1234), total("USD", 5)] })).toBe("2 calls cost 12.34 EUR, 0.05 USD");
    expect(outcomeOf({ ...NOTHING, priced: 1, no_rule: 1, open: 1, sums: [total("EUR", 0)] })).toBe("1 call costs 0.00 EUR, 2 calls lack one");
    expect(outcomeOf({ ...NOTHING, nobody_pays: 3 })).toBe("nothing has a price");
    expect(cost([total("EUR", 1, 0)])).toBe("");
  });

  it("tell what lacks a price, in order", () => {
    const rated = { ...NOTHING, priced: 3, blocked: 1, nobody_pays: 4, legs: 2 };
    expect(counts(rated).map(({ outcome }) => outcome)).toEqual(["priced", "blocked", "nobody-pays", "leg"]);
    expect(lacking(rated)).toBe(1);
  });

  it("say why there is nothing", () => {
    expect(whyNothing(NOTHING, ASK)[0]).toContain("no call in this time range: choose another time.");
    expect(whyNothing(NOTHING, { ...ASK, filter: "mos<3" })[0]).toContain("another filter");
    expect(whyNothing({ ...NOTHING, unanswered: 1 }, ASK)).toEqual(["1 call in this time range was not answered and costs nothing."]);
    expect(whyNothing({ ...NOTHING, other_plan: 2 }, ASK)[0]).toContain("choose all plans");
    expect(remarks({ ...NOTHING, nobody_pays: 2, nobody_pays_numbers: 1 })[0]).toContain("from 1 number,");
  });

  it("say by what they were rated", () => {
    expect(byWhat(ASK)).toBe("By all current plans");
    expect(byWhat({ ...ASK, plan_name: "voice" })).toBe("By the current “voice”");
    expect(byWhat({ ...ASK, plan_name: "voice", plan_entry: 7 })).toBe("By “voice” as of entry 7");
    expect(byWhat({ ...ASK, plan: "[plan]" })).toBe("By a plan text that is not live");
  });
});
