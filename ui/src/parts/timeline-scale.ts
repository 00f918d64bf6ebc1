// Where the ticks of an axis stand: times at whole hours of the viewer's zone, amounts at round figures.

import { clock, day, minute } from "../time";
import { midnight, offset } from "../wall";

const S = 1000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;
const STEPS = [S, 2 * S, 5 * S, 10 * S, 15 * S, 30 * S, M, 2 * M, 5 * M, 10 * M, 15 * M, 30 * M, H, 2 * H, 3 * H, 6 * H, 12 * H, D, 2 * D, 7 * D, 14 * D, 30 * D, 90 * D, 365 * D];

/** Most ticks of an axis, whatever is asked. */
export const TICKS_MAX = 30;

export interface Tick {
  at: number;
  text: string;
}

/** At most `count` ticks between two moments; the first of a day names the day. */
export function timeTicks(from: number, to: number, count: number, tz: string): Tick[] {
  if (!(to > from)) return [];
  const most = Math.max(1, Math.min(count, TICKS_MAX));
  const step = STEPS.find((one) => (to - from) / one <= most) ?? Math.ceil((to - from) / most / D) * D;
  const ticks: Tick[] = [];
  let before = day(from, tz);
  for (let at = firstTick(from, step, tz); at <= to && ticks.length <= TICKS_MAX; at = nextTick(at, step, tz)) {
    const today = day(at, tz);
    const text = step >= D || today !== before ? today.slice(5) : step < M ? clock(at, tz) : minute(at, tz);
    ticks.push({ at, text });
    before = today;
  }
  return ticks;
}

/** The first whole step at or after, counted from midnight as the clocks of the zone show it. */
function firstTick(from: number, step: number, tz: string): number {
  if (step >= D) {
    const start = midnight(from, tz);
    return start < from ? midnight(start + D * 1.5, tz) : start;
  }
  const wall = from + offset(from, tz);
  return from + (Math.ceil(wall / step) * step - wall);
}

function nextTick(at: number, step: number, tz: string): number {
  // A day of the zone may have 23 or 25 hours; its noon is always within the same day.
  return step >= D ? midnight(at + step + D / 2, tz) : at + step;
}

/** A round figure at or above the highest, not far above: a low chart tells nothing. */
export function roundAbove(highest: number): number {
  if (!(highest > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(highest));
  const times = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((one) => one * size >= highest) ?? 10;
  // Half a call is no tick, nor is 0.30000000000000004.
  return size >= 1 ? Math.ceil(times * size) : Number((times * size).toPrecision(2));
}

/** Ends of the buckets from `a` to `b`, in either order. */
export function zoomed(a: number, b: number, from: number, to: number, bucketMs: number): { from: number; to: number } {
  const first = Math.min(a, b);
  const last = Math.max(a, b);
  return { from: Math.max(from, from + first * bucketMs), to: Math.min(to, from + (last + 1) * bucketMs) };
}
