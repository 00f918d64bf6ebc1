// Graphs of the network: trees and devices, search, previews.

import { A, useNavigate, useSearchParams } from "@solidjs/router";
import { createEffect, createResource, createSignal, For, Match, on, onCleanup, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { GraphDeviceBrief, GraphDevices, GraphList, GraphNode, GraphStatus, GraphTrees } from "../api/types";
import { of, whole } from "../format";
import { Head } from "../parts/head";
import { useKeys } from "../parts/keys";
import { known } from "../parts/known";
import { Tag } from "../parts/meaning";
import { RangePicker } from "../parts/range-picker";
import { useRowKeys } from "../parts/row-keys";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { useRange } from "../range";
import { may } from "../session";
import { useEvery } from "./charge/every";
import { AddDevice } from "./graphs/add-device";
import { AddTree, Arrange, type Arranged } from "./graphs/arrange";
import { NoGraphs } from "./graphs/nothing";
import { OF_MANY_MAX, OneOfMany } from "./graphs/of-many";
import { Previews } from "./graphs/previews";
import { Report } from "./graphs/report";
import { Trees } from "./graphs/tree";
import { PREVIEWS, STATES, troublesOf } from "./graphs/words";
import "./graphs/graphs.css";

const LOOK_MS = 10_000;
/** Milliseconds after the last letter that a search waits. */
const TYPED_MS = 150;
/** Devices on one page of the list. */
const DEVICES = 200;

type Search = { q?: string; node?: string; place?: string; page?: string; show?: string; state?: string };

export default function Graphs(): JSX.Element {
  const [search, setSearch] = useSearchParams<Search>();
  const [status, statusAgain] = createResource(() => get<GraphStatus>("/graphs/status"));
  const [adding, setAdding] = createSignal(false);
  useEvery(LOOK_MS, () => void (!status.loading && statusAgain.refetch()));
  const [range, setRange] = useRange("now-24h");
  const isDevices = (): boolean => search.show === "devices";
  let field: HTMLInputElement | undefined;
  let typed: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(typed));
  const type = (text: string): void => {
    clearTimeout(typed);
    typed = setTimeout(() => setSearch({ q: text || undefined, page: undefined }, { replace: true }), TYPED_MS);
  };
  useKeys([
    { keys: "/", what: "search graphs or devices", run: () => field?.focus() },
    { keys: "d", what: "devices or previews", run: () => setSearch({ show: isDevices() ? undefined : "devices", page: undefined }) },
  ]);
  useRowKeys("graphs");
  return (
    <>
      <Head title="Graphs" about={<Show when={known(status)?.counts}>{(counts) => <About counts={counts()} />}</Show>}>
        <input ref={field} class="input graphs-search" type="search" placeholder={isDevices() ? "Search devices" : "Search graphs"} aria-label={isDevices() ? "Search devices" : "Search graphs"} value={search.q ?? ""} onInput={(event) => type(event.currentTarget.value)} />
        <div class="row" role="group" aria-label="View">
          <button class="button" aria-pressed={!isDevices() && search.show !== "report"} onClick={() => setSearch({ show: undefined, page: undefined })}>
            Previews
          </button>
          <button class="button" aria-pressed={search.show === "report"} onClick={() => setSearch({ show: "report", page: undefined })}>
            Report
          </button>
          <button class="button" aria-pressed={isDevices()} onClick={() => setSearch({ show: "devices", page: undefined })}>
            Devices
          </button>
          <A class="button" href="/graphs/map">
            Map
          </A>
        </div>
        <Show when={may("graphs.manage") && known(status)?.serving}>
          <button class="button" onClick={() => setAdding(true)}>
            Add a device
          </button>
        </Show>
        <Show when={!isDevices()}>
          <RangePicker range={range()} onChange={setRange} />
        </Show>
      </Head>
      <Switch fallback={<Loading what="the graphs" />}>
        <Match when={status.error && !known(status)}>
          <Trouble error={status.error} retry={() => void statusAgain.refetch()} />
        </Match>
        <Match when={known(status) && (!known(status)!.serving || known(status)!.trouble)}>
          <NoGraphs trouble={known(status)!.trouble} />
        </Match>
        <Match when={known(status)?.counts?.devices === 0 && known(status)?.counts?.graphs === 0}>
          <NoGraphs some />
        </Match>
        <Match when={known(status)}>
          <Show when={(known(status)!.run?.troubles.length ?? 0) > 0}>
            <div class="graphs-troubles" role="alert">
              <For each={known(status)!.run!.troubles}>{(trouble) => <p class="bad-ink">{trouble}</p>}</For>
            </div>
          </Show>
          <Show when={isDevices()} fallback={<Gallery search={search} setSearch={setSearch} range={range()} />}>
            <Devices search={search} setSearch={setSearch} />
          </Show>
        </Match>
      </Switch>
      <Show when={adding()}>
        <AddDevice close={() => setAdding(false)} added={() => void statusAgain.refetch()} />
      </Show>
    </>
  );
}

