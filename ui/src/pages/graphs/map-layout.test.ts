import { expect, test } from "vitest";
import { centred, COLUMN, fitting, layout, line, nameDrawn, reach, ROW, SCALE_MIN, signScale, whole, zoomed } from "./map-layout";

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

test("those without neighbours stand side by side, as wide as windows are", () => {
  const many = layout(Array.from({ length: 1000 }, (_, at) => node(`n${at}`)));
  expect(many.width / many.height).toBeGreaterThan(1.2);
  expect(many.width / many.height).toBeLessThan(2.2);
});

test("a zoom keeps the point under the pointer", () => {
  const sight = { x: 10, y: 20, scale: 1 };
  const near = zoomed(sight, 2, { x: 100, y: 50 });
  expect([near.x + 100 / near.scale, near.y + 50 / near.scale]).toEqual([110, 70]);
  expect(centred(sight, { x: 500, y: 300 }, 200, 100)).toEqual({ x: 400, y: 250, scale: 1 });
});

test("all is seen, however large a drawing is, and a zoom goes as far out", () => {
  const window = { width: 1000, height: 600 };
  for (const size of [{ width: 500, height: 300 }, { width: 1200, height: 1600 }, { width: 900, height: 92_000 }]) {
    const laid = { places: new Map(), ...size };
    const { x, y, scale } = whole(laid, window.width, window.height);
    // The corners of the drawing, in pixels of the window.
    expect((0 - x) * scale).toBeGreaterThan(0);
    expect((0 - ROW / 2 - y) * scale).toBeGreaterThan(0);
    expect((size.width - x) * scale).toBeLessThan(window.width);
    expect((size.height - ROW / 2 - y) * scale).toBeLessThan(window.height);
    const fit = fitting(laid, window.width, window.height);
    let sight = { x: 0, y: 0, scale: 1 };
    for (let times = 0; times < 60; times += 1) sight = zoomed(sight, 1 / 1.3, { x: 0, y: 0 }, fit);
    expect(sight.scale).toBe(Math.min(SCALE_MIN, fit));
  }
  expect(whole({ places: new Map(), width: 500, height: 300 }, 1000, 600).scale).toBe(1);
  expect([signScale(1), signScale(0.25), signScale(0.01)]).toEqual([1, 2, 2.4]);
});

test("a line begins behind the words of a device, and leaves room to bend", () => {
  const longest = reach(nameDrawn("x".repeat(80)), "");
  expect(longest).toBeLessThanOrEqual(COLUMN - 64);
  expect(reach("core-0", "up · 127.64.0.1")).toBeGreaterThan("core-0".length * 8);
  const { path, middle } = line({ x: 0, y: 0 }, { x: COLUMN, y: 46 }, 120, 10);
  expect(path).toBe("M120 0C205 0 205 46 290 46");
  expect(middle).toEqual({ x: 205, y: 23 });
  expect(line({ x: 0, y: 0 }, { x: 0, y: 46 }, 120, 10).path).toContain("C-34");
});
