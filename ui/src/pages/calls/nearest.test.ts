import { describe, expect, it } from "vitest";
import type { CallsSummary } from "../../api/types";
import { nearest } from "./nearest";

const at = (minute: number): number => Date.parse("2026-11-20T10:00:00Z") + minute * 60_000;
const summary = (calls: number[]): CallsSummary =>
  ({ bucket_s: 60, buckets: calls.map((n, i) => ({ at: new Date(at(i)).toISOString(), calls: n, answered: 0, failed: 0, bad: 0 })) }) as unknown as CallsSummary;

describe("the nearest calls", () => {
  it("are those before the range, as far as they follow each other", () => {
    expect(nearest(summary([1, 0, 2, 3, 0, 0, 9]), { from: at(4), to: at(6) })).toEqual({ from: at(2), to: at(4), calls: 5 });
  });
  it("are those behind it, if there are none before", () => {
    expect(nearest(summary([0, 0, 0, 0, 4, 5]), { from: at(0), to: at(2) })).toEqual({ from: at(4), to: at(6), calls: 9 });
  });
  it("are none where there are none", () => {
    expect(nearest(summary([0, 0]), { from: at(0), to: at(2) })).toBeUndefined();
    expect(nearest(summary([]), { from: at(0), to: at(2) })).toBeUndefined();
  });
});
