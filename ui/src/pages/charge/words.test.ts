import { webcrypto } from "node:crypto";
import { expect, test, vi } from "vitest";
import { micros, minorOf, money, newKey, resultText, serviceText, signed, sought, units } from "./words";

const euro = { currency: "EUR", decimals: 2 };
const yen = { currency: "JPY", decimals: 0 };

test("amounts have the digits of their currency", () => {
  expect(money(1234, euro)).toBe("12.34 EUR");
  expect(money(-5, euro)).toBe("\u22120.05 EUR");
  expect(money(1234567, yen)).toBe("1,234,567 JPY");
  expect(money(null, euro)).toBe("–");
  expect(money(-1500, { currency: null, decimals: null })).toBe("\u22121,500 minor units");
  expect([signed(5, euro), signed(0, euro)]).toEqual(["+0.05 EUR", "0.00 EUR"]);
});

test("what is typed is an amount or nothing", () => {
  expect(["5", "5.5", "5,05", "-0.01", " 12.34 "].map((text) => minorOf(text, euro))).toEqual([500, 550, 505, -1, 1234]);
  expect(["", "5.", "5.123", "1e3", "five", "1 000"].map((text) => minorOf(text, euro))).toEqual(Array(6).fill(undefined));
  expect([minorOf("500", yen), minorOf("5.1", yen)]).toEqual([500, undefined]);
});

test("units are said by what they are", () => {
  expect(units(10 << 20, "octets")).toBe("10.0 MiB");
  expect([units(59, "seconds"), units(65, "seconds"), units(7200, "seconds")]).toEqual(["59 s", "1:05 min", "2:00:00 h"]);
  expect([units(1, "events"), units(-3, "service-units"), units(null, "octets")]).toEqual(["1 event", "\u22123 units", "–"]);
  expect([micros(340), micros(1234), micros(2_100_000)]).toEqual(["340 \u00b5s", "1.2 ms", "2.1 s"]);
});

test("results and services have words", () => {
  expect([resultText(4012), resultText(2002), resultText(null)]).toEqual(["4012 no credit left", "2002", "–"]);
  expect([serviceText(1, null), serviceText(1, 7), serviceText(null, null)]).toEqual(["rating group 1", "rating group 1, service 7", "no rating group"]);
});

test("keys differ, and are short enough", () => {
  // Browsers have it; older versions of Node do not.
  vi.stubGlobal("crypto", webcrypto);
  expect(newKey()).not.toBe(newKey());
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
});

test("who is sought is told by its form", () => {
  expect(sought("17")).toEqual({ account: "17", identities: [] });
  expect(sought("9007199254740991")).toEqual({ account: "9007199254740991", identities: [] });
  expect(sought("imsi:001010000000017")).toEqual({ identities: ["imsi:001010000000017"] });
  expect(sought("+442071000042")).toEqual({ identities: ["e164:442071000042"] });
  expect(sought("001010000000017")).toEqual({ account: "001010000000017", identities: ["imsi:001010000000017", "e164:001010000000017"] });
  expect(sought("bob@example.com")).toEqual({ identities: ["sip:bob@example.com", "nai:bob@example.com"] });
  expect(sought("somebody")).toBeUndefined();
});
