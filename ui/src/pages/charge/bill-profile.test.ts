import { expect, test } from "vitest";
import { guess, headOf, lacks, PLAIN, toml, values } from "./bill-profile";

test("lines are taken apart as the reader of bills does", () => {
  expect(values('"x;""y";0612;;', ";")).toEqual(['x;"y', "0612", "", ""]);
});

test("columns, separator and forms are guessed from the first lines", () => {
  const head = headOf('\ufeffCall-ID;A-Number;B-Number;Start;Duration (min);Charge\r\nx;0612;0044207;11/20/2026 10:00:05;1,5;0,1234\r\n')!;
  expect(head.separator).toBe(";");
  const profile = guess(head, PLAIN);
  expect([profile.reference, profile.caller, profile.called, profile.begin, profile.duration, profile.amount]).toEqual(["Call-ID", "A-Number", "B-Number", "Start", "Duration (min)", "Charge"]);
  expect([profile.durationUnit, profile.dateOrder, profile.decimal]).toEqual(["minutes", "month-first", ","]);
  expect(lacks(profile)).toEqual([]);
  expect(headOf("just a text\nwithout columns")).toBeUndefined();
});

test("what is not there is told, and nothing is taken twice", () => {
  const profile = guess(headOf("from,to,date,x\n1,2,3,4")!, PLAIN);
  expect([profile.caller, profile.called, profile.begin, profile.duration, profile.amount]).toEqual(["from", "to", "date", "", ""]);
  expect(lacks(profile)).toEqual(["duration"]);
  const plain = guess(headOf("A,B,start,sec,EUR\n+331,+442,2026-11-20 10:00,60,0.20")!, PLAIN);
  expect([plain.caller, plain.called, plain.duration, plain.amount, plain.decimal]).toEqual(["A", "B", "sec", "EUR", "."]);
});

test("a profile is written as the manual has it", () => {
  const text = toml({ ...PLAIN, country: "33", national: "0, 9#", caller: 'A "x"', rounding: "60+1" }, true);
  expect(text).toContain('[numbers]\ncountry = "33"\nnational = ["0", "9#"]\ninternational = ["00"]\n');
  expect(text).toContain('caller = "A \\"x\\""\n');
  expect(text).toContain("first-step = 60\nstep = 1\n");
  expect(toml(PLAIN, false)).toBe('[numbers]\ninternational = ["00"]\n');
});
