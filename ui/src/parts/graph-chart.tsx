// A graph of the network: small as a preview, large with a cursor and a zoom. What others show beside it (a legend, the
// same a week before) belongs to whoever shows it.

import { createEffect, createMemo, createSignal, createUniqueId, For, on, onCleanup, onMount, Show, type JSX } from "solid-js";
import type { GraphPicture, GraphSeries } from "../api/types";
import { zone } from "../prefs";
import { full } from "../time";
import { amount, areaPath, bands, cursorIn, linePath, marks, place, said, scaleOf, times, type Band } from "./graph-shape";
import "./graph-chart.css";

export interface GraphChartProps {
  picture: GraphPicture;
  /** Drawn as thin lines beside it: an older time. */
  before?: GraphPicture | undefined;
  /** What is visible: [from, to] in milliseconds since 1970. */
  span: [number, number];
  height: number;
  /** A preview has fewer marks, no cursor and no zoom. */
  small?: boolean;
  /** The row under the cursor. */
  onRow?: (row: number | undefined) => void;
  onZoom?: ((from: number, to: number) => void) | undefined;
  /** Upright lines at moments: where something began and ended. */
  moments?: readonly number[];
  /** Where the pointer is in what stands beside it. */
  at?: number | undefined;
}

/** Pixels that a pointer must be dragged to zoom. */
const DRAG_MIN = 6;
/** Pixels for a mark of time. */
const MARK_EACH = 70;
/** Room beside and below the plot. */
const LEFT = 62;
const BOTTOM = 20;
const [TOP, RIGHT] = [6, 12];

