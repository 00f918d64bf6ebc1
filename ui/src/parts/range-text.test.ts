import { describe, expect, it } from "vitest";
import { limits, moved, rangeText, widened } from "./range-text";

const now = Date.parse("2026-11-20T15:00:00Z");
const hour = { from: "2026-11-20T12:00:00Z", to: "2026-11-20T13:00:00Z" };

describe("a range of time", () => {
  it("is said as people say it", () => {
    expect(rangeText({ from: "now-24h", to: "now" }, "UTC", now)).toBe("Last 24 hours");
    expect(rangeText({ from: "now-1h", to: "now" }, "UTC", now)).toBe("Last hour");
    expect(rangeText({ from: "now-3h", to: "now" }, "UTC", now)).toBe("Last 3 h");
    expect(rangeText(hour, "Europe/Berlin", now)).toBe("2026-11-20 13:00 – 14:00 (60 min)");
    expect(rangeText({ from: "2026-11-19T23:30:00Z", to: "2026-11-20T01:30:00Z" }, "UTC", now)).toBe("2026-11-19 23:30 – 2026-11-20 01:30 (2 h)");
    expect(rangeText({ from: "soon", to: "now" }, "UTC", now)).toBe("Not a time range");
  });

  it("has nothing between ends in the wrong order", () => {
    expect(limits({ from: hour.to, to: hour.from }, now)).toBeUndefined();
  });

  it("moves by its own length", () => {
    expect(moved(hour, -1, now)).toEqual({ from: "2026-11-20T11:00:00.000Z", to: "2026-11-20T12:00:00.000Z" });
    expect(moved({ from: "now-1h", to: "now" }, -1, now)).toEqual({ from: "2026-11-20T13:00:00.000Z", to: "2026-11-20T14:00:00.000Z" });
  });

  it("widens to the next preset, or to twice its length", () => {
    expect(widened({ from: "now-1h", to: "now" }, now)).toEqual({ from: "now-6h", to: "now" });
    expect(widened(hour, now)).toEqual({ from: "2026-11-20T11:30:00.000Z", to: "2026-11-20T13:30:00.000Z" });
    const last = { from: "2026-11-20T14:00:00Z", to: "2026-11-20T15:00:00Z" };
    expect(widened(last, now)).toEqual({ from: "2026-11-20T13:00:00.000Z", to: "2026-11-20T15:00:00.000Z" });
  });
});
