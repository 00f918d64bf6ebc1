// A graph's numbers as shapes: scales, marks of axes, paths. Rows hold from their beginning to their end, so lines are
// steps; what is unknown is a gap, never nothing.

import type { GraphPicture, GraphSeries } from "../api/types";
import { clock, day } from "../time";
import { midnight, offset } from "../wall";

export interface Scale {
  low: number;
  high: number;
  logarithmic: boolean;
}

/** What a series is drawn between, row by row: its lower and its upper end. */
export interface Band {
  series: GraphSeries;
  low: number[];
  high: (number | null)[];
}

/** Stacks series that stand on the one before them. An unknown value adds nothing to those above it. */
export function bands(series: readonly GraphSeries[]): Band[] {
  const all: Band[] = [];
  for (const one of series) {
    const under = one.stack ? all.at(-1) : undefined;
    const low = one.values.map((_, row) => (under ? (under.high[row] ?? under.low[row] ?? 0) : 0));
    const high = one.values.map((value, row) => (value === null ? null : value + low[row]!));
    all.push({ series: one, low, high });
  }
  return all;
}

/** A series that stands on one that is not seen: what is told of it is where it begins and ends, not how high it is. */
export const isBand = (picture: GraphPicture, at: number): boolean => {
  const [under, one] = [picture.series[at - 1], picture.series[at]];
  return under !== undefined && one?.stack === true && under.color === null && one.color !== null;
};

/** What is seen in a graph, in words for each series that has a label: a tick has no unit, a band has two ends. */
export function said(picture: GraphPicture): string[] {
  const all = bands(picture.series);
  return picture.series.flatMap((series, at) => {
    const label = series.label.trim();
    if (label === "") return [];
    return [`${label}: ${series.kind === "tick" ? ticked(series) : isBand(picture, at) ? between(picture, all[at]!) : figured(picture, series)}`];
  });
}

const UNKNOWN = "no data";

/** A tick is there or not: how often it is. */
function ticked(series: GraphSeries): string {
  const known = series.values.filter((value) => value !== null);
  const there = known.filter((value) => value !== 0).length;
  if (known.length === 0) return UNKNOWN;
  return there === 0 ? "never" : `in ${there} of ${known.length} values`;
}

function between(picture: GraphPicture, { low, high }: Band): string {
  const tops = high.filter((value) => value !== null);
  const floors = low.filter((_, row) => high[row] !== null);
  if (tops.length === 0) return UNKNOWN;
  return range(picture, floors.reduce((a, b) => Math.min(a, b)), tops.reduce((a, b) => Math.max(a, b)));
}

/** From the one to the other. */
export const range = (picture: GraphPicture, low: number, high: number): string => `${amount(low, picture.base, picture.unit)} to ${amount(high, picture.base, picture.unit)}`;

function figured(picture: GraphPicture, { label, figures }: GraphSeries): string {
  const print = (value: number | null): string => amount(value, picture.base, picture.unit);
  if (figures.average === null) return UNKNOWN;
  return `${["average", "mean"].includes(label.trim().toLowerCase()) ? "" : "average "}${print(figures.average)}, max ${print(figures.max)}`;
}

/** Where the cursor is once another time is shown: where the pointer is, else where it was if that is still seen. */
export function cursorIn(at: number, [from, to]: readonly [number, number], pointer: number | undefined): number | undefined {
  const next = pointer ?? at;
  return next >= from && next <= to ? next : undefined;
}

/** The ends of the axis: what the template says, wider where values are beyond it and it does not insist. */
export function scaleOf(picture: GraphPicture, all: readonly Band[]): Scale {
  let [low, high] = [Infinity, -Infinity];
  const take = (value: number | null): void => {
    if (value === null) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const band of all) if (band.series.kind !== "tick") band.high.forEach(take);
  for (const rule of picture.rules) if (!rule.at_time) take(rule.value);
  const bare = picture.logarithmic ? low : Math.min(0, low);
  const top = high > bare ? high + (high - bare) * 0.06 : bare + 1;
  const end = (said: number | null, found: number, beyond: (a: number, b: number) => number): number =>
    said === null ? found : picture.rigid || !Number.isFinite(found) ? said : beyond(said, found);
  let [from, to] = [end(picture.lower, bare, Math.min), end(picture.upper, top, Math.max)];
  if (!Number.isFinite(from)) from = 0;
  if (!Number.isFinite(to) || to <= from) to = from + 1;
  if (picture.logarithmic && from <= 0) from = Math.min(1, to / 1000);
  return { low: from, high: to, logarithmic: picture.logarithmic };
}

