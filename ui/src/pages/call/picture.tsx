// The drawing of a ladder: lines of the hosts, ribbons of the streams, breaks, arrows; the zoomed span and the instant
// under the pointer across all of it.

import { createMemo, For, Show, type JSX } from "solid-js";
import type { Stream } from "../../api/types";
import { duration } from "../../format";
import { clockMs, ms, utc } from "../../time";
import { Arrow, BeginArrow } from "./arrow";
import type { Drawn } from "./ladder";
import { RIBBON, type Band } from "./layout";
import { membersOf, type GapRow, type Row } from "./rows";
import { since } from "./said";
import { weightOf } from "./words";
import { INTERVAL_MS, lookOf, lossOf } from "./series";

export function Picture(props: Drawn): JSX.Element {
  let svg: SVGSVGElement | undefined;
  // The rows themselves, so that those that stay visible are not drawn anew.
  const rows = createMemo(() => props.rows.slice(props.shown[0], props.shown[1]));
  const start = (): number => ms(props.view.call().start);
  /** The row of the chosen message, if it is drawn: a folded one stands in the row of another. */
  const active = (): string | undefined => {
    const chosen = props.view.chosen();
    const found = rows().find((row) => row.kind === "message" && chosen !== undefined && membersOf(row).includes(chosen));
    return found?.kind === "message" ? `message-${found.index + 1}` : undefined;
  };
  const move = (event: PointerEvent): void => {
    if (event.pointerType === "touch" || !svg) return;
    props.view.setCursor(props.layout.atOf(event.clientY - svg.getBoundingClientRect().top));
  };
  return (
    <svg
      ref={svg}
      class={`ladder-picture evidence-${weightOf(props.view.call())}`}
      width={props.layout.width}
      height={props.layout.height}
      role="listbox"
      tabindex="0"
      aria-label="Messages of the call"
      aria-activedescendant={active()}
      onPointerMove={move}
      onPointerLeave={() => props.view.setCursor(undefined)}
    >
      <Span {...props} />
      <g aria-hidden="true">
        <Lines {...props} />
        <For each={props.layout.bands}>{(band) => <Ribbon {...props} band={band} />}</For>
      </g>
      <For each={rows()}>
        {(row, index) => (
          <g>
            <OneRow {...props} row={row} at={props.shown[0] + index()} />
            <Show when={row.kind !== "gap"}>
              <TimeOf {...props} row={row} at={props.shown[0] + index()} start={start()} />
            </Show>
          </g>
        )}
      </For>
      <Cursor {...props} start={start()} />
    </svg>
  );
}

function OneRow(props: Drawn & { row: Row; at: number }): JSX.Element {
  // What kind a row is never changes.
  const row = props.row;
  if (row.kind === "gap") return <Break {...props} row={row} />;
  return row.kind === "begin" ? <BeginArrow {...props} row={row} /> : <Arrow {...props} row={row} />;
}

const near = (props: Drawn): number[] => props.layout.x.filter((x) => x > props.window.left - 200 && x < props.window.left + props.window.width + 200);

function Lines(props: Drawn): JSX.Element {
  const top = (): number => props.layout.top[props.shown[0]] ?? 0;
  const bottom = (): number => (props.shown[1] >= props.rows.length ? props.layout.height : (props.layout.top[props.shown[1]] ?? 0));
  return <For each={near(props)}>{(x) => <line class="lifeline" x1={x} x2={x} y1={top()} y2={bottom()} />}</For>;
}

/** Time since the call began; the time of day on hover. */
function TimeOf(props: Drawn & { row: Row; at: number; start: number }): JSX.Element {
  const before = (): Row | undefined => {
    const above = props.rows[props.at - 1];
    return above?.kind === "gap" ? props.rows[props.at - 2] : above;
  };
  const title = (): string => {
    const last = before();
    return `${clockMs(props.row.at)}\n${utc(props.row.at)}${last ? `\n${duration(props.row.at - last.at)} after the previous message` : ""}`;
  };
  return (
    <g aria-hidden="true" transform={`translate(${props.window.left} 0)`}>
      <rect class="time-ground" x={12} y={props.layout.middle[props.at]! - 7} width={props.sizes.times - 18} height={14} />
      <text class="time" x={props.sizes.times - 10} y={props.layout.middle[props.at]! + 4} text-anchor="end">
        {since(props.row.at - props.start)}
        <title>{title()}</title>
      </text>
    </g>
  );
}

