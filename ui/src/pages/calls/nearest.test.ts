import { describe, expect, it } from "vitest";
import type { CallsSummary } from "../../api/types";
import { nearest } from "./nearest";

const at = (minute: number): number => Date.parse("2026-11-20T10:00:00Z") + minute * 60_000;
const summary = (calls: number[], every = 10): CallsSummary =>
  ({ bucket_s: every * 60, buckets: calls.map((n, i) => ({ at: new Date(at(i * every)).toISOString(), calls: n, answered: 0, failed: 0, bad: 0 })) }) as unknown as CallsSummary;

describe("the nearest calls", () => {
  it("are those before the range, with short pauses between them", () => {
    expect(nearest(summary([1, 0, 0, 2, 0, 3, 0, 0, 9]), { from: at(60), to: at(70) })).toEqual({ from: at(30), to: at(60), calls: 5 });
  });
  it("are those behind it, if there are none before", () => {
    expect(nearest(summary([0, 0, 0, 0, 4, 5]), { from: at(0), to: at(20) })).toEqual({ from: at(40), to: at(60), calls: 9 });
  });
  it("are of the nearest day, where they never pause", () => {
    const found = nearest(summary(Array<number>(200).fill(1), 30), { from: at(9000), to: at(9060) });
    expect(found).toEqual({ from: at(6000 - 24 * 60), to: at(6000), calls: 48 });
  });
  it("are none where there are none", () => {
    expect(nearest(summary([0, 0]), { from: at(0), to: at(2) })).toBeUndefined();
    expect(nearest(summary([]), { from: at(0), to: at(2) })).toBeUndefined();
  });
});
