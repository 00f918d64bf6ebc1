// Figures with their units. What is not there is an en dash, never 0.

export const NONE = "–";

const groups = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 1,234,567 */
export const whole = (n: number | null | undefined): string => (n === null || n === undefined ? NONE : groups.format(n));

/** 1.2 k, 34 M: for places too narrow for the whole figure. */
export function short(n: number | null | undefined): string {
  if (n === null || n === undefined) return NONE;
  for (const [size, name] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]] as const) {
    if (Math.abs(n) >= size) {
      const scaled = n / (name === "k" ? 1e3 : size);
      return `${scaled.toFixed(scaled < 10 ? 1 : 0)} ${name}`;
    }
  }
  return Math.abs(n) >= 10 || Number.isInteger(n) ? groups.format(n) : n.toFixed(1);
}

/** 1.5 GiB */
export function octets(n: number | null | undefined): string {
  if (n === null || n === undefined) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  let value = n;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

/** 12.3 Mbit/s */
export function bits(n: number | null | undefined): string {
  if (n === null || n === undefined) return NONE;
  for (const [size, name] of [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]] as const) {
    if (n >= size) return `${(n / size).toFixed(n / size < 100 ? 1 : 0)} ${name}`;
  }
  return `${Math.round(n)} bit/s`;
}

/** Milliseconds: "87 ms", "1.24 s", "2:05 min", "1:02:33 h". */
export function duration(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  if (value < 1000) return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
  const s = Math.round(value / 1000);
  const two = (n: number): string => String(n).padStart(2, "0");
  const minutes = `${Math.floor(s / 60) % 60}`;
  if (s < 3600) return `${minutes}:${two(s % 60)} min`;
  return `${Math.floor(s / 3600)}:${two(Number(minutes))}:${two(s % 60)} h`;
}

/** Milliseconds of what goes on, in whole seconds so that it ticks: "0:07", "12:45", "1:02:33". */
export function ticking(value: number): string {
  const s = Math.max(0, Math.floor(value / 1000));
  const two = (n: number): string => String(n).padStart(2, "0");
  const head = s < 3600 ? `${Math.floor(s / 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}`;
  return `${head}:${two(s % 60)}`;
}

/** A share of 1 as percent: "0.3 %", "98 %". */
export function percent(share: number | null | undefined, digits = 1): string {
  if (share === null || share === undefined) return NONE;
  const value = share * 100;
  return `${value === 0 || value === 100 ? value : value.toFixed(digits)} %`;
}

/** A score that what the tap lost leaves open, as the document has it: either end may be unknown. */
export type ScoreRange = { low: number | null; high: number | null };

/** "3.1–4.2" */
export const scoreRange = (range: ScoreRange, digits = 1, between = "–"): string =>
  [range.low, range.high].map((end) => (end === null ? "?" : end.toFixed(digits))).join(between);

export const score = (mos: number | null | undefined): string => (mos === null || mos === undefined ? NONE : mos.toFixed(2));

/** "1 call", "2 calls" */
export const of = (n: number, one: string, many: string): string => `${whole(n)} ${n === 1 ? one : many}`;

export type Meaning = "good" | "warn" | "bad" | "none";

/** What a score means to a listener: 4 satisfied, below 3.6 many are not, below 3.1 nearly all are not (G.107 annex B). */
export function meaningOfScore(mos: number | null | undefined): Meaning {
  if (mos === null || mos === undefined) return "none";
  if (mos >= 4) return "good";
  return mos >= 3.6 ? "warn" : "bad";
}

export function wordOfScore(mos: number | null | undefined): string {
  if (mos === null || mos === undefined) return "no score";
  if (mos >= 4.3) return "very good";
  if (mos >= 4) return "good";
  if (mos >= 3.6) return "some dissatisfied";
  return mos >= 3.1 ? "many dissatisfied" : "nearly all dissatisfied";
}

/** Words that begin a sentence. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
