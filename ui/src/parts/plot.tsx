// Values over time: uPlot behind a small face. It loads when it is first shown, follows the theme and the viewer's zone,
// and keeps no time of its own: what is visible and where the cursor stands belong to whoever shows several together.

import { createEffect, createSignal, For, on, onCleanup, onMount, Show, type JSX } from "solid-js";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { theme, zone } from "../prefs";
import { clock, clockMs, day } from "../time";
import "./plot.css";

export interface PlotSeries {
  name: string;
  /** A token: "--c-1". */
  color: string;
  /** Dash in pixels, so that lines are told apart without colour. */
  dash?: number[];
  values: (number | null)[];
  /** The ground between the line and these is shaded. */
  upTo?: (number | null)[];
}

export interface PlotProps {
  title: string;
  /** What it shows, for the hover. */
  about?: string;
  /** Milliseconds since 1970, ascending. */
  times: number[];
  series: PlotSeries[];
  /** What is visible: [from, to] in milliseconds since 1970. */
  span: [number, number];
  /** A value with its unit. */
  format: (value: number) => string;
  /** Lowest top of the scale, so that little is not drawn as much. */
  top?: number;
  /** Fixed ends of the scale. */
  range?: [number, number];
  /** Marks of the scale at powers of two: of octets. */
  binary?: boolean;
  /** Values hold until the next time (intervals), not in between. */
  stepped?: boolean;
  height?: number;
  cursor?: number | undefined;
  onCursor?: (at: number | undefined) => void;
  onZoom?: (from: number, to: number) => void;
  onReset?: () => void;
}

/** Distances of marks on a scale of octets. */
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);
/** Pixels that a pointer must be dragged to zoom. */
const DRAG_MIN = 6;

