import { expect, test } from "vitest";
import { CHOICES_MAX, choicesFor, type Choice, type Known } from "./palette-choices";

const known: Known = {
  pages: [
    { name: "Calls", path: "/calls", icon: "calls", key: "c" },
    { name: "System", path: "/system", icon: "system" },
  ],
  zones: () => ["Europe/Berlin", "Europe/Bern", "America/New_York"],
  mayPart: true,
};
const names = (typed: string): string[] => choicesFor(typed, known).map((choice) => choice.name);
const first = (typed: string, also: Partial<Known> = {}): Choice["does"] | undefined => choicesFor(typed, { ...known, ...also })[0]?.does;

test("with nothing typed it offers the pages", () => {
  expect(names("").slice(0, 2)).toEqual(["Go to Calls", "Go to System"]);
});

test("words may come in any order and case", () => {
  expect(names("SYS go")).toEqual(["Go to System"]);
  expect(names("dark")).toEqual(["Dark theme"]);
});

test("digits are a number, whole or in part", () => {
  expect(first("+44 (20) 7946-0123")).toEqual({ go: `/calls?filter=${encodeURIComponent('number:"+442079460123"')}` });
  expect(first("0123")).toEqual({ go: `/calls?filter=${encodeURIComponent('number:"*0123*"')}` });
  expect(first("0123", { mayPart: false })).toEqual({ go: `/calls?filter=${encodeURIComponent('number:"0123"')}` });
  expect(names("12")).toEqual([]);
});

test("a Call-ID or an identity opens the call", () => {
  expect(first("a84b4c76e66710@pc33.example")).toEqual({ go: "/calls/a84b4c76e66710%40pc33.example" });
  expect(first("01a1fab2-b1fd")).toEqual({ go: "/calls/01a1fab2-b1fd" });
});

test("zones show once enough is typed, and never too many", () => {
  expect(names("be")).not.toContain("Times in Europe/Berlin");
  expect(names("berl")).toEqual(["Times in Europe/Berlin"]);
  expect(choicesFor("zone", { ...known, zones: () => Array.from({ length: 99 }, (_, i) => `Zone/${i}`) })).toHaveLength(CHOICES_MAX);
});
