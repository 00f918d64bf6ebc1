import { expect, test } from "vitest";
import { printName, printUnit, spanOf, unitOf } from "./words";

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

test("a number without a label has the words of its format", () => {
  expect(printName({ label: "", format: "95 %% %8.2lf %s", is_number: true })).toBe("95 %");
  expect(printName({ label: "Total in", format: "%8.2lf %s", is_number: true })).toBe("Total in");
  expect(printName({ label: "", format: "%8.2lf %s", is_number: true })).toBe("Value");
  expect(printName({ label: "", format: "%8.2lf", is_number: false })).toBe("");
});

test("a number has the unit of its format", () => {
  expect(printUnit({ format: "%8.2lf %sB" })).toBe("B");
  expect(printUnit({ format: "%8.2lf %sbit/s" })).toBe("bit/s");
  expect(printUnit({ format: "%8.0lf Mbit/s" })).toBe("Mbit/s");
  expect(printUnit({ format: "%8.2lf %s" })).toBe("");
});
