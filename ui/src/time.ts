// Times as people read them, in the zone they chose; UTC is one hover away. Inside, times are milliseconds since 1970
// with fractions (a double holds microseconds until the year 2255).

import { zone } from "./prefs";

/** Milliseconds since 1970 of an RFC 3339 time, microseconds kept as a fraction. */
export function ms(text: string): number {
  const whole = Date.parse(text);
  const fraction = /\.\d{3}(\d{1,6})/.exec(text);
  return fraction ? whole + Number(`0.${fraction[1]}`) : whole;
}

export const ofNs = (ns: number): number => ns / 1e6;

const formats = new Map<string, Intl.DateTimeFormat>();

function format(name: string, options: Intl.DateTimeFormatOptions, timeZone: string): Intl.DateTimeFormat {
  const key = `${name} ${timeZone}`;
  let made = formats.get(key);
  if (!made) {
    made = new Intl.DateTimeFormat("sv-SE", { ...options, timeZone, hourCycle: "h23" });
    formats.set(key, made);
  }
  return made;
}

const DAY: Intl.DateTimeFormatOptions = { year: "numeric", month: "2-digit", day: "2-digit" };
const CLOCK: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit" };

/** 2026-11-20 */
export const day = (at: number, tz = zone()): string => format("day", DAY, tz).format(at);
/** 14:05:09 */
export const clock = (at: number, tz = zone()): string => format("clock", CLOCK, tz).format(at);
/** 14:05 */
export const minute = (at: number, tz = zone()): string => clock(at, tz).slice(0, 5);
/** 14:05:09.123 */
export const clockMs = (at: number, tz = zone()): string => `${clock(at, tz)}.${fraction(at).slice(0, 3)}`;
/** 2026-11-20 14:05:09 */
export const full = (at: number, tz = zone()): string => `${day(at, tz)} ${clock(at, tz)}`;
/** 2026-11-20 14:05:09.123456 UTC */
export const utc = (at: number): string => `${day(at, "UTC")} ${clock(at, "UTC")}.${fraction(at)} UTC`;
/** For queries: RFC 3339 in UTC with milliseconds. */
export const rfc3339 = (at: number): string => new Date(at).toISOString();

function fraction(at: number): string {
  const us = Math.round((at - Math.floor(at / 1000) * 1000) * 1000);
  return String(Math.min(us, 999_999)).padStart(6, "0");
}

/** "3 min ago", "in 2 h"; for what is recent. */
export function ago(at: number, now: number): string {
  const s = Math.round((now - at) / 1000);
  const text = span(Math.abs(s));
  return s >= 0 ? `${text} ago` : `in ${text}`;
}

/** Seconds in the largest unit that fits: "45 s", "12 min", "3 h", "2 days". */
export function span(s: number): string {
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}
