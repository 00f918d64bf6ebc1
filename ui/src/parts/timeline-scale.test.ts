import { describe, expect, it } from "vitest";
import { roundAbove, TICKS_MAX, timeTicks, zoomed } from "./timeline-scale";

const at = (text: string): number => Date.parse(text);

describe("ticks of time", () => {
  it("stand at whole hours of the viewer's zone and name each new day", () => {
    const ticks = timeTicks(at("2026-11-19T20:10:00Z"), at("2026-11-20T02:10:00Z"), 6, "Europe/Berlin");
    expect(ticks.map((tick) => tick.text)).toEqual(["22:00", "23:00", "11-20", "01:00", "02:00", "03:00"]);
  });

  it("stand at half hours where a zone is half an hour off", () => {
    const ticks = timeTicks(at("2026-11-20T10:00:00Z"), at("2026-11-20T13:00:00Z"), 4, "Asia/Kolkata");
    expect(ticks.map((tick) => tick.text)).toEqual(["16:00", "17:00", "18:00"]);
  });

  it("stand at midnights also across the change of clocks", () => {
    const ticks = timeTicks(at("2026-10-23T12:00:00Z"), at("2026-10-27T12:00:00Z"), 5, "Europe/Berlin");
    expect(ticks.map((tick) => tick.text)).toEqual(["10-24", "10-25", "10-26", "10-27"]);
    expect(ticks.map((tick) => new Date(tick.at).getUTCHours())).toEqual([22, 22, 23, 23]);
  });

  it("are never many, nor any where nothing lies between", () => {
    expect(timeTicks(0, 1e13, 1000, "UTC").length).toBeLessThanOrEqual(TICKS_MAX + 1);
    expect(timeTicks(5, 5, 10, "UTC")).toEqual([]);
  });
});

describe("amounts", () => {
  it("end at a round figure", () => {
    expect([0, 0.3, 1, 3, 7, 12, 480, 501].map(roundAbove)).toEqual([1, 0.3, 1, 3, 8, 15, 500, 600]);
  });
});

describe("a zoom", () => {
  it("takes whole buckets, in either direction, and stays inside", () => {
    expect(zoomed(3, 1, 1000, 1095, 10)).toEqual({ from: 1010, to: 1040 });
    expect(zoomed(8, 9, 1000, 1095, 10)).toEqual({ from: 1080, to: 1095 });
  });
});
