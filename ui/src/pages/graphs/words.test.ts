import { expect, test } from "vitest";
import type { GraphPicture, GraphSeries } from "../../api/types";
import { bands } from "../../parts/graph-shape";
import { atCursor, columns, figureOf, hasFigures, named, printName, printUnit, spanOf, totalUnit, troublesOf } from "./words";

const series = (more: Partial<GraphSeries>): GraphSeries => ({
  name: "a", label: "A", kind: "line", color: "#00ff00", width: 1, stack: false, dashes: [], values: [], legend: [],
  figures: { last: null, average: null, min: null, max: null, p95: null, total: null }, ...more,
});
const picture = (unit: string, series: GraphSeries[]): GraphPicture => ({
  title: "", unit, base: 1000, lower: null, upper: null, rigid: false, logarithmic: false, start: 0, step: 60, rows: 3,
  series, rules: [], thresholds: [], prints: [], unread: [],
});

test("a range has two ends, the second later", () => {
  const now = Date.UTC(2026, 10, 23, 12);
  expect(spanOf({ from: "now-1h", to: "now" }, now)).toEqual([now - 3_600_000, now]);
  expect(spanOf({ from: "nonsense", to: "now" }, now)).toEqual([now - 86_400_000, now]);
  expect(spanOf({ from: "now", to: "now-1h" }, now)[0]).toBeLessThan(spanOf({ from: "now", to: "now-1h" }, now)[1]);
});

test("a total is of a rate: there is none of days or shares", () => {
  expect(["bit/s", "bits per second", "packets/sec", "days", "%", "s", ""].map(totalUnit)).toEqual(["bit", "bits", "packets", undefined, undefined, undefined, undefined]);
  expect(figureOf("total", 77.4e6, 1000, "days")).toBe("–");
  expect(figureOf("total", 77.4e6, 1000, "bit/s")).toBe("77.4 Mbit");
  expect(figureOf("max", 77.4e6, 1000, "bit/s")).toBe("77.4 Mbit/s");
  const wanted = series({ legend: ["last", "total"] });
  expect(columns(picture("bit/s", [wanted])).map(([name]) => name)).toEqual(["last", "total"]);
  expect(columns(picture("days", [wanted])).map(([name]) => name)).toEqual(["last"]);
});

test("at the cursor a band has two ends, and a tick is there or not", () => {
  const all = picture("s", [
    series({ color: null, label: "", kind: "area", values: [0.02, null, 0.04] }),
    series({ kind: "area", stack: true, values: [0.1, null, 0.2] }),
    series({ values: [0.05, null, 0.06] }),
    series({ kind: "tick", values: [0, null, 1] }),
  ]);
  const at = (row: number | undefined): string[] => [1, 2, 3].map((one) => atCursor(all, bands(all.series), one, row));
  expect(at(0)).toEqual(["20 ms to 0.12 s", "50 ms", "no"]);
  expect(at(1)).toEqual(["–", "–", "–"]);
  expect(at(2)).toEqual(["40 ms to 0.24 s", "60 ms", "yes"]);
  expect(at(undefined)).toEqual(["–", "–", "–"]);
  expect([1, 2, 3].map((one) => hasFigures(all, one))).toEqual([false, true, false]);
  expect(named(all)).toEqual([1, 2, 3]);
});

test("each thing that does not answer is said once, in sentences", () => {
  expect(troublesOf(["It does not answer.", "It could not be looked at: it does not answer."])).toEqual(["It does not answer."]);
  expect(troublesOf(["It could not be looked at: it does not answer."])).toEqual(["It could not be looked at: it does not answer."]);
  expect(troublesOf(["It is flapping.", "Whether it is up is not known for sure: no socket.."])).toEqual(["It is flapping.", "Whether it is up is not known for sure: no socket."]);
  expect(troublesOf([])).toEqual([]);
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
  expect(printUnit({ format: "%6.2lf %%" })).toBe("%");
});
