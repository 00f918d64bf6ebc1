// How many calls began when, and how they went. A stretch that is dragged becomes the range.

import { createMemo, Show, type JSX } from "solid-js";
import type { CallsBucket, CallsSummary } from "../../api/types";
import { Timeline, type Mark, type Series } from "../../parts/timeline";
import { ms } from "../../time";

export function OverTime(props: { summary: CallsSummary | undefined; onZoom: (from: number, to: number) => void; height: number }): JSX.Element {
  const series = createMemo((): Series[] => {
    const buckets = props.summary?.buckets ?? [];
    const of = (value: (bucket: CallsBucket) => number): number[] => buckets.map(value);
    return [
      { name: "answered", meaning: "good", values: of((bucket) => bucket.answered) },
      { name: "not answered", meaning: "none", values: of((bucket) => Math.max(0, bucket.calls - bucket.answered - bucket.failed)) },
      { name: "rejected", meaning: "warn", values: of((bucket) => bucket.failed) },
      // Calls with a verdict are among the others: shown in front of them, not on top.
      { name: "with a verdict", meaning: "bad", values: of((bucket) => bucket.bad), inFront: true },
    ];
  });
  const bucketMs = (): number => Math.max(1, (props.summary?.bucket_s ?? 60) * 1000);
  const from = (): number => (props.summary?.buckets[0] ? ms(props.summary.buckets[0].at) : 0);
  const to = (): number => from() + bucketMs() * Math.max(1, props.summary?.buckets.length ?? 1);
  const marks = (): Mark[] => {
    const counted = props.summary?.seen_from;
    return counted ? [{ at: from(), to: ms(counted), name: "Not counted", meaning: "warn" }] : [];
  };
  return (
    <Show when={props.summary && props.summary.buckets.length > 0} fallback={<div class="over-time-empty" style={{ height: `${props.height + 42}px` }} />}>
      <Timeline label="Calls" from={from()} to={to()} bucketMs={bucketMs()} series={series()} marks={marks()} height={props.height} onZoom={props.onZoom} />
    </Show>
  );
}
