// Where everything in a ladder stands, in pixels. Time runs down, but not evenly: each row takes the same room, and
// between two rows it is spread evenly, so that any instant has its place and any place its instant.

import type { Columns } from "./columns";
import type { Row } from "./rows";

export interface Sizes {
  /** Room that there is, pixels. */
  width: number;
  /** Of the column with times, at the left. */
  times: number;
  /** Least distance of two columns. */
  columnMin: number;
  /** Height of a message's row. */
  row: number;
  /** Height of a break in time. */
  gap: number;
}

export interface Layout {
  width: number;
  height: number;
  /** Middle of each column. */
  x: number[];
  /** Top of each row, and at the end the height of all. */
  top: number[];
  /** Where the row's arrow runs. */
  middle: number[];
  bands: Band[];
  yOf: (at: number) => number;
  atOf: (y: number) => number;
}

/** A stream: a ribbon beside its sender's line, on the side of its receiver, from first to last packet. */
export interface Band {
  stream: number;
  x: number;
  from: number;
  to: number;
  /** Towards the receiver. */
  way: 1 | -1;
  y1: number;
  y2: number;
}

export const RIBBON = 7;
/** Distance of the first ribbon from the sender's line, and of ribbons from each other. */
const RIBBON_STEP = RIBBON + 2;
/** Below the last row. */
const FOOT = 14;

export function layOut(rows: Row[], columns: Columns, streams: { first: number; last: number }[], sizes: Sizes): Layout {
  const { x, width } = across(columns.columns.length, sizes);
  const top = tops(rows, sizes);
  const middle = rows.map((row, at) => (top[at]! + top[at + 1]!) / 2 + (row.kind === "message" && sizes.row >= 30 ? 5 : 0));
  const clock = clockOf(rows, middle);
  return { width, height: top.at(-1)! + FOOT, x, top, middle, ...clock, bands: bandsOf(columns, streams, x, clock.yOf) };
}

/** Room beside the outermost columns at most, as long as the names above them need no more. */
const SIDE = 110;

function across(count: number, sizes: Sizes): { x: number[]; width: number } {
  const room = sizes.width - sizes.times;
  const even = room / Math.max(1, count);
  const side = Math.max(sizes.columnMin / 2, Math.min(SIDE, even / 2));
  const step = Math.max(sizes.columnMin, count > 1 ? (room - 2 * side) / (count - 1) : 0);
  const x = Array.from({ length: count }, (_, at) => Math.round(sizes.times + side + at * step));
  return { x, width: Math.max(sizes.width, Math.round(sizes.times + 2 * side + (count - 1) * step)) };
}

function tops(rows: Row[], sizes: Sizes): number[] {
  const top = [0];
  for (const row of rows) top.push(top.at(-1)! + (row.kind === "gap" ? sizes.gap : sizes.row));
  return top;
}

interface Clock {
  yOf: (at: number) => number;
  atOf: (y: number) => number;
}

/** Between the arrows of two rows time is spread evenly; before the first and after the last it stands still. */
function clockOf(rows: Row[], middle: number[]): Clock {
  const at: number[] = [];
  const y: number[] = [];
  rows.forEach((row, index) => {
    if (row.kind === "gap") return;
    // Capture order is not always time order: a message over TCP has the time of its last octet.
    at.push(Math.max(row.at, at.at(-1) ?? row.at));
    y.push(middle[index]!);
  });
  return { yOf: (value) => between(at, y, value), atOf: (value) => between(y, at, value) };
}

/** Linear between the knots, held at the ends. `from` ascends. */
function between(from: number[], to: number[], value: number): number {
  if (from.length === 0) return 0;
  let low = 0;
  let high = from.length - 1;
  if (value <= from[low]!) return to[low]!;
  if (value >= from[high]!) return to[high]!;
  while (high - low > 1) {
    const half = (low + high) >> 1;
    if (from[half]! <= value) low = half;
    else high = half;
  }
  const width = from[high]! - from[low]!;
  const share = width > 0 ? (value - from[low]!) / width : 0;
  return to[low]! + share * (to[high]! - to[low]!);
}

function bandsOf(columns: Columns, streams: { first: number; last: number }[], x: number[], yOf: Clock["yOf"]): Band[] {
  const placed: (Band & { lane: number })[] = [];
  streams.forEach((stream, index) => {
    const { from, to } = columns.ofStream[index] ?? { from: 0, to: 0 };
    const way = to >= from ? 1 : -1;
    const [y1, y2] = [yOf(stream.first), yOf(stream.last)];
    const beside = placed.filter((band) => band.from === from && band.way === way && band.y1 < y2 + 4 && y1 < band.y2 + 4);
    let lane = 0;
    while (beside.some((band) => band.lane === lane)) lane += 1;
    placed.push({ stream: index, from, to, way, lane, x: (x[from] ?? 0) + way * (6 + lane * RIBBON_STEP + RIBBON / 2), y1, y2: Math.max(y2, y1 + 3) });
  });
  return placed;
}

/** Rows that are visible: [first, end). */
export function visible(top: number[], from: number, to: number): [number, number] {
  const rowAt = (y: number): number => {
    let low = 0;
    let high = top.length - 1;
    while (low < high) {
      const half = (low + high + 1) >> 1;
      if (top[half]! <= y) low = half;
      else high = half - 1;
    }
    return low;
  };
  const rows = top.length - 1;
  return [Math.min(rowAt(from), rows), Math.min(rowAt(to) + 1, rows)];
}

/** About how wide a text is: enough to keep labels apart; bold letters of the system's sans take 0.6 of the size. */
export const textWidth = (text: string, size: number): number => text.length * size * 0.6;

/** The text if it fits, else its beginning with an ellipsis. */
export function fit(text: string, width: number, size: number): string {
  const letters = Math.floor(width / (size * 0.6));
  return text.length <= letters ? text : `${text.slice(0, Math.max(1, letters - 1))}…`;
}

/** Where a label is centred so that it stays within the picture. */
export function labelMiddle(from: number, to: number, width: number, left: number, right: number): number {
  const half = width / 2;
  return Math.min(Math.max((from + to) / 2, left + half), Math.max(left + half, right - half));
}

export interface Label {
  /** Where its middle, begin or end is. */
  x: number;
  anchor: "middle" | "start" | "end";
  /** The arrow is left out between these, for the label stands on it. */
  hole: [number, number] | undefined;
  /** Room for the label, pixels. */
  room: number;
}

/** Pixels of an arrow that stay visible on either side of a label on it. */
const STUB = 14;

/** A label on its arrow, if it fits there, else beside it where there is more room. */
export function labelOn(from: number, to: number, width: number, left: number, right: number): Label {
  const [begin, end] = [Math.min(from, to), Math.max(from, to)];
  if (width <= end - begin - 2 * STUB) {
    const x = (begin + end) / 2;
    return { x, anchor: "middle", hole: [x - width / 2 - 2, x + width / 2 + 2], room: end - begin - 2 * STUB };
  }
  const [before, after] = [begin - left, right - end];
  const beside = width <= after || after >= before;
  return beside ? { x: end + 8, anchor: "start", hole: undefined, room: after - 12 } : { x: begin - 8, anchor: "end", hole: undefined, room: before - 12 };
}
