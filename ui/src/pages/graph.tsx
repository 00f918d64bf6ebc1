// One graph: its numbers over any time, beside an older one, as a picture or a file.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createMemo, createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, remove, url } from "../api/client";
import type { GraphPicture, GraphPictures, GraphShown } from "../api/types";
import { Confirm } from "../parts/dialog";
import { GraphChart } from "../parts/graph-chart";
import { amount } from "../parts/graph-shape";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { useKeys } from "../parts/keys";
import { known } from "../parts/known";
import { zone } from "../prefs";
import { RangePicker } from "../parts/range-picker";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { absolute, isRelative, useRange } from "../range";
import { may } from "../session";
import { AlertsOfDevice } from "./alerts/of-device";
import { useEvery } from "./charge/every";
import { ChangeGraph } from "./graphs/of-many";
import { asked, columns, named, printed, printName, printUnit, SHIFTS, spanOf, unitOf } from "./graphs/words";
import "./graphs/graphs.css";

const LOOK_MS = 5_000;
const HEIGHT = 360;
/** Spans beside each other: what a graph is looked at for first. */
const SPANS = [
  { from: "now-1h", name: "Hour" },
  { from: "now-24h", name: "Day" },
  { from: "now-7d", name: "Week" },
  { from: "now-30d", name: "Month" },
  { from: "now-365d", name: "Year" },
  { from: "now-1825d", name: "5 years" },
];

type Seen = { span: [number, number]; now: GraphPictures["pictures"][number]; before: GraphPicture | undefined };

