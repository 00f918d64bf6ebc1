import { expect, test } from "vitest";
import { bodyOf, kindOf, queryOf, rightsOf, takes, whoseOf } from "./graph-rights";

test("the address says whose rules are shown, and nonsense is viewers", () => {
  expect(whoseOf("user:anna")).toEqual({ user: "anna" });
  expect(whoseOf("role:support")).toEqual({ role: "support" });
  for (const odd of [undefined, "", "user:", "role:king", "x"]) expect(whoseOf(odd)).toEqual({ role: "viewer" });
  expect(queryOf({ user: "a&b" })).toBe("user=a%26b");
  expect(bodyOf({ role: "support" })).toEqual({ role: "support" });
});

test("who has no rules has those of nobody", () => {
  const viewer = { role: "viewer" as const, user: null, default: "nothing", rules: [] };
  expect(rightsOf([viewer] as never, { role: "viewer" }).default).toBe("nothing");
  expect(rightsOf([viewer] as never, { user: "anna" }).default).toBe("role");
});

test("what a rule is about is said in figures, and that it is nothing", () => {
  expect(takes({ devices: 1, graphs: 20, places: 0 })).toBe("1 device, 20 graphs");
  expect(takes({ devices: 0, graphs: 0, places: 0 })).toBeUndefined();
  expect(kindOf("site").isNumber).toBeUndefined();
  expect(kindOf("planet").name).toBe("planet");
});
