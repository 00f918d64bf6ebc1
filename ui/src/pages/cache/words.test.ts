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
  expect(kindName("buffers")).toBe("Connection buffers");
  expect(kindName("new")).toBe("new");
});

test("empty bars at either end are left out, and the others keep their names", () => {
  const bars = [0, 2, 0, 1, 0].map((items, at) => ({ up_to: 64 * 2 ** at, items }));
  expect(worthShowing(bars, sizeName).map((bar) => [bar.name, bar.items])).toEqual([
    ["64 B to 128 B", 2],
    ["128 B to 256 B", 0],
    ["256 B to 512 B", 1],
  ]);
  expect(worthShowing([{ up_to: null, items: 0 }], sizeName)).toEqual([]);
});
