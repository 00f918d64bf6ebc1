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
            {known(device)!.state === "disabled" ? "Poll it again" : "Do not poll"}
          </button>
          <Show when={known(device)!.state !== "disabled"}>
            <button class="button" aria-pressed={known(device)!.quiet} onClick={() => set(known(device)!.quiet ? "active" : "maintenance")}>
              Maintenance
            </button>
          </Show>
          <button class="button" onClick={() => setBehind(true)}>
            The way to it
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
                          Before
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
                        <Empty icon="graphs" title="It has no graphs yet">
                          They come as soon as what they show has said something.
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
          text={`${known(device)?.name ?? "It"}, its graphs and all that was read of it go. This cannot be undone.`}
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
        <Tag meaning="warn">up and down by turns</Tag>
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
  const snmp = (): string => (props.device.version ? `v${props.device.version}, port ${props.device.port}${props.device.credential ? `, ${props.device.credential}` : ""}` : "not asked");
  const up = (): string => {
    const { of, all, failures, recoveries } = props.device.probes;
    if (of.length === 0) return "it is always up";
    return `${of.join(all ? " and " : " or ")}; down after ${whole(failures)}, up after ${whole(recoveries)} in a row`;
  };
  const facts = (): [string, string | null | undefined][] => [
    ["Address", props.device.address],
    ["SNMP", snmp()],
    ["Up while it answers", up()],
    ["Site", props.device.site],
    ["Kind", props.device.template],
    ["Calls itself", props.device.system.name],
    ["Location", props.device.system.location],
    ["Contact", props.device.system.contact],
    ["sysObjectID", props.device.system.object],
    ["Answers within", props.device.round_trip_ms === null ? null : `${amount(props.device.round_trip_ms / 1000, 1000, "s")}`],
    ["Cycles left out", props.device.missed > 0 ? whole(props.device.missed) : null],
    ["Behind", props.device.behind.map((device) => device.name).join(", ")],
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
    if (!one.active) return "is not read";
    if (one.fault) return one.fault;
    if (one.absent) return "the device does not have this row at present";
    if (one.last === null) return "nothing has been read yet";
    return one.silent ? "is silent" : "";
  };
  return (
    <section class="panel" aria-label="What is read">
      <header>
        <h2>What is read</h2>
        <span class="muted">
          {of(props.device.sources, "data source", "data sources")}, {odd().length === 0 ? "all answer" : `${whole(odd().length)} without an answer`}
        </span>
        <button class="button" aria-pressed={all()} onClick={() => setAll(!all())}>
          All of them
        </button>
      </header>
      <Show when={shown().length > 0}>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of what is read">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">What</th>
                <th scope="col">How</th>
                <th scope="col">Every</th>
                <th scope="col">Last sample in its file</th>
                <th scope="col">Why there is nothing</th>
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
      <section class="panel" aria-label="Rows of its tables">
        <header>
          <h2>Rows</h2>
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
                    <td class="num">{row.index ?? <Tag meaning="warn">not there</Tag>}</td>
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
