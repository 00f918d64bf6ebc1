import { describe, expect, it } from "vitest";
import { midnight, offset, offsetName, parseWall } from "./wall";

const BERLIN = "Europe/Berlin";
const now = Date.parse("2026-11-20T13:05:00Z");
const iso = (text: string, tz = BERLIN): string | undefined => {
  const at = parseWall(text, tz, now);
  return at === undefined ? undefined : new Date(at).toISOString();
};

describe("times as people type them", () => {
  it("are of the viewer's zone, unless they say another", () => {
    expect(iso("2026-11-20 14:00")).toBe("2026-11-20T13:00:00.000Z");
    expect(iso("2026-07-01T14:00:05.25")).toBe("2026-07-01T12:00:05.250Z");
    expect(iso("2026-11-20")).toBe("2026-11-19T23:00:00.000Z");
    expect(iso("14:00")).toBe("2026-11-20T13:00:00.000Z");
    expect(iso("2026-11-20T14:00:00Z")).toBe("2026-11-20T14:00:00.000Z");
    expect(iso("2026-11-20T14:00:00+05:00")).toBe("2026-11-20T09:00:00.000Z");
    expect(iso("now-2h")).toBe("2026-11-20T11:05:00.000Z");
    expect(iso("yesterday")).toBe("2026-11-18T23:00:00.000Z");
    expect(iso("today", "UTC")).toBe("2026-11-20T00:00:00.000Z");
  });

  it("are refused where they are none", () => {
    for (const text of ["", "2026-02-31", "25:61", "noon", "2026-13-01 10:00", "now+1h"]) expect(iso(text)).toBeUndefined();
  });

  it("survive the nights when clocks are changed", () => {
    expect(iso("2026-03-29 01:59")).toBe("2026-03-29T00:59:00.000Z");
    expect(iso("2026-03-29 03:00")).toBe("2026-03-29T01:00:00.000Z");
    expect(iso("2026-10-25 04:00")).toBe("2026-10-25T03:00:00.000Z");
    expect(new Date(midnight(Date.parse("2026-10-25T12:00:00Z"), BERLIN)).toISOString()).toBe("2026-10-24T22:00:00.000Z");
  });

  it("name what a zone is ahead of UTC", () => {
    expect(offset(now, BERLIN)).toBe(36e5);
    expect(offsetName(now, BERLIN)).toBe("UTC+1");
    expect(offsetName(now, "America/St_Johns")).toBe("UTC−3:30");
    expect(offsetName(now, "UTC")).toBe("UTC");
  });
});
