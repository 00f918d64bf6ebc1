import { expect, test } from "vitest";
import { spanOf, unitOf } from "./words";

test("a range has two ends, the second later", () => {
  const now = Date.UTC(2026, 10, 23, 12);
  expect(spanOf({ from: "now-1h", to: "now" }, now)).toEqual([now - 3_600_000, now]);
  expect(spanOf({ from: "nonsense", to: "now" }, now)).toEqual([now - 86_400_000, now]);
  expect(spanOf({ from: "now", to: "now-1h" }, now)[0]).toBeLessThan(spanOf({ from: "now", to: "now-1h" }, now)[1]);
});

test("a total of a rate is an amount", () => {
  expect(unitOf("total", "bit/s")).toBe("bit");
  expect(unitOf("total", "%")).toBe("%·s");
  expect(unitOf("max", "bit/s")).toBe("bit/s");
});
