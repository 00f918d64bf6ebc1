// A device that is polled: how it is, its rows, its graphs, and what does not answer.

import { useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, post, remove } from "../api/client";
import type { GraphDevice, GraphList } from "../api/types";
import { of, whole } from "../format";
import { Confirm } from "../parts/dialog";
import { amount } from "../parts/graph-shape";
import { Head } from "../parts/head";
import { known } from "../parts/known";
import { Tag } from "../parts/meaning";
import { RangePicker } from "../parts/range-picker";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toastError } from "../parts/toast";
import { useRange } from "../range";
import { may } from "../session";
import { span } from "../time";
import { AlertsOfDevice } from "./alerts/of-device";
import { useEvery } from "./charge/every";
import { BehindOf } from "./graphs/behind";
import { Previews } from "./graphs/previews";
import { PREVIEWS, STATES, troublesOf } from "./graphs/words";
import "./graphs/graphs.css";

const LOOK_MS = 10_000;

export default function Device(): JSX.Element {
  const params = useParams<{ id: string }>();
  const navigate = useNavigate();
  const [search, setSearch] = useSearchParams<{ page?: string }>();
  const [range, setRange] = useRange("now-24h");
  const [device, again] = createResource(() => params.id, (id) => get<GraphDevice>(`/graphs/devices/${id}`));
  const page = (): number => Math.max(0, Number(search.page ?? 1) - 1) || 0;
  const [graphs] = createResource(
    () => ({ device: params.id, offset: page() * PREVIEWS, limit: PREVIEWS }),
    (question) => get<GraphList>("/graphs", question),
  );
  const [removing, setRemoving] = createSignal(false);
  const [behind, setBehind] = createSignal(false);
  useEvery(LOOK_MS, () => void (!device.loading && again.refetch()));
  const set = (state: string): void =>
    void post("/graphs/devices/state", { devices: [Number(params.id)], state })
      .then(() => again.refetch())
      .catch(toastError);
  return (
    <>
      <Head title={known(device)?.name ?? "Device"} about={<Show when={known(device)}>{(device) => <State device={device()} />}</Show>}>
        <Show when={may("graphs.manage") && known(device)}>
          <button class="button" onClick={() => set(known(device)!.state === "disabled" ? "active" : "disabled")}>
            {known(device)!.state === "disabled" ? "Resume polling" : "Pause polling"}
          </button>
          <Show when={known(device)!.state !== "disabled"}>
            <button class="button" aria-pressed={known(device)!.quiet} onClick={() => set(known(device)!.quiet ? "active" : "maintenance")}>
              Maintenance
            </button>
          </Show>
          <button class="button" onClick={() => setBehind(true)}>
            Upstream devices
          </button>
          <button class="button danger" onClick={() => setRemoving(true)}>
            Remove
          </button>
        </Show>
        <RangePicker range={range()} onChange={setRange} />
      </Head>
      <div class="graphs">
        <Switch fallback={<Loading what="the device" />}>
          <Match when={device.error && !known(device)}>
            <Trouble error={device.error} retry={() => void again.refetch()} />
          </Match>
          <Match when={known(device)}>
            {(device) => (
              <>
                <AlertsOfDevice device={device().name} />
                <Facts device={device()} />
                <section aria-label="Graphs of the device" class="graphs-list">
                  <div class="row graphs-pages">
                    <h2>Graphs</h2>
                    <span class="muted">{of(device().graphs, "graph", "graphs")}</span>
                    <Show when={device().graphs > PREVIEWS}>
                      <div class="row spread">
                        <button class="button" disabled={page() === 0} onClick={() => setSearch({ page: page() === 1 ? undefined : String(page()) })}>
                          Previous
                        </button>
                        <button class="button" disabled={(page() + 1) * PREVIEWS >= device().graphs} onClick={() => setSearch({ page: String(page() + 2) })}>
                          Next
                        </button>
                      </div>
                    </Show>
                  </div>
                  <Show
                    when={(known(graphs)?.graphs.length ?? 0) > 0}
                    fallback={
                      <Show when={known(graphs)}>
                        <Empty icon="graphs" title="No graphs yet">
                          Graphs appear when the device has answered for the first time.
                        </Empty>
                      </Show>
                    }
                  >
                    <Previews graphs={known(graphs)!.graphs} range={range()} link={(id) => `/graphs/${id}`} />
                  </Show>
                </section>
                <Read device={device()} />
                <Rows device={device()} />
              </>
            )}
          </Match>
        </Switch>
      </div>
      <Show when={behind() && known(device)}>{(device) => <BehindOf device={device()} close={() => setBehind(false)} done={() => void again.refetch()} />}</Show>
      <Show when={removing()}>
        <Confirm
          title="Remove the device"
          text={`${known(device)?.name ?? "It"}, its graphs and its stored data will be deleted. This cannot be undone.`}
          action="Remove the device"
          close={() => setRemoving(false)}
          run={async () => {
            await remove(`/graphs/devices/${params.id}`);
            navigate("/graphs?show=devices");
          }}
        />
      </Show>
    </>
  );
}

