// Several plots of the same moments, with a legend each where there is more than one line; they share the moment under
// the pointer.

import { createMemo, createSignal, For, Show, type JSX } from "solid-js";
import Plot, { Swatch, type PlotProps, type PlotSeries } from "./plot";
import "./pictures.css";

/** A line of a picture of moments of this kind. */
export interface Line<Moment> extends Pick<PlotSeries, "name" | "color" | "dash"> {
  of: (moment: Moment) => number | null;
}

export interface Picture<Moment> extends Pick<PlotProps, "title" | "format" | "range" | "top" | "binary"> {
  lines: Line<Moment>[];
}

interface PicturesProps<Moment> {
  pictures: Picture<Moment>[];
  moments: Moment[];
  /** Of the moments: milliseconds since 1970, ascending. */
  times: number[];
  /** What is visible: [from, to] in milliseconds since 1970. */
  span: [number, number];
  /** Beside one another where there is room. */
  columns: 2 | 3;
}

export function Pictures<Moment>(props: PicturesProps<Moment>): JSX.Element {
  const [cursor, setCursor] = createSignal<number | undefined>();
  return (
    <div class="pictures body" classList={{ "pictures-three": props.columns === 3 }}>
      <For each={props.pictures}>
        {({ lines, ...shape }) => {
          const series = createMemo(() => lines.map((line): PlotSeries => ({ ...line, values: props.moments.map(line.of) })));
          return (
            <div>
              <Plot {...shape} times={props.times} series={series()} span={props.span} cursor={cursor()} onCursor={setCursor} />
              <Show when={lines.length > 1}>
                <Legend lines={lines} />
              </Show>
            </div>
          );
        }}
      </For>
    </div>
  );
}

function Legend(props: { lines: Pick<PlotSeries, "name" | "color" | "dash">[] }): JSX.Element {
  return (
    <p class="pictures-legend muted">
      <For each={props.lines}>
        {(line) => (
          <span class="nowrap">
            <Swatch color={line.color} dash={line.dash} /> {line.name}
          </span>
        )}
      </For>
    </p>
  );
}