/** 0 at the lower end, 1 at the upper one. */
export function place(scale: Scale, value: number): number {
  if (!scale.logarithmic) return (value - scale.low) / (scale.high - scale.low);
  const log = (n: number): number => Math.log10(Math.max(n, scale.low));
  return (log(value) - log(scale.low)) / (log(scale.high) - log(scale.low));
}

/** Marks of the axis, about so many. */
export function marks(scale: Scale, base: number, wanted: number): number[] {
  if (scale.logarithmic) {
    const [first, last] = [Math.ceil(Math.log10(scale.low)), Math.floor(Math.log10(scale.high))];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => 10 ** (first + at));
  }
  const rough = (scale.high - scale.low) / Math.max(1, wanted);
  const unit = base === 1024 && rough >= 1 ? 1024 ** Math.floor(Math.log2(rough) / 10) : 1;
  const ten = 10 ** Math.floor(Math.log10(rough / unit));
  const step = [1, 2, 5, 10].map((n) => n * ten * unit).find((size) => size >= rough) ?? rough;
  const found: number[] = [];
  for (let at = Math.ceil(scale.low / step) * step; at <= scale.high + step / 1e6 && found.length < 50; at += step) found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return found;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 182 * DAY, 365 * DAY];

/** Marks of time in a zone, about so many: full hours and midnights as people there have them. */
export function times(from: number, to: number, wanted: number, zone: string): { at: number; text: string }[] {
  const step = STEPS.find((size) => (to - from) / size <= wanted) ?? 2 * 365 * DAY;
  const found: { at: number; text: string }[] = [];
  let at = step >= DAY ? midnight(from, zone) : Math.floor((from + offset(from, zone)) / step) * step - offset(from, zone);
  for (let count = 0; at <= to && count < 200; count += 1) {
    if (at >= from) found.push({ at, text: textOf(at, step, zone) });
    at = step >= DAY ? midnight(at + step + HOUR * 2, zone) : at + step;
  }
  return found;
}

function textOf(at: number, step: number, zone: string): string {
  if (step >= 91 * DAY) return day(at, zone).slice(0, 7);
  if (step >= DAY) return day(at, zone).slice(5);
  const text = clock(at, zone).slice(0, 5);
  return text === "00:00" ? day(at, zone).slice(5) : text;
}

/** A line in steps; a gap where nothing is known. `x` of a row's number (the end of one is the beginning of the next). */
export function linePath(values: readonly (number | null)[], x: (row: number) => number, y: (value: number) => number): string {
  let path = "";
  let drawing = false;
  values.forEach((value, row) => {
    if (value === null) {
      drawing = false;
      return;
    }
    const height = round(y(value));
    path += drawing ? `V${height}` : `M${round(x(row))} ${height}`;
    path += `H${round(x(row + 1))}`;
    drawing = true;
  });
  return path;
}

/** An area in steps between two ends, a closed shape for each piece without a gap. */
export function areaPath(band: Band, x: (row: number) => number, y: (value: number) => number): string {
  let path = "";
  for (let row = 0; row < band.high.length; row += 1) {
    if (band.high[row] === null) continue;
    let end = row;
    while (end < band.high.length && band.high[end] !== null) end += 1;
    path += linePath(band.high.slice(row, end), (at) => x(at + row), y);
    for (let at = end - 1; at >= row; at -= 1) path += `${at === end - 1 ? "L" : "H"}${round(x(at + 1))}${at === end - 1 ? ` ${round(y(band.low[at]!))}` : `V${round(y(band.low[at]!))}`}`;
    path += `H${round(x(row))}Z`;
    row = end;
  }
  return path;
}

const round = (n: number): number => Math.round(n * 10) / 10;

const THOUSANDS = ["", "k", "M", "G", "T", "P", "E"];
const PARTS = ["", "m", "µ", "n"];

/** 12.3 M: with the sign of its thousands (of 1024 where `base` says so), and a unit. */
export function amount(value: number | null | undefined, base: number, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  let [size, at] = [Math.abs(value), 0];
  while (size >= base * 0.99995 && at < THOUSANDS.length - 1) [size, at] = [size / base, at + 1];
  let sign = at > 0 ? `${THOUSANDS[at]}${base === 1024 ? "i" : ""}` : "";
  if (at === 0 && size > 0 && size < 0.1) {
    let small = 0;
    while (size < 1 && small < PARTS.length - 1) [size, small] = [size * 1000, small + 1];
    sign = PARTS[small]!;
  }
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : 2;
  const text = `${value < 0 ? "−" : ""}${Number(size.toFixed(digits))}`;
  return [text, `${sign}${unit}`].filter((part) => part !== "").join(" ");
}