function State(props: { device: GraphDevice }): JSX.Element {
  const state = (): (typeof STATES)[string] => STATES[props.device.state] ?? STATES["unknown"]!;
  return (
    <span class="row">
      <Tag meaning={state().meaning}>{state().text}</Tag>
      <Show when={props.device.flapping}>
        <Tag meaning="warn">flapping</Tag>
      </Show>
      <Show when={props.device.since}>
        <span class="muted">
          since <Time at={props.device.since} shape="short" />
        </span>
      </Show>
    </span>
  );
}

function Facts(props: { device: GraphDevice }): JSX.Element {
  const snmp = (): string => (props.device.version ? `v${props.device.version}, port ${props.device.port}${props.device.credential ? `, ${props.device.credential}` : ""}` : "off");
  const up = (): string => {
    const { of, all, failures, recoveries } = props.device.probes;
    if (of.length === 0) return "none: always up";
    return `${of.join(all ? " and " : " or ")}; down after ${whole(failures)}, up after ${whole(recoveries)} in a row`;
  };
  const facts = (): [string, string | null | undefined][] => [
    ["Address", props.device.address],
    ["SNMP", snmp()],
    ["Up/down check", up()],
    ["Site", props.device.site],
    ["Kind", props.device.template],
    ["System name", props.device.system.name],
    ["Location", props.device.system.location],
    ["Contact", props.device.system.contact],
    ["sysObjectID", props.device.system.object],
    ["Response time", props.device.round_trip_ms === null ? null : `${amount(props.device.round_trip_ms / 1000, 1000, "s")}`],
    ["Missed polls", props.device.missed > 0 ? whole(props.device.missed) : null],
    ["Upstream devices", props.device.behind.map((device) => device.name).join(", ")],
    ["Notes", props.device.notes],
  ];
  return (
    <section class="panel" aria-label="About the device">
      <div class="body stack">
        <Show when={props.device.troubles.length > 0}>
          <div role="alert">
            <For each={troublesOf(props.device.troubles)}>{(trouble) => <p class="bad-ink">{trouble}</p>}</For>
          </div>
        </Show>
        <Show when={props.device.system.description}>
          <p class="muted">{props.device.system.description}</p>
        </Show>
        <dl class="graphs-facts">
          <For each={facts().filter(([, value]) => value)}>
            {([name, value]) => (
              <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            )}
          </For>
        </dl>
      </div>
    </section>
  );
}

function Read(props: { device: GraphDevice }): JSX.Element {
  const odd = (): GraphDevice["read"] => props.device.read.filter((one) => one.fault || one.silent || one.absent || one.last === null || !one.active);
  const [all, setAll] = createSignal(false);
  const shown = (): GraphDevice["read"] => (all() ? props.device.read : odd());
  const why = (one: GraphDevice["read"][number]): string => {
    if (!one.active) return "paused";
    if (one.fault) return one.fault;
    if (one.absent) return "the device does not have this row now";
    if (one.last === null) return "no data yet";
    return one.silent ? "not responding" : "";
  };
  return (
    <section class="panel" aria-label="Data sources">
      <header>
        <h2>Data sources</h2>
        <span class="muted">
          {of(props.device.sources, "data source", "data sources")}, {odd().length === 0 ? "all responding" : `${whole(odd().length)} not responding`}
        </span>
        <button class="button" aria-pressed={all()} onClick={() => setAll(!all())}>
          Show all
        </button>
      </header>
      <Show when={shown().length > 0}>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of data sources">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Data source</th>
                <th scope="col">Method</th>
                <th scope="col">Interval</th>
                <th scope="col">Last stored sample</th>
                <th scope="col">Problem</th>
              </tr>
            </thead>
            <tbody>
              <For each={shown()}>
                {(one) => (
                  <tr>
                    <td>{one.title}</td>
                    <td>{one.how ?? "no template"}</td>
                    <td class="num">{one.step_s === null ? "–" : span(one.step_s)}</td>
                    <td>
                      <Time at={one.last} />
                    </td>
                    <td>
                      <Show when={why(one)} fallback="–">
                        <Show when={one.fault} fallback={<Tag meaning={one.silent ? "bad" : "none"}>{why(one)}</Tag>}>
                          <span class="bad-ink">{one.fault}</span>
                        </Show>
                      </Show>
                    </td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </Show>
    </section>
  );
}

function Rows(props: { device: GraphDevice }): JSX.Element {
  return (
    <Show when={props.device.rows.length > 0}>
      <section class="panel" aria-label="Table rows">
        <header>
          <h2>Table rows</h2>
          <span class="muted">
            {props.device.rows.length < props.device.rows_total ? `the first ${whole(props.device.rows.length)} of ${whole(props.device.rows_total)}` : of(props.device.rows_total, "row", "rows")}
          </span>
        </header>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of rows">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Table</th>
                <th scope="col">Name</th>
                <th scope="col">Label</th>
                <th scope="col">Index</th>
                <th scope="col" class="right">
                  Speed
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={props.device.rows}>
                {(row) => (
                  <tr>
                    <td>{row.table}</td>
                    <td>{row.name}</td>
                    <td>{row.label}</td>
                    <td class="num">{row.index ?? <Tag meaning="warn">missing</Tag>}</td>
                    <td class="right">{amount(row.speed, 1000, "bit/s")}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </section>
    </Show>
  );
}
