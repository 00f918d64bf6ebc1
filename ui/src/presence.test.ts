import { expect, test } from "vitest";
import { ACT_MS, Presence, TELL_MS } from "./presence";

test("what a page asks by itself is not somebody", () => {
  const one = new Presence(0);
  expect(one.asks(ACT_MS - 1)).toBe(true);
  for (let at = ACT_MS; at < 86_400_000; at += 5000) expect(one.asks(at)).toBe(false);
  one.act(90_000_000);
  expect(one.asks(90_000_000 + ACT_MS - 1)).toBe(true);
  expect(one.asks(90_000_000 + ACT_MS)).toBe(false);
});

test("whoever does something and asks for nothing is told now and then", () => {
  const one = new Presence(0);
  let told = 0;
  for (let at = 0; at <= 10 * TELL_MS; at += 1000) told += one.act(at) ? 1 : 0;
  expect(told).toBe(10);
  expect(one.asks(10 * TELL_MS + 500)).toBe(true);
  expect(one.act(11 * TELL_MS)).toBe(false);
});