function About(props: { counts: NonNullable<GraphStatus["counts"]> }): JSX.Element {
  return (
    <span class="muted">
      {of(props.counts.graphs, "graph", "graphs")}, {of(props.counts.devices, "device", "devices")}
      <Show when={props.counts.down > 0}>
        {" "}
        <A class="bad-ink" href="/graphs?show=devices&state=down">
          {whole(props.counts.down)} down
        </A>
      </Show>
    </span>
  );
}

interface Searching {
  search: Partial<Search>;
  setSearch: (search: Partial<Record<keyof Search, string | undefined>>) => void;
}

function Gallery(props: Searching & { range: { from: string; to: string } }): JSX.Element {
  const navigate = useNavigate();
  const [version, setVersion] = createSignal(0);
  const [trees] = createResource(version, () => get<GraphTrees>("/graphs/trees"));
  const page = (): number => Math.max(0, Number(props.search.page ?? 1) - 1) || 0;
  const which = (): Record<string, string | undefined> => ({ text: props.search.q, node: props.search.node });
  const isReport = (): boolean => props.search.show === "report";
  const question = (): Record<string, string | number | undefined> => ({ ...which(), offset: page() * PREVIEWS, limit: PREVIEWS });
  const [list, again] = createResource(
    () => !isReport() && question(),
    (question) => get<GraphList>("/graphs", question),
  );
  const [arranged, setArranged] = createSignal<Arranged | "tree" | undefined>();
  const [making, setMaking] = createSignal(false);
  const changed = (): void => {
    setVersion(version() + 1);
    void again.refetch();
  };
  const choose = (node: GraphNode): void => {
    if (node.kind === "graph" && node.target !== null) return navigate(`/graphs/${node.target}${keep(props)}`);
    props.setSearch({ node: String(node.id), place: node.name, page: undefined, q: undefined });
  };
  const manages = (): boolean => may("graphs.manage");
  const hasTrees = (): boolean => (known(trees)?.trees.length ?? 0) > 0 || (manages() && known(trees) !== undefined);
  const link = (id: number): string => `/graphs/${id}${keep(props)}`;
  const total = (): number => known(list)?.total ?? 0;
  return (
    <div class="graphs" classList={{ "graphs-with-tree": hasTrees() }}>
      <Show when={hasTrees()}>
        <nav class="panel graphs-trees" aria-label="Trees of graphs">
          <button class="graphs-node" aria-current={props.search.node === undefined ? "true" : undefined} onClick={() => props.setSearch({ node: undefined, place: undefined, page: undefined })}>
            All graphs
          </button>
          <Trees trees={known(trees)!} node={props.search.node === undefined ? undefined : Number(props.search.node)} choose={choose} arrange={manages() ? setArranged : undefined} version={version()} />
          <Show when={manages()}>
            <button class="button quiet graphs-add-tree" onClick={() => setArranged("tree")}>
              Add a tree
            </button>
          </Show>
        </nav>
      </Show>
      <Show when={!isReport()} fallback={<Report question={which()} name={props.search.place ?? "All graphs"} range={props.range} link={link} />}>
        <section class="graphs-list" aria-label="Previews">
          <Switch fallback={<Loading what="graphs" />}>
            <Match when={list.error}>
              <Trouble error={list.error} retry={() => void again.refetch()} />
            </Match>
            <Match when={known(list)?.total === 0}>
              <Empty icon="graphs" title={props.search.q ? "No graphs match" : "No graphs"}>
                <Show when={props.search.q} fallback="Graphs appear when a device has answered for the first time.">
                  The title must contain all words; <code>"in quotes"</code> is a phrase, <code>-word</code> excludes a word.
                </Show>
              </Empty>
            </Match>
            <Match when={known(list)}>
              <div class="row graphs-pages">
                <h2>{props.search.place ?? "All graphs"}</h2>
                <span class="muted">{of(total(), "graph", "graphs")}</span>
                <Show when={manages() && (props.search.q || props.search.node) && total() > 1 && total() <= OF_MANY_MAX}>
                  <button class="button" onClick={() => setMaking(true)}>
                    Combine these graphs
                  </button>
                </Show>
                <Pages page={page()} total={total()} size={PREVIEWS} go={(to) => props.setSearch({ page: to === 0 ? undefined : String(to + 1) })} />
              </div>
              <Previews graphs={known(list)!.graphs} range={props.range} link={link} />
            </Match>
          </Switch>
        </section>
      </Show>
      <Show when={arranged() === "tree"}>
        <AddTree close={() => setArranged(undefined)} changed={changed} />
      </Show>
      <Show when={arranged() !== "tree" && (arranged() as Arranged | undefined)}>{(what) => <Arrange what={what()} close={() => setArranged(undefined)} changed={changed} />}</Show>
      <Show when={making()}>
        <OneOfMany question={which()} words={props.search.q ?? props.search.place ?? ""} close={() => setMaking(false)} done={changed} />
      </Show>
    </div>
  );
}

