import { expect, test } from "vitest";
import { centred, COLUMN, layout, ROW, whole, zoomed } from "./map-layout";

const node = (key: string, parent: string | null = null): { key: string; parent: string | null } => ({ key, parent });

test("parents stand in the middle of their children, and nobody where somebody else does", () => {
  const laid = layout([node("core"), node("a", "core"), node("b", "core"), node("a1", "a"), node("a2", "a"), node("a3", "a"), node("alone"), node("other")]);
  const at = (key: string): { x: number; y: number } => laid.places.get(key)!;
  expect([at("core").x, at("a").x, at("a1").x]).toEqual([0, COLUMN, 2 * COLUMN]);
  expect(at("a").y).toBe(at("a2").y);
  expect(at("core").y).toBe((at("a").y + at("b").y) / 2);
  expect(at("alone").y).toBeGreaterThan(at("b").y);
  expect(at("alone").y).toBe(at("other").y);
  expect(new Set([...laid.places.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(8);
  for (const { x, y } of laid.places.values()) expect(x >= 0 && x < laid.width && y >= 0 && y < laid.height).toBe(true);
});

test("a chain of a thousand and a parent that was left out are laid out", () => {
  const chain = Array.from({ length: 1000 }, (_, at) => node(`n${at}`, at === 0 ? null : `n${at - 1}`));
  expect(layout(chain).places.get("n999")!.x).toBe(999 * COLUMN);
  expect(layout([node("x", "gone")]).places.size).toBe(1);
  expect(layout([]).height).toBe(ROW);
});

test("a zoom keeps the point under the pointer, and all is seen where it can be read", () => {
  const sight = { x: 10, y: 20, scale: 1 };
  const near = zoomed(sight, 2, { x: 100, y: 50 });
  expect([near.x + 100 / near.scale, near.y + 50 / near.scale]).toEqual([110, 70]);
  expect(whole({ places: new Map(), width: 500, height: 300 }, 1000, 600).scale).toBe(1);
  expect(whole({ places: new Map(), width: 700, height: 30_000 }, 1000, 600).scale).toBe(1);
  expect(centred(sight, { x: 500, y: 300 }, 200, 100)).toEqual({ x: 400, y: 250, scale: 1 });
});
