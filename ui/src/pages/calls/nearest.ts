// Where the calls are, when a range holds none of them.

import type { CallsSummary } from "../../api/types";
import { ms } from "../../time";

export interface Stretch {
  from: number;
  to: number;
  calls: number;
}

/** Calls with no longer a pause between them are one stretch. */
export const PAUSE_MS = 15 * 60_000;
/** Of a longer stretch, the end that is nearest. */
const STRETCH_MAX_MS = 24 * 36e5;

interface Full {
  at: number;
  calls: number;
}

/** The stretch of calls that lies nearest before the range, else nearest behind it. */
export function nearest(summary: CallsSummary, range: { from: number; to: number }): Stretch | undefined {
  const long = summary.bucket_s * 1000;
  const full = summary.buckets.map((bucket): Full => ({ at: ms(bucket.at), calls: bucket.calls })).filter((bucket) => bucket.calls > 0);
  const before = full.filter((bucket) => bucket.at < range.to).reverse();
  return stretch(before, long) ?? stretch(full.filter((bucket) => bucket.at >= range.to), long);
}

/** From the first of them on, in the direction in which they stand. */
function stretch(buckets: Full[], long: number): Stretch | undefined {
  const first = buckets[0];
  if (!first) return undefined;
  let last = first;
  let calls = first.calls;
  for (const bucket of buckets.slice(1)) {
    const pause = Math.abs(bucket.at - last.at) - long;
    if (pause > PAUSE_MS || Math.abs(bucket.at - first.at) + long > STRETCH_MAX_MS) break;
    last = bucket;
    calls += bucket.calls;
  }
  return { from: Math.min(first.at, last.at), to: Math.max(first.at, last.at) + long, calls };
}