export default function Graph(): JSX.Element {
  const params = useParams<{ id: string }>();
  const [search, setSearch] = useSearchParams<{ with?: string; of?: string }>();
  const [range, setRange] = useRange("now-24h");
  const navigate = useNavigate();
  const [dialog, setDialog] = createSignal<"change" | "remove" | undefined>();
  const [graph, graphAgain] = createResource(() => params.id, (id) => get<GraphShown>(`/graphs/${id}`));
  const shift = (): number => SHIFTS.find(({ s }) => String(s) === search.with)?.s ?? 0;
  const question = createMemo(() => ({ id: params.id, range: range(), shift: shift(), function: search.of }));
  const [seen, again] = createResource(question, async ({ id, range, shift, function: by }): Promise<Seen> => {
    const span = spanOf(range);
    const ask = (shift?: number): Promise<GraphPictures> => get<GraphPictures>("/graphs/pictures", { ids: id, width: 900, function: by, shift, ...asked(span) });
    const [now, before] = await Promise.all([ask(), shift > 0 ? ask(shift) : undefined]);
    return { span, now: now.pictures[0]!, before: before?.pictures[0]?.picture ?? undefined };
  });
  useEvery(LOOK_MS, () => void (isRelative(range()) && !seen.loading && again.refetch()));
  const picture = (): GraphPicture | null | undefined => known(seen)?.now.picture;
  const zoomOut = (): void => {
    const [from, to] = spanOf(range());
    setRange(absolute(from - (to - from) / 2, Math.min(Date.now(), to + (to - from) / 2)));
  };
  useKeys([
    { keys: "-", what: "a wider range of time", run: zoomOut },
    ...SPANS.map(({ from, name }, at) => ({ keys: String(at + 1), what: `the last ${name.toLowerCase()}`, run: () => setRange({ from, to: "now" }) })),
  ]);
  const file = (kind: string): string => url(`/graphs/${params.id}/${kind}`, { width: 900, function: search.of, tz: kind === "csv" ? undefined : zone(), ...asked(spanOf(range())) });
  return (
    <>
      <Head
        title={known(graph)?.title ?? "Graph"}
        about={
          <Show when={known(graph)?.device}>
            <A href={`/graphs/device/${known(graph)!.device}`}>{known(graph)!.device_name}</A>
          </Show>
        }
      >
        <Show when={may("graphs.manage") && known(graph)}>
          <button class="button" onClick={() => setDialog("change")}>
            Change
          </button>
          <button class="button danger" onClick={() => setDialog("remove")}>
            Remove
          </button>
        </Show>
        <RangePicker range={range()} onChange={setRange} onWider={zoomOut} />
      </Head>
      <div class="graphs">
        <div class="row graphs-tools">
          <div class="row" role="group" aria-label="Spans">
            <For each={SPANS}>
              {({ from, name }) => (
                <button class="button" aria-pressed={isRelative(range()) && range().from === from} onClick={() => setRange({ from, to: "now" })}>
                  {name}
                </button>
              )}
            </For>
          </div>
          <select class="input" aria-label="Compared with" value={search.with ?? ""} onChange={(event) => setSearch({ with: event.currentTarget.value || undefined })}>
            <option value="">compared with nothing</option>
            <For each={SHIFTS}>
              {({ s, name }) => (
                <option value={String(s)} selected={shift() === s}>
                  with {name}
                </option>
              )}
            </For>
          </select>
          <select class="input" aria-label="How values become one" value={search.of ?? ""} onChange={(event) => setSearch({ of: event.currentTarget.value || undefined })}>
            <option value="">as its template says</option>
            <For each={[["average", "means"], ["max", "greatest values"], ["min", "least values"], ["last", "last values"]]}>
              {([value, name]) => (
                <option value={value} selected={search.of === value}>
                  {name}
                </option>
              )}
            </For>
          </select>
          <div class="row spread" role="group" aria-label="Download">
            <For each={["png", "svg", "csv"]}>
              {(kind) => (
                <a class="button" href={file(kind)} download={`graph-${params.id}.${kind}`} aria-label={`Download as ${kind.toUpperCase()}`}>
                  <Icon name="download" size={16} /> {kind.toUpperCase()}
                </a>
              )}
            </For>
          </div>
        </div>
        <Show when={known(graph)?.device_name}>{(device) => <AlertsOfDevice device={device()} />}</Show>
        <Switch fallback={<Loading what="the graph" />}>
          <Match when={graph.error}>
            <Trouble error={graph.error} />
          </Match>
          <Match when={seen.error && !known(seen)}>
            <Trouble error={seen.error} retry={() => void again.refetch()} />
          </Match>
          <Match when={known(seen)?.now.trouble}>
            {(why) => (
              <Empty icon="bad" title="This graph cannot be drawn">
                <p>{why()}</p>
              </Empty>
            )}
          </Match>
          <Match when={picture()}>
            {(picture) => (
              <Shown
                picture={picture()}
                before={known(seen)!.before}
                span={known(seen)!.span}
                shift={SHIFTS.find(({ s }) => s === shift())?.name}
                onZoom={(from, to) => setRange(absolute(Math.round(from), Math.round(Math.min(to, Date.now()))))}
              />
            )}
          </Match>
        </Switch>
        <Show when={known(graph)}>{(graph) => <Sources graph={graph()} />}</Show>
      </div>
      <Show when={dialog() === "change" && known(graph)}>
        {(graph) => (
          <ChangeGraph
            graph={graph()}
            close={() => setDialog(undefined)}
            done={() => {
              void graphAgain.refetch();
              void again.refetch();
            }}
          />
        )}
      </Show>
      <Show when={dialog() === "remove"}>
        <Confirm
          title="Remove the graph"
          text={`${known(graph)?.title ?? "It"} goes. What it shows is read and kept as before.`}
          action="Remove the graph"
          close={() => setDialog(undefined)}
          run={async () => {
            await remove(`/graphs/${params.id}`);
            navigate("/graphs");
          }}
        />
      </Show>
    </>
  );
}

function Shown(props: { picture: GraphPicture; before: GraphPicture | undefined; span: [number, number]; shift: string | undefined; onZoom: (from: number, to: number) => void }): JSX.Element {
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

function Sources(props: { graph: GraphShown }): JSX.Element {
  return (
    <section class="panel" aria-label="Where the numbers come from">
      <header>
        <h2>Where the numbers come from</h2>
      </header>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of data sources">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Device</th>
              <th scope="col">Row</th>
              <th scope="col">Data template</th>
              <th scope="col">Last sample in its file</th>
            </tr>
          </thead>
          <tbody>
            <For each={props.graph.sources}>
              {(source) => (
                <tr>
                  <td>
                    <Show when={source.device} fallback="–">
                      <A href={`/graphs/device/${source.device}`}>{source.device_name}</A>
                    </Show>
                  </td>
                  <td>{source.row ?? "–"}</td>
                  <td>{source.template ?? "–"}</td>
                  <td>{source.last === null ? "nothing yet" : <Time at={source.last} />}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}
