// Where the devices of a map stand: a tree from left to right, the middle of each part at its left, those without
// neighbours below. And what is seen of it: a piece of the plane at a scale.

import type { GraphMapNode } from "../../api/types";

/** Between two columns and two rows, in units of the drawing. */
export const COLUMN = 236;
export const ROW = 46;
/** Names of those without neighbours stand in so many columns. */
const LONE_COLUMNS = 4;

export interface Place {
  x: number;
  y: number;
}

export interface Laid {
  places: Map<string, Place>;
  width: number;
  height: number;
}

type Standing = Pick<GraphMapNode, "key" | "parent">;

/** A parent stands in the middle of its children; nobody stands where somebody else does. */
export function layout(nodes: readonly Standing[]): Laid {
  const below = new Map<string, string[]>();
  const known = new Set(nodes.map((node) => node.key));
  const roots: string[] = [];
  for (const { key, parent } of nodes) {
    if (parent !== null && known.has(parent)) below.set(parent, [...(below.get(parent) ?? []), key]);
    else roots.push(key);
  }
  const places = new Map<string, Place>();
  let row = 0;
  let depthMost = 0;
  for (const root of roots.filter((key) => below.has(key))) {
    // Children before their parents, without recursion: a chain may be long.
    const waiting: { key: string; depth: number; opened: boolean }[] = [{ key: root, depth: 0, opened: false }];
    while (waiting.length > 0) {
      const top = waiting.at(-1)!;
      const children = below.get(top.key) ?? [];
      if (!top.opened && children.length > 0) {
        top.opened = true;
        for (const key of [...children].reverse()) waiting.push({ key, depth: top.depth + 1, opened: false });
        continue;
      }
      waiting.pop();
      depthMost = Math.max(depthMost, top.depth);
      const [first, last] = [places.get(children[0] ?? ""), places.get(children.at(-1) ?? "")];
      places.set(top.key, { x: top.depth * COLUMN, y: first && last ? (first.y + last.y) / 2 : row++ * ROW });
    }
    row += 0.5;
  }
  const lone = roots.filter((key) => !below.has(key));
  lone.forEach((key, at) => places.set(key, { x: (at % LONE_COLUMNS) * COLUMN, y: (row + Math.floor(at / LONE_COLUMNS)) * ROW }));
  row += Math.ceil(lone.length / LONE_COLUMNS);
  const columns = Math.max(depthMost + 1, Math.min(lone.length, LONE_COLUMNS));
  return { places, width: columns * COLUMN, height: Math.max(1, row) * ROW };
}

/** What is seen: the drawing's point at the upper left, and pixels for one of its units. */
export interface Sight {
  x: number;
  y: number;
  scale: number;
}

export const SCALE_MIN = 0.05;
export const SCALE_MAX = 3;
const EDGE = 28;

/** All of a drawing; where that would be too small to read, its left middle at the size that it is made for. */
export function whole(laid: Laid, width: number, height: number, readable = 0.55): Sight {
  const fit = Math.min((width - 2 * EDGE) / laid.width, (height - 2 * EDGE) / laid.height, 1);
  const scale = Math.max(fit, SCALE_MIN);
  if (fit >= readable) return { x: -(width / scale - laid.width) / 2, y: -(height / scale - laid.height) / 2, scale };
  return { x: -EDGE, y: laid.height / 2 - height / 2, scale: 1 };
}

/** Larger or smaller around a point of the screen, which stays where it is. */
export function zoomed(sight: Sight, factor: number, at: { x: number; y: number }): Sight {
  const scale = Math.min(SCALE_MAX, Math.max(SCALE_MIN, sight.scale * factor));
  return { x: sight.x + at.x / sight.scale - at.x / scale, y: sight.y + at.y / sight.scale - at.y / scale, scale };
}

/** The same with a place in the middle of the screen. */
export const centred = (sight: Sight, place: Place, width: number, height: number): Sight => ({
  scale: sight.scale,
  x: place.x - width / sight.scale / 2,
  y: place.y - height / sight.scale / 2,
});
