// Channels: how people are told, whether the last message arrived, and trying them out.

import { createMemo, createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, post } from "../api/client";
import type { AlertChannel, AlertChannels, AlertStatus, AlertTested } from "../api/types";
import { of } from "../format";
import { Head } from "../parts/head";
import { known } from "../parts/known";
import { Tag } from "../parts/meaning";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toast, toastError } from "../parts/toast";
import { may } from "../session";
import { useAlertsAgain } from "./alerts/again";
import { absent, kept } from "./alerts/kept";
import { AlertsNav } from "./alerts/nav";
import { WithAlerts } from "./alerts/nothing";
import { meaningOfOutcome, outcomeText } from "./alerts/words";
import "./alerts/alerts.css";

export default function Channels(): JSX.Element {
  const [status, statusAgain] = createResource(() => get<AlertStatus>("/alerts/status"));
  const serving = createMemo(() => known(status)?.serving === true);
  const [all, again] = createResource(serving, () => get<AlertChannels>("/alerts/channels").catch(absent), { storage: kept("channel") });
  useAlertsAgain(() => [statusAgain, again].forEach((one) => void one.refetch()));
  return (
    <>
      <Head title="Channels" about={<Show when={(known(all)?.waiting ?? 0) > 0}><span class="muted">{of(known(all)!.waiting, "message waits", "messages wait")}</span></Show>} />
      <AlertsNav />
      <Switch fallback={<Loading what="the channels" />}>
        <Match when={status.error || all.error}>
          <Trouble error={status.error ?? all.error} retry={() => void again.refetch()} />
        </Match>
        <Match when={known(status)}>
          {(status) => (
            <WithAlerts status={status()}>
              <div class="alerts">
                <Show when={known(all)} fallback={<Loading what="the channels" />}>
                  {(all) => (
                    <Show when={all().channels.length > 0} fallback={<NoChannel />}>
                      <List all={all()} tested={() => void again.refetch()} />
                      <Sent all={all()} />
                    </Show>
                  )}
                </Show>
              </div>
            </WithAlerts>
          )}
        </Match>
      </Switch>
    </>
  );
}

function NoChannel(): JSX.Element {
  return (
    <Empty icon="alerts" title="No channels: nobody is notified">
      <p>
        <code>[channel.NAME]</code> in a rule file defines a webhook, mail, syslog or a command; <code>[route.NAME]</code> with <code>channels = "NAME"</code> sends alerts to it. Until then alerts are shown on these pages only.
      </p>
    </Empty>
  );
}

function Outcome(props: { outcome: string; why: string }): JSX.Element {
  return (
    <>
      <Tag meaning={meaningOfOutcome(props.outcome)}>{outcomeText(props.outcome)}</Tag> {props.why}
    </>
  );
}

function List(props: { all: AlertChannels; tested: () => void }): JSX.Element {
  const [busy, setBusy] = createSignal("");
  const test = async ({ channel }: AlertChannel): Promise<void> => {
    setBusy(channel);
    await post<AlertTested>(`/alerts/channels/${channel}/test`)
      .then((tested) => toast(`${channel}: ${outcomeText(tested.outcome)}${tested.why ? `: ${tested.why}` : ""}`, tested.outcome === "delivered" ? "good" : "bad"))
      .catch(toastError);
    setBusy("");
    props.tested();
  };
  return (
    <section class="panel" aria-label="Channels">
      <div class="scroll" tabindex="0" role="group" aria-label="Table of channels">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Channel</th>
              <th scope="col">Kind</th>
              <th scope="col">To</th>
              <th scope="col">Last message</th>
              <th scope="col">Result</th>
              <Show when={may("alerts.manage")}>
                <th scope="col">
                  <span class="sr">Actions</span>
                </th>
              </Show>
            </tr>
          </thead>
          <tbody>
            <For each={props.all.channels}>
              {(one) => (
                <tr>
                  <td>{one.channel}</td>
                  <td>{one.kind}</td>
                  <td>{one.to}</td>
                  <td>
                    <Time at={one.last?.at} shape="short" />
                  </td>
                  <td>
                    <Show when={one.last} fallback="none since start">
                      {(last) => <Outcome outcome={last().outcome} why={last().why} />}
                    </Show>
                  </td>
                  <Show when={may("alerts.manage")}>
                    <td>
                      <button class="button" disabled={busy() !== ""} aria-label={`Send a test to ${one.channel}`} onClick={() => void test(one)}>
                        {busy() === one.channel ? "Sending …" : "Send a test"}
                      </button>
                    </td>
                  </Show>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Sent(props: { all: AlertChannels }): JSX.Element {
  return (
    <Show when={props.all.sent.length > 0}>
      <section class="panel" aria-label="Last messages">
        <header>
          <h2>Last messages</h2>
          <span class="muted">since start, at most 200</span>
        </header>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of last messages">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Channel</th>
                <th scope="col">Alert</th>
                <th scope="col">Result</th>
              </tr>
            </thead>
            <tbody>
              <For each={props.all.sent}>
                {(one) => (
                  <tr>
                    <td>
                      <Time at={one.at} shape="short" />
                    </td>
                    <td>{one.channel}</td>
                    <td>
                      {one.title}
                      {(one.alerts ?? 1) > 1 ? `, and ${of((one.alerts ?? 1) - 1, "more", "more")}` : ""}
                    </td>
                    <td>
                      <Outcome outcome={one.outcome} why={one.why} />
                    </td>
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
