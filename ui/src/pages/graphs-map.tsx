// How the devices of the network hang together: a map, and the same as a list.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createResource, createSignal, For, Match, on, onCleanup, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { GraphLink, GraphLinkEnd, GraphMap, GraphMapNode, GraphStatus } from "../api/types";
import { of, whole } from "../format";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { useKeys } from "../parts/keys";
import { known } from "../parts/known";
import { PHONE, useMedia } from "../parts/media";
import { Tag } from "../parts/meaning";
import { Empty, Loading, Trouble } from "../parts/states";
import { toast } from "../parts/toast";
import { may } from "../session";
import { useEvery } from "./charge/every";
import { AddDevice } from "./graphs/add-device";
import { LearnBehind } from "./graphs/behind";
import { Drawing } from "./graphs/map-drawing";
import { beside, type Beside } from "./graphs/map-words";
import { NoGraphs } from "./graphs/nothing";
import { stateOf } from "./graphs/words";
import "./graphs/graphs.css";
import "./graphs/map.css";

const LOOK_MS = 15_000;
/** Rows of the list that are shown at first. */
const LISTED = 200;

type Search = { q?: string; at?: string; show?: string };

export default function GraphsMap(): JSX.Element {
  const [search, setSearch] = useSearchParams<Search>();
  const [status] = createResource(() => get<GraphStatus>("/graphs/status"));
  const [map, again] = createResource(
    () => known(status)?.serving === true && !known(status)?.trouble,
    () => get<GraphMap>("/graphs/map"),
  );
  useEvery(LOOK_MS, () => void (known(map) && !map.loading && again.refetch()));
  const phone = useMedia(PHONE);
  const isList = (): boolean => (search.show ?? (phone() ? "list" : "map")) === "list";
  const [adding, setAdding] = createSignal<GraphMapNode | undefined>();
  const [learning, setLearning] = createSignal<{ id: number; name: string } | undefined>();
  let field: HTMLInputElement | undefined;
  useKeys([
    { keys: "/", what: "search devices", run: () => field?.focus() },
    { keys: "d", what: "map or list", run: () => setSearch({ show: isList() ? "map" : "list" }) },
  ]);
  const found = createMemo((): Set<string> | undefined => {
    const text = (search.q ?? "").trim().toLowerCase();
    if (text === "") return undefined;
    const has = (node: GraphMapNode): boolean => `${node.name} ${node.address ?? ""}`.toLowerCase().includes(text);
    return new Set((known(map)?.nodes ?? []).filter(has).map((node) => node.key));
  });
  const chosen = (): GraphMapNode | undefined => known(map)?.nodes.find((node) => node.key === search.at);
  const choose = (key: string | undefined): void => setSearch({ at: key }, { replace: true, scroll: false });
  const first = (event: KeyboardEvent): void => {
    const key = event.key === "Enter" ? found()?.values().next().value : undefined;
    if (key) choose(key);
  };
  return (
    <>
      <Head title="Map" about={<Show when={known(map)}>{(map) => <About map={map()} />}</Show>}>
        <input ref={field} class="input graphs-search" type="search" placeholder="Search devices" aria-label="Search devices" value={search.q ?? ""} onKeyDown={first} onInput={(event) => setSearch({ q: event.currentTarget.value || undefined }, { replace: true, scroll: false })} />
        <div class="row" role="group" aria-label="View">
          <button class="button" aria-pressed={!isList()} onClick={() => setSearch({ show: "map" })}>
            Map
          </button>
          <button class="button" aria-pressed={isList()} onClick={() => setSearch({ show: "list" })}>
            List
          </button>
        </div>
        <A class="button" href="/graphs?show=devices">
          Devices
        </A>
      </Head>
      <Switch fallback={<Loading what="the map" />}>
        <Match when={status.error || map.error}>
          <Trouble error={status.error ?? map.error} retry={() => void again.refetch()} />
        </Match>
        <Match when={known(status) && (!known(status)!.serving || known(status)!.trouble)}>
          <NoGraphs trouble={known(status)!.trouble} />
        </Match>
        <Match when={known(map)?.nodes_total === 0}>
          <NoGraphs some />
        </Match>
        <Match when={known(map)}>
          {(map) => (
            <div class="graphs">
              <Show when={map().links_total === 0}>
                <NoLinks />
              </Show>
              <Show when={map().nodes_total > map().nodes.length}>
                <p class="muted">
                  {whole(map().nodes.length)} of {of(map().nodes_total, "device", "devices")} shown, nearest to the core of the network first.
                </p>
              </Show>
              <div class="map" classList={{ "map-with-side": chosen() !== undefined }}>
                <Show when={!isList()} fallback={<List map={map()} found={found()} chosen={search.at} choose={choose} />}>
                  <Drawing map={map()} found={found()} chosen={search.at} choose={choose} />
                </Show>
                <Show when={chosen()}>{(node) => <Side map={map()} node={node()} choose={choose} add={() => setAdding(node())} learn={setLearning} />}</Show>
              </div>
            </div>
          )}
        </Match>
      </Switch>
      <Show when={learning()}>
        {(from) => <LearnBehind from={from()} close={() => setLearning(undefined)} done={() => toast(`Saved the dependencies of devices, seen from ${from().name}.`)} />}
      </Show>
      <Show when={adding()}>{(node) => <AddDevice name={node().name} address={node().address ?? undefined} close={() => setAdding(undefined)} added={() => void again.refetch()} />}</Show>
    </>
  );
}

