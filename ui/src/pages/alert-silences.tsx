// What is kept back: silences of people, and maintenance windows of the rules.

import { useSearchParams } from "@solidjs/router";
import { createMemo, createResource, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, remove } from "../api/client";
import type { AlertSilences, AlertStatus } from "../api/types";
import { Head } from "../parts/head";
import { known } from "../parts/known";
import { Tag } from "../parts/meaning";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toast, toastError } from "../parts/toast";
import { mayKeepBack, seesAllGraphs } from "../session";
import { useAlertsAgain } from "./alerts/again";
import { absent, kept } from "./alerts/kept";
import { AlertsNav } from "./alerts/nav";
import { WithAlerts } from "./alerts/nothing";
import { SilenceDialog } from "./alerts/silence-dialog";
import "./alerts/alerts.css";

export default function Silences(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ new?: string; device?: string }>();
  const [status, statusAgain] = createResource(() => get<AlertStatus>("/alerts/status"));
  const serving = createMemo(() => known(status)?.serving === true);
  const [all, again] = createResource(serving, () => get<AlertSilences>("/alerts/silences").catch(absent), { storage: kept() });
  useAlertsAgain(() => [statusAgain, again].forEach((one) => void one.refetch()));
  const end = (id: string): void =>
    void remove(`/alerts/silences/${id}`)
      .then(() => toast("It is over"))
      .then(() => again.refetch())
      .catch(toastError);
  return (
    <>
      <Head title="Silences">
        <Show when={mayKeepBack() && known(status)?.serving}>
          <button class="button primary" onClick={() => setSearch({ new: "1" })}>
            Keep alerts back …
          </button>
        </Show>
      </Head>
      <AlertsNav />
      <Switch fallback={<Loading what="the silences" />}>
        <Match when={status.error || all.error}>
          <Trouble error={status.error ?? all.error} retry={() => void again.refetch()} />
        </Match>
        <Match when={known(status)}>
          {(status) => (
            <WithAlerts status={status()}>
              <div class="alerts">
                <Show when={known(all)} fallback={<Loading what="the silences" />}>
                  {(all) => (
                    <>
                      <By all={all()} end={end} />
                      <Show when={seesAllGraphs()} fallback={<p class="muted">Some devices are hidden from you: these are the silences that you made. What others made and what the rules keep back is not shown.</p>}>
                        <Windows all={all()} />
                      </Show>
                    </>
                  )}
                </Show>
              </div>
            </WithAlerts>
          )}
        </Match>
      </Switch>
      <Show when={search.new && mayKeepBack()}>
        <SilenceDialog device={search.device} close={() => setSearch({ new: undefined, device: undefined }, { replace: true })} done={() => void again.refetch()} />
      </Show>
    </>
  );
}

const everything = (tests: string[]): string => tests.join(" and ") || "everything";

function By(props: { all: AlertSilences; end: (id: string) => void }): JSX.Element {
  return (
    <Show
      when={props.all.silences.length > 0}
      fallback={
        <Empty icon="alerts" title="Nothing is kept back">
          While somebody works at a device, a silence keeps its alerts back: <i>Keep alerts back</i>, or <code>trunkline alert silence 'device = edge-*' --for '2 h' --why 'new firmware'</code>. What is still bad at its end is an alert then.
        </Empty>
      }
    >
      <section class="panel" aria-label="Silences">
        <header>
          <h2>By people</h2>
        </header>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of silences">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Of</th>
                <th scope="col">Holds</th>
                <th scope="col">From</th>
                <th scope="col">Until</th>
                <th scope="col">By</th>
                <th scope="col">Why</th>
                <Show when={mayKeepBack()}>
                  <th scope="col">
                    <span class="sr">What can be done</span>
                  </th>
                </Show>
              </tr>
            </thead>
            <tbody>
              <For each={props.all.silences}>
                {(silence) => (
                  <tr>
                    <td>
                      <code>{everything(silence.when)}</code>
                    </td>
                    <td>
                      <Tag meaning={silence.holds ? "warn" : "none"}>{silence.holds ? "now" : "not yet"}</Tag>
                    </td>
                    <td>
                      <Time at={silence.from} shape="short" />
                    </td>
                    <td>
                      <Time at={silence.until} shape="short" />
                    </td>
                    <td>{silence.by}</td>
                    <td>{silence.why || "–"}</td>
                    <Show when={mayKeepBack()}>
                      <td>
                        <button class="button" aria-label={`End it: the silence of ${everything(silence.when)}`} onClick={() => props.end(silence.id)}>
                          End it
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
    </Show>
  );
}

function Windows(props: { all: AlertSilences }): JSX.Element {
  return (
    <section class="panel" aria-label="Maintenance windows of the rules">
      <header>
        <h2>Maintenance windows of the rules</h2>
      </header>
      <Show
        when={props.all.windows.length > 0}
        fallback={
          <p class="body muted">
            None. <code>[maintenance.NAME]</code> in a file of rules keeps alerts back each week, or once.
          </p>
        }
      >
        <div class="scroll" tabindex="0" role="group" aria-label="Table of maintenance windows">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Of</th>
                <th scope="col">Holds</th>
                <th scope="col">When</th>
              </tr>
            </thead>
            <tbody>
              <For each={props.all.windows}>
                {(one) => (
                  <tr>
                    <td>{one.name}</td>
                    <td>
                      <code>{everything(one.when)}</code>
                    </td>
                    <td>
                      <Tag meaning={one.holds ? "warn" : "none"}>{one.holds ? "now" : "not now"}</Tag>
                    </td>
                    <td>
                      <Show when={one.weekly.length > 0} fallback={<><Time at={one.from} /> to <Time at={one.until} /></>}>
                        {one.weekly.join(", ")}
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
