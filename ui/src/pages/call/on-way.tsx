// What was on the way of a call: devices and interfaces near its addresses and between them, with their graphs for its
// minutes. Drops and errors come first.

import { A } from "@solidjs/router";
import { createMemo, createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { CallWay, GraphPictures, GraphWays, Loss, Losses } from "../../api/types";
import { of, whole } from "../../format";
import { GraphChart } from "../../parts/graph-chart";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { Empty, Loading, Trouble } from "../../parts/states";
import { may } from "../../session";
import { clock, ms, rfc3339 } from "../../time";
import { stateOf } from "../graphs/words";
import { isFound, lanes, lostHere, lostThere, nameOf, says, SHOWS, type Lane } from "./on-way-words";
import type { View } from "./view";
import "./on-way.css";

/** Graphs that are drawn at first, and of one question. */
const SHOWN = 12;
const PICTURES_MAX = 60;
/** Rows of a graph. */
const WIDTH = 300;
const HEIGHT = 84;
/** Milliseconds before the time that is shown in which a report of a loss may begin that is of it. */
const COUNTING_MS = 60_000;

type Pictures = Map<number, GraphPictures["pictures"][number]>;

export function OnWay(props: { view: View }): JSX.Element {
  const call = (): string => `${props.view.call().id} ${props.view.call().last}`;
  const [way, again] = createResource(
    // Anew when the call went on.
    () => (may("graphs.read") ? call() : undefined),
    (key) => get<CallWay>(`/calls/${encodeURIComponent(key.split(" ")[0]!)}/way`),
  );
  return (
    <Show when={may("graphs.read")}>
      <section class="panel on-way" aria-label="Network path">
        <header>
          <h2>Network path</h2>
          <Show when={known(way)}>
            {(way) => (
              <span class="muted">
                {clock(ms(way().from)).slice(0, 5)} to {clock(ms(way().to)).slice(0, 5)}
                {isFound(way()) ? `, ${of(way().near.stops_total, "hop", "hops")}` : ""}
              </span>
            )}
          </Show>
        </header>
        <Switch fallback={<Loading what="the network path" />}>
          <Match when={way.error}>
            <Trouble error={way.error} retry={() => void again.refetch()} />
          </Match>
          <Match when={known(way) && !known(way)!.polled}>
            <Empty icon="graphs" title="No devices are polled">
              <p>
                This section shows the graphs of network devices during the call. Start the poller with <code>[graph]</code> in the configuration or with <code>trunkline graph serve</code>, then add devices: <code>trunkline graph add NAME ADDRESS</code>.
              </p>
            </Empty>
          </Match>
          <Match when={known(way) && !isFound(known(way)!)}>
            <Nowhere way={known(way)!} />
          </Match>
          <Match when={known(way)}>{(way) => <Shown way={way()} view={props.view} />}</Match>
        </Switch>
      </section>
    </Show>
  );
}

function Nowhere(props: { way: CallWay }): JSX.Element {
  return (
    <Empty icon="graphs" title="No polled device knows these addresses">
      <p>
        <For each={props.way.parts}>
          {(part, at) => (
            <>
              {at() > 0 ? "; " : ""}
              <span class="num">{part.address}</span> ({part.of.join(", ")})
            </>
          )}
        </For>
      </p>
      <p>
        Trunkline looks in the addresses, networks, ARP and forwarding tables of devices. Add the switches and routers near these addresses: <code>trunkline graph add NAME ADDRESS</code>.
      </p>
    </Empty>
  );
}

function Shown(props: { way: CallWay; view: View }): JSX.Element {
  const sorted = createMemo(() => lanes(props.way.near.stops));
  const [all, setAll] = createSignal(false);
  const [open, setOpen] = createSignal(false);
  const first = (): Lane[] => sorted().first.slice(0, all() ? PICTURES_MAX : SHOWN);
  const sound = (): Lane[] => (open() ? sorted().sound.slice(0, PICTURES_MAX - Math.min(PICTURES_MAX, first().length)) : []);
  const ids = createMemo(() => [...new Set([...first(), ...sound()].map((lane) => lane.graph.id))].join(","));
  const [pictures] = createResource(
    () => (ids() === "" ? undefined : { ids: ids(), from: props.way.from, to: props.way.to }),
    async ({ ids, from, to }): Promise<Pictures> => {
      const { pictures } = await get<GraphPictures>("/graphs/pictures", { ids, width: WIDTH, from, to });
      return new Map(pictures.map((one) => [one.id, one]));
    },
  );
  const [losses] = createResource(
    () => ({ from: ms(props.way.from), to: ms(props.way.to) }),
    async ({ from, to }) => lostHere((await get<Losses>("/losses", { from: rfc3339(from - COUNTING_MS), to: rfc3339(to) })).losses, from, to),
  );
  const window = (): [number, number] => [ms(props.way.from), ms(props.way.to)];
  const span = (): [number, number] => props.view.span() ?? window();
  const moments = (): number[] => [ms(props.way.begin), ms(props.way.end)];
  const lost = (): { text: string; id: number | undefined }[] =>
    props.way.near.stops.flatMap((stop) => stop.losses.map((loss) => ({ text: lostThere(stop, loss), id: stop.graphs.find((graph) => graph.shows === "losses")?.id })));
  return (
    <div class="body stack">
      <Show
        when={lost().length > 0}
        fallback={
          <p class="remark">
            <span class="good-ink">
              <Icon name="good" />
            </span>
            No errors, discards or lost echo requests during the call, at {of(props.way.near.stops_total, "hop", "hops")} of the path.
          </p>
        }
      >
        <ul class="on-way-lost">
          <For each={lost()}>
            {(one) => (
              <li class="remark">
                <span class="bad-ink">
                  <Icon name="bad" />
                </span>
                <Show when={one.id !== undefined} fallback={<b>{one.text}</b>}>
                  <A href={`/graphs/${one.id}${searchOf(window())}`}>{one.text}</A>
                </Show>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <ul class="on-way-ways">
        <For each={props.way.near.ways}>{(way) => <Way way={way} />}</For>
      </ul>
      <div class="on-way-lanes" onPointerLeave={() => props.view.setCursor(undefined)}>
        <Show when={(known(losses)?.length ?? 0) > 0}>
          <OwnLosses losses={known(losses)!} span={span()} moments={moments()} />
        </Show>
        <For each={first()}>{(lane) => <LaneRow lane={lane} pictures={known(pictures)} error={pictures.error} span={span()} moments={moments()} window={window()} view={props.view} />}</For>
        <Show when={sorted().first.length > first().length && !all()}>
          <button class="button" onClick={() => setAll(true)}>
            {whole(Math.min(PICTURES_MAX, sorted().first.length) - first().length)} more graphs
          </button>
        </Show>
        <Show when={all() && sorted().first.length > PICTURES_MAX}>
          <p class="muted">{whole(sorted().first.length - PICTURES_MAX)} more graphs are on the device pages.</p>
        </Show>
      </div>
      <Show when={sorted().sound.length > 0}>
        <details class="on-way-sound" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Errors and discards of {of(sorted().sound.length, "hop", "hops")} without any during the call</summary>
          <div class="on-way-lanes">
            <For each={sound()}>{(lane) => <LaneRow lane={lane} pictures={known(pictures)} error={pictures.error} span={span()} moments={moments()} window={window()} view={props.view} />}</For>
          </div>
        </details>
      </Show>
      <p class="muted on-way-legend">
        <svg width="12" height="12" aria-hidden="true">
          <line class="graph-moment" x1="6" x2="6" y1="0" y2="12" />
        </svg>
        start ({clock(moments()[0]!)}) and end ({clock(moments()[1]!)}) of the call. The path is from the latest poll of each device.
      </p>
    </div>
  );
}

const searchOf = ([from, to]: [number, number]): string => `?${new URLSearchParams({ from: rfc3339(from), to: rfc3339(to) }).toString()}`;

/** A way, device by device. */
function Way(props: { way: GraphWays }): JSX.Element {
  return (
    <li>
      <span class="num">{props.way.from}</span>
      <Show when={props.way.ways[0]} fallback={<span class="muted"> to <span class="num">{props.way.to}</span>: no path known</span>}>
        {(steps) => (
          <>
            <For each={steps()}>
              {(step) => (
                <>
                  {" → "}
                  <span class="muted num">{step.in.join(", ")}</span> <Show when={step.device !== null} fallback={<span>{step.name} (not polled)</span>}>
                    <A href={`/graphs/device/${step.device}`}>{step.name}</A>
                  </Show>
                  <Show when={step.state === "down"}>
                    {" "}
                    <Tag meaning="bad">down</Tag>
                  </Show>{" "}
                  <span class="muted num">{step.out.join(", ")}</span>
                </>
              )}
            </For>
            {" → "}
            <span class="num">{props.way.to}</span>
            <Show when={props.way.ways_total > 1}>
              <span class="muted"> (one of {whole(props.way.ways_total)} paths of equal length)</span>
            </Show>
          </>
        )}
      </Show>
    </li>
  );
}

interface LaneProps {
  lane: Lane;
  pictures: Pictures | undefined;
  error: unknown;
  span: [number, number];
  moments: number[];
  window: [number, number];
  view: View;
}

function LaneRow(props: LaneProps): JSX.Element {
  const seen = (): GraphPictures["pictures"][number] | undefined => props.pictures?.get(props.lane.graph.id);
  const stop = (): Lane["stop"] => props.lane.stop;
  const why = (): string => stop().whys.join("; ");
  let chart: HTMLDivElement | undefined;
  const move = (event: PointerEvent): void => {
    const box = chart?.querySelector("svg")?.getBoundingClientRect();
    if (!box) return;
    // The same room beside the plot as the chart leaves.
    const share = (event.clientX - box.left - 62) / Math.max(1, box.width - 74);
    props.view.setCursor(share < 0 || share > 1 ? undefined : props.span[0] + share * (props.span[1] - props.span[0]));
  };
  return (
    <article class="on-way-lane" classList={{ lost: props.lane.lost }} aria-label={`${SHOWS[props.lane.graph.shows]} of ${nameOf(stop())}`}>
      <div class="on-way-name">
        <h3>
          <A href={`/graphs/device/${stop().device}`}>{nameOf(stop())}</A>
        </h3>
        <p>
          <A href={`/graphs/${props.lane.graph.id}${searchOf(props.window)}`}>{SHOWS[props.lane.graph.shows] ?? props.lane.graph.title}</A>{" "}
          <Show when={stop().state !== "up"}>
            <Tag meaning={stateOf(stop().state).meaning}>{stateOf(stop().state).text}</Tag>
          </Show>
        </p>
        <Show when={props.lane.lost}>
          <p class="bad-ink">{stop().losses.map((loss) => (loss.unit === "%" ? `${loss.amount.toFixed(1)} % ${loss.what}` : `${whole(loss.amount)} ${loss.what}`)).join(", ")}</p>
        </Show>
        <p class="muted on-way-why">{why()}</p>
      </div>
      <div class="on-way-chart" ref={chart} onPointerMove={move}>
        <Switch fallback={<span class="muted">…</span>}>
          <Match when={props.error}>
            <p class="bad-ink">{String(props.error instanceof Error ? props.error.message : props.error)}</p>
          </Match>
          <Match when={seen()?.trouble}>{(trouble) => <p class="bad-ink">{trouble()}</p>}</Match>
          <Match when={seen()?.picture}>
            {(picture) => (
              <>
                <GraphChart picture={picture()} span={props.span} height={HEIGHT} small moments={props.moments} at={props.view.cursor()} />
                <p class="muted on-way-says">{says(picture())}</p>
              </>
            )}
          </Match>
        </Switch>
      </div>
    </article>
  );
}

/** What this capture lost in the time itself: nobody shall blame the network for that. */
function OwnLosses(props: { losses: Loss[]; span: [number, number]; moments: number[] }): JSX.Element {
  const sum = (): number => props.losses.reduce((sum, loss) => sum + loss.count, 0);
  const x = (at: number): number => Math.min(100, Math.max(0, ((at - props.span[0]) / (props.span[1] - props.span[0])) * 100));
  return (
    <article class="on-way-lane lost" aria-label="Losses of the capture">
      <div class="on-way-name">
        <h3>This capture</h3>
        <p class="bad-ink">{of(sum(), "packet", "packets")} lost during the call</p>
        <p class="muted on-way-why">
          {[...new Set(props.losses.map((loss) => loss.place))].join(", ")}: <A href="/packets">Packets</A>
        </p>
      </div>
      <div class="on-way-chart on-way-own">
        <svg width="100%" height="40" preserveAspectRatio="none" viewBox="0 0 100 40" aria-hidden="true">
          <For each={props.losses}>{(loss) => <rect class="on-way-gap" x={x(ms(loss.since))} width={Math.max(0.4, x(ms(loss.at)) - x(ms(loss.since)))} y="6" height="28" />}</For>
          <For each={props.moments}>{(at) => <line class="graph-moment" vector-effect="non-scaling-stroke" x1={x(at)} x2={x(at)} y1="0" y2="40" />}</For>
        </svg>
      </div>
    </article>
  );
}
