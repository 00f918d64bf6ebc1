// Score, loss, jitter and delay of the streams over the time of the call. All of them, and the ladder, share one instant under
// the pointer and one zoomed span.

import { createMemo, For, Show, type JSX } from "solid-js";
import type { Interval, Stream, StreamIntervals } from "../../api/types";
import { duration, percent } from "../../format";
import { Empty } from "../../parts/states";
import { useKeys } from "../../parts/keys";
import Plot, { Swatch, type PlotSeries } from "../../parts/plot";
import { clockMs } from "../../time";
import { linesOf, lookOf, lossOf } from "./series";
import { pairName } from "./names";
import type { View } from "./view";

interface Figure {
  title: string;
  about?: string;
  of: (interval: Interval) => number | null;
  /** The end of a shaded ground above the line. */
  upTo?: (interval: Interval) => number | null;
  /** Left out if no interval has it. */
  optional?: boolean;
  format: (value: number) => string;
  top?: number;
  range?: [number, number];
}

const score = (value: number): string => value.toFixed(1);

const milliseconds = (value: number): string => (value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(value < 10 ? 1 : 0)} ms`);

/** Of a plot, pixels: where there are many they are lower, that all are seen at once. */
const HEIGHT = { few: 110, many: 86 };

const FIGURES: Figure[] = [
  { title: "MOS G.107", of: (interval) => interval.mos.g107, format: score, range: [1, 4.6] },
  { title: "Lost", of: lossOf, format: (value) => percent(value, value < 0.1 ? 1 : 0), top: 0.01 },
  { title: "Jitter", of: (interval) => interval.jitter_mean_ms, format: milliseconds, top: 5 },
  {
    title: "Delay above the fastest packet",
    about: "Extra delay of packets compared with the fastest packet of the stream: the average, shaded up to the maximum, without clock drift.",
    of: (interval) => interval.delay_mean_ms,
    upTo: (interval) => interval.delay_max_ms,
    format: milliseconds,
    top: 5,
    optional: true,
  },
  {
    title: "Round trip by RTCP",
    about: "From here to the receiver and back, from the receiver's reports (RFC 3550 6.4.1); the longest of the ten seconds",
    of: (interval) => interval.round_trip_ms,
    format: milliseconds,
    top: 5,
    optional: true,
  },
];

/** Shown where no stream has a score of G.107. */
const COMPATIBLE: Figure = { title: "MOS as VoIPmonitor, F1", of: (interval) => interval.mos.vm_f1, format: score, range: [1, 4.6] };

export function Plots(props: { view: View; intervals: StreamIntervals[] }): JSX.Element {
  const streams = (): Stream[] => props.view.call().streams;
  const scored = createMemo(() => props.intervals.some((one) => one.intervals.some((interval) => interval.mos.g107 !== null)));
  const has = (figure: Figure): boolean => props.intervals.some((one) => one.intervals.some((interval) => figure.of(interval) !== null));
  const figures = createMemo((): Figure[] => (scored() ? FIGURES : [COMPATIBLE, ...FIGURES.slice(1)]).filter((figure) => !figure.optional || has(figure)));
  const span = (): [number, number] => props.view.span() ?? props.view.bounds();
  return (
    <section class="panel plots" aria-label="Streams over time">
      <header>
        <h2>Over time</h2>
        <Show when={props.view.span()} fallback={<span class="muted plots-hint">Averages of 10 s. Drag to zoom.</span>}>
          {(zoomed) => (
            <button class="button" onClick={props.view.reset} title="Show all of the call (Escape, or double-click)">
              {clockMs(zoomed()[0]).slice(0, 10)} + {duration(zoomed()[1] - zoomed()[0])} · show all
            </button>
          )}
        </Show>
      </header>
      <Show when={props.intervals.some((one) => one.intervals.length > 0)} fallback={<Empty title="No data">The streams were too short, or retention has deleted their 10-second values.</Empty>}>
        <ul class="plots-legend">
          <For each={streams()}>
            {(stream, index) => (
              <li class="clip" title={`${stream.ssrc} ${stream.src ?? ""} → ${stream.dst ?? ""}`}>
                <Swatch color={lookOf(index()).color} dash={lookOf(index()).dash} /> {pairName(stream, index())}
              </li>
            )}
          </For>
        </ul>
        <div class="plots-all">
          <For each={figures()}>
            {(figure) => {
              const lines = createMemo(() => linesOf(streams(), props.intervals, figure.of));
              const upTo = createMemo(() => figure.upTo && linesOf(streams(), props.intervals, figure.upTo).values);
              const series = createMemo(() =>
                lines().values.map((values, index): PlotSeries => ({ name: pairName(streams()[index]!, index), values, ...(upTo() ? { upTo: upTo()![index]! } : {}), ...lookOf(index) })),
              );
              return (
                <Plot
                  title={figure.title}
                  {...(figure.about ? { about: figure.about } : {})}
                  times={lines().times}
                  series={series()}
                  span={span()}
                  format={figure.format}
                  {...(figure.top !== undefined ? { top: figure.top } : {})}
                  {...(figure.range ? { range: figure.range } : {})}
                  height={figures().length > 3 ? HEIGHT.many : HEIGHT.few}
                  stepped
                  cursor={props.view.cursor()}
                  onCursor={props.view.setCursor}
                  onZoom={props.view.zoom}
                  onReset={props.view.reset}
                />
              );
            }}
          </For>
        </div>
      </Show>
    </section>
  );
}

/** Escape: close the message, then the zoom, then let go of the message. */
export function useEscape(view: () => View): void {
  useKeys([
    {
      keys: "Escape",
      what: "Close the message, then the zoom",
      run: () => {
        if (view().open() && view().chosen() !== undefined) view().setOpen(false);
        else if (view().span()) view().reset();
        else view().choose(undefined);
      },
    },
  ]);
}
