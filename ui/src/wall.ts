// Times as people type them, read in the zone in which they are shown.

import { resolve } from "./ranges";

const DAY_MS = 864e5;

const shapes = new Map<string, Intl.DateTimeFormat>();

function shape(tz: string): Intl.DateTimeFormat {
  let made = shapes.get(tz);
  if (!made) {
    const two = "2-digit";
    made = new Intl.DateTimeFormat("en-US", { timeZone: tz, hourCycle: "h23", year: "numeric", month: two, day: two, hour: two, minute: two, second: two });
    shapes.set(tz, made);
  }
  return made;
}

/** What the clocks of a zone are ahead of UTC at that moment, in milliseconds. */
export function offset(at: number, tz: string): number {
  if (tz === "UTC") return 0;
  const part: Record<string, number> = {};
  for (const { type, value } of shape(tz).formatToParts(at)) part[type] = Number(value);
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

/** "UTC+1", "UTC−3:30", "UTC" */
export function offsetName(at: number, tz: string): string {
  const minutes = Math.round(offset(at, tz) / 6e4);
  if (minutes === 0) return "UTC";
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes > 0 ? "+" : "−"}${Math.floor(Math.abs(minutes) / 60)}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

/** The moment at which the clocks of a zone show this. Asked twice, for the nights when they are changed. */
export function ofWall(wall: number, tz: string): number {
  const guess = wall - offset(wall, tz);
  return wall - offset(guess, tz);
}

/** Midnight of the day of that moment. */
export function midnight(at: number, tz: string): number {
  const wall = at + offset(at, tz);
  return ofWall(wall - (((wall % DAY_MS) + DAY_MS) % DAY_MS), tz);
}

const WALL = /^(?:(\d{4})-(\d{1,2})-(\d{1,2}))?(?:(?:^|[ T]+)(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?$/;

/** "2026-11-20 14:00", "2026-11-20", "14:00" (today), "today", "now-2h" or RFC 3339; none if it is none of them. */
export function parseWall(text: string, tz: string, now: number): number | undefined {
  const said = text.trim();
  if (said === "today") return midnight(now, tz);
  if (said === "yesterday") return midnight(midnight(now, tz) - 1, tz);
  if (/^now/.test(said) || /(Z|[+-]\d{2}:\d{2})$/i.test(said)) return resolve(said, now);
  const found = WALL.exec(said);
  if (!found || said === "") return undefined;
  const [, year, month, day, hour = "0", minute = "0", second = "0", part = ""] = found;
  if (Number(hour) > 24 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const today = new Date(now + offset(now, tz));
  const date = year === undefined ? Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()) : dateOf(Number(year), Number(month), Number(day));
  if (date === undefined) return undefined;
  const clock = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  return ofWall(date + clock * 1000 + Number(`0.${part || 0}`) * 1000, tz);
}

/** None for the 31st of February. */
function dateOf(year: number, month: number, day: number): number | undefined {
  const at = Date.UTC(year, month - 1, day);
  const made = new Date(at);
  return made.getUTCMonth() === month - 1 && made.getUTCDate() === day ? at : undefined;
}
