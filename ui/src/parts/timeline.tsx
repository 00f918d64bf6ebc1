// Amounts over time as stacked bars. A stretch is chosen by dragging, or with the arrow keys, Shift and Enter.

import { createEffect, createMemo, createSignal, createUniqueId, For, on, onCleanup, onMount, Show, type JSX } from "solid-js";
import { short, whole, type Meaning } from "../format";
import { zone } from "../prefs";
import { clock, day, minute } from "../time";
import { roundAbove, timeTicks, zoomed } from "./timeline-scale";
import "./timeline.css";

/** What a series means, or which of the series colours it has. */
export type SeriesMeaning = Meaning | "c-1" | "c-2" | "c-3" | "c-4" | "c-5" | "c-6";

export interface Series {
  name: string;
  meaning: SeriesMeaning;
  /** One per bucket. */
  values: readonly number[];
  /** Counts among the others: thinner bars before the stack, not on top of it. */
  inFront?: boolean;
}

export interface Mark {
  at: number;
  to?: number;
  name: string;
  meaning: Meaning;
}

export interface TimelineProps {
  /** Milliseconds since 1970: where the first bucket begins and the last one ends. */
  from: number;
  to: number;
  bucketMs: number;
  /** Stacked from below. */
  series: readonly Series[];
  marks?: readonly Mark[];
  /** What is counted, for those who do not see it: "Calls". */
  label: string;
  /** Of the bars, in pixels. */
  height?: number;
  /** Values are rates: of a stretch their mean is told, not their sum. */
  rates?: boolean;
  /** How an amount is said; whole figures if absent. */
  tell?: (value: number) => string;
  onZoom?: (from: number, to: number) => void;
}

const LEFT = 44;
const BELOW = 18;
const ABOVE = 4;
/** Pixels that a pointer must be dragged before it is no click any more. */
const DRAG_MIN = 4;

