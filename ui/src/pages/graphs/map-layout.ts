// Where the devices of a map stand: a tree from left to right, the middle of each part at its left, those without
// neighbours below. And what is seen of it: a piece of the plane at a scale.

import type { GraphMapNode } from "../../api/types";

/** Between two columns and two rows, in units of the drawing: a column has room for a name and for lines behind it. */
export const COLUMN = 300;
export const ROW = 46;
/** Names of those without neighbours stand in so many columns at least, and so many times wider than high. */
const LONE_COLUMNS = 4;
const LONE_ASPECT = 1.6;
/** Letters of a name that are shown. */
const NAME_MAX = 25;
/** Widths of a letter of a name and of what stands below it, as wide as fonts of systems have them. */
const NAME_LETTER = 8.3;
const ABOUT_LETTER = 6.4;
/** Where words begin, right of the sign. */
export const WORDS = 16;

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

/** A name as it is drawn. */
export const nameDrawn = (name: string): string => (name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name);

/** How far the words of a device reach to the right of its place: lines to the next column begin there. */
export const reach = (name: string, about: string): number => WORDS + Math.min(COLUMN - 80, Math.ceil(Math.max(nameDrawn(name).length * NAME_LETTER, about.length * ABOUT_LETTER)));

/** A line to the right begins behind the words of the one and ends before the sign of the other; one within a column goes around them. */
export function line(a: Place, b: Place, behind: number, sign: number): { path: string; middle: Place } {
  if (a.x === b.x) {
    const bend = a.x - 34;
    return { path: `M${a.x} ${a.y}C${bend} ${a.y} ${bend} ${b.y} ${b.x} ${b.y}`, middle: { x: a.x - 26, y: (a.y + b.y) / 2 } };
  }
  const [from, to] = [a.x + behind, b.x - sign];
  const bend = (to - from) / 2;
  return { path: `M${from} ${a.y}C${from + bend} ${a.y} ${to - bend} ${b.y} ${to} ${b.y}`, middle: { x: (from + to) / 2, y: (a.y + b.y) / 2 } };
}

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
  const abreast = Math.max(LONE_COLUMNS, Math.round(Math.sqrt((lone.length * ROW * LONE_ASPECT) / COLUMN)));
  lone.forEach((key, at) => places.set(key, { x: (at % abreast) * COLUMN, y: (row + Math.floor(at / abreast)) * ROW }));
  row += Math.ceil(lone.length / abreast);
  const columns = Math.max(depthMost + 1, Math.min(lone.length, abreast));
  return { places, width: columns * COLUMN, height: Math.max(1, row) * ROW };
}

/** What is seen: the drawing's point at the upper left, and pixels for one of its units. */
export interface Sight {
  x: number;
  y: number;
  scale: number;
}

/** The least scale, unless all of a drawing needs a lesser one. */
export const SCALE_MIN = 0.05;
export const SCALE_MAX = 3;
const EDGE = 28;

/** The scale at which all of a drawing is seen. */
export const fitting = (laid: Laid, width: number, height: number): number => Math.min(Math.max(1, width - 2 * EDGE) / laid.width, Math.max(1, height - 2 * EDGE) / laid.height, 1);

/** All of a drawing, in the middle, however small that is. */
export function whole(laid: Laid, width: number, height: number): Sight {
  const scale = fitting(laid, width, height);
  return { x: -(width / scale - laid.width) / 2, y: -(height / scale - laid.height) / 2 - ROW / 2, scale };
}

/** Larger or smaller around a point of the screen, which stays where it is; never smaller than what shows all. */
export function zoomed(sight: Sight, factor: number, at: { x: number; y: number }, fit = SCALE_MIN): Sight {
  const scale = Math.min(SCALE_MAX, Math.max(Math.min(SCALE_MIN, fit), sight.scale * factor));
  return { x: sight.x + at.x / sight.scale - at.x / scale, y: sight.y + at.y / sight.scale - at.y / scale, scale };
}

/** How much larger signs are drawn where all is small, so that a state is seen from afar; rows keep apart. */
export const signScale = (scale: number): number => Math.min(2.4, Math.max(1, 0.5 / scale));

/** The same with a place in the middle of the screen. */
export const centred = (sight: Sight, place: Place, width: number, height: number): Sight => ({
  scale: sight.scale,
  x: place.x - width / sight.scale / 2,
  y: place.y - height / sight.scale / 2,
});
