import { describe, expect, it } from "vitest";
import { addressOf, find, parseAddress, parseAliases, portOf } from "./aliases";

const known = parseAliases([
  { match: "10.1.0.0/16", name: "Office" },
  { match: "10.1.2.0/23", name: "Call centre" },
  { match: "10.1.3.4", name: "SBC 1" },
  { match: "2001:db8::/32", name: "Lab" },
  { match: "2001:db8::a", name: "SBC 6" },
  { match: "nonsense", name: "never" },
  { match: "10.0.0.0/40", name: "never" },
]);

describe("aliases", () => {
  it("takes the longest network that holds the address", () => {
    expect(find(known, "10.1.3.4")).toBe("SBC 1");
    expect(find(known, "10.1.3.5")).toBe("Call centre");
    expect(find(known, "10.1.4.5")).toBe("Office");
    expect(find(known, "2001:db8:0::a")).toBe("SBC 6");
    expect(find(known, "2001:db8:1::a")).toBe("Lab");
  });
  it("knows none elsewhere, and of what is no address", () => {
    expect(find(known, "10.2.0.1")).toBeUndefined();
    expect(find(known, "2001:db9::1")).toBeUndefined();
    expect(find(known, "alice")).toBeUndefined();
    expect(known).toHaveLength(5);
  });
});

describe("endpoints", () => {
  it("part into address and port", () => {
    expect([addressOf("10.1.2.3:5060"), portOf("10.1.2.3:5060")]).toEqual(["10.1.2.3", 5060]);
    expect([addressOf("[2001:db8::1]:5061"), portOf("[2001:db8::1]:5061")]).toEqual(["2001:db8::1", 5061]);
    expect([addressOf("2001:db8::1"), portOf("2001:db8::1")]).toEqual(["2001:db8::1", undefined]);
    expect([addressOf("10.1.2.3"), portOf("10.1.2.3")]).toEqual(["10.1.2.3", undefined]);
  });
  it("are read as RFC 4291 writes them", () => {
    expect(parseAddress("::1")).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    expect(parseAddress("::ffff:10.1.2.3")?.slice(10)).toEqual([255, 255, 10, 1, 2, 3]);
    expect(parseAddress("1::2::3")).toBeUndefined();
    expect(parseAddress("1:2:3:4:5:6:7:8:9")).toBeUndefined();
    expect(parseAddress("256.1.1.1")).toBeUndefined();
  });
});
