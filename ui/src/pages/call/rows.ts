// What stands below each other in a ladder: messages, beginnings of streams, gaps in time. Where it is to be dense,
// what repeats is folded into the row of what it repeats.

import type { LadderMessage, Stream } from "../../api/types";
import { ms } from "../../time";

/** Milliseconds without anything after which time is drawn as broken. */
export const GAP_MS = 2000;
/** Rows of one method between two hosts from which on they are folded into one. */
export const RUN_MIN = 3;

/** Methods that come and go without changing the call. */
const IDLE_METHODS = new Set(["OPTIONS", "NOTIFY", "INFO", "MESSAGE", "REGISTER", "SUBSCRIBE", "PUBLISH", "UPDATE"]);

export interface MessageRow {
  kind: "message";
  at: number;
  /** Index in the ladder's messages. */
  index: number;
  /** Repetitions and copies folded into it. */
  again: number[];
  /** A 100 Trying folded into its request. */
  trying: number[];
  /** Further messages of a run of the same method. */
  run: number[];
}

export interface BeginRow {
  kind: "begin";
  at: number;
  /** Index in the call's streams. */
  stream: number;
}

export interface GapRow {
  kind: "gap";
  at: number;
  to: number;
}

export type Row = MessageRow | BeginRow | GapRow;

export interface RowOptions {
  dense: boolean;
  /** Messages whose folds are open, though it is dense. */
  open?: ReadonlySet<number>;
}

export function rowsOf(messages: LadderMessage[], streams: Stream[], options: RowOptions): Row[] {
  const open = options.open ?? new Set<number>();
  let rows = messages.map((message, index): MessageRow => ({ kind: "message", at: ms(message.at), index, again: [], trying: [], run: [] }));
  if (options.dense) rows = foldRuns(foldRepeats(rows, messages, open), messages, open);
  return withGaps(merged(rows, streams));
}

/** Row of each message: a folded one has that of its anchor. */
export function rowOfMessage(rows: Row[], count: number): number[] {
  const places = new Array<number>(count).fill(0);
  rows.forEach((row, at) => {
    if (row.kind !== "message") return;
    for (const index of membersOf(row)) places[index] = at;
  });
  return places;
}

export const membersOf = (row: MessageRow): number[] => [row.index, ...row.again, ...row.trying, ...row.run];

/** What a message is, to tell which others repeat it. */
const kindOf = (m: LadderMessage): string => `${m.src} ${m.dst} ${m.method} ${m.cseq} ${m.status ?? ""}`;

function foldRepeats(rows: MessageRow[], messages: LadderMessage[], open: ReadonlySet<number>): MessageRow[] {
  const anchors = new Map<string, MessageRow>();
  return rows.filter((row) => {
    const message = messages[row.index]!;
    const anchor = anchors.get(kindOf(message));
    if (anchor && (message.retransmission || message.copy) && !open.has(anchor.index)) {
      anchor.again.push(row.index);
      return false;
    }
    const request = message.status === 100 ? anchors.get(kindOf({ ...message, src: message.dst, dst: message.src, status: null })) : undefined;
    if (request && !open.has(request.index) && !message.odd) {
      request.trying.push(row.index);
      return false;
    }
    if (!anchor) anchors.set(kindOf(message), row);
    return true;
  });
}

function foldRuns(rows: MessageRow[], messages: LadderMessage[], open: ReadonlySet<number>): MessageRow[] {
  const folded: MessageRow[] = [];
  for (let at = 0; at < rows.length; ) {
    const first = rows[at]!;
    let end = at + 1;
    while (end < rows.length && goesOn(messages[first.index]!, messages[rows[end]!.index]!)) end += 1;
    const run = rows.slice(at, end);
    if (run.length >= RUN_MIN && !open.has(first.index)) {
      folded.push({ ...first, run: run.slice(1).flatMap(membersOf) });
    } else {
      folded.push(...run);
    }
    at = end;
  }
  return folded;
}

function goesOn(first: LadderMessage, next: LadderMessage): boolean {
  if (!IDLE_METHODS.has(first.method) || next.method !== first.method || next.odd) return false;
  const failed = (next.status ?? 0) >= 300 && next.status !== 401 && next.status !== 407;
  const between = (next.src === first.src && next.dst === first.dst) || (next.src === first.dst && next.dst === first.src);
  return between && !failed && !next.sdp;
}

function merged(rows: MessageRow[], streams: Stream[]): Row[] {
  const begins = streams.map((stream, index): BeginRow => ({ kind: "begin", at: ms(stream.first), stream: index }));
  begins.sort((a, b) => a.at - b.at);
  const all: Row[] = [];
  let next = 0;
  for (const row of rows) {
    while (next < begins.length && begins[next]!.at < row.at) all.push(begins[next++]!);
    all.push(row);
  }
  return [...all, ...begins.slice(next)];
}

function withGaps(rows: Row[]): Row[] {
  const all: Row[] = [];
  for (const row of rows) {
    const before = all.at(-1);
    if (before && row.at - before.at >= GAP_MS) all.push({ kind: "gap", at: before.at, to: row.at });
    all.push(row);
  }
  return all;
}