export function GraphChart(props: GraphChartProps): JSX.Element {
  let place_: HTMLDivElement | undefined;
  const clip = createUniqueId();
  const [width, setWidth] = createSignal(300);
  const [cursor, setCursor] = createSignal<number | undefined>();
  const [drag, setDrag] = createSignal<[number, number] | undefined>();
  onMount(() => {
    const size = new ResizeObserver(() => place_ && place_.clientWidth > 0 && setWidth(place_.clientWidth));
    size.observe(place_!);
    onCleanup(() => size.disconnect());
  });
  const inner = (): number => Math.max(40, width() - LEFT - RIGHT);
  const tall = (): number => props.height - TOP - BOTTOM;
  const now = createMemo(() => bands(props.picture.series));
  const older = createMemo(() => (props.before ? bands(props.before.series) : []));
  const isUnknown = createMemo(() => ![...now(), ...older()].some((band) => band.series.values.some((value) => value !== null)));
  const scale = createMemo(() => scaleOf(props.picture, [...now(), ...older()]));
  const x = (at: number): number => LEFT + ((at - props.span[0]) / (props.span[1] - props.span[0])) * inner();
  const y = (value: number): number => TOP + (1 - Math.min(1.5, Math.max(-0.5, place(scale(), value)))) * tall();
  const rowX = (picture: GraphPicture) => (row: number): number => x((picture.start + row * picture.step) * 1000);
  /** Where the pointer is; undefined while it is elsewhere. */
  let pointer: number | undefined;
  const atOf = (clientX: number): number => {
    const left = clientX - place_!.getBoundingClientRect().left;
    return props.span[0] + (Math.min(inner(), Math.max(0, left - LEFT)) / inner()) * (props.span[1] - props.span[0]);
  };
  const rowOf = (at: number): number | undefined => {
    const row = Math.floor((at / 1000 - props.picture.start) / props.picture.step);
    return row >= 0 && row < props.picture.rows ? row : undefined;
  };
  const move = (at: number | undefined): void => {
    setCursor(at);
    props.onRow?.(at === undefined ? undefined : rowOf(at));
  };
  // After a zoom, or as time goes on, the pointer is at another time, and a row has another number.
  createEffect(
    on(
      () => [props.span[0], props.span[1], props.picture] as const,
      ([from, to]) => {
        if (cursor() !== undefined) move(cursorIn(cursor()!, [from, to], pointer === undefined ? undefined : atOf(pointer)));
      },
      { defer: true },
    ),
  );
  const release = (event: PointerEvent): void => {
    const begun = drag();
    setDrag(undefined);
    if (!begun || Math.abs(x(begun[1]) - x(begun[0])) < DRAG_MIN) return;
    event.preventDefault();
    props.onZoom?.(Math.min(...begun), Math.max(...begun));
  };
  const byArrow = (at: number): void => {
    pointer = undefined;
    move(at);
  };
  const byKey = (event: KeyboardEvent): void => {
    const [from, to] = props.span;
    const at = cursor() ?? (from + to) / 2;
    const keys: Record<string, () => void> = {
      ArrowLeft: () => byArrow(Math.max(from, at - (to - from) / 60)),
      ArrowRight: () => byArrow(Math.min(to - 1, at + (to - from) / 60)),
      "+": () => props.onZoom?.(at - (at - from) / 2, at + (to - at) / 2),
      "-": () => props.onZoom?.(from - (to - from) / 2, to + (to - from) / 2),
    };
    const run = keys[event.key];
    if (!run || props.small) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };
  return (
    <div
      ref={place_}
      class="graph-chart"
      classList={{ small: props.small ?? false }}
      role={props.small ? undefined : "img"}
      aria-hidden={props.small ? "true" : undefined}
      aria-label={props.small ? undefined : describe(props.picture)}
      tabindex={props.small ? undefined : "0"}
      onKeyDown={byKey}
      onPointerDown={(event) => {
        if (props.small || !props.onZoom || event.button !== 0 || event.pointerType === "touch") return;
        place_!.setPointerCapture(event.pointerId);
        setDrag([atOf(event.clientX), atOf(event.clientX)]);
      }}
      onPointerMove={(event) => {
        if (props.small) return;
        pointer = event.clientX;
        move(atOf(event.clientX));
        const begun = drag();
        if (begun) setDrag([begun[0], atOf(event.clientX)]);
      }}
      onPointerUp={release}
      onPointerLeave={() => {
        pointer = undefined;
        if (!props.small && !drag()) move(undefined);
      }}
    >
      <svg width={width()} height={props.height}>
        <clipPath id={clip}>
          <rect x={LEFT} y={TOP - 1} width={inner()} height={tall() + 2} />
        </clipPath>
        <For each={marks(scale(), props.picture.base, Math.max(2, tall() / 34))}>
          {(value) => (
            <>
              <line class="graph-grid" x1={LEFT} x2={LEFT + inner()} y1={y(value)} y2={y(value)} />
              <text class="graph-mark" x={LEFT - 6} y={y(value) + 4} text-anchor="end">
                {amount(value, props.picture.base, "")}
              </text>
            </>
          )}
        </For>
        <For each={times(props.span[0], props.span[1], Math.max(2, inner() / MARK_EACH), zone())}>
          {(mark) => (
            <>
              <line class="graph-grid" x1={x(mark.at)} x2={x(mark.at)} y1={TOP} y2={TOP + tall()} />
              <Show when={x(mark.at) > LEFT + 14 && x(mark.at) < LEFT + inner() - 12}>
                <text class="graph-mark" x={x(mark.at)} y={props.height - 5} text-anchor="middle">
                  {mark.text}
                </text>
              </Show>
            </>
          )}
        </For>
        <g clip-path={`url(#${clip})`} class="graph-series">
          <For each={now()}>{(band) => <Drawn band={band} x={rowX(props.picture)} y={y} top={TOP} height={tall()} />}</For>
          <For each={older()}>
            {(band) => (
              <Show when={band.series.color && band.series.kind !== "tick"}>
                <path d={linePath(band.high, rowX(props.before!), y)} fill="none" stroke={band.series.color!} stroke-width="1.5" stroke-dasharray="2 3" opacity="0.85" />
              </Show>
            )}
          </For>
          <For each={props.picture.rules.filter((rule) => rule.value !== null)}>
            {(rule) => (
              <line
                x1={rule.at_time ? x(rule.value! * 1000) : LEFT}
                x2={rule.at_time ? x(rule.value! * 1000) : LEFT + inner()}
                y1={rule.at_time ? TOP : y(rule.value!)}
                y2={rule.at_time ? TOP + tall() : y(rule.value!)}
                stroke={rule.color ?? "currentColor"}
                stroke-dasharray={rule.dashes.join(" ")}
              />
            )}
          </For>
        </g>
        <g clip-path={`url(#${clip})`}>
          <For each={props.picture.thresholds}>
            {(threshold) => <line class={`graph-threshold ${threshold.severity}`} x1={LEFT} x2={LEFT + inner()} y1={y(threshold.value)} y2={y(threshold.value)} />}
          </For>
        </g>
        <For each={(props.moments ?? []).filter((at) => at >= props.span[0] && at <= props.span[1])}>
          {(at) => <line class="graph-moment" x1={x(at)} x2={x(at)} y1={TOP} y2={TOP + tall()} />}
        </For>
        <Show when={props.at !== undefined && props.at >= props.span[0] && props.at <= props.span[1]}>
          <line class="graph-cursor" x1={x(props.at!)} x2={x(props.at!)} y1={TOP} y2={TOP + tall()} />
        </Show>
        <Show when={drag()}>{(span) => <rect class="graph-drag" x={Math.min(x(span()[0]), x(span()[1]))} y={TOP} width={Math.abs(x(span()[1]) - x(span()[0]))} height={tall()} />}</Show>
        <Show when={!props.small && cursor() !== undefined}>
          <line class="graph-cursor" x1={x(cursor()!)} x2={x(cursor()!)} y1={TOP} y2={TOP + tall()} />
        </Show>
      </svg>
      <Show when={isUnknown()}>
        <span class="graph-unknown muted">{props.picture.unread.length > 0 ? "No data yet" : "No data in this time range"}</span>
      </Show>
    </div>
  );
}

function Drawn(props: { band: Band; x: (row: number) => number; y: (value: number) => number; top: number; height: number }): JSX.Element {
  const series = (): GraphSeries => props.band.series;
  const ticks = (): string =>
    props.band.series.values
      .map((value, row) => (value === null || value === 0 ? "" : `M${props.x(row).toFixed(1)} ${props.top + props.height}v${-props.height * Math.min(1, Math.abs(series().width))}`))
      .join("");
  return (
    <Show when={series().color}>
      {(color) => (
        <Show
          when={series().kind === "area"}
          fallback={
            <path
              d={series().kind === "tick" ? ticks() : linePath(props.band.high, props.x, props.y)}
              fill="none"
              stroke={color()}
              stroke-width={series().kind === "tick" ? 1 : Math.max(1.5, series().width)}
              stroke-dasharray={series().dashes.join(" ")}
              stroke-linejoin="round"
            />
          }
        >
          <path d={areaPath(props.band, props.x, props.y)} fill={color()} fill-opacity="0.75" />
          <path d={linePath(props.band.high, props.x, props.y)} fill="none" stroke={color()} />
        </Show>
      )}
    </Show>
  );
}

/** The graph in words, for those who do not see it. */
function describe(picture: GraphPicture): string {
  const [from, to] = [picture.start * 1000, (picture.start + picture.rows * picture.step) * 1000];
  return `${picture.title} from ${full(from)} to ${full(to)}. ${said(picture).join("; ")}. Left and right move, plus zooms in, minus out.`;
}
