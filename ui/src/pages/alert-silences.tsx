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
      .then(() => toast("Silence ended"))
      .then(() => again.refetch())
      .catch(toastError);
  return (
    <>
      <Head title="Silences">
        <Show when={mayKeepBack() && known(status)?.serving}>
          <button class="button primary" onClick={() => setSearch({ new: "1" })}>
            Silence alerts …
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
                      <Show when={seesAllGraphs()} fallback={<p class="muted">Some devices are hidden from you: only your own silences are shown, without those of others and without maintenance windows.</p>}>
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
        <Empty icon="alerts" title="No silences">
          A silence suppresses the alerts of a device during maintenance: <i>Silence alerts</i>, or <code>trunkline alert silence 'device = edge-*' --for '2 h' --why 'new firmware'</code>. An alert that is still active when the silence ends is notified then.
        </Empty>
      }
    >
      <section class="panel" aria-label="Silences">
        <header>
          <h2>Silences</h2>
        </header>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of silences">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Matches</th>
                <th scope="col">Active</th>
                <th scope="col">From</th>
                <th scope="col">Until</th>
                <th scope="col">By</th>
                <th scope="col">Reason</th>
                <Show when={mayKeepBack()}>
                  <th scope="col">
                    <span class="sr">Actions</span>
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
                      <Tag meaning={silence.holds ? "warn" : "none"}>{silence.holds ? "active" : "scheduled"}</Tag>
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
                        <button class="button" aria-label={`End the silence ${everything(silence.when)}`} onClick={() => props.end(silence.id)}>
                          End
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
    <section class="panel" aria-label="Maintenance windows">
      <header>
        <h2>Maintenance windows</h2>
      </header>
      <Show
        when={props.all.windows.length > 0}
        fallback={
          <p class="body muted">
            None. <code>[maintenance.NAME]</code> in a rule file suppresses alerts each week, or once.
          </p>
        }
      >
        <div class="scroll" tabindex="0" role="group" aria-label="Table of maintenance windows">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Matches</th>
                <th scope="col">Active</th>
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
                      <Tag meaning={one.holds ? "warn" : "none"}>{one.holds ? "active" : "inactive"}</Tag>
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
