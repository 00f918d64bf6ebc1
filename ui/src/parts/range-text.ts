// How a range of time is said, moved and widened.

import { absolute, isRelative, PRESETS, resolve, type Range } from "../ranges";
import { clock, day, minute, span } from "../time";

export interface Limits {
  from: number;
  to: number;
}

/** In milliseconds since 1970; none if an end cannot be read or nothing lies between them. */
export function limits(range: Range, now = Date.now()): Limits | undefined {
  const from = resolve(range.from, now);
  const to = resolve(range.to, now);
  return from === undefined || to === undefined || from >= to ? undefined : { from, to };
}

/** "Last 24 hours", "2026-11-20 14:00 – 15:00 (1 h)" */
export function rangeText(range: Range, tz: string, now = Date.now()): string {
  if (isRelative(range)) {
    const preset = PRESETS.find((one) => one.from === range.from);
    if (preset) return `Last ${preset.name.replace(/^1 /, "")}`;
  }
  const at = limits(range, now);
  if (!at) return "Not a time range";
  const long = span((at.to - at.from) / 1000);
  if (isRelative(range)) return `Last ${long}`;
  const tell = at.to - at.from < 12e4 ? clock : minute;
  const sameDay = day(at.from, tz) === day(at.to, tz);
  const end = range.to === "now" ? "now" : sameDay ? tell(at.to, tz) : `${day(at.to, tz)} ${tell(at.to, tz)}`;
  return `${day(at.from, tz)} ${tell(at.from, tz)} – ${end} (${long})`;
}

/** The range before (-1) or after (1). */
export function moved(range: Range, way: -1 | 1, now = Date.now()): Range {
  const at = limits(range, now);
  if (!at) return range;
  const step = (at.to - at.from) * way;
  return absolute(at.from + step, at.to + step);
}

/** Twice as wide around the same middle, but not into the future. */
export function widened(range: Range, now = Date.now()): Range {
  const at = limits(range, now);
  if (!at) return range;
  const long = at.to - at.from;
  const wider = PRESETS.find((one) => (limits({ from: one.from, to: "now" }, now)?.from ?? now) < now - long * 1.5);
  if (isRelative(range) && wider) return { from: wider.from, to: "now" };
  const to = Math.max(at.to, Math.min(at.to + long / 2, now));
  return absolute(to - long * 2, to);
}