export function Timeline(props: TimelineProps): JSX.Element {
  const [width, setWidth] = createSignal(0);
  const [at, setAt] = createSignal<number | undefined>();
  const [anchor, setAnchor] = createSignal<number | undefined>();
  const id = createUniqueId();
  let box: HTMLDivElement | undefined;
  onMount(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? 0)));
    if (box) watch.observe(box);
    onCleanup(() => watch.disconnect());
  });
  const height = (): number => props.height ?? 88;
  const count = (): number => props.series[0]?.values.length ?? 0;
  const inner = (): number => Math.max(0, width() - LEFT);
  const x = (ms: number): number => LEFT + ((ms - props.from) / (props.to - props.from)) * inner();
  const slot = (): number => (count() ? (inner() * props.bucketMs) / (props.to - props.from) : 0);
  const stacked = (): Series[] => props.series.filter((one) => !one.inFront);
  const sums = createMemo(() => Array.from({ length: count() }, (_, i) => stacked().reduce((sum, one) => sum + (one.values[i] ?? 0), 0)));
  const top = createMemo(() => roundAbove(Math.max(0, ...sums())));
  const y = (value: number): number => ABOVE + height() * (1 - value / top());
  const tell = (value: number): string => (props.tell ?? whole)(value);
  createEffect(on([() => props.from, () => props.to], () => forget(), { defer: true }));
  const forget = (): void => {
    setAt(undefined);
    setAnchor(undefined);
  };

  const clamp = (index: number): number => Math.max(0, Math.min(count() - 1, index));
  const bucketAt = (event: PointerEvent): number => {
    const left = event.clientX - (box?.getBoundingClientRect().left ?? 0) - LEFT;
    return clamp(Math.floor(left / slot()));
  };
  const zoom = (): void => {
    const [a, b] = [anchor() ?? at(), at()];
    if (a === undefined || b === undefined) return;
    const { from, to } = zoomed(a, b, props.from, props.to, props.bucketMs);
    forget();
    props.onZoom?.(from, to);
  };

  let pressed: number | undefined;
  const down = (event: PointerEvent): void => {
    if (event.button !== 0 || !props.onZoom || !count()) return;
    pressed = event.clientX;
    box?.setPointerCapture(event.pointerId);
    setAt(bucketAt(event));
    setAnchor(undefined);
  };
  const move = (event: PointerEvent): void => {
    if (!count()) return;
    if (pressed !== undefined && anchor() === undefined && Math.abs(event.clientX - pressed) > DRAG_MIN) setAnchor(at());
    setAt(bucketAt(event));
  };
  const up = (event: PointerEvent): void => {
    const dragged = pressed !== undefined && anchor() !== undefined;
    pressed = undefined;
    if (dragged) zoom();
    else if (event.pointerType === "mouse") setAnchor(undefined);
  };
  /** The finger scrolls the page after all. */
  const cancel = (): void => {
    pressed = undefined;
    forget();
  };
  const leave = (): void => {
    if (pressed === undefined && document.activeElement !== box) forget();
  };

  const key = (event: KeyboardEvent): void => {
    const now = at();
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined && count()) {
      event.preventDefault();
      if (event.shiftKey) setAnchor(anchor() ?? now ?? 0);
      else setAnchor(undefined);
      setAt(clamp((now ?? (step > 0 ? -1 : count())) + step));
    } else if (event.key === "Enter" && now !== undefined) {
      event.preventDefault();
      zoom();
    } else if (event.key === "Escape" && (anchor() !== undefined || now !== undefined)) {
      event.preventDefault();
      event.stopPropagation();
      pressed = undefined;
      forget();
    }
  };

  const chosen = (): { from: number; to: number } | undefined => {
    const now = at();
    return now === undefined ? undefined : zoomed(anchor() ?? now, now, props.from, props.to, props.bucketMs);
  };
  const said = (): string => {
    const stretch = chosen();
    const now = at();
    if (!stretch || now === undefined) return "";
    const [a, b] = [Math.min(anchor() ?? now, now), Math.max(anchor() ?? now, now)];
    const sum = (one: Series): number => one.values.slice(a, b + 1).reduce((all, value) => all + value, 0) / (props.rates ? b - a + 1 : 1);
    return `${times(stretch.from, stretch.to)}: ${props.series.map((one) => `${tell(sum(one))} ${one.name}`).join(", ")}`;
  };

  return (
    <figure class="timeline" classList={{ zooms: !!props.onZoom }}>
      <div
        ref={box}
        class="timeline-box"
        style={{ height: `${height() + ABOVE + BELOW}px` }}
        tabindex="0"
        role="group"
        aria-roledescription="chart"
        aria-label={`${props.label} over time${props.onZoom ? "; arrow keys move, Shift widens, Enter zooms" : ""}`}
        aria-describedby={id}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={cancel}
        onPointerLeave={leave}
        onKeyDown={key}
        onBlur={forget}
      >
        <svg width={width()} height={height() + ABOVE + BELOW} aria-hidden="true">
          <Patterns id={id} />
          <Axes width={width()} top={top()} y={y} x={x} bottom={ABOVE + height()} from={props.from} to={props.to} />
          <For each={props.marks ?? []}>
            {(mark) => (
              <>
                <rect class={`mark ${mark.meaning}`} x={x(mark.at)} width={Math.max(1.5, x(mark.to ?? mark.at) - x(mark.at))} y={ABOVE} height={height()}>
                  <title>{mark.name}</title>
                </rect>
                <Show when={x(mark.to ?? mark.at) - x(mark.at) > mark.name.length * 7 + 12}>
                  <text class="tick" x={x(mark.at) + 6} y={ABOVE + 14}>
                    {mark.name}
                  </text>
                </Show>
              </>
            )}
          </For>
          <For each={props.series}>{(one) => <Bars series={one} below={one.inFront ? [] : stacked().slice(0, stacked().indexOf(one))} slot={slot()} y={y} id={id} />}</For>
          <Show when={chosen()}>
            {(stretch) => (
              <rect class={anchor() === undefined ? "here" : "chosen"} x={x(stretch().from)} width={Math.max(1, x(stretch().to) - x(stretch().from))} y={ABOVE} height={height()} />
            )}
          </Show>
        </svg>
      </div>
      <figcaption>
        <Legend series={props.series} marks={props.marks ?? []} id={id} />
        <span id={id} class="timeline-said num" aria-live="polite">
          {said()}
        </span>
      </figcaption>
    </figure>
  );
}

