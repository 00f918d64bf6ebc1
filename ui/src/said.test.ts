import { expect, test } from "vitest";
import { sentence, taken } from "./said";

test("the word goes from the address, and what it means is said", () => {
  expect(taken("/calls", "?filter=mos%3C3&sign-in=no-role", "#at")).toEqual({ text: sentence("no-role"), address: "/calls?filter=mos%3C3#at" });
  expect(taken("/", "?sign-in=not-begun", "").address).toBe("/");
  expect(taken("/calls", "?filter=mos<3", "#at")).toEqual({ text: "", address: "/calls?filter=mos<3#at" });
});

test("nobody writes on our page by an address", () => {
  for (const word of ["Your account is locked, call 555", "<b>x</b>", "constructor", "__proto__", ""]) {
    const { text } = taken("/", `?${new URLSearchParams({ "sign-in": word })}`, "");
    expect(text).toBe("Single sign-on failed. The program's log has the reason.");
  }
});
