// One graph: its numbers over any time, beside an older one, as a picture or a file.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createMemo, createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, remove, url } from "../api/client";
import type { GraphPicture, GraphPictures, GraphShown } from "../api/types";
import { Confirm } from "../parts/dialog";
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
import { RealTime, REAL_TIME_STEPS } from "./graphs/real-time";
import { Shown } from "./graphs/shown";
import { asked, SHIFTS, spanOf } from "./graphs/words";
import "./graphs/graphs.css";

const LOOK_MS = 5_000;
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
  const [search, setSearch] = useSearchParams<{ with?: string; of?: string; live?: string }>();
  const [range, setRange] = useRange("now-24h");
  const navigate = useNavigate();
  const [dialog, setDialog] = createSignal<"change" | "remove" | undefined>();
  const [graph, graphAgain] = createResource(() => params.id, (id) => get<GraphShown>(`/graphs/${id}`));
  const shift = (): number => SHIFTS.find(({ s }) => String(s) === search.with)?.s ?? 0;
  /** Seconds between two readings; none is a graph of its file. */
  const live = (): number | undefined => REAL_TIME_STEPS.find((step) => String(step) === search.live);
  const inFile = (range: { from: string; to: string }): void => {
    setSearch({ live: undefined });
    setRange(range);
  };
  const question = createMemo(() => (live() === undefined ? { id: params.id, range: range(), shift: shift(), function: search.of } : undefined));
  const [seen, again] = createResource(question, async ({ id, range, shift, function: by }): Promise<Seen> => {
    const span = spanOf(range);
    const ask = (shift?: number): Promise<GraphPictures> => get<GraphPictures>("/graphs/pictures", { ids: id, width: 900, function: by, shift, ...asked(span) });
    const [now, before] = await Promise.all([ask(), shift > 0 ? ask(shift) : undefined]);
    return { span, now: now.pictures[0]!, before: before?.pictures[0]?.picture ?? undefined };
  });
  useEvery(LOOK_MS, () => void (question() && isRelative(range()) && !seen.loading && again.refetch()));
  const picture = (): GraphPicture | null | undefined => known(seen)?.now.picture;
  const zoomOut = (): void => {
    const [from, to] = spanOf(range());
    setRange(absolute(from - (to - from) / 2, Math.min(Date.now(), to + (to - from) / 2)));
  };
  useKeys([
    { keys: "-", what: "Zoom out", run: zoomOut },
    ...SPANS.map(({ from, name }, at) => ({ keys: String(at + 1), what: `Last ${name.toLowerCase()}`, run: () => inFile({ from, to: "now" }) })),
    { keys: "r", what: "Real time on or off", run: () => setSearch({ live: live() === undefined ? "1" : undefined }) },
  ]);
  /** The numbers as the page has them are what the API answers; the other files are made for it. */
  const file = (kind: string): string => (kind === "json" ? url("/graphs/pictures", { ids: params.id, width: 900, function: search.of, ...asked(spanOf(range())) }) : made(kind));
  const made = (kind: string): string => url(`/graphs/${params.id}/${kind}`, { width: 900, function: search.of, tz: kind === "csv" ? undefined : zone(), ...asked(spanOf(range())) });
  const OfFile = (): JSX.Element => (
    <>
      <select class="input" aria-label="Compare with" value={search.with ?? ""} onChange={(event) => setSearch({ with: event.currentTarget.value || undefined })}>
        <option value="">no comparison</option>
        <For each={SHIFTS}>
          {({ s, name }) => (
            <option value={String(s)} selected={shift() === s}>
              with {name}
            </option>
          )}
        </For>
      </select>
      <select class="input" aria-label="Aggregation" value={search.of ?? ""} onChange={(event) => setSearch({ of: event.currentTarget.value || undefined })}>
        <option value="">default aggregation</option>
        <For each={[["average", "average"], ["max", "maximum"], ["min", "minimum"], ["last", "last"]]}>
          {([value, name]) => (
            <option value={value} selected={search.of === value}>
              {name}
            </option>
          )}
        </For>
      </select>
      <div class="row spread" role="group" aria-label="Download">
        <Icon name="download" size={16} />
        <For each={["png", "svg", "csv", "json"]}>
          {(kind) => (
            <a class="button" href={file(kind)} download={`graph-${params.id}.${kind}`} aria-label={`Download as ${kind.toUpperCase()}`}>
              {kind.toUpperCase()}
            </a>
          )}
        </For>
      </div>
    </>
  );
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
        <Show when={live() === undefined}>
          <RangePicker range={range()} onChange={setRange} onWider={zoomOut} />
        </Show>
      </Head>
      <div class="graphs">
        <div class="row graphs-tools">
          <div class="row" role="group" aria-label="Spans">
            <For each={SPANS}>
              {({ from, name }) => (
                <button class="button" aria-pressed={live() === undefined && isRelative(range()) && range().from === from} onClick={() => inFile({ from, to: "now" })}>
                  {name}
                </button>
              )}
            </For>
            <button class="button" aria-pressed={live() !== undefined} title="Poll every few seconds while this page is open (r)" onClick={() => setSearch({ live: live() === undefined ? "1" : undefined })}>
              Real time
            </button>
          </div>
          <Show when={live()} fallback={<OfFile />}>
            {(step) => (
              <select class="input" aria-label="Polling interval" value={String(step())} onChange={(event) => setSearch({ live: event.currentTarget.value })}>
                <For each={REAL_TIME_STEPS}>
                  {(one) => (
                    <option value={String(one)} selected={one === step()}>
                      {one === 1 ? "every second" : `every ${one} s`}
                    </option>
                  )}
                </For>
              </select>
            )}
          </Show>
        </div>
        <Show when={known(graph)?.device_name}>{(device) => <AlertsOfDevice device={device()} />}</Show>
        <Switch fallback={<Loading what="the graph" />}>
          <Match when={graph.error}>
            <Trouble error={graph.error} />
          </Match>
          <Match when={live()}>{(step) => <RealTime id={params.id} step={step()} />}</Match>
          <Match when={seen.error && !known(seen)}>
            <Trouble error={seen.error} retry={() => void again.refetch()} />
          </Match>
          <Match when={known(seen)?.now.trouble}>
            {(why) => (
              <Empty icon="bad" title="The graph cannot be drawn">
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
          text={`${known(graph)?.title ?? "It"} will be removed. Its data is still collected and stored.`}
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

function Sources(props: { graph: GraphShown }): JSX.Element {
  return (
    <section class="panel" aria-label="Data sources">
      <header>
        <h2>Data sources</h2>
      </header>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of data sources">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Device</th>
              <th scope="col">Row</th>
              <th scope="col">Data template</th>
              <th scope="col">Last stored sample</th>
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
