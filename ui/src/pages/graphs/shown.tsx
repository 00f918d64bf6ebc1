// A graph with its legend: what the pages of one graph show, of any time or of now.

import { createSignal, For, Show, type JSX } from "solid-js";
import type { GraphPicture } from "../../api/types";
import { GraphChart } from "../../parts/graph-chart";
import { amount } from "../../parts/graph-shape";
import { Time } from "../../parts/time";
import { columns, named, printed, printName, printUnit, unitOf } from "./words";

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
          <Show when={at()} fallback={`a row is of ${props.picture.step} s`}>
            {(at) => <Time at={at()} />}
          </Show>
        </span>
      </header>
      <div class="body">
        <GraphChart picture={props.picture} before={props.before} span={props.span} height={HEIGHT} onRow={setRow} onZoom={props.onZoom} />
        <Show when={props.picture.unread.length > 0}>
          <p class="muted">Nothing has been read yet of {props.picture.unread.length === 1 ? "one data source" : `${props.picture.unread.length} data sources`}: unknown, not nothing.</p>
        </Show>
      </div>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of the legend">
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
            <For each={props.picture.thresholds}>
              {(threshold) => (
                <tr>
                  <td>
                    <svg class="swatch" width="16" height="10" aria-hidden="true">
                      <line class={`graph-threshold ${threshold.severity}`} x1="0" x2="16" y1="5" y2="5" />
                    </svg>{" "}
                    {threshold.label || (threshold.severity === "critical" ? "Critical" : "Warning")} ({threshold.side} is bad)
                  </td>
                  <td class="right">{amount(threshold.value, props.picture.base, props.picture.unit)}</td>
                  <For each={columns(props.picture)}>{() => <td />}</For>
                </tr>
              )}
            </For>
            <For each={props.picture.rules.filter((rule) => rule.label !== "")}>
              {(rule) => (
                <tr>
                  <td>
                    <svg class="swatch graph-swatch" width="16" height="10" aria-hidden="true">
                      <line x1="0" x2="16" y1="5" y2="5" stroke={rule.color ?? "currentColor"} stroke-width="2" stroke-dasharray={rule.dashes.join(" ")} />
                    </svg>{" "}
                    {rule.label}
                  </td>
                  <td class="right">{rule.at_time ? <Time at={rule.value === null ? null : rule.value * 1000} /> : amount(rule.value, props.picture.base, props.picture.unit)}</td>
                  <For each={columns(props.picture)}>{() => <td />}</For>
                </tr>
              )}
            </For>
            <For each={printed(props.picture)}>
              {(print) => (
                <tr>
                  <td>{printName(print)}</td>
                  <td class="right">{print.is_number ? amount(print.value, props.picture.base, printUnit(print)) : ""}</td>
                  <For each={columns(props.picture)}>{() => <td />}</For>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Legend(props: { picture: GraphPicture; of: GraphPicture; row: number | undefined; suffix?: string }): JSX.Element {
  return (
    <For each={named(props.of)}>
      {(series) => (
        <tr>
          <td>
            <svg class="swatch graph-swatch" width="16" height="10" aria-hidden="true">
              <Show when={props.suffix === undefined} fallback={<line x1="0" x2="16" y1="5" y2="5" stroke={series.color ?? "none"} stroke-width="2" stroke-dasharray="2 3" />}>
                <rect width="16" height={series.kind === "area" ? 10 : 3} y={series.kind === "area" ? 0 : 4} fill={series.color ?? "none"} />
              </Show>
            </svg>{" "}
            {series.label || series.name} <Show when={props.suffix}>({props.suffix})</Show>
          </td>
          <td class="right">{amount(props.row === undefined ? null : series.values[props.row], props.picture.base, props.picture.unit)}</td>
          <For each={columns(props.picture)}>{([figure]) => <td class="right">{amount(series.figures[figure], props.picture.base, unitOf(figure, props.picture.unit))}</td>}</For>
        </tr>
      )}
    </For>
  );
}
