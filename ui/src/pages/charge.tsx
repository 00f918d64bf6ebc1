// Charging at a glance: what is wrong first, then what is answered, and what there is.

import { A, useSearchParams } from "@solidjs/router";
import { createResource, For, Match, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { ChargeNode, ChargePeers, ChargePoint, ChargeRates, ChargeStatus } from "../api/types";
import { octets, whole } from "../format";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { known } from "../parts/known";
import { Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { useEvery } from "./charge/every";
import { ChargeNav, NoNode } from "./charge/nav";
import { OverTime } from "./charge/over-time";
import { SentOn } from "./charge/sent-on";
import { warningsOf } from "./charge/warnings";
import { micros, perSecond } from "./charge/words";

/** Milliseconds from one look to the next, and between looks at what comes by the minute. */
const LOOK_MS = 1_900;
const RATES_MS = 4_800;

export default function Charging(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ every?: string }>();
  const every = (): "second" | "minute" => (search.every === "minute" ? "minute" : "second");
  const [status, statusAgain] = createResource(() => get<ChargeStatus>("/charge"));
  const node = (): ChargeNode | null => known(status)?.node ?? null;
  const serves = (): boolean => node() !== null;
  const [rates, ratesAgain] = createResource(
    () => (serves() ? every() : undefined),
    (every) => get<ChargeRates>("/charge/rates", { every }),
  );
  const [peers, peersAgain] = createResource(serves, () => get<ChargePeers>("/charge/peers"));
  useEvery(LOOK_MS, () => void (!status.loading && statusAgain.refetch()));
  useEvery(RATES_MS, () => {
    if (!serves()) return;
    if (!rates.loading) void ratesAgain.refetch();
    if (!peers.loading) void peersAgain.refetch();
  });
  const points = (): ChargePoint[] => known(rates)?.points ?? [];
  return (
    <>
      <Head title="Charging" about={<Show when={node()}>{(node) => <About node={node()} />}</Show>} />
      <ChargeNav />
      <Switch fallback={<Loading what="charging" />}>
        <Match when={status.error && !known(status)}>
          <Trouble error={status.error} retry={() => void statusAgain.refetch()} />
        </Match>
        <Match when={known(status) && !node()}>
          <NoNode trouble={known(status)?.trouble} />
        </Match>
        <Match when={node()}>
          {(node) => (
            <div class="charge">
              <Warnings node={node()} peers={known(peers)?.peers ?? []} points={every() === "second" ? points() : []} whole={every() === "second" && known(rates) !== undefined && known(peers) !== undefined && !rates.error && !peers.error} />
              <Figures node={node()} points={points()} />
              <Show when={node().records?.sent_on}>{(sent) => <SentOn node={node()} records={node().records!} sent={sent()} />}</Show>
              <OverTime points={points()} every={every()} onEvery={(every) => setSearch({ every: every === "second" ? undefined : every })} />
            </div>
          )}
        </Match>
      </Switch>
    </>
  );
}

function About(props: { node: ChargeNode }): JSX.Element {
  return (
    <span class="muted">
      {props.node.host}, since <Time at={props.node.since} shape="short" />
    </span>
  );
}

function Warnings(props: { node: ChargeNode; peers: ChargePeers["peers"]; points: ChargePoint[]; /** Whether all that is judged is known. */ whole: boolean }): JSX.Element {
  const found = () => warningsOf(props.node, props.peers, props.points);
  return (
    <section class="panel" aria-label="What needs attention">
      <Show
        when={found().length > 0}
        fallback={
          <p class="body remark">
            <Show when={props.whole} fallback={<span class="muted">The node reports no problems. Answers and clients are checked as soon as the data of the last minute is loaded.</span>}>
              <span class="good-ink">
                <Icon name="good" />
              </span>
              <span>No problems: the disk keeps up and the node answers its clients.</span>
            </Show>
          </p>
        }
      >
        <ul class="charge-warnings">
          <For each={found()}>
            {(warning) => (
              <li class="remark">
                <span class={`${warning.meaning}-ink`}>
                  <Icon name={warning.meaning} />
                </span>
                <span>
                  {warning.text} <Show when={warning.href}>{(href) => <A href={href()}>Open</A>}</Show>
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}

/** Points that the rate of this moment is the mean of. */
const MOMENT = 5;

function Figures(props: { node: ChargeNode; points: ChargePoint[] }): JSX.Element {
  const last = (): ChargePoint[] => props.points.slice(-MOMENT);
  const rate = (): number | null => {
    const seconds = last().reduce((all, point) => all + point.seconds, 0);
    const count = last().reduce((all, point) => all + point.answered.flat().reduce((a, b) => a + b, 0), 0);
    return seconds > 0 ? count / seconds : null;
  };
  const plans = (): string => props.node.plans.map((plan) => `${plan.name} (${plan.version})`).join(", ") || "none";
  return (
    <section class="panel" aria-label="Now">
      <dl class="charge-figures">
        <Figure name="Requests" value={perSecond(rate())} about={`p99 ${micros(last().at(-1)?.p99_us)}`} />
        <Figure name="Open sessions" value={whole(props.node.open_sessions)} about={`limit ${whole(props.node.sessions_limit)}`} href="/charge/sessions" />
        <Figure name="Accounts" value={whole(props.node.accounts)} about={`${whole(props.node.subscribers)} subscribers`} href="/charge/accounts" />
        <Figure name="Clients" value={whole(props.node.clients)} about="connected" href="/charge/clients" />
        <Figure name="Tariffs" value={whole(props.node.plans.length)} about={plans()} href="/charge/tariffs" />
        <Figure name="Ledger" value={whole(props.node.sequence)} about={`entries; ${whole(props.node.sequence - props.node.durable)} not on disk yet`} />
        <Figure name="Disk" value={`${props.node.behind_percent} %`} about={`of the write queue; ${octets(props.node.written_octets)} written`} />
      </dl>
    </section>
  );
}

function Figure(props: { name: string; value: string; about: string; href?: string }): JSX.Element {
  return (
    <div>
      <dt>
        <Show when={props.href} fallback={props.name}>
          {(href) => <A href={href()}>{props.name}</A>}
        </Show>
      </dt>
      <dd>{props.value}</dd>
      <dd class="muted charge-small">{props.about}</dd>
    </div>
  );
}
