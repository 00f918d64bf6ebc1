// How figures of a cache are said.

import { NONE, octets, short } from "../../format";
import { span } from "../../time";

/** "12 k/s", "0.5/s"; what is unknown is a dash. */
export const perSecond = (rate: number | null | undefined): string => (rate === null || rate === undefined ? NONE : `${short(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate))}/s`);

/** The name after or before one, round and round; undefined where there is none. */
export function nextOf(names: string[], now: string | undefined, by: number): string | undefined {
  const at = names.indexOf(now ?? "");
  return names.length < 2 ? undefined : names[(Math.max(at, 0) + by + names.length) % names.length];
}

/** What memory is for. */
const KINDS: Record<string, string> = {
  items: "Items",
  "large-values": "Large values",
  table: "Key table",
  buffers: "Connection buffers",
};

export const kindName = (kind: string): string => KINDS[kind] ?? kind;

export interface Range {
  up_to: number | null;
}

/** "up to 64 B", "64 B to 256 B", "over 1 MiB". */
function rangeName(bars: Range[], at: number, say: (end: number) => string): string {
  const [from, to] = [bars[at - 1]?.up_to ?? null, bars[at]?.up_to ?? null];
  if (from === null) return to === null ? "all" : `up to ${say(to)}`;
  return to === null ? `over ${say(from)}` : `${say(from)} to ${say(to)}`;
}

export const sizeName = (bars: Range[], at: number): string => rangeName(bars, at, octets);
export const ageName = (bars: Range[], at: number): string => rangeName(bars, at, span);

/** Bars with their names, without those at either end that are empty: a scale that goes on for nothing says nothing. */
export function worthShowing<T extends Range & { items: number }>(bars: T[], name: (bars: T[], at: number) => string): (T & { name: string })[] {
  const last = bars.reduce((found, bar, at) => (bar.items > 0 ? at : found), -1);
  const first = bars.findIndex((bar) => bar.items > 0);
  return bars.map((bar, at) => ({ ...bar, name: name(bars, at) })).slice(Math.max(first, 0), last + 1);
}