/** A break in time: nothing happened for a while. */
function Break(props: Drawn & { row: GapRow; at: number }): JSX.Element {
  const top = (): number => props.layout.top[props.at]!;
  const height = (): number => props.sizes.gap;
  return (
    <g class="break" aria-hidden="true">
      <rect x={props.window.left} y={top() + 1} width={props.window.width} height={height() - 2} />
      <For each={near(props)}>{(x) => <path d={`M${x - 5} ${top() + height() / 2 + 2}l4 -4l2 4l4 -4`} />}</For>
      <text x={props.window.left + props.sizes.times - 10} y={top() + height() / 2 + 4} text-anchor="end">
        {duration(props.row.to - props.row.at)}
      </text>
    </g>
  );
}

/** A stream from first to last packet, with marks where packets are missing. */
function Ribbon(props: Drawn & { band: Band }): JSX.Element {
  const stream = (): Stream => props.view.call().streams[props.band.stream]!;
  const look = (): ReturnType<typeof lookOf> => lookOf(props.band.stream);
  const [from, to] = [(): number => props.layout.x[props.band.from]!, (): number => props.layout.x[props.band.to]!];
  const losses = createMemo((): { y1: number; y2: number; missing: number; opacity: number }[] => {
    const own = props.intervals.find((one) => one.stream === stream().id)?.intervals ?? [];
    return own.flatMap((interval) => {
      if (interval.missing === 0) return [];
      const at = ms(interval.start);
      const y1 = props.layout.yOf(at);
      return [{ y1, y2: Math.max(y1 + 2, props.layout.yOf(Math.min(at + INTERVAL_MS, ms(stream().last)))), missing: interval.missing, opacity: Math.min(1, 0.25 + (lossOf(interval) ?? 0) * 12) }];
    });
  });
  return (
    <g class="ribbon" style={{ color: `var(${look().color})` }}>
      <rect class="talk" x={Math.min(from(), to())} width={Math.abs(to() - from())} y={props.band.y1} height={props.band.y2 - props.band.y1} />
      <rect class="body" x={props.band.x - RIBBON / 2} width={RIBBON} y={props.band.y1} height={props.band.y2 - props.band.y1} rx="2" />
      <For each={losses()}>
        {(loss) => (
          <rect class="loss" x={props.band.x - RIBBON / 2} width={RIBBON} y={loss.y1} height={loss.y2 - loss.y1} fill-opacity={loss.opacity}>
            <title>{`${loss.missing} lost in these 10 s`}</title>
          </rect>
        )}
      </For>
      <path class="end" d={`M${props.band.x - RIBBON} ${props.band.y2}h${RIBBON * 2}`} />
    </g>
  );
}

/** The span that is zoomed in the plots. */
function Span(props: Drawn): JSX.Element {
  return (
    <Show when={props.view.span()}>
      {(span) => (
        <rect class="span" x={props.window.left} width={props.window.width} y={props.layout.yOf(span()[0])} height={Math.max(2, props.layout.yOf(span()[1]) - props.layout.yOf(span()[0]))} aria-hidden="true" />
      )}
    </Show>
  );
}

/** The instant under the pointer, here or in a plot. */
function Cursor(props: Drawn & { start: number }): JSX.Element {
  return (
    <Show when={props.view.cursor()}>
      {(cursor) => (
        <g class="cursor" aria-hidden="true" transform={`translate(${props.window.left} ${props.layout.yOf(cursor())})`}>
          <line x1={0} x2={props.window.width} y1={0} y2={0} />
          <rect x={2} y={-8} width={props.sizes.times - 8} height={16} rx="3" />
          <text x={props.sizes.times - 10} y={4} text-anchor="end">
            {since(cursor() - props.start)}
          </text>
        </g>
      )}
    </Show>
  );
}
