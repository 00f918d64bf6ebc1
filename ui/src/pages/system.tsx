// The program itself: does it keep up, is something about to be lost, and where.

import { createMemo, createResource, For, Match, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { LiveStatus, SystemAnswer } from "../api/types";
import { octets, whole } from "../format";
import { feed, status, why } from "../live";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { known } from "../parts/known";
import { NotAnalysedPanel } from "../parts/not-analysed";
import { Empty, Loading, Trouble } from "../parts/states";
import { span } from "../time";
import { Clock } from "./system/clock";
import { Disks } from "./system/disks";
import { History } from "./system/history";
import { Lanes } from "./system/lanes";
import { Rows } from "./system/rows";
import { Threads } from "./system/threads";
import "./system/system.css";

export default function System(): JSX.Element {
  const [system] = createResource(() => get<SystemAnswer>("/system"));
  return (
    <>
      <Head title="System" about={<About system={known(system)} />} />
      <Switch fallback={<Loading what="the system status" />}>
        <Match when={system.error}>
          <Trouble error={system.error} />
        </Match>
        <Match when={feed() === "idle"}>
          <div class="system">
            <div class="panel">
              <Empty title="Nothing is being captured">
                <p>{why()}</p>
                <p>
                  <code>trunkline doctor</code> checks this machine; <code>trunkline run -i INTERFACE</code> starts a capture.
                </p>
              </Empty>
            </div>
            <NotAnalysedPanel seen={known(system)?.read_not_analysed ?? []} />
            <Clock title="Clock steps in imported captures" steps={known(system)?.read_clock} />
            <Build system={known(system)} />
          </div>
        </Match>
        <Match when={feed() === "lost" && !status()}>
          <Trouble error={new Error("Trunkline does not answer. This page reconnects by itself.")} />
        </Match>
        <Match when={status()}>
          {(status) => (
            <div class="system">
              <Unhealthy status={status()} />
              <Recovery status={status()} />
              <NotAnalysedPanel seen={status().not_analysed} />
              <Clock title="Clock steps" steps={status().clock} />
              <Clock title="Clock steps in imported captures" steps={known(system)?.read_clock} />
              <Lanes status={status()} />
              <History begun={known(system)?.history ?? []} />
              <div class="system-columns">
                <div class="stack">
                  <Disks status={status()} />
                  <Rows rows={status().rows} />
                  <Build system={known(system)} />
                </div>
                <Threads status={status()} />
              </div>
            </div>
          )}
        </Match>
      </Switch>
    </>
  );
}

function About(props: { system: SystemAnswer | undefined }): JSX.Element {
  const since = (): number | undefined => (status() ? status()!.since_ns / 1e6 : undefined);
  return (
    <span class="muted">
      Trunkline {props.system?.build.version}
      <Show when={since()}>{(since) => <>, capturing for {span((status()!.at_ns / 1e6 - since()) / 1000)}</>}</Show>
      <Show when={status()}>{(status) => <>, {octets(status().resident_octets)} of memory</>}</Show>
    </span>
  );
}

function Unhealthy(props: { status: LiveStatus }): JSX.Element {
  const lost = createMemo(() => Object.entries(props.status.drops_total).filter(([, count]) => count > 0));
  const isWell = (): boolean => props.status.unhealthy.length === 0 && lost().length === 0;
  return (
    <section class="panel" aria-label="Health">
      <Show
        when={!isWell()}
        fallback={
          <p class="body remark">
            <span class="good-ink">
              <Icon name="good" />
            </span>
            Healthy: no packet loss since start.
          </p>
        }
      >
        <ul class="system-ills">
          <For each={props.status.unhealthy}>
            {(line) => (
              <li>
                <span class="bad-ink">
                  <Icon name="bad" />
                </span>
                {line}
              </li>
            )}
          </For>
          <For each={lost()}>
            {([place, count]) => (
              <li>
                <span class="warn-ink">
                  <Icon name="warn" />
                </span>
                <span>
                  <b class="num">{whole(count)}</b> packets lost since start at: {place}
                  <span class="muted"> {ADVICE[place] ?? ""}</span>
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}

/** Calls of before the start, as long as there is something to say about them. */
function Recovery(props: { status: LiveStatus }): JSX.Element {
  const recovery = (): LiveStatus["recovery"] => props.status.recovery;
  const share = (): number => {
    const { read_octets, segment_octets } = recovery()!;
    return segment_octets > 0 ? Math.min(read_octets / segment_octets, 1) : 1;
  };
  return (
    <Show when={recovery() && recovery()!.state !== "idle"}>
      <section class="panel" aria-label="Recovery">
        <header>
          <h2>Recovery</h2>
        </header>
        <dl class="system-facts body">
          <dt>state</dt>
          <dd>
            {recovery()!.state}
            <Show when={recovery()!.state.startsWith("reading")}>
              , {whole(Math.round(share() * 100))} % of {octets(recovery()!.segment_octets)}
            </Show>
          </dd>
          <dt>calls recovered from the packet log</dt>
          <dd class="num">{whole(recovery()!.calls_total)}</dd>
          <dt>active calls from before the start</dt>
          <dd class="num">{whole(recovery()!.waiting_calls)}</dd>
        </dl>
      </section>
    </Show>
  );
}

/** What helps against losses, by place. */
const ADVICE: Record<string, string> = {
  ring: "– set a larger capture.ring or more lanes; see trunkline doctor.",
  buffer: "– the disk is too slow: set a larger record.buffer, add a volume, or use a shorter snap length.",
  "operating-system": "– the kernel was too busy: use more receive queues, or move interrupts to other processors.",
  card: "– the network card dropped packets: raise its ring with ethtool -G, and see trunkline doctor.",
};

function Build(props: { system: SystemAnswer | undefined }): JSX.Element {
  const days = (): SystemAnswer["days"] => props.system?.days ?? [];
  return (
    <section class="panel" aria-label="Program">
      <header>
        <h2>Program</h2>
      </header>
      <dl class="system-facts body">
        <dt>version</dt>
        <dd>{props.system?.build.version}</dd>
        <dt>command line</dt>
        <dd>
          <code>trunkline {props.system?.build.mode}</code>
        </dd>
        <dt>days in the store</dt>
        <dd>
          <Show when={days().length > 0} fallback="none yet">
            {days().length}, {days()[0]?.day} to {days().at(-1)?.day}, {octets(days().reduce((sum, day) => sum + day.octets, 0))}
          </Show>
        </dd>
        <dt>sensors</dt>
        <dd>none: this Trunkline captures or reads itself</dd>
      </dl>
    </section>
  );
}

