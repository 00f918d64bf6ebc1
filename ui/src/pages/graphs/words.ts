// What graphs are called, and where they are.

import type { Query } from "../../api/client";
import type { GraphPicture } from "../../api/types";
import { NONE, type Meaning } from "../../format";
import { amount, isBand, range, type Band } from "../../parts/graph-shape";
import { resolve, type Range } from "../../ranges";
import { rfc3339 } from "../../time";

/** Graphs on one page of previews: as many as one question may be of. */
export const PREVIEWS = 60;

/** The ends of a range as it is now, milliseconds since 1970. */
export function spanOf(range: Range, now = Date.now()): [number, number] {
  const to = resolve(range.to, now) ?? now;
  const from = resolve(range.from, now) ?? to - 86_400_000;
  return from < to ? [from, to] : [to - 60_000, to];
}

/** The same in a question. */
export function asked([from, to]: [number, number]): Query {
  return { from: rfc3339(from), to: rfc3339(to) };
}

export const STATES: Record<string, { meaning: Meaning; text: string }> = {
  up: { meaning: "good", text: "up" },
  down: { meaning: "bad", text: "down" },
  unknown: { meaning: "none", text: "unknown" },
  disabled: { meaning: "none", text: "not polled" },
};

/** The state of whoever is on a map: of neighbours that nobody polls, too. */
export const stateOf = (state: string): { meaning: Meaning; text: string } => STATES[state] ?? { meaning: "none", text: state };

/** Not responding, as one text: each thing once, though the device and the look at it may have the same cause. */
export function troublesOf(troubles: readonly string[]): string[] {
  const bare = (text: string): string => text.trim().replace(/\.+$/, "").toLowerCase();
  const alone = new Set(troubles.map(bare));
  const isSaid = (text: string): boolean => {
    const why = text.indexOf(": ");
    return why >= 0 && alone.has(bare(text.slice(why + 2)));
  };
  return [...new Set(troubles.filter((text) => text.trim() !== "" && !isSaid(text)).map((text) => `${text.trim().replace(/\.+$/, "")}.`))];
}

/** What time a graph is compared with. */
export const SHIFTS: { s: number; name: string }[] = [
  { s: 86_400, name: "1 day earlier" },
  { s: 7 * 86_400, name: "1 week earlier" },
  { s: 28 * 86_400, name: "4 weeks earlier" },
  { s: 364 * 86_400, name: "52 weeks earlier" },
];

export const FIGURES = [
  ["last", "Last"],
  ["average", "Average"],
  ["min", "Min"],
  ["max", "Max"],
  ["p95", "95 %"],
  ["total", "Total"],
] as const;

/** Figures that the template wants of any series; last, mean and most where it wants none. A sum over time is told of rates alone. */
export function columns(picture: GraphPicture): (typeof FIGURES)[number][] {
  const wanted = new Set(picture.series.flatMap((series) => series.legend));
  if (totalUnit(picture.unit) === undefined) wanted.delete("total");
  const chosen = wanted.size > 0 ? wanted : new Set(["last", "average", "max"]);
  return FIGURES.filter(([name]) => chosen.has(name));
}

/** The unit of a sum over time: bits, where the unit is bits a second. Undefined where there is no such sum: of days, of shares. */
export function totalUnit(unit: string): string | undefined {
  return /^(.*?)(?:\/s(?:ec(?:ond)?)?| per sec(?:ond)?| a second)$/i.exec(unit.trim())?.[1]?.trim();
}

/** A figure of a series in the unit of a graph. */
export function figureOf(figure: string, value: number | null, base: number, unit: string): string {
  const by = figure === "total" ? totalUnit(unit) : unit;
  return by === undefined ? NONE : amount(value, base, by);
}

/** A series at the cursor: a tick is there or not, a band is from one value to another. */
export function atCursor(picture: GraphPicture, all: readonly Band[], at: number, row: number | undefined): string {
  const value = row === undefined ? null : (picture.series[at]?.values[row] ?? null);
  if (value === null) return NONE;
  if (picture.series[at]!.kind === "tick") return value === 0 ? "no" : "yes";
  return isBand(picture, at) ? range(picture, all[at]!.low[row!]!, all[at]!.high[row!]!) : amount(value, picture.base, picture.unit);
}

/** Whether figures over time say anything of a series: of ticks and of the height of a band they do not. */
export const hasFigures = (picture: GraphPicture, at: number): boolean => picture.series[at]!.kind !== "tick" && !isBand(picture, at);

/** Series that a legend names, by their place. */
export const named = (picture: GraphPicture): number[] => picture.series.flatMap((series, at) => (series.color !== null || series.label !== "" ? [at] : []));

/** What stands beside a number of the legend: its label, else the words of the format that rrdtool writes it with. */
export const printName = (print: { label: string; format: string; is_number: boolean }): string =>
  print.label || (print.is_number ? print.format.replace(/%%/g, "\u0000").replace(/%[-+ #0-9.]*l?[a-zA-Z]/g, "").replaceAll("\u0000", "%").trim() || "Value" : "");

/** The unit of a number of the legend: what stands behind it in the format that rrdtool writes it with (`%8.2lf %sB`). */
export const printUnit = (print: { format: string }): string => (/l[efg]\s*%%\s*$/.test(print.format) ? "%" : undefined) ?? /%s\s*([^%\s]+)\s*$/.exec(print.format)?.[1] ?? /l[efg]\s*([^%\s]+)\s*$/.exec(print.format)?.[1] ?? "";

/** Numbers of the legend, but those that stand beside a rule already: rrdtool writes them behind its text. */
export function printed(picture: GraphPicture): GraphPicture["prints"] {
  const isRule = (print: GraphPicture["prints"][number]): boolean => print.label === "" && picture.rules.some((rule) => rule.label !== "" && rule.value !== null && rule.value === print.value);
  return picture.prints.filter((print) => printName(print) !== "" && !isRule(print));
}
