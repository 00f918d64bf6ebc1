import { expect, test } from "vitest";
import { guess, headOf, lacks, minorDigits, PLAIN, toml, values } from "./bill-profile";

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

test("the mark before fractions is what all amounts say, and nothing of a bill before", () => {
  const mark = (...amounts: string[]): string => guess(headOf(["A;B;start;sec;EUR", ...amounts.map((amount) => `1;2;3;4;${amount}`)].join("\n"))!, { ...PLAIN, decimal: "." }).decimal;
  expect([mark("0,123"), mark("1", "1,5"), mark("1.234,567"), mark(",123"), mark("0,12345")]).toEqual([",", ",", ",", ",", ","]);
  expect([mark("0.123"), mark("1", "0.20"), mark("1,234.5"), mark("1,234", "2.50")]).toEqual([".", ".", ".", "."]);
  expect([mark("1"), mark("1,234"), mark("1.234"), mark("0,5", "0.5"), mark()]).toEqual(["", "", "", "", ""]);
});

test("the order of dates is what one of them says", () => {
  const order = (...dates: string[]): string => guess(headOf(["A;B;start;sec", ...dates.map((date) => `1;2;${date} 10:00;4`)].join("\n"))!, PLAIN).dateOrder;
  expect([order("1/2/2026", "1/13/2026"), order("1.2.2026", "13.2.2026"), order("1/2/2026")]).toEqual(["month-first", "day-first", "day-first"]);
});

test("minor digits are those of the plan's currency", () => {
  expect([minorDigits('[plan]\nname = "x"\ncurrency = "JPY"\n'), minorDigits("currency='EUR'"), minorDigits("# currency"), minorDigits("")]).toEqual([0, 2, undefined, undefined]);
  expect(toml(PLAIN, true, 0)).toContain("minor-digits = 0\n");
  expect(toml(PLAIN, true)).not.toContain("minor-digits");
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
