// Ranges of time without the address in which they stand (range.ts adds that).

import { ms, rfc3339 } from "./time";

export interface Range {
  from: string;
  to: string;
}

export const PRESETS: { name: string; from: string }[] = [
  { name: "15 minutes", from: "now-15m" },
  { name: "1 hour", from: "now-1h" },
  { name: "6 hours", from: "now-6h" },
  { name: "24 hours", from: "now-24h" },
  { name: "7 days", from: "now-7d" },
  { name: "30 days", from: "now-30d" },
];

const UNITS: Record<string, number> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5 };

/** Milliseconds since 1970 of "now", "now-15m" or an RFC 3339 time; none if it is neither. */
export function resolve(text: string, now = Date.now()): number | undefined {
  if (text === "now") return now;
  const relative = /^now-(\d+)([smhd])$/.exec(text);
  if (relative) return now - Number(relative[1]) * (UNITS[relative[2] ?? "s"] ?? 0);
  const at = ms(text);
  return Number.isNaN(at) ? undefined : at;
}

export const isRelative = (range: Range): boolean => range.from.startsWith("now-") && range.to === "now";

/** What a zoom by pointer becomes. */
export const absolute = (from: number, to: number): Range => ({ from: rfc3339(from), to: rfc3339(to) });
