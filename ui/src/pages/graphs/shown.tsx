// A graph with its legend: what the pages of one graph show, of any time or of now.

import { createMemo, createSignal, For, Show, type JSX } from "solid-js";
import type { GraphPicture, GraphSeries } from "../../api/types";
import { GraphChart } from "../../parts/graph-chart";
import { amount, bands } from "../../parts/graph-shape";
import { Time } from "../../parts/time";
import { atCursor, columns, figureOf, hasFigures, named, printed, printName, printUnit } from "./words";

const HEIGHT = 360;

interface ShownProps {
  picture: GraphPicture;
  /** The same of an older time. */
  before?: GraphPicture | undefined;
  /** What is visible: [from, to] in milliseconds since 1970. */
  span: [number, number];
  /** How much older that is, in words. */
  shift?: string | undefined;
  onZoom?: ((from: number, to: number) => void) | undefined;
}

export function Shown(props: ShownProps): JSX.Element {
  const [row, setRow] = createSignal<number | undefined>();
  const at = (): number | undefined => (row() === undefined ? undefined : (props.picture.start + row()! * props.picture.step) * 1000);
  return (
    <section class="panel" aria-label="The graph">
      <header>
        <h2>{props.picture.unit || "Values"}</h2>
        <span class="muted num">
          <Show when={at()} fallback={`resolution ${props.picture.step} s`}>
            {(at) => (
              <>
                cursor at <Time at={at()} />
              </>
            )}
          </Show>
        </span>
      </header>
      <div class="body">
        <GraphChart picture={props.picture} before={props.before} span={props.span} height={HEIGHT} onRow={setRow} onZoom={props.onZoom} />
        <Show when={props.picture.unread.length > 0}>
          <p class="muted">No data yet from {props.picture.unread.length === 1 ? "one data source" : `${props.picture.unread.length} data sources`}: the value is unknown, not zero.</p>
        </Show>
      </div>
      <div class="scroll graphs-legend" tabindex="0" role="group" aria-label="Table of the legend">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Series</th>
              <th scope="col" class="right">
                At the cursor
              </th>
              <For each={columns(props.picture)}>
                {([, name]) => (
                  <th scope="col" class="right">
                    {name}
                  </th>
                )}
              </For>
            </tr>
          </thead>
          <tbody>
            <Legend picture={props.picture} of={props.picture} row={row()} />
            <Show when={props.before}>{(before) => <Legend picture={props.picture} of={before()} row={row()} suffix={props.shift ?? ""} />}</Show>
          </tbody>
        </table>
        <Beside picture={props.picture} />
      </div>
    </section>
  );
}

/** What is no series: limits, lines, and numbers that are of the whole time. They have one value each, wherever the cursor is. */
function Beside(props: { picture: GraphPicture }): JSX.Element {
  const lines = (): GraphPicture["rules"] => props.picture.rules.filter((rule) => rule.label !== "");
  const some = (): boolean => props.picture.thresholds.length + lines().length + printed(props.picture).length > 0;
  return (
    <Show when={some()}>
      <table class="table graphs-beside">
        <thead>
          <tr>
            <th scope="col">Thresholds and values of the whole time range</th>
            <th scope="col" class="right">
              Value
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={props.picture.thresholds}>
            {(threshold) => (
              <tr>
                <td>
                  <svg class="swatch" width="16" height="10" aria-hidden="true">
                    <line class={`graph-threshold ${threshold.severity}`} x1="0" x2="16" y1="5" y2="5" />
                  </svg>{" "}
                  {threshold.label || (threshold.severity === "critical" ? "Critical" : "Warning")} ({threshold.side} fires)
                </td>
                <td class="right">{amount(threshold.value, props.picture.base, props.picture.unit)}</td>
              </tr>
            )}
          </For>
          <For each={lines()}>
            {(rule) => (
              <tr>
                <td>
                  <svg class="swatch graph-swatch" width="16" height="10" aria-hidden="true">
                    <line x1="0" x2="16" y1="5" y2="5" stroke={rule.color ?? "currentColor"} stroke-width="2" stroke-dasharray={rule.dashes.join(" ")} />
                  </svg>{" "}
                  {rule.label}
                </td>
                <td class="right">{rule.at_time ? <Time at={rule.value === null ? null : rule.value * 1000} /> : amount(rule.value, props.picture.base, props.picture.unit)}</td>
              </tr>
            )}
          </For>
          <For each={printed(props.picture)}>
            {(print) => (
              <tr>
                <td>{printName(print)}</td>
                <td class="right">{print.is_number ? amount(print.value, props.picture.base, printUnit(print)) : ""}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </Show>
  );
}

function Legend(props: { picture: GraphPicture; of: GraphPicture; row: number | undefined; suffix?: string }): JSX.Element {
  const all = createMemo(() => bands(props.of.series));
  const series = (at: number): GraphSeries => props.of.series[at]!;
  return (
    <For each={named(props.of)}>
      {(at) => (
        <tr>
          <td>
            <svg class="swatch graph-swatch" width="16" height="10" aria-hidden="true">
              <Show when={props.suffix === undefined} fallback={<line x1="0" x2="16" y1="5" y2="5" stroke={series(at).color ?? "none"} stroke-width="2" stroke-dasharray="2 3" />}>
                <rect width="16" height={series(at).kind === "area" ? 10 : 3} y={series(at).kind === "area" ? 0 : 4} fill={series(at).color ?? "none"} />
              </Show>
            </svg>{" "}
            {series(at).label || series(at).name} <Show when={props.suffix}>({props.suffix})</Show>
          </td>
          <td class="right">{atCursor(props.of, all(), at, props.row)}</td>
          <For each={columns(props.picture)}>
            {([figure]) => <td class="right">{hasFigures(props.of, at) ? figureOf(figure, series(at).figures[figure], props.picture.base, props.picture.unit) : ""}</td>}
          </For>
        </tr>
      )}
    </For>
  );
}
