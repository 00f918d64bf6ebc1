import { expect, test } from "vitest";
import type { ChargeCompared, ChargeDifference } from "../../api/types";
import { agrees, micros, otherNumber, outcomeOf, remarks, sessionPath, sumsOf } from "./bill-words";

const compared = (more: Partial<ChargeCompared>): ChargeCompared =>
  ({
    kinds: [],
    clock: { ahead_ms: 0, basis: "either", pairs: 0, spread_ms: 0, given: false },
    blind: { stretches: 0, milliseconds: 0 },
    captured: { from: "", to: "" },
    not_understood: { calls: 0, lines: 0 },
    deviations: { lines: 0, micros: 0 },
    unread: 0,
    skipped: [],
    ...more,
  }) as ChargeCompared;

test("money keeps what is finer than a minor unit", () => {
  const euro = { currency: "EUR", decimals: 2 };
  expect(micros(12_340_000, euro)).toBe("0.1234 EUR");
  expect(micros(-1_234_000_000, { currency: null, decimals: 2 })).toBe("\u221212.34");
  expect(micros(5_000_000, { currency: "JPY", decimals: 0 })).toBe("5 JPY");
  expect(micros(null, euro)).toBe("–");
});

test("sums are those of all kinds", () => {
  const kind = { kind: "longer", count: 2, over_micros: 5, under_micros: 1, unsure: 3, unsure_micros: 9 };
  expect(sumsOf(compared({ kinds: [kind, kind] }))).toEqual({ count: 4, over: 10, under: 2, unsure: 6 });
});

test("it agrees where all was read, too", () => {
  expect([agrees(compared({})), agrees(compared({ unread: 1 })), agrees(compared({ skipped: ["x"] }))]).toEqual([true, false, false]);
  expect([outcomeOf(compared({ lines: 1 })), outcomeOf(compared({ lines: 0 }))]).toEqual(["no differences", "nothing to compare"]);
  expect(outcomeOf(compared({ unread: 2, skipped: ["x"] }))).toBe("0 differences, 2 unreadable lines, 1 unreadable day");
});

test("sessions lead somewhere where their names are whole", () => {
  expect(sessionPath("gw;1;2", true)).toBe("/charge/sessions/gw%3B1%3B2");
  expect([sessionPath("gw;1;2", false), sessionPath("x".repeat(256), true), sessionPath(null, true)]).toEqual([undefined, undefined, undefined]);
});

test("remarks tell the clock first, and what counts once", () => {
  const clock = { ahead_ms: -3_600_000, basis: "answer", pairs: 40, spread_ms: 10, given: false };
  const said = remarks(compared({ clock, legs: 1, outside: 3, lines: 9 }), true);
  expect(said[0]).toBe("The clock of the bill is \u22123600.0 s relative to ours, and lines count from the answer: 40 unambiguous pairs show it.");
  expect(said.slice(1)).toEqual(["Check the time zone of the bill.", "1 call is another leg or a duplicate, and counts once.", "3 lines are outside the time range."]);
  expect(remarks(compared({ outside: 3, captured: null }), false)).toEqual(["Nothing was captured in this time range."]);
});

test("the number that differs is the one that the call does not have", () => {
  const party = (caller: string, called: string): never => ({ caller, called }) as never;
  const one = { kind: "other-number", call: party("+1", "+2"), line: party("+1", "+3") } as unknown as ChargeDifference;
  expect(otherNumber(one)).toBe("+3");
  expect(otherNumber({ ...one, line: party("+4", "+2") })).toBe("+4");
  expect(otherNumber({ ...one, kind: "longer" })).toBeUndefined();
});
