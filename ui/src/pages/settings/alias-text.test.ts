import { expect, test } from "vitest";
import { parseAliases } from "./alias-text";

test("commas, tabs, quotes and spaces are understood", () => {
  const text = '10.1.0.0/16, access\n# a note\n\n"10.1.2.3";"SBC, west"\n2001:db8::/32\tcore\n10.9.9.9 lab gateway';
  expect(parseAliases(text)).toEqual({
    aliases: [
      { match: "10.1.0.0/16", name: "access" },
      { match: "10.1.2.3", name: "SBC, west" },
      { match: "2001:db8::/32", name: "core" },
      { match: "10.9.9.9", name: "lab gateway" },
    ],
    faults: [],
  });
});

test("a line that is neither is named", () => {
  expect(parseAliases("10.1.1.1\nhello, world").faults).toEqual([
    "Line 1 is not an address or network and a name: 10.1.1.1",
    "Line 2 is not an address or network and a name: hello, world",
  ]);
});
