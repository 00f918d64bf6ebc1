import { describe, expect, it } from "vitest";
import { rowsOf, rowWindow, scrollFor, SPARE_ROWS } from "./window-of-rows";

describe("the rows on the screen", () => {
  it("are those seen and a few spare ones", () => {
    expect(rowWindow(0, 100, 10, 1000)).toEqual({ first: 0, end: 10 + SPARE_ROWS });
    expect(rowWindow(505, 100, 10, 1000)).toEqual({ first: 50 - SPARE_ROWS, end: 61 + SPARE_ROWS });
    expect(rowWindow(9_990, 100, 10, 1000)).toEqual({ first: 999 - SPARE_ROWS, end: 1000 });
  });

  it("are none of an empty list, and never beyond its end", () => {
    expect(rowWindow(0, 100, 10, 0)).toEqual({ first: 0, end: 0 });
    expect(rowWindow(99_999, 100, 10, 5)).toEqual({ first: 5, end: 5 });
    expect(rowWindow(0, 100, 0, 5)).toEqual({ first: 0, end: 0 });
  });

  it("hold the cursor, wherever one scrolled", () => {
    expect(rowsOf({ first: 5, end: 8 }, 2, 100)).toEqual([2, 5, 6, 7]);
    expect(rowsOf({ first: 5, end: 8 }, 6, 100)).toEqual([5, 6, 7]);
    expect(rowsOf({ first: 5, end: 8 }, 200, 100)).toEqual([5, 6, 7]);
  });
});

describe("a row that is to be seen", () => {
  it("is scrolled to only as far as needed", () => {
    expect(scrollFor(2, 10, 50, 100, 20)).toBe(20);
    expect(scrollFor(20, 10, 50, 100, 20)).toBe(130);
    expect(scrollFor(8, 10, 50, 100, 20)).toBeUndefined();
  });
});
