import { expect, test } from "vitest";
import type { GraphPicture, GraphSeries } from "../api/types";
import { amount, areaPath, bands, cursorIn, linePath, marks, place, said, scaleOf, times } from "./graph-shape";

const series = (values: (number | null)[], stack = false): GraphSeries => ({
  name: "a", label: "A", kind: "area", color: "#00ff00", width: 1, stack, dashes: [], values, legend: [],
  figures: { last: null, average: null, min: null, max: null, p95: null, total: null },
});
const picture = (more: Partial<GraphPicture>): GraphPicture => ({
  title: "", unit: "", base: 1000, lower: null, upper: null, rigid: false, logarithmic: false, start: 0, step: 60, rows: 3,
  series: [], rules: [], thresholds: [], prints: [], unread: [], ...more,
});
const same = (n: number): number => n;

test("what stands on another begins at its top, and what is unknown adds nothing", () => {
  const [, second] = bands([series([1, null, 3]), series([10, 10, null], true)]);
  expect(second!.low).toEqual([1, 0, 3]);
  expect(second!.high).toEqual([11, 10, null]);
});

test("gaps are gaps", () => {
  expect(linePath([1, 2, null, 4], same, same)).toBe("M0 1H1V2H2M3 4H4");
  expect(areaPath(bands([series([1, 2, null, 4])])[0]!, same, same)).toBe("M0 1H1V2H2L2 0H1V0H0ZM3 4H4L4 0H3Z");
  expect(linePath([null, null], same, same)).toBe("");
});

test("the axis is the template's, wider where it must be", () => {
  const high = bands([series([5, 100, 7])]);
  expect(scaleOf(picture({ lower: 0, upper: 50 }), high)).toMatchObject({ low: 0, high: 106 });
  expect(scaleOf(picture({ lower: 0, upper: 50, rigid: true }), high)).toMatchObject({ low: 0, high: 50 });
  expect(scaleOf(picture({}), bands([series([null, null, null])]))).toMatchObject({ low: 0, high: 1 });
  expect(scaleOf(picture({ lower: 0, upper: 100 }), [])).toMatchObject({ low: 0, high: 100 });
  expect(place({ low: 1, high: 100, logarithmic: true }, 10)).toBeCloseTo(0.5);
});

test("marks are round numbers", () => {
  expect(marks({ low: 0, high: 106, logarithmic: false }, 1000, 5)).toEqual([0, 50, 100]);
  expect(marks({ low: 0, high: 4096, logarithmic: false }, 1024, 4)).toEqual([0, 1024, 2048, 3072, 4096]);
  expect(marks({ low: 1, high: 1000, logarithmic: true }, 1000, 4)).toEqual([1, 10, 100, 1000]);
});

test("times are those of the zone, also when clocks change", () => {
  const from = Date.UTC(2026, 9, 24, 22);
  const found = times(from, from + 72 * 3_600_000, 4, "Europe/Berlin");
  expect(found.map((mark) => mark.text)).toEqual(["10-25", "10-26", "10-27"]);
  expect(found[1]!.at - found[0]!.at).toBe(25 * 3_600_000);
  expect(times(0, 3_600_000, 6, "UTC").map((mark) => mark.text)).toContain("00:10");
});

test("amounts have a unit and three digits", () => {
  expect(amount(12_345_678, 1000, "bit/s")).toBe("12.3 Mbit/s");
  expect(amount(1024 * 1024, 1024, "B")).toBe("1 MiB");
  expect(amount(0.00123, 1000, "s")).toBe("1.23 ms");
  expect(amount(-1500, 1000, "")).toBe("−1.5 k");
  expect(amount(0, 1000, "%")).toBe("0 %");
  expect(amount(null, 1000, "%")).toBe("–");
});

test("what is seen is said without nonsense: a band has ends, a tick no unit", () => {
  const figures = { last: null, average: 0.1, min: null, max: 0.2, p95: null, total: null };
  const one = (more: Partial<GraphSeries>): GraphSeries => ({ ...series([]), ...more });
  const roundTrip = [
    one({ color: null, label: "", values: [0.05, null, 0.04] }),
    one({ label: "Shortest to longest", stack: true, values: [0.1, null, 0.2] }),
    one({ label: "Mean", kind: "line", values: [0.1, null, 0.2], figures }),
    one({ label: "Loss", kind: "tick", values: [1, 1, 0] }),
    one({ label: "No answer", kind: "tick", values: [0, null, 0] }),
  ];
  expect(said(picture({ unit: "s", series: roundTrip }))).toEqual(["Shortest to longest: 40 ms to 0.24 s", "Mean: 0.1 s, max 0.2 s", "Loss: in 2 of 3 values", "No answer: never"]);
  const stacked = [one({ label: "Used", values: [1], figures }), one({ label: "Cached", stack: true, values: [2], figures }), one({ label: "Free", values: [null] })];
  expect(said(picture({ unit: "B", series: stacked }))).toEqual(["Used: average 0.1 B, max 0.2 B", "Cached: average 0.1 B, max 0.2 B", "Free: no data"]);
});

test("after a zoom the cursor is where the pointer is, or it goes", () => {
  expect(cursorIn(100, [0, 50], 20)).toBe(20);
  expect(cursorIn(100, [0, 50], undefined)).toBeUndefined();
  expect(cursorIn(40, [0, 50], undefined)).toBe(40);
});

test("however narrow a graph is, more than one time stands below it", () => {
  const now = Date.UTC(2026, 10, 26, 19, 20);
  for (const days of [1 / 24, 1, 2, 7, 10, 14, 30, 90, 365, 1825]) {
    const found = times(now - days * 86_400_000, now, 4, "Europe/Berlin");
    expect(found.length, `${days} days`).toBeGreaterThan(1);
    expect(found.length, `${days} days`).toBeLessThan(7);
  }
});