/** "2026-11-20 14:05 – 14:10" */
function times(from: number, to: number): string {
  const tell = to - from < 60_000 ? clock : minute;
  const sameDay = day(from) === day(to);
  return `${day(from)} ${tell(from, zone())} – ${sameDay ? "" : `${day(to)} `}${tell(to, zone())}`;
}

/** One path for all bars of a series: a chart of 200 buckets stays three elements. */
function Bars(props: { series: Series; below: readonly Series[]; slot: number; y: (value: number) => number; id: string }): JSX.Element {
  const path = createMemo(() => {
    const gap = props.series.inFront ? props.slot * 0.4 : props.slot > 6 ? 1 : props.slot > 3 ? 0.5 : 0;
    const width = Math.max(0.5, props.slot - gap).toFixed(2);
    let d = "";
    props.series.values.forEach((value, i) => {
      if (!(value > 0)) return;
      const base = props.below.reduce((sum, one) => sum + (one.values[i] ?? 0), 0);
      // A single bad call among a thousand is what one looks for: never thinner than a pixel and a half.
      const height = Math.max(1.5, props.y(base) - props.y(base + value));
      d += `M${(LEFT + i * props.slot + gap / 2).toFixed(2)} ${props.y(base).toFixed(2)}h${width}v${(-height).toFixed(2)}h-${width}z`;
    });
    return d;
  });
  return (
    <>
      <path class={`bars ${props.series.meaning}`} d={path()} />
      <Show when={props.series.meaning === "bad" || props.series.meaning === "warn"}>
        <path d={path()} fill={`url(#${props.id}-${props.series.meaning})`} />
      </Show>
    </>
  );
}

function Axes(props: { width: number; top: number; bottom: number; from: number; to: number; x: (ms: number) => number; y: (value: number) => number }): JSX.Element {
  const ticks = createMemo(() => timeTicks(props.from, props.to, Math.floor((props.width - LEFT) / 90), zone()));
  return (
    <>
      <For each={[0, 0.5, 1]}>
        {(share) => <line class="grid" x1={LEFT} x2={props.width} y1={props.y(props.top * share)} y2={props.y(props.top * share)} />}
      </For>
      <text class="tick" x={LEFT - 6} y={props.y(props.top) + 9} text-anchor="end">
        {short(props.top)}
      </text>
      <text class="tick" x={LEFT - 6} y={props.bottom} text-anchor="end">
        0
      </text>
      <For each={ticks()}>
        {(tick) => (
          <>
            <line class="grid" x1={props.x(tick.at)} x2={props.x(tick.at)} y1={props.bottom} y2={props.bottom + 4} />
            <text class="tick" x={Math.min(props.width - 18, Math.max(LEFT + 16, props.x(tick.at)))} y={props.bottom + 15} text-anchor="middle">
              {tick.text}
            </text>
          </>
        )}
      </For>
    </>
  );
}

/** Stripes and dots over the colours, for eyes and printers that do not tell them apart. */
function Patterns(props: { id: string }): JSX.Element {
  return (
    <defs>
      <pattern id={`${props.id}-bad`} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect class="pattern" width="2" height="5" />
      </pattern>
      <pattern id={`${props.id}-warn`} width="4" height="4" patternUnits="userSpaceOnUse">
        <rect class="pattern" width="1.5" height="1.5" />
        <rect class="pattern" x="2" y="2" width="1.5" height="1.5" />
      </pattern>
    </defs>
  );
}

function Legend(props: { series: readonly Series[]; marks: readonly Mark[]; id: string }): JSX.Element {
  return (
    <ul class="timeline-legend">
      <For each={props.series}>
        {(one) => (
          <li>
            <svg width="12" height="12" aria-hidden="true">
              <rect class={`bars ${one.meaning}`} width="12" height="12" rx="2" />
              <Show when={one.meaning === "bad" || one.meaning === "warn"}>
                <rect width="12" height="12" rx="2" fill={`url(#${props.id}-${one.meaning})`} />
              </Show>
            </svg>
            {one.name}
          </li>
        )}
      </For>
      <Show when={props.marks.some((mark) => mark.meaning === "bad")}>
        <li>
          <svg width="12" height="12" aria-hidden="true">
            <rect class="mark bad" x="4" width="4" height="12" />
          </svg>
          packets lost
        </li>
      </Show>
    </ul>
  );
}
