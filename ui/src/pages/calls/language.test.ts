import { describe, expect, it } from "vitest";
import { parts, withTest, without } from "./edit";
import { pieces, quote, unquote } from "./language";
import { understand, type Knows } from "./understand";

const shape = (text: string): string => pieces(text).map((piece) => `${piece.kind}:${piece.text}`).join(" | ");

describe("pieces of a filter", () => {
  it("are fields with operators and values, words that join them, and brackets", () => {
    expect(shape("caller:+4420* and mos<3.5")).toBe("field:caller | operator:: | value:+4420* | keyword:and | field:mos | operator:< | value:3.5");
    expect(shape("not (a:1 or b>=2)")).toBe("keyword:not | bracket:( | field:a | operator:: | value:1 | keyword:or | field:b | operator:>= | value:2 | bracket:)");
    expect(shape("!state:rejected")).toBe("keyword:! | field:state | operator:: | value:rejected");
    expect(shape('ua:"a (b) \\" c" x')).toBe('field:ua | operator:: | value:"a (b) \\" c" | word:x');
  });

  it("may be unfinished", () => {
    expect(shape("sta")).toBe("word:sta");
    expect(shape("state:")).toBe("field:state | operator::");
    expect(shape('ua:"open')).toBe('field:ua | operator:: | value:"open');
    expect(shape("")).toBe("");
    expect(shape("android:1")).toBe("field:android | operator:: | value:1");
  });

  it("take addresses with colons for words", () => {
    expect(shape("2001:db8::1")).toBe("word:2001:db8::1");
    expect(shape("ip:2001:db8::1")).toBe("field:ip | operator:: | value:2001:db8::1");
    expect(shape("dead:beef")).toBe("field:dead | operator:: | value:beef");
  });

  it("cover hostile text without end", () => {
    for (const text of ["((((", "\\", '"', "::::", "<<>>", "=!=", "\u0000\u202e", ")(", "a:\\"]) expect(() => pieces(text)).not.toThrow();
  });
});

describe("values", () => {
  it("are quoted where they would mean something else", () => {
    for (const value of ["a b", "*21#", 'x"y', "a\\b", "(x)", "", "plain", "+44"]) expect(unquote(quote(value))).toBe(value);
    expect(quote("*21#")).toBe('"*21#"');
    expect(quote("SIP/2.0")).toBe("SIP/2.0");
  });
});

describe("parts of a filter", () => {
  it("are what must all hold", () => {
    const texts = (filter: string): string[] => parts(filter).map((part) => part.text);
    expect(texts("a:1 and b:2 c<3")).toEqual(["a:1", "b:2", "c<3"]);
    expect(texts("not a:1 and (b:2 or c:3)")).toEqual(["not a:1", "(b:2 or c:3)"]);
    expect(texts("a:1 or b:2 and c:3")).toEqual(["a:1 or b:2 and c:3"]);
    expect(texts("a:1 and (b:2")).toEqual(["a:1 and (b:2"]);
    expect(texts("")).toEqual([]);
  });

  it("are added once, excluded, and left out", () => {
    const rejected = { field: "state", value: "rejected" };
    expect(withTest("", rejected)).toBe("state:rejected");
    expect(withTest("mos<3", rejected)).toBe("mos<3 and state:rejected");
    expect(withTest("state:rejected and mos<3", rejected)).toBe("state:rejected and mos<3");
    expect(withTest("state:rejected and mos<3", rejected, true)).toBe("mos<3 and state!=rejected");
    expect(withTest("a:1 or b:2", rejected)).toBe("(a:1 or b:2) and state:rejected");
    expect(withTest("", { field: "ua", value: 'a "b"' })).toBe('ua:"a \\"b\\""');
    expect(without("a:1 and b:2 and c:3", 1)).toBe("a:1 and c:3");
  });
});

describe("words without a field", () => {
  const knows: Knows = { named: [{ field: "state", values: ["rejected", "completed"] }], codecs: ["PCMA"], wholeNumbersOnly: false };
  const filter = (text: string, more: Partial<Knows> = {}): string => understand(text, { ...knows, ...more }).filter;

  it("are understood as numbers", () => {
    expect(filter("+442079460233")).toBe("number:+442079460233");
    expect(filter("+44 20 7946 0233")).toBe("number:+442079460233");
    expect(filter("02079460233")).toBe("number:*2079460233");
    expect(filter("02079460233", { wholeNumbersOnly: true })).toBe("number:02079460233");
    expect(filter("+4420*")).toBe("number:+4420*");
    expect(filter("1234")).toBe("number:1234");
  });

  it("are understood as addresses, Call-IDs, states, codes and codecs", () => {
    expect(filter("192.0.2.10")).toBe("ip:192.0.2.10");
    expect(filter("192.0.2.0/24")).toBe("ip:192.0.2.0/24");
    expect(filter("2001:db8::1")).toBe("ip:2001:db8::1");
    expect(filter("9ebb8c77a3abedb1-0@2001:db8:1::1e9")).toBe("callid:9ebb8c77a3abedb1-0@2001:db8:1::1e9");
    expect(filter("a84b4c76e66710f1f0a2")).toBe("callid:a84b4c76e66710f1f0a2*");
    expect(filter("sip:+4420@example.org")).toBe("number:+4420");
    expect(filter("sip:%2B4420;npdi;rn=+4421@example.org")).toBe("number:+4420");
    expect(filter("Rejected")).toBe("state:rejected");
    expect(filter("5xx pcma")).toBe("code:5xx codec:PCMA");
  });

  it("stand beside what was written out, and are told", () => {
    const understood = understand("+4420 and mos<3", knows);
    expect(understood.filter).toBe("number:+4420 and mos<3");
    expect(understood.hints).toEqual([{ word: "+4420", test: "number:+4420", why: "number of caller or callee" }]);
    expect(filter("mos<3 and (state:rejected)")).toBe("mos<3 and (state:rejected)");
    expect(filter("something")).toBe("something");
  });
});
