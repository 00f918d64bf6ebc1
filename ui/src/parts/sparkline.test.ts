import { expect, test } from "vitest";
import { path } from "./sparkline";

test("a young line ends at the right edge", () => {
  expect(path([0, 10], 11, 100, 12)).toBe("M90.0,11.0L100.0,1.0");
});

test("one value is no line, and nothing lies outside the box", () => {
  expect(path([5], 10, 100, 12)).toBe("");
  expect(path([-3, 0, 0], 3, 100, 12)).toBe("M0.0,11.0L50.0,11.0L100.0,11.0");
});
