// Jitter, loss and score of the streams over the time of the call. All of them, and the ladder, share one instant under
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
  of: (interval: Interval) => number | null;
  format: (value: number) => string;
  top?: number;
  range?: [number, number];
}

const score = (value: number): string => value.toFixed(1);

const FIGURES: Figure[] = [
  { title: "MOS G.107", of: (interval) => interval.mos.g107, format: score, range: [1, 4.6] },
  { title: "Missing", of: lossOf, format: (value) => percent(value, value < 0.1 ? 1 : 0), top: 0.01 },
  { title: "Jitter", of: (interval) => interval.jitter_mean_ms, format: (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`, top: 5 },
];

/** Shown where no stream has a score of G.107. */
const COMPATIBLE: Figure = { title: "MOS as VoIPmonitor, F1", of: (interval) => interval.mos.vm_f1, format: score, range: [1, 4.6] };

export function Plots(props: { view: View; intervals: StreamIntervals[] }): JSX.Element {
  const streams = (): Stream[] => props.view.call().streams;
  const scored = createMemo(() => props.intervals.some((one) => one.intervals.some((interval) => interval.mos.g107 !== null)));
  const figures = (): Figure[] => (scored() ? FIGURES : [COMPATIBLE, ...FIGURES.slice(1)]);
  const span = (): [number, number] => props.view.span() ?? props.view.bounds();
  return (
    <section class="panel plots" aria-label="Streams over time">
      <header>
        <h2>Over time</h2>
        <Show when={props.view.span()} fallback={<span class="muted plots-hint">Means of 10 s. Drag to zoom.</span>}>
          {(zoomed) => (
            <button class="button" onClick={props.view.reset} title="Show all of the call (Escape, or double-click)">
              {clockMs(zoomed()[0]).slice(0, 10)} + {duration(zoomed()[1] - zoomed()[0])} · show all
            </button>
          )}
        </Show>
      </header>
      <Show when={props.intervals.some((one) => one.intervals.length > 0)} fallback={<Empty title="Nothing to draw">The streams were too short for a figure, or their ten-second figures are kept no longer.</Empty>}>
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
              const series = createMemo(() => lines().values.map((values, index): PlotSeries => ({ name: pairName(streams()[index]!, index), values, ...lookOf(index) })));
              return (
                <Plot
                  title={figure.title}
                  times={lines().times}
                  series={series()}
                  span={span()}
                  format={figure.format}
                  {...(figure.top !== undefined ? { top: figure.top } : {})}
                  {...(figure.range ? { range: figure.range } : {})}
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