export default function Plot(props: PlotProps): JSX.Element {
  let place: HTMLDivElement | undefined;
  let plot: uPlot | undefined;
  const [at, setAt] = createSignal<number | undefined>();
  const draw = async (): Promise<void> => {
    const { default: Made } = await import("uplot");
    if (!place?.isConnected) return;
    plot?.destroy();
    plot = new Made(options(props, place, Made), data(props), place);
    plot.setScale("x", { min: props.span[0], max: props.span[1] });
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const redraw = (): void => void draw();
  onMount(() => {
    const size = new ResizeObserver(() => {
      if (plot && place && place.clientWidth > 0 && place.clientWidth !== plot.width) plot.setSize({ width: place.clientWidth, height: props.height ?? 110 });
    });
    size.observe(place!);
    dark.addEventListener("change", redraw);
    onCleanup(() => {
      size.disconnect();
      dark.removeEventListener("change", redraw);
      plot?.destroy();
    });
  });
  createEffect(on([theme, zone, () => props.series.length], () => queueMicrotask(redraw)));
  createEffect(on([() => props.times, () => props.series], () => plot?.setData(data(props), false), { defer: true }));
  createEffect(on(() => props.span, (span) => plot?.setScale("x", { min: span[0], max: span[1] }), { defer: true }));
  createEffect(() => {
    const cursor = props.cursor;
    setAt(cursor === undefined ? undefined : indexAt(props.times, cursor));
    moveCursor(plot, cursor);
  });
  return (
    <figure class="plot">
      <figcaption class="plot-head">
        <h3 title={props.about}>{props.title}</h3>
        <Values {...props} at={at()} />
      </figcaption>
      <div
        ref={place}
        class="plot-canvas"
        role="img"
        aria-label={describe(props)}
        tabindex="0"
        onKeyDown={(event) => byKey(props, event)}
        onPointerLeave={() => props.onCursor?.(undefined)}
        style={{ height: `${props.height ?? 110}px` }}
      />
    </figure>
  );
}

/** What the lines say at the cursor. */
function Values(props: PlotProps & { at: number | undefined }): JSX.Element {
  return (
    <span class="plot-values">
      <Show when={props.at !== undefined}>
        <For each={props.series}>
          {(series) => (
            <span class="nowrap">
              <Swatch color={series.color} dash={series.dash} /> {valueText(props, series, props.at!)}
            </span>
          )}
        </For>
      </Show>
    </span>
  );
}

/** The line of a series, short: for legends. */
export function Swatch(props: { color: string; dash?: number[] | undefined }): JSX.Element {
  return (
    <svg class="swatch" width="22" height="8" aria-hidden="true">
      <line x1="0" y1="4" x2="22" y2="4" stroke={`var(${props.color})`} stroke-width="2.5" stroke-dasharray={props.dash?.join(" ") ?? "none"} />
    </svg>
  );
}

/** "12 ms", or "12 – 85 ms" where there is a shaded ground. */
function valueText(props: PlotProps, series: PlotSeries, at: number): string {
  const [value, most] = [series.values[at], series.upTo?.[at]];
  if (value === null || value === undefined) return "–";
  const [low, high] = [props.format(value), most === null || most === undefined ? "" : props.format(most)];
  if (high === "") return low;
  const unit = /\D*$/.exec(low)?.[0] ?? "";
  return `${high.endsWith(unit) ? low.slice(0, low.length - unit.length) : low} – ${high}`;
}

/** Index of the last time that is not after `at`. */
export function indexAt(times: number[], at: number): number | undefined {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? low - 1 : undefined;
}

/** The lines, then the upper ends of the shaded grounds. */
const data = (props: PlotProps): uPlot.AlignedData => [props.times, ...props.series.map((series) => series.values), ...shaded(props).map((series) => series.upTo!)];

const shaded = (props: PlotProps): PlotSeries[] => props.series.filter((series) => series.upTo);

/** How much of a line's colour its shaded ground has. */
const SHADE = "13%";

function moveCursor(plot: uPlot | undefined, at: number | undefined): void {
  if (!plot) return;
  const left = at === undefined ? -10 : plot.valToPos(at, "x");
  plot.setCursor({ left, top: at === undefined ? -10 : 1 }, false);
}

function byKey(props: PlotProps, event: KeyboardEvent): void {
  const [from, to] = props.span;
  const step = (to - from) / 40;
  const now = props.cursor ?? (from + to) / 2;
  const keys: Record<string, () => void> = {
    ArrowLeft: () => props.onCursor?.(Math.max(from, now - step)),
    ArrowRight: () => props.onCursor?.(Math.min(to, now + step)),
    "+": () => props.onZoom?.(now - (now - from) / 2, now + (to - now) / 2),
    "-": () => props.onReset?.(),
  };
  const run = keys[event.key];
  if (!run) return;
  event.preventDefault();
  event.stopPropagation();
  run();
}

/** The plot in a sentence, for those who do not see it. */
function describe(props: PlotProps): string {
  const parts = props.series.map((series) => {
    const values = series.values.filter((value): value is number => value !== null);
    if (values.length === 0) return `${series.name}: nothing`;
    const most = (series.upTo ?? []).filter((value): value is number => value !== null);
    return `${series.name}: ${props.format(Math.min(...values))} to ${props.format(Math.max(...values))}${most.length > 0 ? `, up to ${props.format(Math.max(...most))}` : ""}`;
  });
  return `${props.title} from ${clock(props.span[0])} to ${clock(props.span[1])}. ${parts.join("; ")}. Left and right move, plus zooms in, minus out.`;
}

/** What a token looks like now, in words that a canvas understands. */
function ink(place: HTMLElement, token: string, share?: string): string {
  const probe = document.createElement("span");
  probe.style.color = share ? `color-mix(in srgb, var(${token}) ${share}, transparent)` : `var(${token})`;
  place.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

function options(props: PlotProps, place: HTMLElement, Made: typeof uPlot): uPlot.Options {
  const [text, grid] = [ink(place, "--ink-2"), ink(place, "--line")];
  const font = `11px ${getComputedStyle(place).fontFamily}`;
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 } };
  const paths = props.stepped ? Made.paths.stepped?.({ align: 1 }) : undefined;
  return {
    width: place.clientWidth || 300,
    height: props.height ?? 110,
    ms: 1,
    tzDate: (at) => Made.tzDate(new Date(at), zone()),
    legend: { show: false },
    padding: [6, 26, 0, 0],
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: DRAG_MIN },
      bind: { dblclick: () => () => (props.onReset?.(), null) },
    },
    scales: { x: { time: true, auto: false }, y: { range: (_, low, high) => props.range ?? [Math.min(0, low ?? 0), Math.max(props.top ?? 1, high ?? 0) * 1.08] } },
    axes: [
      { ...axis, size: 24, space: 70, values: (_, splits) => splits.map((at) => tick(at, props.span)) },
      { ...axis, size: 52, space: 28, ...(props.binary ? { incrs: POWERS } : {}), values: (_, splits) => splits.map(props.format) },
    ],
    series: [
      {},
      ...props.series.map((series) => ({
        label: series.name,
        stroke: ink(place, series.color),
        width: 1.75,
        ...(series.dash ? { dash: series.dash } : {}),
        ...(paths ? { paths } : {}),
        points: { show: false },
      })),
      ...shaded(props).map((series) => ({ label: series.name, width: 0, ...(paths ? { paths } : {}), points: { show: false } })),
    ],
    bands: shaded(props).map((series, at) => ({
      series: [props.series.length + 1 + at, props.series.indexOf(series) + 1],
      fill: ink(place, series.color, SHADE),
    })),
    hooks: { setCursor: [(plot) => tellCursor(plot, props)], setSelect: [(plot) => tellZoom(plot, props)] },
  };
}

function tick(at: number, [from, to]: [number, number]): string {
  if (to - from < 5_000) return clockMs(at).slice(3);
  return to - from > 172_800_000 ? day(at).slice(5) : clock(at);
}

function tellCursor(plot: uPlot, props: PlotProps): void {
  const left = plot.cursor.left ?? -1;
  if (left >= 0) props.onCursor?.(plot.posToVal(left, "x"));
}

function tellZoom(plot: uPlot, props: PlotProps): void {
  const { left, width } = plot.select;
  if (width < DRAG_MIN) return;
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  props.onZoom?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
}