function About(props: { map: GraphMap }): JSX.Element {
  const down = (): number => props.map.nodes.filter((node) => node.state === "down").length;
  const polled = (): number => props.map.nodes_total - props.map.strangers_total;
  return (
    <span class="muted">
      {of(polled(), "device", "devices")}
      <Show when={down() > 0}>
        {" "}
        (
        <A class="bad-ink" href="/graphs?show=devices&state=down">
          {whole(down())} down
        </A>
        )
      </Show>
      <Show when={props.map.strangers_total > 0}>, {of(props.map.strangers_total, "neighbour not polled", "neighbours not polled")}</Show>, {of(props.map.links_total, "link", "links")}
    </span>
  );
}

function NoLinks(): JSX.Element {
  return (
    <Empty icon="graphs" title="No device reports neighbours">
      <p>
        Links come from LLDP by SNMP. Enable LLDP on the devices, and allow the SNMP agent to read <code>1.0.8802</code> (LLDP-MIB). <code>trunkline graph explore NAME</code> discovers a device at once.
      </p>
    </Empty>
  );
}

/** The same as the map, row by row. */
function List(props: { map: GraphMap; found: Set<string> | undefined; chosen: string | undefined; choose: (key: string) => void }): JSX.Element {
  const [shown, setShown] = createSignal(LISTED);
  const rows = createMemo(() => props.map.nodes.filter((node) => !props.found || props.found.has(node.key)));
  createEffect(on(() => props.found, () => setShown(LISTED), { defer: true }));
  return (
    <section class="panel" aria-label="Devices and their neighbours">
      <Show when={rows().length > 0} fallback={<Empty icon="search" title="No devices match">The search covers names and addresses.</Empty>}>
        <ul class="map-list">
          <For each={rows().slice(0, shown())}>
            {(node) => (
              <li>
                <button class="map-row" aria-current={props.chosen === node.key ? "true" : undefined} onClick={() => props.choose(node.key)}>
                  <span class="clip">
                    <b>{node.name}</b> <span class="muted num">{node.address}</span>
                  </span>
                  <Tag meaning={stateOf(node.state).meaning}>{stateOf(node.state).text}</Tag>
                </button>
                <ul class="map-neighbours muted">
                  <For each={beside(props.map, node.key)}>{(one) => <li>{sentence(one)}</li>}</For>
                </ul>
              </li>
            )}
          </For>
        </ul>
        <Show when={rows().length > shown()}>
          <button class="button" onClick={() => setShown(shown() + LISTED)}>
            {whole(rows().length - shown())} more
          </button>
        </Show>
      </Show>
    </section>
  );
}

const sentence = (one: Beside): string => `${one.near.interface ?? "an interface"} → ${one.node.name}${one.far.interface ? ` ${one.far.interface}` : ""}${one.link.one_sided ? ", reported by one side only" : ""}`;

/** What is known of a device, and its links. */
function Side(props: { map: GraphMap; node: GraphMapNode; choose: (key: string | undefined) => void; add: () => void; learn: (from: { id: number; name: string }) => void }): JSX.Element {
  const links = createMemo(() => beside(props.map, props.node.key));
  const close = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && !(event.target instanceof HTMLInputElement)) props.choose(undefined);
  };
  window.addEventListener("keydown", close);
  onCleanup(() => window.removeEventListener("keydown", close));
  return (
    <section class="panel map-side" aria-label={`About ${props.node.name}`}>
      <header>
        <h2 class="clip">{props.node.name}</h2>
        <button class="button icon quiet" aria-label="Close" onClick={() => props.choose(undefined)}>
          <Icon name="close" />
        </button>
      </header>
      <div class="body stack">
        <p>
          <Tag meaning={stateOf(props.node.state).meaning}>{stateOf(props.node.state).text}</Tag> <span class="num">{props.node.address}</span>
        </p>
        <Show
          when={props.node.device !== null}
          fallback={
            <>
              <p class="muted">Its neighbours report it by LLDP. It is not polled, so it has no graphs.</p>
              <Show when={may("graphs.manage")}>
                <button class="button primary" onClick={() => props.add()}>
                  Add this device
                </button>
              </Show>
            </>
          }
        >
          <A href={`/graphs/device/${props.node.device}`}>Open the device</A>
          <Show when={may("graphs.manage")}>
            <button class="button" onClick={() => props.learn({ id: props.node.device!, name: props.node.name })}>
              Set dependencies from here
            </button>
          </Show>
        </Show>
        <h3>{of(links().length, "link", "links")}</h3>
        <ul class="map-links">
          <For each={links()} fallback={<li class="muted">No neighbours known.</li>}>
            {(one) => (
              <li>
                <p>
                  <b class="num">{one.near.interface ?? "?"}</b> to{" "}
                  <button class="map-jump" onClick={() => props.choose(one.node.key)}>
                    {one.node.name}
                  </button>{" "}
                  <span class="num">{one.far.interface}</span>
                  <Show when={one.link.one_sided}>
                    {" "}
                    <Tag meaning="warn">{whoTells(one.link, one.near)}</Tag>
                  </Show>
                </p>
                <EndLinks end={one.near} />
              </li>
            )}
          </For>
        </ul>
      </div>
    </section>
  );
}

const whoTells = (link: GraphLink, near: GraphLinkEnd): string => (link.ends.some((end) => end.tells) ? (near.tells ? "reported by this side only" : "reported by the other side only") : "not reported");

function EndLinks(props: { end: GraphLinkEnd }): JSX.Element {
  return (
    <p class="row map-graphs">
      <Show when={props.end.traffic !== null}>
        <A href={`/graphs/${props.end.traffic}`}>Traffic</A>
      </Show>
      <Show when={props.end.losses !== null}>
        <A href={`/graphs/${props.end.losses}`}>Errors and discards</A>
      </Show>
      <Show when={props.end.label}>
        <span class="muted clip">{props.end.label}</span>
      </Show>
    </p>
  );
}
