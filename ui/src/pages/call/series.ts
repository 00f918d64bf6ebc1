// Intervals of streams as lines over time, all on the same times.

import type { Interval, Stream, StreamIntervals } from "../../api/types";
import { ms } from "../../time";

/** How lines of streams are told apart: a colour and a dash each. */
const LOOKS: { color: string; dash?: number[] }[] = [
  { color: "--c-1" },
  { color: "--c-2", dash: [7, 4] },
  { color: "--c-3", dash: [2, 3] },
  { color: "--c-4", dash: [10, 3, 2, 3] },
  { color: "--c-5", dash: [4, 2] },
  { color: "--c-6", dash: [12, 4] },
];

export const lookOf = (stream: number): { color: string; dash?: number[] } => LOOKS[stream % LOOKS.length]!;

/** Length of an interval, milliseconds. */
export const INTERVAL_MS = 10_000;

export interface Lines {
  times: number[];
  /** One array of values for each stream, in the order of the call's. */
  values: (number | null)[][];
}

/** Values that hold from each interval's begin to its end; none where a stream had no interval. */
export function linesOf(streams: Stream[], all: StreamIntervals[], of: (interval: Interval) => number | null): Lines {
  const spans = streams.map((stream) => {
    const intervals = all.find((one) => one.stream === stream.id)?.intervals ?? [];
    const last = ms(stream.last);
    return intervals.map((interval) => {
      const from = ms(interval.start);
      return { from, to: Math.max(from + 1, Math.min(from + INTERVAL_MS, last)), value: of(interval) };
    });
  });
  const times = [...new Set(spans.flat().flatMap((span) => [span.from, span.to]))].sort((a, b) => a - b);
  const values = spans.map((own) => {
    let next = 0;
    return times.map((at) => {
      while (next < own.length && own[next]!.to <= at) next += 1;
      const span = own[next];
      if (span && span.from <= at) return span.value;
      // The end of the last interval closes its step.
      return own[next - 1]?.to === at ? own[next - 1]!.value : null;
    });
  });
  return { times, values };
}

/** Packets that never came of those expected in the interval. */
export const lossOf = (interval: Interval): number | null => {
  const expected = interval.packets - interval.duplicates + interval.missing;
  return expected > 0 ? interval.missing / expected : null;
};
