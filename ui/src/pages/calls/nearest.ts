// Where the calls are, when a range holds none of them.

import type { CallsSummary } from "../../api/types";
import { ms } from "../../time";

export interface Stretch {
  from: number;
  to: number;
  calls: number;
}

/** Buckets with calls that follow each other are one stretch; of longer ones, the end that is nearest. */
const BUCKETS_MAX = 24;

/** The stretch of calls that lies nearest before the range, else nearest behind it. */
export function nearest(summary: CallsSummary, range: { from: number; to: number }): Stretch | undefined {
  const long = summary.bucket_s * 1000;
  const full = summary.buckets.map((bucket) => ({ at: ms(bucket.at), calls: bucket.calls })).filter((bucket) => bucket.calls > 0);
  const before = full.filter((bucket) => bucket.at < range.to).reverse();
  return stretch(before, -long, long) ?? stretch(full.filter((bucket) => bucket.at >= range.to), long, long);
}

function stretch(buckets: { at: number; calls: number }[], step: number, long: number): Stretch | undefined {
  const first = buckets[0];
  if (!first) return undefined;
  let last = first;
  let calls = first.calls;
  for (const bucket of buckets.slice(1, BUCKETS_MAX)) {
    if (bucket.at !== last.at + step) break;
    last = bucket;
    calls += bucket.calls;
  }
  return { from: Math.min(first.at, last.at), to: Math.max(first.at, last.at) + long, calls };
}