/** The range goes along to a graph. */
function keep(props: { range: { from: string; to: string } }): string {
  const { from, to } = props.range;
  return from === "now-24h" && to === "now" ? "" : `?${new URLSearchParams({ from, to }).toString()}`;
}

function Pages(props: { page: number; total: number; size: number; go: (page: number) => void }): JSX.Element {
  const last = (): number => Math.max(0, Math.ceil(props.total / props.size) - 1);
  return (
    <Show when={last() > 0}>
      <div class="row spread" role="group" aria-label="Pages">
        <button class="button" disabled={props.page === 0} onClick={() => props.go(props.page - 1)}>
          Previous
        </button>
        <span class="num">
          {whole(props.page + 1)} of {whole(last() + 1)}
        </span>
        <button class="button" disabled={props.page >= last()} onClick={() => props.go(props.page + 1)}>
          Next
        </button>
      </div>
    </Show>
  );
}

function Devices(props: Searching): JSX.Element {
  const page = (): number => Math.max(0, Number(props.search.page ?? 1) - 1) || 0;
  const question = (): Record<string, string | number | undefined> => ({ text: props.search.q, state: props.search.state, offset: page() * DEVICES, limit: DEVICES });
  const [list, again] = createResource(question, (question) => get<GraphDevices>("/graphs/devices", question));
  useEvery(LOOK_MS, () => void (!list.loading && again.refetch()));
  createEffect(on(() => props.search.state, () => window.scrollTo(0, 0), { defer: true }));
  return (
    <div class="graphs">
      <section class="panel" aria-label="Devices">
        <header>
          <h2>Devices</h2>
          <select class="input" aria-label="State" value={props.search.state ?? ""} onChange={(event) => props.setSearch({ state: event.currentTarget.value || undefined, page: undefined })}>
            <option value="">any state</option>
            <For each={Object.entries(STATES)}>
              {([name, { text }]) => (
                <option value={name} selected={props.search.state === name}>
                  {text}
                </option>
              )}
            </For>
          </select>
          <Pages page={page()} total={known(list)?.total ?? 0} size={DEVICES} go={(to) => props.setSearch({ page: to === 0 ? undefined : String(to + 1) })} />
        </header>
        <Switch fallback={<Loading what="the devices" />}>
          <Match when={list.error}>
            <Trouble error={list.error} retry={() => void again.refetch()} />
          </Match>
          <Match when={known(list)?.total === 0}>
            <Empty icon="graphs" title="No devices match">
              The search covers names, addresses, sites, descriptions and notes.
            </Empty>
          </Match>
          <Match when={known(list)}>
            <div class="scroll" tabindex="0" role="group" aria-label="Table of devices">
              <table class="table">
                <thead>
                  <tr>
                    <th scope="col">Device</th>
                    <th scope="col">State</th>
                    <th scope="col">Since</th>
                    <th scope="col">Address</th>
                    <th scope="col">Site</th>
                    <th scope="col" class="right">
                      Graphs
                    </th>
                    <th scope="col">Not responding</th>
                  </tr>
                </thead>
                <tbody>
                  <For each={known(list)!.devices}>{(device) => <Device device={device} />}</For>
                </tbody>
              </table>
            </div>
          </Match>
        </Switch>
      </section>
    </div>
  );
}

function Device(props: { device: GraphDeviceBrief }): JSX.Element {
  const state = (): (typeof STATES)[string] => STATES[props.device.state] ?? STATES["unknown"]!;
  return (
    <tr>
      <td>
        <A href={`/graphs/device/${props.device.id}`} data-row-link>
          {props.device.name}
        </A>
      </td>
      <td>
        <Tag meaning={state().meaning}>{state().text}</Tag> <Show when={props.device.quiet}>maintenance</Show>
      </td>
      <td>
        <Time at={props.device.since} shape="short" />
      </td>
      <td class="num">{props.device.address}</td>
      <td>{props.device.site ?? "–"}</td>
      <td class="right">{whole(props.device.graphs)}</td>
      <td>{troublesOf(props.device.troubles).join(" ") || "–"}</td>
    </tr>
  );
}
