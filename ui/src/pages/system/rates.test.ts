import { expect, test } from "vitest";
import { difference } from "./rates";

test("rates are differences by seconds", () => {
  expect(difference({ a: 10, b: 5 }, { a: 30, b: 5, c: 7 }, 2)).toEqual({ a: 10, b: 0, c: 0 });
});

test("a program that began anew has no negative rate", () => {
  expect(difference({ a: 100 }, { a: 3 }, 1)).toEqual({ a: 0 });
  expect(difference({ a: 1 }, { a: 3 }, 0)).toEqual({});
});
