import { createMemo, Show, type JSX } from "solid-js";
import type { ChargePoint } from "../../api/types";
import { short } from "../../format";
import { Pictures, type Picture } from "../../parts/pictures";
import { ms } from "../../time";
import { micros, perSecond } from "./words";

const sum = (row: number[] | undefined): number => (row ?? []).reduce((a, b) => a + b, 0);
const rate = (count: number, point: ChargePoint): number => count / Math.max(1, point.seconds);
const type = (at: number) => (point: ChargePoint) => rate(sum(point.answered[at]), point);
const result = (at: number) => (point: ChargePoint) => rate(point.answered.reduce((all, row) => all + (row[at] ?? 0), 0), point);

const PICTURES: Picture<ChargePoint>[] = [
  {
    title: "Requests by type",
    lines: [
      { name: "initial", color: "--c-1", of: type(0) },
      { name: "update", color: "--c-2", dash: [6, 3], of: type(1) },
      { name: "termination", color: "--c-3", dash: [2, 3], of: type(2) },
      { name: "event", color: "--c-6", dash: [8, 2, 2, 2], of: type(3) },
    ],
    format: perSecond,
    top: 1,
  },
  {
    title: "Answers by result",
    lines: [
      { name: "granted", color: "--c-4", of: result(0) },
      { name: "rejected", color: "--c-2", dash: [6, 3], of: result(1) },
      { name: "too busy", color: "--c-5", dash: [2, 3], of: result(2) },
      { name: "failed", color: "--c-3", dash: [8, 2, 2, 2], of: result(3) },
      { name: "duplicates", color: "--c-6", dash: [4, 4], of: (point) => rate(point.copies, point) },
    ],
    format: perSecond,
    top: 1,
  },
  {
    title: "Response time",
    lines: [
      { name: "median", color: "--c-1", of: (point) => point.p50_us },
      { name: "99th percentile", color: "--c-2", dash: [6, 3], of: (point) => point.p99_us },
    ],
    format: micros,
    top: 1000,
  },
  { title: "Open sessions", lines: [{ name: "sessions", color: "--c-4", of: (point) => point.sessions }], format: (v) => short(Math.round(v)), top: 4 },
];

/** What the node answered; all pictures share the moment under the pointer. */
export function OverTime(props: { points: ChargePoint[]; every: string; onEvery: (every: "second" | "minute") => void }): JSX.Element {
  const times = createMemo(() => props.points.map((point) => ms(point.at)));
  const least = (): number => (props.every === "minute" ? 3_600_000 : 60_000);
  const span = createMemo((): [number, number] => {
    const last = times().at(-1) ?? Date.now();
    return [Math.min(times()[0] ?? last, last - least()), last];
  });
  const choice = (every: "second" | "minute", name: string): JSX.Element => (
    <button class="button" aria-pressed={props.every === every} onClick={() => props.onEvery(every)}>
      {name}
    </button>
  );
  return (
    <section class="panel" aria-label="Over time">
      <header>
        <h2>Over time</h2>
        <div class="row" role="group" aria-label="Time range">
          {choice("second", "15 minutes")}
          {choice("minute", "24 hours")}
        </div>
      </header>
      <Show when={times().length > 1} fallback={<p class="body muted">No data yet: there is one point every {props.every === "minute" ? "minute" : "second"}. The node keeps them in memory and starts again when it restarts.</p>}>
        <Pictures pictures={PICTURES} moments={props.points} times={times()} span={span()} columns={2} />
      </Show>
    </section>
  );
}
