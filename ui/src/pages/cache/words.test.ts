import { expect, test } from "vitest";
import { ageName, kindName, nextOf, perSecond, sizeName, worthShowing } from "./words";

test("rates have as many digits as matter", () => {
  expect([perSecond(0), perSecond(0.34), perSecond(12.4), perSecond(12_345), perSecond(null)]).toEqual(["0/s", "0.3/s", "12/s", "12 k/s", "–"]);
});

test("caches follow each other round and round", () => {
  expect(nextOf(["a", "b", "c"], "c", 1)).toBe("a");
  expect(nextOf(["a", "b", "c"], "a", -1)).toBe("c");
  expect(nextOf(["a", "b"], undefined, 1)).toBe("b");
  expect(nextOf(["a"], "a", 1)).toBeUndefined();
});

test("ranges are said with their units", () => {
  const bars = [{ up_to: 64 }, { up_to: 1024 }, { up_to: null }];
  expect([0, 1, 2].map((at) => sizeName(bars, at))).toEqual(["up to 64 B", "64 B to 1.0 KiB", "over 1.0 KiB"]);
  expect(ageName(bars, 0)).toBe("up to 64 s");
  expect(kindName("buffers")).toBe("Buffers of connections");
  expect(kindName("new")).toBe("new");
});

test("empty bars at the end are left out", () => {
  expect(worthShowing([{ items: 0 }, { items: 2 }, { items: 0 }])).toEqual([{ items: 0 }, { items: 2 }]);
  expect(worthShowing([{ items: 0 }])).toEqual([]);
});
